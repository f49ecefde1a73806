"""Requests from plain Python values: what both clients share."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from google.protobuf import timestamp_pb2

from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    dispatcher_pb2,
    document_pb2,
    documents_pb2,
    question_pb2,
    retrieval_pb2,
)

CHUNK_SIZE_BYTES: Final = 256 * 1024
PAGE_SIZE: Final = 200

AsOf = datetime.datetime | datetime.date | None
Source = Path | str | bytes
Legs = Iterable[activation_pb2.Pattern.ValueType]

DEFAULT_LEGS: Final = (activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE, activation_pb2.PATTERN_TOC)


@dataclass(frozen=True, slots=True)
class Access:
    """Who may read a document within its tenant: `Access.everyone()`, or exactly the named users and groups."""

    policy: document_pb2.AccessPolicy

    @staticmethod
    def everyone() -> Access:
        """Everyone of the tenant."""
        return Access(document_pb2.AccessPolicy(everyone=document_pb2.Everyone()))

    @staticmethod
    def only(*, groups: Iterable[str] = (), users: Iterable[str] = ()) -> Access:
        """These alone. Nobody named means that nobody may read it."""
        allowed = document_pb2.AllowedPrincipals(groups=groups, users=users)
        return Access(document_pb2.AccessPolicy(only=allowed))


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its circumstances, as `ask` and `ask_stream` take it apart."""

    text: str
    history: Iterable[question_pb2.Turn] = ()
    document_ids: Iterable[str] | None = None
    as_of: AsOf = None
    release_mode: answer_pb2.ReleaseMode.ValueType = answer_pb2.RELEASE_MODE_UNSPECIFIED
    pipeline: str = ""
    max_iterations: int | None = None
    request_id: str = ""

    def to_request(self) -> dispatcher_pb2.AnswerRequest:
        """The request. Raises ValueError for an empty list of documents."""
        request = dispatcher_pb2.AnswerRequest(
            question=self.text,
            history=self.history,
            scope=to_scope(self.document_ids),
            as_of_time=to_timestamp(self.as_of),
            release_mode=self.release_mode,
            pipeline=self.pipeline,
            request_id=self.request_id,
        )
        if self.max_iterations is not None:
            request.budget.max_iterations = self.max_iterations
        return request


def explain_request(
    question: str, history: Iterable[question_pb2.Turn], document_ids: Iterable[str] | None, as_of: AsOf
) -> dispatcher_pb2.ExplainRequest:
    """The request of `explain`."""
    return dispatcher_pb2.ExplainRequest(
        question=question, history=history, scope=to_scope(document_ids), as_of_time=to_timestamp(as_of)
    )


def retrieve_request(
    text: str, legs: Legs, document_ids: Iterable[str] | None, as_of: AsOf, max_candidates: int
) -> retrieval_pb2.RetrieveRequest:
    """The request of `search`: the same words for every leg."""
    return retrieval_pb2.RetrieveRequest(
        queries=[retrieval_pb2.LegQuery(leg=leg, text=text) for leg in legs],
        scope=to_scope(document_ids),
        as_of_time=to_timestamp(as_of),
        max_candidates=max_candidates,
    )


def ingest_header(
    source: Source,
    *,
    file_name: str = "",
    document_id: str = "",
    title: str = "",
    access: Access | None = None,
    effective_from: AsOf = None,
    effective_to: AsOf = None,
    password: str = "",
) -> documents_pb2.IngestHeader:
    """The header of an ingest. Raises ValueError where bytes come without a file name, which tells their kind."""
    if not file_name:
        if isinstance(source, bytes):
            raise ValueError("bytes need a file_name, whose ending tells their kind")
        file_name = Path(source).name
    return documents_pb2.IngestHeader(
        document_id=document_id,
        file_name=file_name,
        title=title,
        access=access.policy if access is not None else None,
        effective_from_time=to_timestamp(effective_from),
        effective_to_time=to_timestamp(effective_to),
        password=password,
    )


def ingest_messages(source: Source, header: documents_pb2.IngestHeader) -> Iterator[documents_pb2.IngestRequest]:
    """The header, then the file in pieces. A path is opened at once, so that a missing file fails before the call."""
    pieces = _split(source) if isinstance(source, bytes) else _read(Path(source))
    first = documents_pb2.IngestRequest(header=header)
    return _with_header(first, pieces)


def to_scope(document_ids: Iterable[str] | None) -> question_pb2.Scope | None:
    """None means everything that the caller may read. An empty list is an error: it must not be read as everything."""
    if document_ids is None:
        return None
    listed = [document_ids] if isinstance(document_ids, str) else list(document_ids)
    if not listed:
        raise ValueError("document_ids is empty: leave it out to ask over everything")
    return question_pb2.Scope(documents=question_pb2.DocumentIds(document_ids=listed))


def to_timestamp(moment: AsOf) -> timestamp_pb2.Timestamp | None:
    """A moment on the wire. A date means its first moment in UTC; a time without a zone is refused by ValueError."""
    if moment is None:
        return None
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime.combine(moment, datetime.time(), tzinfo=datetime.UTC)
    if moment.tzinfo is None:
        raise ValueError("a time needs a zone, such as datetime.UTC")
    timestamp = timestamp_pb2.Timestamp()
    timestamp.FromDatetime(moment)
    return timestamp


def _split(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), CHUNK_SIZE_BYTES):
        yield content[start : start + CHUNK_SIZE_BYTES]


def _read(path: Path) -> Iterator[bytes]:
    file = path.open("rb")

    def read() -> Iterator[bytes]:
        with file:
            while piece := file.read(CHUNK_SIZE_BYTES):
                yield piece

    return read()


def _with_header(first: documents_pb2.IngestRequest, pieces: Iterator[bytes]) -> Iterator[documents_pb2.IngestRequest]:
    yield first
    for piece in pieces:
        yield documents_pb2.IngestRequest(chunk=piece)
