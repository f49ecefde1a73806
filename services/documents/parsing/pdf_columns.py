"""Columns of running text, told by the empty strips between them, and put in order where a file draws across them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from services.documents.parsing.pdf_geometry import order_by_place
from services.documents.parsing.pdf_text import TextLine, Word

_GUTTER = 8.0  # points: the least width of the strip between two columns
_CROSSED_SHARE = 0.15  # of the pieces may cross a gutter: titles, tables, running headers
_LEAST_LINES = 6  # in a column
_RUNNING_WORDS = 4  # in most pieces of a column of text; a table's cells have fewer
_MOST_JUMPS = 0.3  # of the lines may stand in another column than the line before, in a file that keeps to columns


def restore_columns(lines: list[TextLine]) -> list[TextLine]:
    """Lines of a page in reading order: the file's own, unless it draws from column to column line by line.

    Such a file gives two columns as one line, or changes column at every line. Its lines are divided at the empty
    strips and read column by column.
    """
    if len(lines) < _LEAST_LINES:
        return lines
    pieces = [piece for line in lines for piece in _cut(line, None)]
    gutters = find_gutters(pieces)
    if not gutters:
        return lines
    divided = [piece for line in lines for piece in _cut(line, gutters)]
    columns = [column for line in divided if (column := _column_of(line, gutters)) is not None]
    jumps = sum(first != second for first, second in itertools.pairwise(columns))
    if jumps <= _MOST_JUMPS * len(columns):
        return lines
    return order_by_place(divided)


def find_gutters(pieces: Sequence[TextLine]) -> list[float]:
    """Middles of the empty strips between columns of running text, from left to right; none in one column."""
    left, right = min(piece.left for piece in pieces), max(piece.right for piece in pieces)
    allowed = _CROSSED_SHARE * len(pieces)
    gutters: list[float] = []
    start: float | None = None
    for step in range(int(left), int(right) + 2):
        crossing = sum(piece.left < step < piece.right for piece in pieces)
        if crossing <= allowed and step < right:
            start = float(step) if start is None else start
            continue
        if start is not None and step - start >= _GUTTER and start > left:
            gutters.append((start + step) / 2)
        start = None
    return [gutter for gutter in gutters if _divides(pieces, gutter, gutters)]


def _divides(pieces: Sequence[TextLine], gutter: float, gutters: Sequence[float]) -> bool:
    """Whether both columns beside a gutter are running text."""
    before = max((other for other in gutters if other < gutter), default=float("-inf"))
    after = min((other for other in gutters if other > gutter), default=float("inf"))
    sides = (
        [piece for piece in pieces if piece.left >= before and piece.right <= gutter],
        [piece for piece in pieces if piece.left >= gutter and piece.right <= after],
    )
    return all(
        len(side) >= _LEAST_LINES and 2 * sum(len(piece.words) >= _RUNNING_WORDS for piece in side) >= len(side)
        for side in sides
    )


def _cut(line: TextLine, gutters: Sequence[float] | None) -> list[TextLine]:
    """A line divided at its wide spaces; where gutters are given, only at spaces that hold one."""
    groups: list[list[Word]] = [[line.words[0]]]
    for before, word in itertools.pairwise(line.words):
        space = word.left - before.right
        if gutters is None:
            apart = space >= max(_GUTTER, 0.8 * line.size)
        else:
            apart = space >= 0.5 * _GUTTER and any(before.right <= gutter <= word.left for gutter in gutters)
        if apart:
            groups.append([])
        groups[-1].append(word)
    if len(groups) == 1:
        return [line]
    last = len(groups) - 1
    return [
        dataclasses.replace(
            line,
            words=words,
            divided=line.divided and number == last,
            lead_count=line.lead_count if number == 0 and line.lead_count < len(words) else 0,
        )
        for number, words in enumerate(groups)
    ]


def _column_of(line: TextLine, gutters: Sequence[float]) -> int | None:
    """Number of the column that a line stands in; None for one that stands in several."""
    first = sum(gutter <= line.left for gutter in gutters)
    return first if first == len(gutters) or line.right <= gutters[first] else None
