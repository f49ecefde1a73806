"""Runs the legs of a request side by side; each may fail, or be too late, alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog

from citemesh.caches.recently_used import RecentlyUsed
from citemesh.rpc.errors import ServiceError, reason_name
from citemesh.store.contract import Hit, VersionFilter
from citemesh.v1 import errors_pb2
from citemesh.v1.activation_pb2 import Pattern
from citemesh.v1.retrieval_pb2 import LegQuery
from services.retrieval.legs.leg import Leg
from services.retrieval.measures import RANKINGS, Measures

_log = structlog.get_logger(__name__)

# Leg, text, VersionFilter.key (tenant, permissions, scope, time and state of the documents), encoder, number of hits.
_RankingKey: TypeAlias = tuple[int, str, str, bytes, int]


@dataclass
class LegOutcome:
    """What one leg brought: a ranking for each of its queries, or the reason why it failed."""

    pattern: Pattern.ValueType
    rankings: list[tuple[str, Sequence[Hit]]] = field(default_factory=list)
    duration_s: float = 0.0
    error_reason: str = ""
    cached: bool = False


class LegRunner:
    """Runs legs on threads of its own, and keeps rankings that cannot have changed."""

    def __init__(
        self,
        legs: Mapping[Pattern.ValueType, Leg],
        thread_count: int,
        cached_ranking_count: int,
        measures: Measures,
        index_encoder: Callable[[], bytes] = bytes,
    ) -> None:
        """`index_encoder` tells, at no cost, which encoder's vectors the index holds, for it may be given others."""
        self._legs = legs
        self._measures = measures
        self._index_encoder = index_encoder
        self._threads = ThreadPoolExecutor(thread_count, thread_name_prefix="leg")
        self._rankings: RecentlyUsed[_RankingKey, tuple[Hit, ...]] = RecentlyUsed(cached_ranking_count)

    async def run(
        self, queries: Sequence[LegQuery], versions: VersionFilter, hit_count: int, timeout_s: float | None
    ) -> list[LegOutcome]:
        """One outcome for each leg that `queries` name, in the order of first mention, within `timeout_s` seconds."""
        texts: dict[Pattern.ValueType, list[str]] = {}
        for query in queries:
            asked = texts.setdefault(query.leg, [])
            if query.text not in asked:
                asked.append(query.text)
        loop = asyncio.get_running_loop()
        started = time.monotonic()
        tasks = {
            pattern: loop.run_in_executor(self._threads, self._run_leg, pattern, asked, versions, hit_count)
            for pattern, asked in texts.items()
        }
        try:
            if tasks:
                await asyncio.wait(tasks.values(), timeout=timeout_s)
        finally:
            # Also where the caller left: what is queued never starts; what runs ends by itself, its result is dropped.
            for task in tasks.values():
                task.cancel()
        outcomes = []
        for pattern, task in tasks.items():
            if not task.cancelled():
                outcomes.append(task.result())
            else:
                late = reason_name(errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED)
                outcomes.append(LegOutcome(pattern, duration_s=time.monotonic() - started, error_reason=late))
        for outcome in outcomes:
            self._count(outcome)
        return outcomes

    def close(self) -> None:
        """Wait for the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _count(self, outcome: LegOutcome) -> None:
        if outcome.error_reason:
            self._measures.count_failed_leg(outcome.pattern, outcome.duration_s)
            return
        found = {hit.passage_key for _, hits in outcome.rankings for hit in hits}
        self._measures.count_leg(outcome.pattern, outcome.duration_s, len(found))

    def _run_leg(
        self, pattern: Pattern.ValueType, texts: Sequence[str], versions: VersionFilter, hit_count: int
    ) -> LegOutcome:
        outcome = LegOutcome(pattern)
        started = time.monotonic()
        try:
            found = [self._search(pattern, text, versions, hit_count) for text in texts]
            outcome.rankings = [(text, hits) for text, (hits, _) in zip(texts, found, strict=True)]
            outcome.cached = all(cached for _, cached in found)
        except ServiceError as error:
            outcome.error_reason = reason_name(error.reason)
        except Exception:  # noqa: BLE001  # a fault in one leg must not take the others' results with it
            _log.exception("retrieval.leg_failed", leg=Pattern.Name(pattern))
            outcome.error_reason = reason_name(errors_pb2.ERROR_REASON_INTERNAL)
        outcome.duration_s = time.monotonic() - started
        return outcome

    def _search(
        self, pattern: Pattern.ValueType, text: str, versions: VersionFilter, hit_count: int
    ) -> tuple[Sequence[Hit], bool]:
        key = (int(pattern), text, versions.key, self._index_encoder(), hit_count)
        known = self._rankings.get(key)
        self._measures.count_look_up(RANKINGS, hit=known is not None)
        if known is not None:
            return known, True
        hits = tuple(self._legs[pattern].search(text, versions, hit_count))
        self._rankings.put(key, hits)
        return hits, False
