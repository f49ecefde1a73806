"""Where sentences begin and end, by offsets into the text they stand in."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

Span = tuple[int, int]
"""First character and one past the last, in code points."""

LINES: Final = re.compile(r"\n")
"""For `split_sentences`: every line ends a sentence, as in questions and lists."""
PARAGRAPHS: Final = re.compile(r"\n[^\S\n]*\n")
"""For `split_sentences`: a blank line ends a sentence, as in wrapped prose."""

_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_`]*+(?=\s)|[。！？]++[”’」』）]*+|[؟۔](?=\s)")
# A code span ends at a run of as many grave accents as opened it.
_PROTECTED = re.compile(
    r"(?<!`)(`++).+?(?<!`)\1(?!`)|https?://[^\s)>\]]+|\[[^\]\n]{0,300}\]\([^)\n]{0,500}\)", re.DOTALL
)
_ABBREVIATED = (
    "e.g i.e cf vs etc al approx fig figs eq eqs sec secs ch no nos vol vols pp p art para ref refs tab resp ca est "
    "mr mrs ms dr prof st jr sr inc ltd co corp dept gen gov rep sen jan feb mar apr jun jul aug sep sept oct nov "
    "dec mon tue wed thu fri sat sun u.s u.k u.n e.u a.m p.m z.b d.h bzw u.a usw ggf abs nr bspw evtl inkl zzgl vgl "
    "m mme mlle max min tel ext incl excl std def"
)
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
# Abbreviations that also end sentences: the next word's first letter decides.
_OFTEN_LAST_WORDS = "etc usw inc ltd co corp a.m p.m u.s u.k e.u jr sr no"
_OFTEN_LAST = frozenset(_OFTEN_LAST_WORDS.split())
_WORD_BEFORE = re.compile(r"([^\W\d_](?:[^\W\d_]|\.(?=[^\W\d_])){0,20})\.$")
_READ_BEFORE = 24  # characters before a full stop; no abbreviation, initial or enumerator is as long
_NEXT = re.compile(r"\s*[\"'“‘«(\[*_`]*(.)", re.DOTALL)
_INITIAL = re.compile(r"(?:^|[\s(])[A-Z]\.$")
_ENUMERATOR = re.compile(r"^\s*\(?(?:\d{1,3}|[a-zA-Z]|[ivxlc]{1,5})\.$")


def split_sentences(
    text: str,
    start: int = 0,
    end: int | None = None,
    *,
    breaks: re.Pattern[str] | None = None,
    is_typed: bool = False,
) -> list[Span]:
    """Spans of the sentences of text[start:end], in order, white space around them left out.

    Full stops in abbreviations, numbers, initials, addresses, links and code spans do not end a sentence. `breaks`
    (LINES or PARAGRAPHS) end one as well. `is_typed`: a sentence may begin with a small letter, as people type.
    """
    end = len(text) if end is None else end
    spans: list[Span] = []
    for piece_start, piece_end in _split_at(text, start, end, breaks):
        _append_sentences(spans, text, piece_start, piece_end, is_typed=is_typed)
    return spans


def cut_sentences(text: str, *, is_typed: bool = False) -> list[str]:
    """The sentences and lines of `text` themselves, without blank ones."""
    return [text[start:end] for start, end in split_sentences(text, breaks=LINES, is_typed=is_typed)]


def trim(text: str, start: int, end: int) -> Span:
    """The span without white space at its ends; an empty one where there is nothing else."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _split_at(text: str, start: int, end: int, breaks: re.Pattern[str] | None) -> Iterator[Span]:
    if breaks is not None:
        for match in breaks.finditer(text, start, end):
            yield start, match.start()
            start = match.end()
    yield start, end


def _append_sentences(spans: list[Span], text: str, start: int, end: int, *, is_typed: bool) -> None:
    protected = [match.span() for match in _PROTECTED.finditer(text, start, end)]
    begin = _skip_space(text, start, end)
    for match in _END.finditer(text, start, end):
        if _is_inside(match.start(), protected) or not _ends_sentence(text, begin, match, end, is_typed=is_typed):
            continue
        _append_trimmed(spans, text, begin, match.end())
        begin = _skip_space(text, match.end(), end)
    _append_trimmed(spans, text, begin, end)


def _skip_space(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start


def _append_trimmed(spans: list[Span], text: str, start: int, end: int) -> None:
    start, end = trim(text, start, end)
    if start < end:
        spans.append((start, end))


def _is_inside(position: int, spans: list[Span]) -> bool:
    """Whether a span holds `position` and does not end there; the spans are in order and do not overlap."""
    last = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return last >= 0 and position < spans[last][1] - 1


def _ends_sentence(text: str, begin: int, match: re.Match[str], end: int, *, is_typed: bool) -> bool:
    mark = match.group(0)
    if mark[0] in "。！？؟۔":
        return True
    following = _NEXT.match(text, match.end(), end)
    next_character = following.group(1) if following else ""
    if mark.startswith(("!", "?")):
        return is_typed or not next_character.islower()
    if mark.startswith(("..", "…")):
        return next_character.isupper() or not next_character
    stop = match.start() + 1
    before = text[max(begin, stop - _READ_BEFORE) : stop]
    if (stop - begin <= _READ_BEFORE and _ENUMERATOR.match(before)) or _INITIAL.search(before):
        return False
    word = _WORD_BEFORE.search(before)
    known = word.group(1).lower() if word else ""
    if known in _ABBREVIATIONS:
        return known in _OFTEN_LAST and (next_character.isupper() or not next_character)
    # A lower-case letter goes on with the sentence, except where the "sentence" names code or a list begins.
    return is_typed or not next_character.islower()
