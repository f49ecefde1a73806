"""Mentions of numbered places in a text: "Tables 2 and 3", "§§ 1002.5(b)(1) and (d)", "sections 4.2-4.4"; pure.

A mention is a word for a kind of place and a series of numbers. The series is read number by number: a later one may
leave out what it shares with the one before ("(c)(1) and (2)"), and a range stands for all between its ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from citemesh.v1.question_pb2 import ReferenceKind
from services.documents.paragraph_marks import between, complete

_MARK: Final = r"\((?:[a-z]{1,5}|[A-Z]{1,2}|\d{1,3})\)"
_SECTION_NUMBER: Final = rf"(?:\d+[a-z]?(?:\.\d+[a-z]?)*(?:{_MARK})*|[A-Z](?:\.\d+)+)"
_CAPTION_NUMBER: Final = r"(?:(?:[A-Z]{1,2}[-.]?)?\d+(?:[.-]\d+)*[a-z]?)"
_ROMAN_OR_NUMBER: Final = r"(?:\d+|[IVXLC]+)"

_MAX_SERIES: Final = 20
_MAX_RANGE: Final = 30


@dataclass(frozen=True, slots=True)
class Mention:
    """One place that a text names."""

    kind: ReferenceKind.ValueType
    word: str
    """What it is called in labels: "section", "paragraph", "table"."""
    number: str
    """Its number, complete where the text gave it in part."""
    start: int
    end: int
    """Where its number stands; for one within a range, where the range ends."""
    surface: str
    """The words of the whole mention."""
    owner: str
    """What the text says it is of, as written: "this section", "the Act"; empty where it says nothing."""
    is_written: bool = True
    """False for what a range covers between its ends."""


@dataclass(frozen=True, slots=True)
class _Form:
    kind: ReferenceKind.ValueType
    word: str
    head: re.Pattern[str]
    number: re.Pattern[str]


def _form(kind: ReferenceKind.ValueType, word: str, head: str, number: str, *, keeps_case: bool = False) -> _Form:
    head_flags = re.NOFLAG if keeps_case else re.IGNORECASE
    return _Form(kind, word, re.compile(head, head_flags), re.compile(rf"(?:{number})(?![\w%])"))


_FORMS: Final = (
    _form(ReferenceKind.REFERENCE_KIND_TABLE, "table", r"\b(?:tables?|tableaux?|tabellen?)\s+", _CAPTION_NUMBER),
    _form(
        ReferenceKind.REFERENCE_KIND_FIGURE, "figure", r"\b(?:figures?|figs?\.|abbildung(?:en)?)\s*", _CAPTION_NUMBER
    ),
    _form(
        ReferenceKind.REFERENCE_KIND_SECTION,
        "section",
        r"(?:\b(?:sub-?)?(?:sections?|sect?s?\.|abschnitte?s?)\s*|§{1,2}\s*)(?=[\dA-Z])",
        _SECTION_NUMBER,
    ),
    _form(
        ReferenceKind.REFERENCE_KIND_SECTION,
        "article",
        r"\b(?:articles?|arts?\.|artikeln?)\s+(?=\d)",
        rf"\d+[a-z]?(?:\.\d+)*(?:{_MARK})*",
    ),
    _form(ReferenceKind.REFERENCE_KIND_SECTION, "clause", r"\bclauses?\s+(?=\d)", _SECTION_NUMBER),
    _form(ReferenceKind.REFERENCE_KIND_SECTION, "paragraph", r"\bparagraphs?\s*(?=\()", rf"(?:{_MARK})+"),
    _form(
        ReferenceKind.REFERENCE_KIND_SECTION, "chapter", r"\b(?:chapters?|chapitres?|kapiteln?)\s+", _ROMAN_OR_NUMBER
    ),
    # "part of", "title of" and the like are no places, so these want their capital.
    _form(ReferenceKind.REFERENCE_KIND_SECTION, "part", r"\b(?:Parts?|PARTS?)\s+", _ROMAN_OR_NUMBER, keeps_case=True),
    _form(ReferenceKind.REFERENCE_KIND_SECTION, "title", r"\b(?:Titles?|TITLE)\s+", _ROMAN_OR_NUMBER, keeps_case=True),
    _form(
        ReferenceKind.REFERENCE_KIND_APPENDIX,
        "appendix",
        r"\b(?:[Aa]ppendix|[Aa]ppendices|APPENDI(?:X|CES)|[Aa]nnex(?:es)?|ANNEX|[Aa]nnexe|[Aa]nhang)\s+",
        r"(?:[A-Z]|[IVX]+|\d+)(?!\.\d)",
        keeps_case=True,
    ),
    _form(ReferenceKind.REFERENCE_KIND_SECTION, "section", r"\b(?:appendix|app\.)\s+(?=[A-Z]\.\d)", r"[A-Z](?:\.\d+)+"),
    # The official comments on a regulation: "comment 4(a)(8)(i)-6".
    _form(
        ReferenceKind.REFERENCE_KIND_OTHER,
        "comment",
        r"\bcomments?\s+(?=\d)",
        rf"\d+(?:{_MARK})*-\d+(?:\.[ivxlc]+(?:\.[A-Z])?)?",
    ),
    _form(ReferenceKind.REFERENCE_KIND_OTHER, "equation", r"\b(?:equations?|eqs?\.)\s*\(?(?=\d)", r"\d+(?:\.\d+)*"),
    _form(ReferenceKind.REFERENCE_KIND_OTHER, "algorithm", r"\balgorithms?\s+", r"\d+"),
    _form(ReferenceKind.REFERENCE_KIND_OTHER, "example", r"\bexamples?\s+", r"\d+[-.]\d+"),
)
_AND: Final = re.compile(r"\s*(?:,\s*(?:and|or)?|and(?:/or)?|or|&|et|und|oder)\s*", re.IGNORECASE)
_TO: Final = re.compile(r"\s*(?:through|thru|to|bis|à|[–—]|-(?=[\d(]))\s*", re.IGNORECASE)
# A word once more begins a mention of its own, as what follows may be of another document.
_SIGN_AGAIN: Final = re.compile(r"§{1,2}\s*")
_MARKS: Final = re.compile(rf"(?:{_MARK})+(?!\w)")
_LAST_PART: Final = re.compile(r"-\d+(?:\.[ivxlc]+)?(?!\w)")
_OWNER: Final = re.compile(
    rf"\s*,?\s*(?:of|to)\s+(this\s+\w+|(?:§\s*|[Ss]ection\s+){_SECTION_NUMBER}"
    r"|(?:the\s+)?(?:[A-Z][\w'’.-]*|[a-z]+)(?:\s+(?:of\s+(?:the\s+)?)?[A-Z][\w'’-]*)*)"
)
_OTHER_CODE: Final = re.compile(r"(?:\bCFR|\bC\.F\.R\.|\bU\.?\s?S\.?\s?C\.?|\bStat\.)\s*$")


def find_mentions(text: str) -> list[Mention]:
    """The mentions in `text`, in order. Numbers of other codes ("12 CFR § 5") are left out."""
    found: list[Mention] = []
    for form in _FORMS:
        for head in form.head.finditer(text):
            if not _OTHER_CODE.search(text, max(0, head.start() - 12), head.start()):
                found.extend(_read_series(text, form, head))
    found.sort(key=lambda mention: (mention.start, mention.end))
    return found


def _read_series(text: str, form: _Form, head: re.Match[str]) -> Iterator[Mention]:
    first = form.number.match(text, head.end())
    if first is None:
        return
    numbers = [(first.group(), first.start(), first.end(), True)]
    while len(numbers) < _MAX_SERIES and (following := _read_next(text, form, numbers[-1])):
        numbers.extend(following)
    end = numbers[-1][2]
    owner = _OWNER.match(text, end)
    surface = " ".join(text[head.start() : end].split())
    for number, start, number_end, is_written in numbers:
        yield Mention(
            form.kind, form.word, number, start, number_end, surface, owner.group(1) if owner else "", is_written
        )


_Number = tuple[str, int, int, bool]


def _read_next(text: str, form: _Form, last: _Number) -> list[_Number]:
    """The next number of a series, after those that a range covers; empty where the series ends."""
    number, _, end, _ = last
    range_sign = _TO.match(text, end)
    sign = range_sign or _AND.match(text, end)
    if sign is None:
        return []
    at = sign.end()
    again = _SIGN_AGAIN.match(text, at)
    at = again.end() if again else at
    found = form.number.match(text, at)
    if found is not None:
        # "in 5 and 10 days" is no series: a bare comma is followed by something that cannot be a mere count.
        is_bare = sign.group().strip() == "," and found.group().isdigit()
        if is_bare and not _goes_on(text, form, found.end()):
            return []
        completed = complete(number, found.group())
    else:
        found = _MARKS.match(text, at) or (_LAST_PART.match(text, at) if form.word == "comment" else None)
        if found is None:
            return []
        completed = complete(number, found.group())
    covered = between(number, completed, _MAX_RANGE) if range_sign else []
    return [(each, found.start(), found.end(), False) for each in covered] + [
        (completed, found.start(), found.end(), True)
    ]


def _goes_on(text: str, form: _Form, end: int) -> bool:
    """Whether another number of the series follows."""
    sign = _AND.match(text, end)
    return sign is not None and form.number.match(text, sign.end()) is not None
