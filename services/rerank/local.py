"""The backend that scores pairs in this process by a cross-encoder: one run of its graph for each pair."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

from citemesh.models.pair_scorer import PairScorer
from citemesh.models.runtime import count_usable_cores
from citemesh.models.scorer_card import ScorerCard
from citemesh.models.tokenizer import TokenizedText
from services.rerank.backend import Pair, tokenize_pairs
from services.rerank.queue import ScoringQueue
from services.rerank.settings import RerankSettings


class LocalBackend:
    """A PairBackend over onnxruntime."""

    branch = "onnxruntime"

    def __init__(self, scorer: PairScorer, settings: RerankSettings, on_length: Callable[[int], None]) -> None:
        self.card: ScorerCard = scorer.card
        self._scorer = scorer
        self._queue = ScoringQueue(
            self._score_batch,
            worker_count=settings.worker_count or count_usable_cores(),
            batch_size=settings.batch_size,
            max_queued_pair_count=settings.max_queued_pair_count,
            on_length=on_length,
        )

    async def score(self, pairs: Sequence[Pair], deadline: float | None) -> list[float]:
        """As in PairBackend."""
        tokenized = await asyncio.to_thread(tokenize_pairs, self._scorer.tokenizer, pairs)
        return await self._queue.run(tokenized, deadline)

    async def check(self) -> str | None:
        """Always able: the model is in memory."""
        return None

    async def close(self) -> None:
        """End the workers."""
        await self._queue.close()

    def _score_batch(self, pairs: Sequence[TokenizedText]) -> list[float]:
        logits: list[float] = self._scorer.score_batch(pairs).tolist()
        if not all(map(math.isfinite, logits)):
            raise ArithmeticError("a logit is not finite")
        return logits
