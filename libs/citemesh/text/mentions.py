"""Mentions of numbered places in a text: "Tables 2 and 3", "§§ 1002.5(b)(1) and (d)", "sections 4.2-4.4"; pure.

A mention is a word for a kind of place and a series of numbers. The series is read number by number: a later one may
leave out what it shares with the one before ("(c)(1) and (2)"), and a range stands for all between its ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from citemesh.text.paragraph_marks import between, complete
from citemesh.text.place_forms import DOCUMENT_NUMBER, EVERYDAY_FORMS, FORMS, MARK, SECTION_NUMBER, Form
from citemesh.v1.question_pb2 import ReferenceKind

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
    span: tuple[int, int]
    """Where the whole mention stands, from its word to its last number."""
    is_written: bool = True
    """False for what a range covers between its ends."""


_AND: Final = re.compile(r"\s*+(?:\.?,\s*(?:and|or)?|and(?:/or)?|or|&|et|und|oder|y)\s*+", re.IGNORECASE)
_TO: Final = re.compile(r"\s*+(?:through|thru|to|bis|à|[–—]|-(?=[\d(]))\s*+", re.IGNORECASE)
# A word once more begins a mention of its own, as what follows may be of another document.
_SIGN_AGAIN: Final = re.compile(r"§{1,2}\s*")
_MARKS: Final = re.compile(rf"(?:{MARK})+(?!\w)")
_LAST_PART: Final = re.compile(r"(?:-\d+(?:\.[ivxlc]+)?|\.[ivxlc]+)(?!\w)")
_OWNER: Final = re.compile(
    rf"\s*+(?:,\s*+)?(?:of|to)\s++(this\s+\w+|(?:§\s*|[Ss]ection\s+){SECTION_NUMBER}"
    r"|\d+\s+(?:CFR|U\.?S\.?C\.?)[^.;,]{0,20}"
    rf"|(?:the\s+)?{DOCUMENT_NUMBER}"
    r"|(?:the\s+)?(?:[A-Z][\w'’.-]*|[a-z]+)(?:\s+(?:of\s+(?:the\s+)?)?[A-Z][\w'’-]*){0,8})"
)
# "Appendix A, paragraph I.C.6"
_OWNER_BEFORE: Final = re.compile(
    rf"((?:§\s*|\b(?:[Ss]ection|[Aa]rticle)\s+){SECTION_NUMBER}|\b(?:[Aa]ppendix|[Aa]nnex)\s+(?:[A-Z]|[IVX]+|\d+)),?\s+$"
)
# "appendix C to the Travel Policy (Form C-1)"
_OWNER_OPENING: Final = re.compile(r"\b(?:of|to)\s+((?:the\s+)?[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*)\s*\($")
# "RFC 2616, Section 4.2"
_DOCUMENT_BEFORE: Final = re.compile(rf"\b({DOCUMENT_NUMBER}),?\s+$")
_LONGEST_OWNER: Final = 60
_WORD_NEXT: Final = re.compile(r"[\s-]++[^\W\d_]")
_OTHER_CODE: Final = re.compile(r"(?:\bCFR|\bC\.F\.R\.|\bU\.?\s?S\.?\s?C\.?|\bStat\.)\s*$")


def find_mentions(text: str, *, everyday: bool = False) -> list[Mention]:
    """The mentions in `text`, in order.

    `everyday` is for questions and answers, which mean a place of our documents whatever they call it: it adds
    "rule 10", "step 3" and the numbers of other codes ("12 CFR § 5"), all of which are left out otherwise.
    """
    found: dict[tuple[int, int, str], Mention] = {}
    for form in (*FORMS, *EVERYDAY_FORMS) if everyday else FORMS:
        for head in form.head.finditer(text):
            if everyday or not _OTHER_CODE.search(text, max(0, head.start() - 12), head.start()):
                for mention in _read_series(text, form, head):
                    found.setdefault((mention.start, mention.end, mention.number), mention)
    return sorted(found.values(), key=lambda mention: (mention.start, mention.end))


def _read_series(text: str, form: Form, head: re.Match[str]) -> Iterator[Mention]:
    first = form.number.match(text, head.end())
    if first is None:
        return
    numbers = [(first.group(), first.start(), first.end(), True)]
    is_plural = head.group().rstrip(" #.").lower().endswith(("s", "§§", "tableaux"))
    while (is_plural or not form.needs_plural) and len(numbers) < _MAX_SERIES:
        following = _read_next(text, form, numbers[-1])
        # "Section 4 and 14 days" names one section: behind a singular a mere count is no member of a series.
        if not following or (not is_plural and _is_count(text, following[-1])):
            break
        numbers.extend(following)
    end = numbers[-1][2]
    owner = _OWNER.match(text, end)
    if owner is None:
        owner = _find_owner_before(text, form, head.start())
    surface = " ".join(text[head.start() : end].split())
    span = (head.start(), end)
    for number, start, number_end, is_written in numbers:
        yield Mention(
            form.kind, form.word, number, start, number_end, surface, owner.group(1) if owner else "", span, is_written
        )


def _find_owner_before(text: str, form: Form, end: int) -> re.Match[str] | None:
    start = max(0, end - _LONGEST_OWNER)
    within = _OWNER_BEFORE if form.word == "paragraph" else _OWNER_OPENING
    return _DOCUMENT_BEFORE.search(text, start, end) or within.search(text, start, end)


_Number = tuple[str, int, int, bool]


def _read_next(text: str, form: Form, last: _Number) -> list[_Number]:
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
        is_bare = sign.group().strip(" .") == "," and found.group().isdigit()
        if is_bare and not _goes_on(text, form, found.end()):
            return []
    else:
        found = _MARKS.match(text, at) or (_LAST_PART.match(text, at) if form.word == "comment" else None)
        if found is None:
            return []
    completed = complete(number, found.group())
    # "appendix B to 12 CFR part 3" is no range.
    if number[0].isdigit() != completed[0].isdigit():
        return []
    covered = between(number, completed, _MAX_RANGE) if range_sign else []
    return [(each, found.start(), found.end(), False) for each in covered] + [
        (completed, found.start(), found.end(), True)
    ]


def _is_count(text: str, number: _Number) -> bool:
    written, end = text[number[1] : number[2]], number[2]
    return written.isdigit() and _WORD_NEXT.match(text, end) is not None


def _goes_on(text: str, form: Form, end: int) -> bool:
    """Whether another number of the series follows."""
    sign = _AND.match(text, end)
    return sign is not None and form.number.match(text, sign.end()) is not None
