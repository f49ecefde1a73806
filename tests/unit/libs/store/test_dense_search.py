"""The dense leg of the embedded store against brute force over every vector that may be read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from citemesh.auth.principal import Principal
from citemesh.store.contract import StoreReader, Vectors
from citemesh.store.embedded.open import open_reader, open_writer
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals, Document
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.question_pb2 import DocumentIds, Scope
from citemesh.v1.retrieval_pb2 import EncoderContract

ANNA = Principal("acme", "anna", frozenset({"staff"}))
HANNA = Principal("acme", "hanna", frozenset({"staff", "hr"}))
DIMENSION_COUNT = 64
PASSAGES_BY_DOCUMENT = {"handbook": 1_200, "notes": 300, "salaries": 500}
FIRST = 10
QUESTION_COUNT = 20


def make_vectors(random: np.random.Generator, count: int) -> Vectors:
    """Rows of length 1 that share a direction, as the vectors of texts on one subject do."""
    rows = random.standard_normal((count, DIMENSION_COUNT)) + 2.0 * np.eye(DIMENSION_COUNT)[0]
    vectors: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return vectors


@pytest.fixture(scope="module")
def vectors() -> dict[str, Vectors]:
    random = np.random.default_rng(7)
    return {name: make_vectors(random, count) for name, count in PASSAGES_BY_DOCUMENT.items()}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, vectors: dict[str, Vectors]) -> Iterator[StoreReader]:
    state_dir = tmp_path_factory.mktemp("state")
    writer = open_writer(state_dir)
    writer.set_encoder(EncoderContract(model="test", dimension_count=DIMENSION_COUNT))
    for name, rows in vectors.items():
        file = state_dir / f"{name}.txt"
        file.write_text(name)
        document = Document(document_id=name, title=name, content_hash=f"{name:0<64}")
        if name == "salaries":
            document.access.CopyFrom(AccessPolicy(only=AllowedPrincipals(groups=["hr"])))
        passages = [Passage(text=f"{name} {place}", content_hash=f"{name}-{place}") for place in range(len(rows))]
        writer.put_version("acme", document, sections=[], passages=passages, vectors=rows, file=file)
    opened = open_reader(state_dir)
    yield opened
    opened.close()
    writer.close()


@pytest.mark.parametrize(
    ("principal", "names", "scoped"),
    [
        (HANNA, ("handbook", "notes", "salaries"), False),
        (ANNA, ("handbook", "notes"), False),
        # Few of all rows: these are copied out before they are compared.
        (ANNA, ("notes",), True),
    ],
)
def test_the_first_are_those_of_brute_force(
    reader: StoreReader, vectors: dict[str, Vectors], principal: Principal, names: tuple[str, ...], scoped: bool
) -> None:
    scope = Scope(documents=DocumentIds(document_ids=names)) if scoped else None
    versions = reader.allowed_versions(principal, scope)
    texts = [f"{name} {place}" for name in names for place in range(len(vectors[name]))]
    readable = np.concatenate([vectors[name] for name in names])
    for question in make_vectors(np.random.default_rng(11), QUESTION_COUNT):
        cosines = readable @ question
        expected = np.argsort(-cosines, kind="stable")[:FIRST]
        hits = reader.dense_search(question, versions, FIRST)
        found = reader.passages_by_key([hit.passage_key for hit in hits], versions)
        assert [found[hit.passage_key].text for hit in hits] == [texts[place] for place in expected]
        assert [hit.leg_score for hit in hits] == pytest.approx(cosines[expected].tolist(), abs=1e-6)
