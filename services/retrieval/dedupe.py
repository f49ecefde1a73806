"""Merging passages that say the same; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from citemesh.v1.evidence_pb2 import Passage

# Of 64 bits; unrelated texts differ in about 32.
_MAX_BIT_DIFFERENCE = 3
# A simhash of few words says little.
_MIN_WORD_COUNT = 12

_WORD = re.compile(r"\w+(?:[.,:/'’-]\w+)*")

# Words whose coming and going changes no fact; negations, numbers and names are none of them.
_FILLERS = frozenset(
    ("a", "an", "the", "that", "this", "these", "those", "and", "also", "such", "then", "thus", "please")
)


def keep_distinct(passages: Sequence[Passage]) -> list[Passage]:
    """`passages` without those that repeat an earlier one, word for word or nearly so.

    Nearly so means that nothing but case, punctuation and filler words differs: texts that differ in a number, a name
    or a negation may contradict each other, however many bits of their simhash agree.
    """
    kept: list[Passage] = []
    hashes: set[str] = set()
    by_block: dict[tuple[int, int], list[Passage]] = {}
    for passage in passages:
        if passage.content_hash and passage.content_hash in hashes:
            continue
        blocks = list(_blocks(passage.simhash)) if passage.simhash else []
        if any(_repeats(passage, earlier) for block in blocks for earlier in by_block.get(block, ())):
            continue
        for block in blocks:
            by_block.setdefault(block, []).append(passage)
        hashes.add(passage.content_hash)
        kept.append(passage)
    return kept


def _blocks(simhash: int) -> Iterator[tuple[int, int]]:
    """Four parts of 16 bits: hashes that differ in three bits at most have one of them in common."""
    for place in range(4):
        yield place, simhash >> (16 * place) & 0xFFFF


def _repeats(passage: Passage, earlier: Passage) -> bool:
    if (passage.simhash ^ earlier.simhash).bit_count() > _MAX_BIT_DIFFERENCE:
        return False
    words = _content_words(passage)
    return len(words) >= _MIN_WORD_COUNT and words == _content_words(earlier)


def _content_words(passage: Passage) -> tuple[str, ...]:
    words = (match.casefold() for match in _WORD.findall(passage.text))
    return tuple(word for word in words if word not in _FILLERS)
