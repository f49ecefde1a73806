"""Reading order by where words stand: for pages whose file draws them in an order that nobody reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from services.documents.parsing.pdf_text import TextLine

_GUTTER = 9.0  # points of empty space between columns of text
_LEAST_LINES = 4


def order_by_place(lines: Sequence[TextLine]) -> list[TextLine]:
    """Lines of a page column by column and from top to bottom; pieces on one baseline within a column are one line.

    A recursive X-Y cut (Nagy and Seth 1984): a region is divided at its widest empty vertical strip where both sides
    hold running text, else at lines that run across, else read from top to bottom.
    """
    return _read_region(list(lines), 0)


def _read_region(lines: list[TextLine], depth: int) -> list[TextLine]:
    if depth < 8 and len(lines) >= 2 * _LEAST_LINES:
        gutter = _find_gutter(lines)
        if gutter is not None:
            left = [line for line in lines if line.right <= gutter]
            right = [line for line in lines if line.left >= gutter]
            return _read_region(left, depth + 1) + _read_region(right, depth + 1)
        bands = _cut_bands(lines)
        if len(bands) > 1:
            return [line for band in bands for line in _read_region(band, depth + 1)]
    return _read_rows(lines)


def _find_gutter(lines: Sequence[TextLine]) -> float | None:
    """The middle of an empty vertical strip between two columns of running text; None where there is none."""
    edges = sorted((line.left, line.right) for line in lines)
    reach = edges[0][1]
    for left, right in edges[1:]:
        if left - reach >= _GUTTER:
            gutter = (left + reach) / 2
            sides = ([line for line in lines if line.right <= gutter], [line for line in lines if line.left >= gutter])
            if all(len(side) >= _LEAST_LINES and _is_running(side) for side in sides):
                return gutter
        reach = max(reach, right)
    return None


def _is_running(lines: Sequence[TextLine]) -> bool:
    """Whether lines are text rather than the cells of a table's column: most have several words."""
    return sum(len(line.words) >= 4 for line in lines) * 2 >= len(lines)


def _cut_bands(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Horizontal bands divided at lines that run across most of the region, where what is between has columns."""
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    ordered = sorted(lines, key=lambda line: -line.top)
    bands: list[list[TextLine]] = []
    for line in ordered:
        across = line.right - line.left > 0.6 * (right - left)
        if not bands or across != (_runs_across(bands[-1][-1], left, right)):
            bands.append([])
        bands[-1].append(line)
    # Without a band that has columns of its own, cutting gains nothing.
    if not any(_find_gutter(band) is not None for band in bands if len(band) >= 2 * _LEAST_LINES):
        return [list(lines)]
    return bands


def _runs_across(line: TextLine, left: float, right: float) -> bool:
    return line.right - line.left > 0.6 * (right - left)


def _read_rows(lines: Sequence[TextLine]) -> list[TextLine]:
    """From top to bottom; pieces whose middles are at one height are joined from left to right."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda each: -(each.top + each.bottom)):
        if rows and _is_level(rows[-1][0], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    joined: list[TextLine] = []
    for row in rows:
        row.sort(key=lambda each: each.left)
        joined.append(
            dataclasses.replace(
                row[0],
                words=[word for piece in row for word in piece.words],
                bold=all(piece.bold for piece in row),
                divided=row[-1].divided,
            )
        )
    return joined


def _is_level(row: TextLine, line: TextLine) -> bool:
    middle = (line.top + line.bottom) / 2
    return row.bottom < middle < row.top and abs((row.top + row.bottom) / 2 - middle) < 0.35 * row.height
