"""Brings a judged collection into a mesh: a tenant of its own, so that a second run finds its documents there.

The tenant is known by what the documents hold, so that two collections of one name never meet. As for answers, this
needs open auth.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Final

import grpc.aio

from citemesh.auth.principal import Principal, acting_as
from citemesh.evaluation.judged_collection import CorpusDocument
from citemesh.rpc.calls import call, send_stream
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import document_pb2, documents_pb2, documents_pb2_grpc

if TYPE_CHECKING:
    # Named in the type stubs alone.
    from citemesh.v1.documents_pb2_grpc import DocumentsServiceAsyncStub

INGESTS_AT_ONCE: Final = 8
_TIMEOUT_S: Final = 120.0
_LIST_PAGE_SIZE: Final = 1_000
_NOT_IN_AN_ID: Final = re.compile(r"[^A-Za-z0-9._:/-]+")
_IS_AN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}")

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def make_evaluator(digest: str) -> Principal:
    """Who ingests and searches a collection, by the digest of its documents."""
    return Principal(f"retrieval-{digest}", "evaluator", frozenset())


def store_id(document_id: str) -> str:
    """The collection's id as the mesh takes it; one that it would refuse is cleaned and told apart by a digest."""
    if _IS_AN_ID.fullmatch(document_id):
        return document_id
    digest = hashlib.sha256(document_id.encode()).hexdigest()[:8]
    return f"d-{_NOT_IN_AN_ID.sub('-', document_id)[:100]}-{digest}"


async def ingest_collection(
    corpus: Sequence[CorpusDocument], evaluator: Principal, channel: grpc.aio.Channel, on_progress: Progress
) -> list[str]:
    """Ingest every document that the mesh does not hold yet. Returns what could not be ingested, and why."""
    documents = documents_pb2_grpc.DocumentsServiceStub(channel)
    with acting_as(evaluator):
        known = await _list_known(documents)
    missing = [each for each in corpus if store_id(each.document_id) not in known]
    problems: list[str] = []
    waiting = iter(missing)
    done = 0

    async def ingest_waiting() -> None:
        nonlocal done
        with acting_as(evaluator):
            for document in waiting:
                try:
                    await send_stream(documents.Ingest, _read_parts(document), timeout=_TIMEOUT_S)
                except ServiceError as error:
                    problems.append(f"{document.document_id}: {error.message}")
                done += 1
                on_progress("ingest", done, len(missing))

    await asyncio.gather(*(ingest_waiting() for _ in range(INGESTS_AT_ONCE)))
    return problems


async def _list_known(documents: DocumentsServiceAsyncStub) -> set[str]:
    known: set[str] = set()
    token = ""
    while True:
        request = documents_pb2.ListRequest(page_size=_LIST_PAGE_SIZE, page_token=token)
        response = await call(documents.List, request, timeout=_TIMEOUT_S)
        known.update(document.document_id for document in response.documents)
        token = response.next_page_token
        if not token:
            return known


async def _read_parts(document: CorpusDocument) -> AsyncIterator[documents_pb2.IngestRequest]:
    header = documents_pb2.IngestHeader(
        document_id=store_id(document.document_id),
        file_name="document.txt",
        title=document.title,
        access=document_pb2.AccessPolicy(everyone=document_pb2.Everyone()),
    )
    yield documents_pb2.IngestRequest(header=header)
    # A document of a title alone is searched by its title.
    yield documents_pb2.IngestRequest(chunk=(document.text.strip() or document.title or "-").encode())
