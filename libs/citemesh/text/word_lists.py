"""Word lists written as text, which stays readable at the length that such lists have."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of `text`, which are divided by white space."""
    return frozenset(text.split())
