"""Rank passages by their best logit over the queries, with calibrated relevance."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from citemesh.v1 import rerank_pb2
from services.rerank.backend import PairBackend
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
        texts = [passage.text for passage in passages]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._score(query, texts, deadline)) for query in dict.fromkeys(queries)]
        results = [task.result() for task in tasks]
        best = [max(logits) for logits in zip(*(logits for logits, _ in results), strict=True)]
        order = sorted(range(len(passages)), key=lambda index: -best[index])
        scores = [
            rerank_pb2.PairScore(
                passage_id=passages[index].passage_id,
                rerank_score=best[index],
                relevance=self.calibration.relevance(best[index]),
            )
            for index in order
        ]
        return Ranking(scores, sum(scored_count for _, scored_count in results))

    async def _score(self, query: str, texts: list[str], deadline: float | None) -> tuple[list[float], int]:
        """Logits of one query's pairs, and how many of them were not remembered."""
        known = self._cache.get_each(query, texts)
        missing = list(dict.fromkeys(text for text, logit in zip(texts, known, strict=True) if logit is None))
        scored = await self.backend.score(query, missing, deadline) if missing else []
        self._cache.put_each(query, missing, scored)
        fresh = dict(zip(missing, scored, strict=True))
        return [fresh[text] if logit is None else logit for text, logit in zip(texts, known, strict=True)], len(missing)
