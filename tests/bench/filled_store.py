"""A store of many passages with ready vectors: text and vectors that behave like real ones, the same on every run."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from citemesh.store.embedded.database import Database
from citemesh.store.embedded.encoder_facts import write_encoder
from citemesh.store.embedded.open import open_writer
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals, Document
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.retrieval_pb2 import EncoderContract

TENANT: Final = "default"
DIMENSION_COUNT: Final = 384
PASSAGES_PER_DOCUMENT: Final = 50
WORDS_PER_PASSAGE: Final = 80
GROUPS: Final = {"all": 1.0, "tenth": 0.1, "hundredth": 0.01}
"""The share of documents that each group may read."""

_VOCABULARY_SIZE: Final = 60_000
_TOPIC_COUNT: Final = 2_000
_BATCH: Final = 1_000

Matrix = npt.NDArray[np.float32]


class MadeText:
    """Passages of words drawn as real text draws them (Zipf), with a few of their topic; vectors around the topic's."""

    def __init__(self, seed: int = 7) -> None:
        rng = np.random.default_rng(seed)
        syllables = [a + b for a in "bcdfglmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
        picks = rng.integers(0, len(syllables), size=(_VOCABULARY_SIZE, 4))
        lengths = rng.integers(2, 5, size=_VOCABULARY_SIZE)
        self.words = ["".join(syllables[at] for at in row[:length]) for row, length in zip(picks, lengths, strict=True)]
        weights = 1.0 / np.arange(1, _VOCABULARY_SIZE + 1)
        self._cumulated = np.cumsum(weights / weights.sum())
        self._topics = rng.standard_normal((_TOPIC_COUNT, DIMENSION_COUNT)).astype(np.float32)
        self._topic_words = rng.integers(200, _VOCABULARY_SIZE, size=(_TOPIC_COUNT, 30))

    def make_texts(self, number: int, count: int) -> list[str]:
        """Texts of the passages from `number` on."""
        topics, rng = self._choose_topics(number, count), np.random.default_rng((12, number))
        plain = np.searchsorted(self._cumulated, rng.random((count, WORDS_PER_PASSAGE - 12)))
        own = self._topic_words[topics[:, None], rng.integers(0, 30, size=(count, 12))]
        rows = np.concatenate([np.minimum(plain, _VOCABULARY_SIZE - 1), own], axis=1)
        return [" ".join(self.words[at] for at in row) for row in rows]

    def make_vectors(self, number: int, count: int) -> Matrix:
        """Unit vectors [count, 384] of the same passages."""
        rng = np.random.default_rng((11, number))
        noise = rng.standard_normal((count, DIMENSION_COUNT), dtype=np.float32)
        return unit(self._topics[self._choose_topics(number, count)] + noise)

    def _choose_topics(self, number: int, count: int) -> npt.NDArray[np.int64]:
        return np.random.default_rng((10, number)).integers(0, _TOPIC_COUNT, size=count)

    def ask(self, number: int) -> tuple[str, Matrix]:
        """A question of six words of one topic and two common ones, and its vector [384]."""
        rng = np.random.default_rng((13, number))
        topic = int(rng.integers(0, _TOPIC_COUNT))
        chosen = [*rng.choice(self._topic_words[topic], size=6, replace=False), *rng.integers(20, 2_000, size=2)]
        noise = rng.standard_normal(DIMENSION_COUNT).astype(np.float32)
        return " ".join(self.words[at] for at in chosen), unit((self._topics[topic] + noise)[None, :])[0]


def unit(vectors: Matrix) -> Matrix:
    """The same directions at length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Matrix = (vectors / lengths).astype(np.float32)
    return scaled


def group_of(document_number: int) -> list[str]:
    """The groups that may read a document."""
    return [name for name, share in GROUPS.items() if document_number % round(1 / share) == 0]


def batches(passage_count: int) -> Iterator[tuple[int, int]]:
    """All passages in parts: number of the first, and how many."""
    for start in range(0, passage_count, _BATCH):
        yield start, min(_BATCH, passage_count - start)


def fill(state_dir: Path, text: MadeText, passage_count: int) -> None:
    """Write the rows as the store's writer does, many documents to a transaction; the keyword index is then built."""
    database = Database(state_dir / "store")
    with database.transaction() as connection:
        write_encoder(connection, EncoderContract(model="made", dimension_count=DIMENSION_COUNT))
    for start, count in batches(passage_count):
        texts, vectors = text.make_texts(start, count), text.make_vectors(start, count)
        with database.transaction() as connection:
            for offset in range(0, len(texts), PASSAGES_PER_DOCUMENT):
                part = slice(offset, offset + PASSAGES_PER_DOCUMENT)
                number = (start + offset) // PASSAGES_PER_DOCUMENT
                _put_document(connection, number, texts[part], vectors[part])
    database.close()
    open_writer(state_dir).close()


def _put_document(connection: sqlite3.Connection, number: int, texts: list[str], vectors: Matrix) -> None:
    # The writer's own functions, without its commit for each document: a million passages in minutes.
    from citemesh.store.completion import complete_passages
    from citemesh.store.embedded import rows
    from citemesh.store.embedded.changes import record_change

    name = f"d{number:06d}"
    document = Document(document_id=name, title=f"Document {number}", document_version=1, passage_count=len(texts))
    document.content_hash = hashlib.sha256(name.encode()).hexdigest()
    access = AccessPolicy(only=AllowedPrincipals(groups=group_of(number)))
    row = connection.execute(
        "INSERT INTO documents (tenant_id, document_id, everyone, access) VALUES (?, ?, 0, x'')", (TENANT, name)
    ).lastrowid
    assert row is not None
    rows.write_access(connection, row, access)
    version_row = connection.execute(
        "INSERT INTO versions (document_row, document_version, from_us, to_us, content_hash, document,"
        " next_passage_number) VALUES (?, 1, ?, ?, ?, ?, ?)",
        (row, -(2**62), 2**62, document.content_hash, document.SerializeToString(), len(texts)),
    ).lastrowid
    assert version_row is not None
    passages = [Passage(text=each, language="und", content_hash=f"{name}-{at}") for at, each in enumerate(texts)]
    rows.write_passages(connection, TENANT, version_row, complete_passages(passages, document, 0), vectors)
    record_change(connection, TENANT, version_row, permissions=True)
