"""The hash by which a text is known: of passages, evidence and what cites them."""

from __future__ import annotations

import hashlib


def hash_text(text: str) -> str:
    """sha256 of `text` in UTF-8, lower-case hex. Lone surrogates, which no message can carry, are hashed too."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def digest_texts(*texts: str) -> bytes:
    """16 bytes that stand for these texts in this order, for the keys of caches that must not hold the texts."""
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        # The length keeps ("a", "bc") and ("ab", "c") apart.
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.digest()
