"""Words divided at a line's end: joined again, with the hyphen where it belongs to the word."""

from __future__ import annotations

import re
from collections.abc import Iterable

from services.documents.parsing.blocks import Block

DIVIDED = "\N{SOFT HYPHEN}"
"""Ends a line whose last word goes on in the next line of its block."""

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def join_divided_words(blocks: Iterable[Block]) -> None:
    """Replaces each mark of division by nothing or by a hyphen, as the document itself spells the word elsewhere."""
    blocks = list(blocks)
    known = _vocabulary(blocks)
    for block in blocks:
        for number, line in enumerate(block.lines):
            if not line.text.endswith(DIVIDED):
                continue
            stem = line.text[: -len(DIVIDED)]
            following = block.lines[number + 1] if number + 1 < len(block.lines) else None
            if following is None or following.glue:
                line.text = f"{stem}-"
                continue
            line.text = stem if _is_one_word(stem, following.text, known) else f"{stem}-"


def _vocabulary(blocks: Iterable[Block]) -> set[str]:
    known: set[str] = set()
    for block in blocks:
        for line in block.lines:
            words = _WORD.findall(line.text.casefold())
            if line.text.endswith(DIVIDED):
                words = words[:-1]
            if words and not line.glue:
                words = words[1:]
            known.update(words)
    return known


def _is_one_word(before: str, after: str, known: set[str]) -> bool:
    """Whether the hyphen only marks the division. A capital or a figure after it means a compound."""
    left = re.search(r"[^\W\d_-]+(?:-[^\W\d_-]+)*$", before)
    right = re.match(r"[^\W\d_]+", after)
    if left is None or right is None or not right.group()[0].islower():
        return False
    first, second = left.group().casefold(), right.group().casefold()
    if f"{first}-{second}" in known:
        return False
    if first + second in known:
        return True
    last = first.rpartition("-")[2]
    # Two words of the document with a hyphen between are a compound; two halves of a word seldom both are words.
    return not (len(last) > 3 and len(second) > 3 and last in known and second in known)
