"""A fingerprint of text that near duplicates share most bits of."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter

import numpy as np

_WORD = re.compile(r"\w+")


def simhash(text: str) -> int:
    """64-bit simhash (Charikar 2002) over the text's words and word pairs; 0 for a text without words.

    Texts that differ in a few words differ in a few bits; unrelated ones in about 32.
    """
    words = _WORD.findall(text.casefold())
    if not words:
        return 0
    features = Counter([*words, *(f"{first} {second}" for first, second in itertools.pairwise(words))])
    digests = b"".join(
        hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest() for feature in features
    )
    # A row for each feature, of its bits as they stand in the number, highest first.
    bits = np.unpackbits(np.frombuffer(digests, dtype=np.uint8)).reshape(-1, 64).astype(np.int64)
    weights = np.fromiter(features.values(), dtype=np.int64, count=len(features))
    counts = weights @ (2 * bits - 1)
    return int.from_bytes(np.packbits(counts > 0).tobytes())
