"""A small library for tests: documents in a real embedded store, with an encoder that counts words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from citemesh.auth.principal import Principal
from citemesh.models.contract import EncoderContract
from citemesh.store.contract import StoreReader, Vectors
from citemesh.store.embedded.open import open_reader, open_writer
from citemesh.store.encoder_match import describe_encoder
from citemesh.v1 import document_pb2, evidence_pb2, question_pb2

ANNA = Principal("acme", "anna", frozenset({"staff"}))
HANNA = Principal("acme", "hanna", frozenset({"staff", "hr"}))


class WordEncoder:
    """Vectors of word counts, hashed into 64 places: equal words, near vectors."""

    def __init__(self, revision: str = "1") -> None:
        self.contract = EncoderContract(
            model_id="word-counter",
            revision=revision,
            query_prefix="",
            passage_prefix="",
            dimension_count=64,
            pooling="mean",
            normalised=True,
            metric="cosine",
            max_token_count=256,
        )

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._encode(text) for text in texts])

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self.encode_passages(texts)

    def encode_canaries(self) -> Vectors:
        return self.encode_passages(["one canary", "another canary", "a third one"])

    def _encode(self, text: str) -> Vectors:
        vector = np.full(64, 1e-3, dtype=np.float32)
        for word in re.findall(r"\w+", text.lower()):
            vector[hashlib.sha256(word.encode()).digest()[0] % 64] += 1
        return vector / np.linalg.norm(vector)


@dataclass
class Library:
    """The store in use; close it through the fixture."""

    state_dir: Path

    def __post_init__(self) -> None:
        self.encoder = WordEncoder()
        self.writer = open_writer(self.state_dir)
        self.writer.set_encoder(describe_encoder(self.encoder))
        self.reader: StoreReader = open_reader(self.state_dir)

    def close(self) -> None:
        self.reader.close()
        self.writer.close()

    def add(
        self,
        document_id: str,
        passages: Sequence[str | evidence_pb2.Passage],
        *,
        title: str = "",
        sections: Sequence[document_pb2.Section] = (),
        groups: Sequence[str] | None = None,
        start: str = "",
    ) -> None:
        """Store a document for everyone, or for `groups`."""
        made = [make_passage(each) if isinstance(each, str) else each for each in passages]
        content = "\n".join(passage.text for passage in made)
        file = self.state_dir / "original"
        file.write_text(content)
        document = document_pb2.Document(
            document_id=document_id,
            title=title or document_id,
            content_hash=hashlib.sha256(content.encode()).hexdigest(),
        )
        if groups is not None:
            document.access.only.groups.extend(groups)
            document.access.only.SetInParent()
        if start:
            document.effective_from_time.FromDatetime(datetime.fromisoformat(start).replace(tzinfo=UTC))
        vectors = self.encoder.encode_passages([passage.text for passage in made])
        self.writer.put_version("acme", document, sections=sections, passages=made, vectors=vectors, file=file)


def make_passage(
    text: str,
    *,
    section: str = "",
    path: Sequence[str] = (),
    label: str = "",
    kind: evidence_pb2.PassageKind.ValueType = evidence_pb2.PASSAGE_KIND_TEXT,
    references: Sequence[question_pb2.Reference] = (),
    context: str = "",
) -> evidence_pb2.Passage:
    return evidence_pb2.Passage(
        text=text,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        parent_id=section,
        section_path=path,
        label=label,
        kind=kind,
        language="en",
        references=references,
        heading_context=context,
    )


def make_section(section_id: str, title: str, *, number: str = "", parent: str = "") -> document_pb2.Section:
    return document_pb2.Section(
        section_id=section_id, title=title, number=number, parent_id=parent, level=2 if parent else 1
    )


def refer(label: str, *, document_id: str = "", surface: str = "") -> question_pb2.Reference:
    kinds = {
        "table": question_pb2.REFERENCE_KIND_TABLE,
        "figure": question_pb2.REFERENCE_KIND_FIGURE,
        "section": question_pb2.REFERENCE_KIND_SECTION,
        "appendix": question_pb2.REFERENCE_KIND_APPENDIX,
        "document": question_pb2.REFERENCE_KIND_DOCUMENT,
    }
    kind = kinds.get(label.split()[0], question_pb2.REFERENCE_KIND_OTHER)
    return question_pb2.Reference(kind=kind, label=label, surface=surface or label.title(), document_id=document_id)
