"""Hashes of texts."""

from __future__ import annotations

import hashlib

from citemesh.text.hashes import digest_texts, hash_text


def test_the_hash_is_sha256_of_utf_8() -> None:
    assert hash_text("Größe") == hashlib.sha256("Größe".encode()).hexdigest()
    assert len(hash_text("\ud800")) == 64


def test_digests_tell_apart_where_one_text_ends() -> None:
    assert digest_texts("a", "bc") != digest_texts("ab", "c") != digest_texts("abc")
    assert digest_texts("a", "bc") == digest_texts("a", "bc")
