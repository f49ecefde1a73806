"""Items within one text: paragraphs with a name, enumerating sentences, table rows; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum


class RunKind(IntEnum):
    """How the items of a run are told apart; smaller is surer."""

    MARKED = 0
    NAMED = 1
    HEADINGS = 2
    ENUMERATED = 3
    INLINE = 4
    ROWS = 5


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of one passage, in code points."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Run:
    """Items that belong together."""

    kind: RunKind
    items: tuple[Span, ...]
    readings: Mapping[str, int]
    """Kind of mark -> number of the first item (0: it does not count), for each way to read the marks."""
    introduction: Span | None
    """What stands before the first item, back to the end of what is unrelated."""


_BOLD_NAME = re.compile(r"^\s*(?:\*\*|__)(?P<name>[^*_\n]{2,80})(?:\*\*|__)")
_NAME_WORD = r"[A-Z0-9][\w’'/&-]*"
_NAMED_BEFORE_MARK = re.compile(rf"^(?P<name>{_NAME_WORD}(?: [\w’'/&()-]+){{0,6}})(?:[.:]| [—–-])\s+(?=\S)")
_NAMED_BEFORE_SENTENCE = re.compile(
    rf"^(?P<name>{_NAME_WORD}(?: (?:{_NAME_WORD}|of|and|the|for|in|to|with|on)){{0,5}}) (?=[A-Z][a-z]* [a-z])"
)
_NO_NAME = re.compile(
    r"^(?:the|a|an|in|on|at|we|it|this|that|these|those|for|to|if|when|while|as|by|from|with|our|since|because|after"
    r"|before|however|moreover|note|all|each|most|some|there|here|you|they|he|she|i|no|not|both|and|but|or|see|table"
    r"|figure|fig|section)\b",
    re.IGNORECASE,
)
_MARK_IN_SENTENCE = re.compile(r"(?<![\w.])\((?P<mark>\d{1,2}|[a-z]|[ivx]{1,5})\)\s+(?=\S)")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINAL = re.compile(
    rf"(?:^|(?<=[.;:]\s)|(?<=\n))(?P<ordinal>{'|'.join(_ORDINALS)}|finally|lastly)(?:ly)?\b,?\s", re.I
)
_LIST_WORDS = r"(?P<list>[^.:;\n]*[^.:;\s])"
_INLINE_LISTS = (
    re.compile(rf":\s+{_LIST_WORDS}"),
    re.compile(rf"\b(?:are|namely|include|includes|including)\s+{_LIST_WORDS}"),
)
_INLINE_SPLIT = re.compile(r"[,;]\s*+(?:and|or)\s++|[,;]\s++|(?<=\s)(?:and|or)\s++")
_SENTENCE = re.compile(r"(?:(?<=^)|(?<=[.!?]\s)|(?<=\n))[^\s.!?][^.!?\n]*")
_SERIES = r"(?P<list>[^.:;\n,]+(?:,[^.:;\n,]+)+,?\s(?:and|or)\s[^.:;\n,]+?)"
_SUBJECT_LIST = re.compile(rf"{_SERIES}\s(?:are|can be|may be|must be|will be|were)\s")
_OBJECT_LIST = re.compile(
    rf"\b(?:are|namely|includes?|including|supports?|accepts?|offers?|provides?|covers?|contains?|such as)\s{_SERIES}$"
)
# Longer ones are no lists for readers, and the patterns of a series are slow on them.
_LONGEST_SENTENCE = 400
# A thing that is named has few words; more of them are a clause.
_WORDS_OF_ITEM = re.compile(r"\S+(?:\s\S+){0,6}")
_CODE_BLOCK = re.compile(r"(?m)^```[^\n]*\n(?P<code>(?:(?!```)[^\n]*\n)+)```")
# One sign in common, such as a bracket, is chance.
_COMMON_LENGTH = 2
_RULE_ROW = re.compile(r"^[\s|:+-]+$")


def find_row_run(text: str, *, has_header: bool, smallest: int) -> Iterator[Run]:
    """The rows of a table: lines of cells, without caption, header and rules."""
    lines = [(start, end) for start, end in split_lines(text) if _is_row(text[start:end])]
    first = 1 if has_header else 0
    items = tuple(trim(text, start, end) for start, end in lines[first:])
    if len(items) >= smallest:
        yield Run(RunKind.ROWS, items, {"|": 0}, trim(text, 0, lines[first][0]))


def find_code_runs(text: str) -> Iterator[Run]:
    """The entries of a block of code that all begin alike, such as flags: "--name …" with what is indented below."""
    for block in _CODE_BLOCK.finditer(text):
        start, end = block.span("code")
        starts = [
            start + line_start
            for line_start, line_end in split_lines(block.group("code"))
            if text[start + line_start : start + line_end].strip() and not text[start + line_start].isspace()
        ]
        openings = {text[each : each + _COMMON_LENGTH] for each in starts}
        # Lines that begin with the same word are a program's, not a list's.
        if len(starts) >= 2 and len(openings) == 1 and not text[starts[0]].isalnum():
            items = tuple(trim(text, first, stop) for first, stop in zip(starts, [*starts[1:], end], strict=True))
            yield Run(RunKind.ENUMERATED, items, {}, trim(text, 0, block.start()))


def split_inline(text: str, start: int, end: int) -> Run | None:
    """The items of "three kinds: a, b and c" within one sentence; None where it holds none."""
    match = next(filter(None, (pattern.search(text, start, end) for pattern in _INLINE_LISTS)), None)
    if match is None:
        return None
    spans = _split_series(text, match.start("list"), match.end("list"))
    return Run(RunKind.INLINE, spans, {}, Span(start, match.start("list"))) if len(spans) >= 2 else None


def find_enumerating_sentences(text: str) -> Iterator[Run]:
    """Sentences that name three things or more: "X, Y and Z are supported", "It supports X, Y and Z"."""
    for sentence in _SENTENCE.finditer(text):
        start, end = sentence.span()
        if end - start > _LONGEST_SENTENCE:
            continue
        subject = _SUBJECT_LIST.match(text, start, end)
        if subject is not None:
            items = _split_series(text, subject.start("list"), subject.end("list"))
            introduction = Span(subject.end("list"), end)
        else:
            thing = _OBJECT_LIST.search(text, start, end)
            items = _split_series(text, thing.start("list"), thing.end("list")) if thing else ()
            introduction = Span(start, thing.start("list")) if thing else Span(start, start)
        if len(items) >= 3 and all(_WORDS_OF_ITEM.fullmatch(text, each.start, each.end) for each in items):
            yield Run(RunKind.INLINE, items, {}, introduction)


def _split_series(text: str, start: int, end: int) -> tuple[Span, ...]:
    spans = []
    for separator in (*_INLINE_SPLIT.finditer(text, start, end), None):
        stop = separator.start() if separator else end
        if stop > start:
            spans.append(trim(text, start, stop))
        start = separator.end() if separator else stop
    return tuple(spans)


def split_lines(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each line."""
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def find_named_runs(text: str, smallest: int) -> Iterator[Run]:
    """Paragraphs that open with a name: "**Timeouts.** …", "Timeouts: …", "Residual Dropout We apply …"."""
    for pattern in (_BOLD_NAME, _NAMED_BEFORE_MARK, _NAMED_BEFORE_SENTENCE):
        starts = [start for start, end in split_lines(text) if _has_name(pattern, text[start:end])]
        if len(starts) >= smallest:
            stops = [*starts[1:], len(text)]
            items = tuple(trim(text, start, stop) for start, stop in zip(starts, stops, strict=True))
            yield Run(RunKind.NAMED, items, {pattern.pattern: 0}, trim(text, 0, starts[0]))


def _has_name(pattern: re.Pattern[str], line: str) -> bool:
    match = pattern.match(line)
    if match is None or _NO_NAME.match(match.group("name")):
        return False
    return len(line) > match.end("name") + 2


def find_enumerated_runs(text: str) -> Iterator[Run]:
    """ "(1) … (2) …" and "First, … Second, …" within running text."""
    yield from _by_marks(text, _MARK_IN_SENTENCE, lambda match: _mark_value(match.group("mark")))
    yield from _by_marks(text, _ORDINAL, _ordinal_value)


def _by_marks(text: str, pattern: re.Pattern[str], value_of: Callable[[re.Match[str]], int]) -> Iterator[Run]:
    matches: list[re.Match[str]] = []
    for match in pattern.finditer(text):
        value = value_of(match)
        if value == 1 and len(matches) < 2:
            matches = [match]
        elif matches and value in (len(matches) + 1, -1):
            matches.append(match)
    if len(matches) < 2:
        return
    stops = [match.start() for match in matches[1:]]
    last_end = re.compile(r"[.!?](?:\s|$)|\n\s*\n").search(text, matches[-1].end())
    stops.append(last_end.start() + 1 if last_end else len(text))
    items = tuple(trim(text, match.end(), stop) for match, stop in zip(matches, stops, strict=True))
    yield Run(RunKind.ENUMERATED, items, {}, trim(text, 0, matches[0].start()))


def _mark_value(mark: str) -> int:
    if mark.isdigit():
        return int(mark)
    roman = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
    if mark in roman and mark != "i":
        return roman.index(mark) + 1
    return 1 if mark == "i" else ord(mark[0]) - ord("a") + 1


def _ordinal_value(match: re.Match[str]) -> int:
    word = match.group("ordinal").lower()
    return _ORDINALS.index(word) + 1 if word in _ORDINALS else -1


def _is_row(line: str) -> bool:
    return not _RULE_ROW.match(line) and (line.count("|") >= 2 or "  " in line.strip())


def trim(text: str, start: int, end: int) -> Span:
    """The span without the white space at its ends."""
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return Span(start, end)
