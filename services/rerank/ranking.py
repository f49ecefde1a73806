"""Rank passages by their best logit over the queries, with calibrated relevance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citemesh.v1 import rerank_pb2
from services.rerank.backend import Pair, PairBackend
from services.rerank.calibration import Calibration
from services.rerank.logit_cache import LogitCache


@dataclass(frozen=True)
class Ranking:
    """Scores best first, and how many pairs the model scored for them."""

    scores: list[rerank_pb2.PairScore]
    scored_pair_count: int


class Ranker:
    """Scores through a backend, remembering logits."""

    def __init__(self, backend: PairBackend, calibration: Calibration, cache: LogitCache) -> None:
        self.backend = backend
        self.calibration = calibration
        self._cache = cache

    async def rank(
        self, queries: Sequence[str], passages: Sequence[rerank_pb2.PairText], deadline: float | None
    ) -> Ranking:
        """Score every passage against every query; the best logit counts, ties keep the order given.

        `deadline` is in monotonic seconds. Raises ServiceError as PairBackend.score does, and CALIBRATION_MISMATCH.
        """
        mismatch = self.calibration.find_mismatch(self.backend.card)
        if mismatch is not None:
            raise mismatch
        asked = list(dict.fromkeys(queries))
        pairs = [(query, passage.text) for passage in passages for query in asked]
        logits, scored_pair_count = await self._score(pairs, deadline)
        best = [max(logits[query, passage.text] for query in asked) for passage in passages]
        order = sorted(range(len(passages)), key=lambda index: -best[index])
        scores = [
            rerank_pb2.PairScore(
                passage_id=passages[index].passage_id,
                rerank_score=best[index],
                relevance=self.calibration.relevance(best[index]),
            )
            for index in order
        ]
        return Ranking(scores, scored_pair_count)

    async def _score(self, pairs: Sequence[Pair], deadline: float | None) -> tuple[dict[Pair, float], int]:
        """The logit of each pair, and how many of them were not remembered."""
        logits: dict[Pair, float] = {}
        missing: dict[Pair, None] = {}
        for pair in pairs:
            known = self._cache.get(pair)
            if known is None:
                missing[pair] = None
            else:
                logits[pair] = known
        for pair, logit in zip(missing, await self._score_missing(list(missing), deadline), strict=True):
            logits[pair] = logit
            self._cache.put(pair, logit)
        return logits, len(missing)

    async def _score_missing(self, pairs: list[Pair], deadline: float | None) -> list[float]:
        return await self.backend.score(pairs, deadline) if pairs else []
