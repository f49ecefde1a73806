"""Logits of pairs already scored: the passes of one answer ask for many of the same pairs again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence


class LogitCache:
    """A bounded map from (question, text) to a logit, oldest use out first. Holds digests, never texts.

    A logit is a function of the two texts alone, both of which the caller must hold to ask, so entries may be shared
    among tenants. One cache serves one model.
    """

    def __init__(self, max_entry_count: int) -> None:
        self._max_entry_count = max_entry_count
        self._logits: OrderedDict[bytes, float] = OrderedDict()

    def get_each(self, question: str, texts: Sequence[str]) -> list[float | None]:
        """The logit of each pair that is known, in the order of `texts`."""
        found: list[float | None] = []
        for text in texts:
            key = _digest(question, text)
            logit = self._logits.get(key)
            if logit is not None:
                self._logits.move_to_end(key)
            found.append(logit)
        return found

    def put_each(self, question: str, texts: Sequence[str], logits: Sequence[float]) -> None:
        """Keep what was scored."""
        for text, logit in zip(texts, logits, strict=True):
            self._logits[_digest(question, text)] = logit
        while len(self._logits) > self._max_entry_count:
            self._logits.popitem(last=False)


def _digest(question: str, text: str) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    encoded = question.encode("utf-8", "surrogatepass")
    digest.update(len(encoded).to_bytes(8, "big") + encoded + text.encode("utf-8", "surrogatepass"))
    return digest.digest()
