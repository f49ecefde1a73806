"""The backend of the default scorer: each text is encoded once, and pairs are compared by their tokens' vectors.

In late interaction (ColBERT: Khattab and Zaharia, SIGIR 2020) question and passage do not attend to each other, so a
passage's vectors serve every question. The pair scorer's graph computes the same for one pair at a time, with a
cross-encoder's signature; here a passage that comes again, for another part of the question or for another question,
costs next to nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from citemesh.caches.recently_used import RecentlyUsed
from citemesh.models.encoder import Encoder
from citemesh.models.runtime import count_usable_cores
from citemesh.models.scorer_card import ScorerCard
from citemesh.models.tokenizer import MAX_PAIR_QUESTION_TOKEN_COUNT, TokenizedText
from citemesh.text.hashes import digest_texts
from services.rerank.backend import Pair
from services.rerank.queue import ScoringQueue
from services.rerank.settings import RerankSettings

TokenVectors = npt.NDArray[np.float16]
"""[tokens, dimensions], rows of length 1. Half precision: the model itself is int8."""


class LateInteractionBackend:
    """A PairBackend over the encoder of the default scorer."""

    branch = "onnxruntime"

    def __init__(
        self, card: ScorerCard, encoder: Encoder, settings: RerankSettings, on_length: Callable[[int], None]
    ) -> None:
        self.card = card
        self._encoder = encoder
        self._cache = VectorCache(settings.cached_token_count)
        self._queue = ScoringQueue(
            self._encode_batch,
            worker_count=settings.worker_count or count_usable_cores(),
            batch_size=1,
            max_queued_pair_count=settings.max_queued_pair_count,
            on_length=on_length,
        )

    async def score(self, pairs: Sequence[Pair], deadline: float | None) -> list[float]:
        """As in PairBackend. A logit is the mean, over the question's tokens, of the closest passage token's cosine."""
        vectors = await self._read_vectors((text for pair in pairs for text in pair), deadline)
        return await asyncio.to_thread(_compare, pairs, vectors)

    async def check(self) -> str | None:
        """Always able: the model is in memory."""
        return None

    async def close(self) -> None:
        """End the workers."""
        await self._queue.close()

    async def _read_vectors(self, texts: Iterable[str], deadline: float | None) -> dict[str, TokenVectors]:
        """The vectors of each text: remembered, or encoded now."""
        vectors: dict[str, TokenVectors] = {}
        missing: list[str] = []
        for text in dict.fromkeys(texts):
            known = self._cache.get(text)
            if known is None:
                missing.append(text)
            else:
                vectors[text] = known
        tokenized = await asyncio.to_thread(self._encoder.tokenizer.tokenize, missing) if missing else []
        for text, encoded in zip(missing, await self._queue.run(tokenized, deadline), strict=True):
            vectors[text] = encoded
            self._cache.put(text, encoded)
        return vectors

    def _encode_batch(self, texts: Sequence[TokenizedText]) -> list[TokenVectors]:
        return [self._encoder.run_tokens(text).astype(np.float16) for text in texts]


class VectorCache:
    """A map from texts to token vectors, bounded by their tokens, oldest use out first. Holds digests, never texts.

    Vectors are a function of the text alone, which the caller must hold to ask, so entries may be shared among tenants.
    """

    def __init__(self, max_token_count: int) -> None:
        self._vectors: RecentlyUsed[bytes, TokenVectors] = RecentlyUsed(max_token_count, weigh=len)

    def get(self, text: str) -> TokenVectors | None:
        """The vectors of a text, where they are known."""
        return self._vectors.get(digest_texts(text))

    def put(self, text: str, vectors: TokenVectors) -> None:
        """Keep what was encoded."""
        self._vectors.put(digest_texts(text), vectors)


def _compare(pairs: Sequence[Pair], vectors: Mapping[str, TokenVectors]) -> list[float]:
    single = {text: part.astype(np.float32) for text, part in vectors.items()}
    return [_compare_tokens(single[question], single[passage]) for question, passage in pairs]


def _compare_tokens(question: npt.NDArray[np.float32], passage: npt.NDArray[np.float32]) -> float:
    """Mean over question tokens of the best cosine; -1, the least there is, where one side has no token."""
    if not len(question) or not len(passage):
        return -1.0
    asked = question[:MAX_PAIR_QUESTION_TOKEN_COUNT]
    return float((asked @ passage.T).max(axis=1).mean())
