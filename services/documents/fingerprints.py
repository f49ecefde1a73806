"""A fingerprint of text that near duplicates share most bits of."""

from __future__ import annotations

import hashlib
import itertools
import re

_WORD = re.compile(r"\w+")


def simhash(text: str) -> int:
    """64-bit simhash (Charikar 2002) over the text's words and word pairs; 0 for a text without words.

    Texts that differ in a few words differ in a few bits; unrelated ones in about 32.
    """
    words = _WORD.findall(text.casefold())
    if not words:
        return 0
    features = [*words, *(f"{first} {second}" for first, second in itertools.pairwise(words))]
    counts = [0] * 64
    for feature in features:
        digest = int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        for bit in range(64):
            counts[bit] += 1 if digest >> bit & 1 else -1
    return sum(1 << bit for bit, count in enumerate(counts) if count > 0)
