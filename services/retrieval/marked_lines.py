"""Lists by their marks: bullets, numbers and letters at the start of lines, one list within another; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from services.retrieval.item_spans import Run, RunKind, split_lines, trim

_ITEM_LINE = re.compile(
    r"^(?P<indent>[ \t>]*)(?:(?P<bullet>[-*+•◦▪‣●○–·])\s+|\(?(?P<number>\d{1,3})[.)]\s+"
    r"|(?:\((?P<letter>[a-zA-Z]|[ivx]{1,5}|[IVX]{1,5})\)|(?P<bare>[a-zA-Z])[.)])\s+)(?:\[[ xX]\]\s+)?(?=\S)",
)
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv")

BULLET = 0
"""The number of a mark that does not count."""


@dataclass
class _Level:
    """A list that is being read, and how its marks may be read: "(v)" is the fifth, or the twenty-second."""

    readings: dict[str, int]
    indent: int
    before: int
    starts: list[int] = field(default_factory=list)
    line_starts: list[int] = field(default_factory=list)

    def follow(self, readings: Mapping[str, int], indent: int) -> dict[str, int]:
        """The readings under which a mark is the next one of this list; empty: it is not."""
        count = len(self.starts)
        followed = {}
        for mark, first in self.readings.items():
            number = readings.get(mark)
            if number is None:
                continue
            is_bullet = first == BULLET and abs(indent - self.indent) <= 1
            # Some write "1." before every item.
            if is_bullet or number == first + count or number == first == 1:
                followed[mark] = first
        return followed


def find_marked_runs(text: str, smallest: int) -> Iterator[Run]:
    """Every list of at least `smallest` items in `text`, inner ones before the outer ones that hold them."""
    levels: list[_Level] = []
    before = 0
    broken_at: int | None = None
    for start, end in split_lines(text):
        line = text[start:end]
        match = _ITEM_LINE.match(line)
        if match is None:
            # It may announce another list; the next mark tells.
            if line.rstrip().endswith(":") and not line[:1].isspace():
                broken_at = start
            continue
        readings = _read(match)
        indent = len(match.group("indent").expandtabs(4))
        depth = _find_level(levels, readings, indent, counts_only=broken_at is not None)
        if depth < 0 and broken_at is not None:
            yield from _close(text, levels, 0, broken_at, smallest)
            before = broken_at
        if depth >= 0:
            yield from _close(text, levels, depth + 1, start, smallest)
            levels[depth].readings = levels[depth].follow(readings, indent)
        elif levels and _opens(levels[-1], readings, indent):
            levels.append(_Level(readings, indent, levels[-1].starts[-1]))
        else:
            if levels:
                before = start
            yield from _close(text, levels, 0, start, smallest)
            levels.append(_Level(readings, indent, before))
        levels[-1].starts.append(start + match.end())
        levels[-1].line_starts.append(start)
        broken_at = None
    yield from _close(text, levels, 0, len(text), smallest)


def _find_level(levels: list[_Level], readings: Mapping[str, int], indent: int, *, counts_only: bool) -> int:
    """The innermost list that a mark goes on with; -1 where there is none."""
    for depth in range(len(levels) - 1, -1, -1):
        followed = levels[depth].follow(readings, indent)
        if followed and not (counts_only and set(followed.values()) == {BULLET}):
            return depth
    return -1


def _opens(outer: _Level, readings: Mapping[str, int], indent: int) -> bool:
    """Whether a mark may begin a list within an item of `outer`."""
    if BULLET in readings.values():
        return indent > outer.indent or BULLET not in outer.readings.values()
    return 1 in readings.values()


def _close(text: str, levels: list[_Level], depth: int, end: int, smallest: int) -> Iterator[Run]:
    """End the lists from `depth` inwards at `end`, and take them off `levels`."""
    while len(levels) > depth:
        level = levels.pop()
        if len(level.starts) < smallest:
            continue
        stops = [*level.line_starts[1:], end]
        items = tuple(trim(text, start, stop) for start, stop in zip(level.starts, stops, strict=True))
        yield Run(RunKind.MARKED, items, level.readings, trim(text, level.before, level.line_starts[0]))


def _read(match: re.Match[str]) -> dict[str, int]:
    """Mark -> number for each way to read a mark; the sense that counts from one comes first."""
    if match.group("bullet"):
        return {match.group("bullet"): BULLET}
    if match.group("number"):
        return {"1": int(match.group("number"))}
    letter = match.group("letter") or match.group("bare")
    readings = {}
    if letter.lower() in _ROMAN:
        readings["i" if letter.islower() else "I"] = _ROMAN.index(letter.lower()) + 1
    if len(letter) == 1:
        readings["a" if letter.islower() else "A"] = ord(letter.lower()) - ord("a") + 1
    return readings
