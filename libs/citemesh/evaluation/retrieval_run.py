"""Searches a mesh for every query of a judged collection: by each leg, fused, with references followed, reranked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import grpc.aio

from citemesh.auth.principal import Principal, acting_as
from citemesh.evaluation.found_passages import (
    DENSE,
    FUSED,
    KEYWORD,
    RERANKED,
    TWO_HOP,
    WAYS,
    PassagePlaces,
    Searched,
    find_passages,
)
from citemesh.evaluation.judged_collection import JudgedQuery
from citemesh.rpc.calls import call
from citemesh.v1 import (
    activation_pb2,
    evidence_pb2,
    rerank_pb2,
    rerank_pb2_grpc,
    retrieval_pb2,
    retrieval_pb2_grpc,
)

if TYPE_CHECKING:
    # Named in the type stubs alone.
    from citemesh.v1.rerank_pb2_grpc import RerankServiceAsyncStub
    from citemesh.v1.retrieval_pb2_grpc import RetrievalServiceAsyncStub

SEARCHES_AT_ONCE: Final = 4
DEPTH: Final = 100
"""Passages asked of each way to search."""

RERANK_DEPTH: Final = 50
SOURCE_COUNT: Final = 5
"""So many of the first passages have their references followed: they keep their places, what is reached comes next."""

_LEGS: Final = {
    KEYWORD: (activation_pb2.PATTERN_KEYWORD,),
    DENSE: (activation_pb2.PATTERN_DENSE,),
    FUSED: (activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE),
}
_RRF_K: Final = 60
_TIMEOUT_S: Final = 120.0

Passages = Sequence[evidence_pb2.Passage]
OnFound = Callable[[Searched], None]
"""Called with what was found for a query, as soon as it is."""


class CollectionSearch:
    """The calls that one query takes."""

    def __init__(self, channel: grpc.aio.Channel, places: PassagePlaces, ways: Sequence[str] = WAYS) -> None:
        self._retrieval = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        self._reranking = rerank_pb2_grpc.RerankServiceStub(channel)
        self._places = places
        self._ways = ways

    async def search(self, query: JudgedQuery) -> Searched:
        """What each way finds, as the current principal. Raises ServiceError where a search fails."""
        ranked: dict[str, Passages] = {}
        for way, legs in _LEGS.items():
            ranked[way] = await self._retrieve(query.text, legs)
        if TWO_HOP in self._ways:
            ranked[TWO_HOP] = await follow_references(self._retrieval, ranked[FUSED])
        if RERANKED in self._ways:
            ranked[RERANKED] = await rerank(self._reranking, query.text, ranked[FUSED])
        return Searched(query, {way: find_passages(query, ranked[way], self._places) for way in self._ways})

    async def _retrieve(self, text: str, legs: Iterable[activation_pb2.Pattern.ValueType]) -> Passages:
        queries = [retrieval_pb2.LegQuery(leg=leg, text=text) for leg in legs]
        request = retrieval_pb2.RetrieveRequest(queries=queries, max_candidates=DEPTH)
        response = await call(self._retrieval.Retrieve, request, timeout=_TIMEOUT_S)
        return [candidate.passage for candidate in response.candidates]


async def search_all(
    queries: Sequence[JudgedQuery],
    evaluator: Principal,
    searching: CollectionSearch,
    on_found: OnFound,
    *,
    max_seconds: float | None = None,
) -> None:
    """Search for every query, several at a time; no new search begins after `max_seconds`. Raises ServiceError."""
    begun = time.monotonic()
    waiting = iter(queries)

    async def search_waiting() -> None:
        with acting_as(evaluator):
            for query in waiting:
                if max_seconds is not None and time.monotonic() - begun > max_seconds:
                    return
                on_found(await searching.search(query))

    await asyncio.gather(*(search_waiting() for _ in range(SEARCHES_AT_ONCE)))


async def follow_references(retrieval: RetrievalServiceAsyncStub, passages: Passages) -> Passages:
    """The first passages, then the places and documents that they refer to, then the others."""
    sources, rest = passages[:SOURCE_COUNT], passages[SOURCE_COUNT:]
    if not sources:
        return passages
    request = retrieval_pb2.FollowReferencesRequest(from_passage_ids=[source.passage_id for source in sources])
    response = await call(retrieval.FollowReferences, request, timeout=_TIMEOUT_S)
    reached = [candidate.passage for candidate in response.candidates]
    return list({each.passage_id: each for each in (*sources, *reached, *rest)}.values())


async def rerank(reranking: RerankServiceAsyncStub, text: str, passages: Passages) -> Passages:
    """The first passages ordered by the ranks of fusion and of reranking together, as answers order them."""
    first, rest = passages[:RERANK_DEPTH], passages[RERANK_DEPTH:]
    if not first:
        return []
    pairs = [rerank_pb2.PairText(passage_id=each.passage_id, text=_pair_text(each)) for each in first]
    request = rerank_pb2.RerankRequest(queries=[text], passages=pairs)
    response = await call(reranking.Rerank, request, timeout=_TIMEOUT_S)
    ranks = {score.passage_id: rank for rank, score in enumerate(response.scores, 1)}
    weights = {
        each.passage_id: 1 / (_RRF_K + rank) + 1 / (_RRF_K + ranks[each.passage_id])
        for rank, each in enumerate(first, 1)
    }
    return [*sorted(first, key=lambda each: -weights[each.passage_id]), *rest]


def _pair_text(passage: evidence_pb2.Passage) -> str:
    place = " > ".join((passage.title, *passage.section_path))
    return "\n".join(part for part in (place, passage.heading_context, passage.text) if part)
