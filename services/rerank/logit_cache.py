"""Logits of pairs already scored: the passes of one answer ask for many of the same pairs again."""

from __future__ import annotations

from citemesh.caches.recently_used import RecentlyUsed
from citemesh.text.hashes import digest_texts
from services.rerank.backend import Pair


class LogitCache:
    """A bounded map from pairs to logits, oldest use out first. Holds digests, never texts.

    A logit is a function of the two sides alone, both of which the caller must hold to ask, so entries may be shared
    among tenants. One cache serves one model.
    """

    def __init__(self, max_entry_count: int) -> None:
        self._logits: RecentlyUsed[bytes, float] = RecentlyUsed(max_entry_count)

    def get(self, pair: Pair) -> float | None:
        """The logit of a pair, where it is known."""
        return self._logits.get(digest_texts(*pair))

    def put(self, pair: Pair, logit: float) -> None:
        """Keep what was scored."""
        self._logits.put(digest_texts(*pair), logit)
