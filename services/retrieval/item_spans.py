"""Items within one text: marked lines, paragraphs with a name, enumerating sentences, table rows; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
    mark: str
    """The kind of mark: "-", "1" or "a"; empty where there is none."""
    first_number: int
    """The number of the first item where the marks count; 0 elsewhere."""
    introduction: Span | None
    """What stands before the first item, back to the end of what is unrelated."""


_ITEM_LINE = re.compile(
    r"^(?P<indent>[ \t>]*)(?:(?P<bullet>[-*+•◦▪‣●○–·])\s+|(?P<number>\(?\d{1,3}[.)])\s+"
    r"|(?P<letter>\((?:[a-zA-Z]|[ivx]{1,5})\)|[a-zA-Z][.)])\s+)(?:\[[ xX]\]\s+)?(?=\S)",
)
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
_INLINE_SPLIT = re.compile(r"\s*(?:[,;]\s*(?:and|or)\s+|[,;]\s+|\s+(?:and|or)\s+)")
_RULE_ROW = re.compile(r"^[\s|:+-]+$")


def find_runs(text: str, *, is_table: bool = False, is_continued: bool = False) -> list[Run]:
    """Every run of at least two items in `text` (one, where `is_continued`: the rest stands in another passage)."""
    smallest = 1 if is_continued else 2
    runs = [*_marked_runs(text, smallest)]
    if is_table:
        runs += _rows(text, has_header=not is_continued, smallest=smallest)
    else:
        runs += _named_runs(text, 1)
        runs += _enumerated_runs(text)
    return runs


def split_inline(text: str, start: int, end: int) -> Run | None:
    """The items of "three kinds: a, b and c" within one sentence; None where it holds none."""
    match = next(filter(None, (pattern.search(text, start, end) for pattern in _INLINE_LISTS)), None)
    if match is None:
        return None
    begin = match.start("list")
    spans = []
    for separator in (*_INLINE_SPLIT.finditer(text, begin, match.end("list")), None):
        stop = separator.start() if separator else match.end("list")
        if stop > begin:
            spans.append(Span(begin, stop))
        begin = separator.end() if separator else stop
    if len(spans) < 2:
        return None
    return Run(RunKind.INLINE, tuple(spans), "", 0, Span(start, match.start("list")))


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


@dataclass
class _Open:
    """A run that is being read."""

    mark: str
    indent: int
    number: int
    starts: list[int]
    line_starts: list[int]


def _marked_runs(text: str, smallest: int) -> Iterator[Run]:
    """Bulleted, numbered and lettered lines; the outermost level alone makes items, what is below belongs to them."""
    open_run: _Open | None = None
    before = 0
    for start, end in _lines(text):
        match = _ITEM_LINE.match(text[start:end])
        if match is None:
            if (
                open_run is not None
                and text[start:end].rstrip().endswith(":")
                and not text[start : start + 1].isspace()
            ):
                # A new announcement.
                yield from _close(text, open_run, start, before, smallest)
                before = start
                open_run = None
            continue
        mark, number = _read_mark(match)
        indent = len(match.group("indent").expandtabs(4))
        content = start + match.end()
        if open_run is None:
            open_run = _Open(mark, indent, number, [content], [start])
        elif mark == open_run.mark and indent <= open_run.indent + 1 and _follows(open_run, number):
            open_run.starts.append(content)
            open_run.line_starts.append(start)
        elif indent > open_run.indent or (mark != open_run.mark and number <= 1):
            # An item of an item.
            continue
        else:
            yield from _close(text, open_run, start, before, smallest)
            before = start
            open_run = _Open(mark, indent, number, [content], [start])
    if open_run is not None:
        yield from _close(text, open_run, len(text), before, smallest)


def _read_mark(match: re.Match[str]) -> tuple[str, int]:
    if match.group("bullet"):
        return match.group("bullet"), 0
    if match.group("number"):
        return "1", int(re.sub(r"\D", "", match.group("number")))
    letter = match.group("letter").strip("().").lower()
    return "a", ord(letter) - ord("a") + 1 if len(letter) == 1 else 0


def _follows(run: _Open, number: int) -> bool:
    return number == 0 or run.number == 0 or number == run.number + len(run.starts) or number == run.number == 1


def _close(text: str, run: _Open, end: int, before: int, smallest: int) -> Iterator[Run]:
    if len(run.starts) < smallest:
        return
    stops = [*run.line_starts[1:], end]
    items = tuple(_trim(text, start, stop) for start, stop in zip(run.starts, stops, strict=True))
    yield Run(RunKind.MARKED, items, run.mark, run.number, _trim(text, before, run.line_starts[0]))


def _named_runs(text: str, smallest: int) -> Iterator[Run]:
    """Paragraphs that open with a name: "**Timeouts.** …", "Timeouts: …", "Residual Dropout We apply …"."""
    for pattern in (_BOLD_NAME, _NAMED_BEFORE_MARK, _NAMED_BEFORE_SENTENCE):
        starts = [start for start, end in _lines(text) if _has_name(pattern, text[start:end])]
        if len(starts) >= smallest:
            stops = [*starts[1:], len(text)]
            items = tuple(_trim(text, start, stop) for start, stop in zip(starts, stops, strict=True))
            yield Run(RunKind.NAMED, items, pattern.pattern[:12], 0, _trim(text, 0, starts[0]))


def _has_name(pattern: re.Pattern[str], line: str) -> bool:
    match = pattern.match(line)
    if match is None or _NO_NAME.match(match.group("name")):
        return False
    return len(line) > match.end("name") + 2


def _enumerated_runs(text: str) -> Iterator[Run]:
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
    items = tuple(_trim(text, match.end(), stop) for match, stop in zip(matches, stops, strict=True))
    yield Run(RunKind.ENUMERATED, items, "", 1, _trim(text, 0, matches[0].start()))


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


def _rows(text: str, *, has_header: bool, smallest: int) -> Iterator[Run]:
    """The rows of a table: lines of cells, without caption, header and rules."""
    lines = [(start, end) for start, end in _lines(text) if _is_row(text[start:end])]
    first = 1 if has_header else 0
    items = tuple(_trim(text, start, end) for start, end in lines[first:])
    if len(items) >= smallest:
        yield Run(RunKind.ROWS, items, "", 0, _trim(text, 0, lines[first][0]))


def _is_row(line: str) -> bool:
    return not _RULE_ROW.match(line) and (line.count("|") >= 2 or "  " in line.strip())


def _trim(text: str, start: int, end: int) -> Span:
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return Span(start, end)
