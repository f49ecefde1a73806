"""Runs a judged collection against a mesh: ingests what is missing, searches by each leg, fused and reranked.

The collection is a tenant of its own, so a second run finds its documents there. As for answers, that needs open auth.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import grpc.aio

from citemesh.auth.principal import Principal, acting_as
from citemesh.evaluation.judged_collection import Collection, CorpusDocument, JudgedQuery
from citemesh.rpc.calls import call, send_stream
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import (
    activation_pb2,
    document_pb2,
    documents_pb2,
    documents_pb2_grpc,
    evidence_pb2,
    rerank_pb2,
    rerank_pb2_grpc,
    retrieval_pb2,
    retrieval_pb2_grpc,
)

if TYPE_CHECKING:
    # Named in the type stubs alone.
    from citemesh.v1.documents_pb2_grpc import DocumentsServiceAsyncStub
    from citemesh.v1.rerank_pb2_grpc import RerankServiceAsyncStub

INGESTS_AT_ONCE: Final = 8
SEARCHES_AT_ONCE: Final = 4
DEPTH: Final = 100
"""Passages asked of each way to search."""

RERANK_DEPTH: Final = 50
KEYWORD, DENSE, FUSED, RERANKED = "keyword", "dense", "fused", "reranked"
WAYS: Final = (KEYWORD, DENSE, FUSED, RERANKED)
_LEGS: Final = {
    KEYWORD: (activation_pb2.PATTERN_KEYWORD,),
    DENSE: (activation_pb2.PATTERN_DENSE,),
    FUSED: (activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE),
}
_RRF_K: Final = 60
_TIMEOUT_S: Final = 120.0
_LIST_PAGE_SIZE: Final = 1_000
_NOT_IN_AN_ID: Final = re.compile(r"[^A-Za-z0-9._:/-]+")
_IS_AN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}")

Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Searched:
    """What the ways found for one query: passages, best first."""

    query: JudgedQuery
    passages: dict[str, list[evidence_pb2.Passage]] = field(default_factory=dict)

    def documents(self, way: str) -> list[str]:
        """Ids of documents in the order of their best passages."""
        return list(dict.fromkeys(passage.document_id for passage in self.passages[way]))


def store_id(document_id: str) -> str:
    """The collection's id as the mesh takes it; one that it would refuse is cleaned and told apart by a digest."""
    if _IS_AN_ID.fullmatch(document_id):
        return document_id
    digest = hashlib.sha256(document_id.encode()).hexdigest()[:8]
    return f"d-{_NOT_IN_AN_ID.sub('-', document_id)[:100]}-{digest}"


async def ingest_collection(collection: Collection, channel: grpc.aio.Channel, on_progress: Progress) -> list[str]:
    """Ingest every document that the mesh does not hold yet. Returns what could not be ingested, and why."""
    documents = documents_pb2_grpc.DocumentsServiceStub(channel)
    with acting_as(_principal(collection)):
        known = await _list_known(documents)
    missing = [each for each in collection.documents if store_id(each.document_id) not in known]
    problems: list[str] = []
    waiting = iter(missing)
    done = 0

    async def ingest_waiting() -> None:
        nonlocal done
        with acting_as(_principal(collection)):
            for document in waiting:
                try:
                    await send_stream(documents.Ingest, _read_parts(document), timeout=_TIMEOUT_S)
                except ServiceError as error:
                    problems.append(f"{document.document_id}: {error.message}")
                done += 1
                on_progress("ingest", done, len(missing))

    await asyncio.gather(*(ingest_waiting() for _ in range(INGESTS_AT_ONCE)))
    return problems


async def search_all(
    collection: Collection,
    queries: Sequence[JudgedQuery],
    channel: grpc.aio.Channel,
    on_progress: Progress,
    *,
    rerank: bool = True,
) -> list[Searched]:
    """Search for every query in every way, with or without reranking; in the order of the queries.

    Raises ServiceError where a search fails.
    """
    retrieval = retrieval_pb2_grpc.RetrievalServiceStub(channel)
    reranking = rerank_pb2_grpc.RerankServiceStub(channel)
    limit = asyncio.Semaphore(SEARCHES_AT_ONCE)
    done = 0

    async def search_one(query: JudgedQuery) -> Searched:
        nonlocal done
        found = Searched(query)
        async with limit:
            with acting_as(_principal(collection)):
                for way, legs in _LEGS.items():
                    request = retrieval_pb2.RetrieveRequest(
                        queries=[retrieval_pb2.LegQuery(leg=leg, text=query.text) for leg in legs],
                        max_candidates=DEPTH,
                    )
                    response = await call(retrieval.Retrieve, request, timeout=_TIMEOUT_S)
                    found.passages[way] = [candidate.passage for candidate in response.candidates]
                if rerank:
                    found.passages[RERANKED] = await _rerank(reranking, query.text, found.passages[FUSED])
        done += 1
        on_progress("search", done, len(queries))
        return found

    return await asyncio.gather(*map(search_one, queries))


async def _rerank(
    reranking: RerankServiceAsyncStub, text: str, passages: list[evidence_pb2.Passage]
) -> list[evidence_pb2.Passage]:
    """The first passages ordered by the ranks of fusion and of reranking together, as answers order them."""
    first, rest = passages[:RERANK_DEPTH], passages[RERANK_DEPTH:]
    if not first:
        return []
    pairs = [rerank_pb2.PairText(passage_id=each.passage_id, text=_pair_text(each)) for each in first]
    response = await call(
        reranking.Rerank, rerank_pb2.RerankRequest(queries=[text], passages=pairs), timeout=_TIMEOUT_S
    )
    ranks = {score.passage_id: rank for rank, score in enumerate(response.scores, 1)}
    weights = {
        each.passage_id: 1 / (_RRF_K + rank) + 1 / (_RRF_K + ranks[each.passage_id])
        for rank, each in enumerate(first, 1)
    }
    return sorted(first, key=lambda each: -weights[each.passage_id]) + rest


def _pair_text(passage: evidence_pb2.Passage) -> str:
    place = " > ".join((passage.title, *passage.section_path))
    return "\n".join(part for part in (place, passage.heading_context, passage.text) if part)


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


def _principal(collection: Collection) -> Principal:
    name = re.sub(r"[^a-z0-9]+", "-", collection.name.lower()).strip("-")
    return Principal(f"retrieval-{name}", "evaluator", frozenset())


def find_spans(text: str, passages: Iterable[evidence_pb2.Passage]) -> list[tuple[int, int]]:
    """Where passages stand in the text they were made from, white space and markup between words aside."""
    letters = [position for position, character in enumerate(text) if not character.isspace()]
    squeezed = "".join(text[position] for position in letters)
    spans = []
    for passage in passages:
        wanted = "".join(passage.text.split())
        start = squeezed.find(wanted) if wanted else -1
        if start >= 0:
            spans.append((letters[start], letters[start + len(wanted) - 1] + 1))
    return spans
