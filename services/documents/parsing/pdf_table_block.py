"""A table's block from its rows: caption, one line of column titles, one line a row, each cell in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from services.documents.parsing.blocks import Block, BlockKind, Box, Line, space_cells
from services.documents.parsing.pdf_text import TextLine

_OFF_CENTRE = 4.0  # what a title's distance from the middle of its columns costs, in widths of a column
_UNTITLED = 0.5  # what a column without a title above it costs
_UNEVEN = 0.03  # what a title over n columns costs, times n squared: groups are of like size
_FARTHEST = 0.35  # of a column's width: a title further from every middle is over the columns it overlaps only


@dataclass(slots=True)
class Row:
    """A row as it is printed, cells as (column, text); `named` has the labels too that it shares with rows above."""

    cells: list[tuple[int, str]]
    box: Box
    named: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Title:
    """Words of a header over x from `left` to `right`."""

    text: str
    left: float
    right: float


def make_table(
    caption: Sequence[Line], titles: Sequence[str], header_box: Box | None, rows: Sequence[Row], page: int
) -> Block:
    """The block of a table. The column titles of a header over several lines, or over several columns, are put
    together, so that the header is one line with a place for every column."""
    lines = list(caption)
    header = space_cells([(column, title) for column, title in enumerate(titles) if title])
    if header:
        lines.append(Line(header, page, header_box, "\n"))
    items = []
    for row in rows:
        items.append(len(lines))
        lines.append(Line(space_cells(row.cells), page, row.box, "\n"))
    return Block(
        BlockKind.TABLE,
        lines,
        items=items,
        caption_count=len(caption),
        header_count=1 if header else 0,
        columns=list(titles),
        cells=[row.named or row.cells for row in rows] if len(titles) > 1 else [],
    )


def caption_lines(caption: Sequence[TextLine]) -> list[Line]:
    """A caption's lines as one running text."""
    return [Line(line.text, line.page, line.box, " " if number else "\n") for number, line in enumerate(caption)]


def join_boxes(boxes: Sequence[Box]) -> Box:
    """The box around boxes."""
    return (
        round(min(box[0] for box in boxes), 1),
        round(min(box[1] for box in boxes), 1),
        round(max(box[2] for box in boxes), 1),
        round(max(box[3] for box in boxes), 1),
    )


def spread_titles(
    titles: Sequence[Title], columns: Sequence[tuple[float, float]], below: Sequence[str] = ()
) -> list[str]:
    """For each column (left, right) the title above it: a title stands in the middle of the columns that it names.

    Titles and columns are in order from left to right. Of all ways to give each title a run of columns, the one with
    the titles nearest to the middles is taken, and of those the one that leaves few columns without and makes groups
    of like size; a title that stands in no middle counts for the columns that it overlaps. `below` are the columns'
    own titles: the same one twice does not stand under one title.
    """
    if not titles or not columns:
        return ["" for _ in columns]
    width = (columns[-1][1] - columns[0][0]) / len(columns) or 1.0
    spans = _best_spans(titles, columns, width, below)
    found = ["" for _ in columns]
    for title, (start, end) in zip(titles, spans, strict=True):
        middle = (columns[start][0] + columns[end - 1][1]) / 2
        if abs(middle - (title.left + title.right) / 2) > _FARTHEST * width:
            covered = [
                i for i, (left, right) in enumerate(columns) if left < title.right + 1 and right > title.left - 1
            ]
            start, end = (covered[0], covered[-1] + 1) if covered else (start, start + 1)
        for column in range(start, end):
            found[column] = f"{found[column]} {title.text}".strip()
    return found


def _best_spans(
    titles: Sequence[Title], columns: Sequence[tuple[float, float]], width: float, below: Sequence[str]
) -> list[tuple[int, int]]:
    """A run of columns for each title, by dynamic programming over the columns."""
    best: list[tuple[float, list[tuple[int, int]]]] = [(_UNTITLED * end, []) for end in range(len(columns) + 1)]
    for title in titles:
        middle = (title.left + title.right) / 2
        following: list[tuple[float, list[tuple[int, int]]]] = []
        for end in range(len(columns) + 1):
            options = [(following[-1][0] + _UNTITLED, following[-1][1])] if following else []
            for start in range(end):
                cost, spans = best[start]
                if len(spans) == len(best[-1][1]):
                    away = abs((columns[start][0] + columns[end - 1][1]) / 2 - middle) / width
                    shape = _OFF_CENTRE * away + _UNEVEN * (end - start) ** 2 + _count_repeated(below[start:end])
                    options.append((cost + shape, [*spans, (start, end)]))
            following.append(min(options, key=lambda option: option[0], default=(float("inf"), [])))
        best = following
    return best[-1][1] if len(best[-1][1]) == len(titles) else [(0, 1)] * len(titles)


def _count_repeated(titles: Sequence[str]) -> int:
    written = [title for title in titles if title]
    return len(written) - len(set(written))
