"""What the tests of the stores share: principals, made documents, and the two legs as sets of texts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from citemesh.auth.principal import Principal
from citemesh.store.contract import StoredVersion, StoreReader, StoreWriter, Vectors
from citemesh.v1 import document_pb2, evidence_pb2, question_pb2, retrieval_pb2

DIMENSION_COUNT = 16
ENCODER = retrieval_pb2.EncoderContract(
    model="test",
    revision="1",
    dimension_count=DIMENSION_COUNT,
    normalized=True,
    metric="cosine",
    canary_vectors=np.eye(2, DIMENSION_COUNT).reshape(-1).tolist(),
)
ANNA = Principal("acme", "anna", frozenset({"staff"}))
HANNA = Principal("acme", "hanna", frozenset({"staff", "hr"}))
OTHER_TENANT = Principal("umbrella", "anna", frozenset({"staff", "hr"}))


def embed(text: str) -> Vectors:
    """A vector of length 1 that only equal texts share."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(DIMENSION_COUNT).astype(np.float32)
    return vector / np.linalg.norm(vector)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def only(*groups: str, users: Sequence[str] = ()) -> document_pb2.AccessPolicy:
    return document_pb2.AccessPolicy(only=document_pb2.AllowedPrincipals(groups=groups, users=users))


def everyone() -> document_pb2.AccessPolicy:
    return document_pb2.AccessPolicy(everyone=document_pb2.Everyone())


def documents(*ids: str) -> question_pb2.Scope:
    return question_pb2.Scope(documents=question_pb2.DocumentIds(document_ids=ids))


def make_passage(text: str, *, page: int = 1, section: str = "", label: str = "") -> evidence_pb2.Passage:
    return evidence_pb2.Passage(
        text=text,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        page_first=page,
        page_last=page,
        parent_id=section,
        label=label,
        kind=evidence_pb2.PASSAGE_KIND_TEXT,
        language="en",
    )


def put(
    writer: StoreWriter,
    tmp_path: Path,
    document_id: str,
    texts: Sequence[str | evidence_pb2.Passage],
    *,
    tenant_id: str = "acme",
    title: str = "",
    start: str = "",
    end: str = "",
    access: document_pb2.AccessPolicy | None = None,
    sections: Sequence[document_pb2.Section] = (),
) -> StoredVersion:
    """Store a document of these texts; dates are days."""
    passages = [make_passage(each) if isinstance(each, str) else each for each in texts]
    content = "\n".join(passage.text for passage in passages)
    file = tmp_path / "original.txt"
    file.write_text(content)
    document = document_pb2.Document(
        document_id=document_id,
        title=title or document_id,
        media_type="text/plain",
        content_hash=hashlib.sha256(content.encode()).hexdigest(),
        size_bytes=len(content),
        access=access,
    )
    document.profile.language = "en"
    document.profile.has_usable_toc = bool(sections)
    if start:
        document.effective_from_time.FromDatetime(day(start))
    if end:
        document.effective_to_time.FromDatetime(day(end))
    vectors = np.stack([embed(passage.text) for passage in passages])
    return writer.put_version(tenant_id, document, sections=sections, passages=passages, vectors=vectors, file=file)


def found(reader: StoreReader, principal: Principal, text: str, as_of: datetime | None = None) -> set[str]:
    """Texts that the keyword leg finds."""
    versions = reader.allowed_versions(principal, as_of=as_of)
    hits = reader.keyword_search(text, versions, 50)
    passages = reader.passages_by_key([hit.passage_key for hit in hits], versions)
    assert len(passages) == len(hits)
    return {passage.text for passage in passages.values()}


def nearest(reader: StoreReader, principal: Principal, text: str, as_of: datetime | None = None) -> list[str]:
    """Texts that the dense leg finds, nearest first."""
    versions = reader.allowed_versions(principal, as_of=as_of)
    hits = reader.dense_search(embed(text), versions, 50)
    passages = reader.passages_by_key([hit.passage_key for hit in hits], versions)
    return [passages[hit.passage_key].text for hit in hits]
