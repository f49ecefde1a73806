"""Logits of pairs already scored: the passes of one answer ask for many of the same pairs again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from services.rerank.backend import Pair


class LogitCache:
    """A bounded map from pairs to logits, oldest use out first. Holds digests, never texts.

    A logit is a function of the two sides alone, both of which the caller must hold to ask, so entries may be shared
    among tenants. One cache serves one model.
    """

    def __init__(self, max_entry_count: int) -> None:
        self._max_entry_count = max_entry_count
        self._logits: OrderedDict[bytes, float] = OrderedDict()

    def get(self, pair: Pair) -> float | None:
        """The logit of a pair, where it is known."""
        key = _digest(pair)
        logit = self._logits.get(key)
        if logit is not None:
            self._logits.move_to_end(key)
        return logit

    def put(self, pair: Pair, logit: float) -> None:
        """Keep what was scored."""
        self._logits[_digest(pair)] = logit
        if len(self._logits) > self._max_entry_count:
            self._logits.popitem(last=False)


def _digest(pair: Pair) -> bytes:
    question, text = (side.encode("utf-8", "surrogatepass") for side in pair)
    # The length keeps ("a", "bc") and ("ab", "c") apart.
    return hashlib.blake2b(len(question).to_bytes(8, "big") + question + text, digest_size=16).digest()
