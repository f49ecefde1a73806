"""What a store sets itself in the documents and passages that it is given; pure."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.rpc.errors import invalid_argument
from citemesh.store.analysis import UNDETERMINED
from citemesh.store.contract import Vectors
from citemesh.store.labels import canonical_label
from citemesh.v1.document_pb2 import Document, DocumentProfile
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.retrieval_pb2 import EncoderContract


def check_given(tenant_id: str, document: Document) -> None:
    """Raise INVALID_FIELD where a document could not be named again."""
    if not tenant_id:
        raise invalid_argument("tenant_id", "must not be empty")
    if not document.document_id:
        raise invalid_argument("document.document_id", "must not be empty")


def check_vectors(recorded: EncoderContract | None, passages: Sequence[Passage], vectors: Vectors) -> None:
    """Raise ValueError where `vectors` is not one vector of the recorded encoder for each passage."""
    if recorded is None:
        raise ValueError("call set_encoder before the first vectors")
    expected = (len(passages), recorded.dimension_count)
    if passages and vectors.shape != expected:
        raise ValueError(f"vectors have shape {vectors.shape}, expected {expected}")


def complete_document(given: Document, document_version: int, passage_count: int) -> Document:
    """A copy of `given` with the fields that the store sets, without its access."""
    document = Document()
    document.CopyFrom(given)
    document.ClearField("access")
    document.document_version = document_version
    document.ingest_time.GetCurrentTime()
    document.passage_count = passage_count
    document.superseded = False
    document.profile.title = document.title
    _name_profile(document)
    return document


def change_document(
    document: Document, passage_count: int, profile: DocumentProfile | None, warnings: Sequence[str] | None
) -> None:
    """Give a version, in place, what came of reading some of its pages again; None changes nothing."""
    if profile is not None:
        document.profile.CopyFrom(profile)
        _name_profile(document)
    if warnings is not None:
        document.warnings[:] = warnings
    document.passage_count = passage_count


def _name_profile(document: Document) -> None:
    document.profile.document_id = document.document_id
    document.profile.document_version = document.document_version


def complete_passages(passages: Sequence[Passage], document: Document, first_number: int) -> list[Passage]:
    """Copies of `passages` with the fields that the store sets; ordinals and ids count from `first_number`."""
    completed = []
    for number, passage in enumerate(passages, first_number):
        copy = Passage()
        copy.CopyFrom(passage)
        copy.passage_id = f"{document.document_id}@{document.document_version}#{number}"
        copy.document_id = document.document_id
        copy.document_version = document.document_version
        copy.ordinal = number
        copy.title = document.title
        copy.label = canonical_label(passage.label) if passage.label else ""
        _copy_time(document, copy, "effective_from_time")
        _copy_time(document, copy, "effective_to_time")
        completed.append(copy)
    return completed


def _copy_time(document: Document, passage: Passage, name: str) -> None:
    passage.ClearField(name)  # type: ignore[arg-type]  # the stub wants a literal name
    if document.HasField(name):  # type: ignore[arg-type]  # as above
        time: Timestamp = getattr(passage, name)
        time.CopyFrom(getattr(document, name))


def find_languages(passages: Sequence[Passage]) -> set[str]:
    """The languages that passages are in, where known: questions are stemmed for each."""
    return {passage.language for passage in passages} - UNDETERMINED
