"""Where sentences end, without a model: marks, capitals, and the abbreviations that mislead."""

from __future__ import annotations

import re

_END = re.compile(r"(?:[.!?…][\"'”’»)\]*_`]*|[。！？])(?=\s+|$)|\n(?=\n)|[。！？]")
_ABBREVIATIONS = frozenset({
    "al", "approx", "art", "bzw", "ca", "cf", "chap", "co", "corp", "dept", "dr", "ed", "eds", "e.g", "eq",
    "eqs", "est", "et", "etc", "fig", "figs", "i.e", "inc", "jr", "lt", "ltd", "max", "min", "mr", "mrs",
    "ms", "no", "nos", "op", "par", "p", "pp", "prof", "ref", "refs", "resp", "rev", "sec", "sect", "sr",
    "st", "tab", "tel", "u.s", "u.k", "u.s.c", "viz", "vol", "vs", "z.b", "d.h", "u.a",
})  # fmt: skip
_INITIAL = re.compile(r"(?:^|[\s(.])[A-Z]$")
_LIST_NUMBER = re.compile(r"(?:^|\n)\s*\(?[0-9A-Za-z]{1,3}$")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Spans [start, end) of sentences in order, white space at the ends left out; together they hold all the text."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if match.group().startswith(".") and not _ends_sentence(text, match.start(), end):
            continue
        _append(spans, text, start, end)
        start = end
    _append(spans, text, start, len(text))
    return spans


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        first = start + piece.index(stripped[0])
        spans.append((first, first + len(stripped)))


def _ends_sentence(text: str, dot: int, end: int) -> bool:
    """Whether a full stop ends a sentence: not after an abbreviation or an initial, nor before a small letter."""
    following = text[end:].lstrip()[:1]
    if following and (following.islower() or following in ",;:"):
        return False
    before = text[max(0, dot - 24) : dot]
    word = re.split(r"[\s([{\"'“*_]", before)[-1].casefold()
    if word in _ABBREVIATIONS and following:
        return False
    return not (following and (_INITIAL.search(before) or _LIST_NUMBER.search(before)))
