"""Where sentences begin and end, by offsets into the text they stand in."""

from __future__ import annotations

import re

Span = tuple[int, int]
"""First character and one past the last, in code points."""

_END = re.compile(r"[.!?…]+[\"'”’»)\]*_`]*(?=\s)|[。！？]+[”’」』）]*|[؟۔](?=\s)")
_PROTECTED = re.compile(r"(`+).+?\1|https?://[^\s)>\]]+|\[[^\]\n]{0,300}\]\([^)\n]{0,500}\)", re.DOTALL)
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
_WORD_BEFORE = re.compile(r"([^\W\d_](?:[^\W\d_]|\.(?=[^\W\d_]))*)\.$")
_NEXT = re.compile(r"\s*[\"'“‘«(\[*_`]*(.)", re.DOTALL)
_INITIAL = re.compile(r"(?:^|[\s(])[A-Z]\.$")
_ENUMERATOR = re.compile(r"^\s*\(?(?:\d{1,3}|[a-zA-Z]|[ivxlc]{1,5})\.$")


def split_sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Spans of the sentences of text[start:end], in order, white space around them left out.

    Full stops in abbreviations, numbers, initials, addresses, links and code spans do not end a sentence.
    """
    end = len(text) if end is None else end
    protected = [match.span() for match in _PROTECTED.finditer(text, start, end)]
    spans: list[Span] = []
    begin = start
    for match in _END.finditer(text, start, end):
        if _is_inside(match.start(), protected) or not _ends_sentence(text, begin, match, end):
            continue
        _append_trimmed(spans, text, begin, match.end())
        begin = match.end()
    _append_trimmed(spans, text, begin, end)
    return spans


def trim(text: str, start: int, end: int) -> Span:
    """The span without white space at its ends; an empty one where there is nothing else."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _append_trimmed(spans: list[Span], text: str, start: int, end: int) -> None:
    start, end = trim(text, start, end)
    if start < end:
        spans.append((start, end))


def _is_inside(position: int, spans: list[Span]) -> bool:
    return any(start <= position < end - 1 for start, end in spans)


def _ends_sentence(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    mark = match.group(0)
    if mark[0] in "。！？؟۔":
        return True
    following = _NEXT.match(text, match.end(), end)
    next_character = following.group(1) if following else ""
    if mark.startswith(("!", "?")):
        return not next_character.islower()
    if mark.startswith(("..", "…")):
        return next_character.isupper() or not next_character
    before = text[begin : match.start() + 1]
    if _ENUMERATOR.match(before) or _INITIAL.search(before):
        return False
    word = _WORD_BEFORE.search(before)
    known = word.group(1).lower() if word else ""
    if known in _ABBREVIATIONS:
        return known in _OFTEN_LAST and (next_character.isupper() or not next_character)
    # A lower-case letter goes on with the sentence, except where the "sentence" names code or a list begins.
    return not next_character.islower()
