"""Word lists written as text, which stays readable at the length that such lists have."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of `text`, which are divided by white space."""
    return frozenset(text.split())


def word_list(text: str) -> list[str]:
    """The words of `text` in their order."""
    return text.split()
