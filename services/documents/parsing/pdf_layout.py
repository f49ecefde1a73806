"""From the visual lines of a PDF to blocks: tables and captions taken out, paragraphs joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from services.documents.parsing.blocks import Block, Page
from services.documents.parsing.pdf_grid import Grid, find_grids
from services.documents.parsing.pdf_grid_table import build_grid_table
from services.documents.parsing.pdf_paragraphs import (
    SENTENCE_END,
    Style,
    begins_block,
    make_block,
)
from services.documents.parsing.pdf_rows import Run, find_runs, has_empty_strip, is_caption
from services.documents.parsing.pdf_rules import Rules
from services.documents.parsing.pdf_table_block import caption_lines
from services.documents.parsing.pdf_tables import build_table
from services.documents.parsing.pdf_text import TextLine


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a page has beside its lines: ruled lines, words that are turned, fields of forms and text typed onto it."""

    rules: Rules = field(default_factory=Rules)
    turned: Sequence[TextLine] = ()
    annotations: Sequence[Block] = ()


def layout_page(lines: list[TextLine], page: Page, style: Style, drawn: Drawn | None = None) -> list[Block]:
    """Blocks of one page, in the file's order; each table stands where its caption stood."""
    if not lines:
        return []
    taken = _Taken(lines)
    tables: dict[int, Block] = {}
    if drawn is not None:
        _take_grids(lines, page, tables, taken, find_grids(lines, drawn.rules, drawn.turned))
    runs = [
        part
        for run in find_runs(lines, _column_width(lines))
        for part in _free_parts(run, taken)
        if part.end - part.start >= 2
    ]
    for index, line in enumerate(lines):
        if is_caption(line) and index not in taken.indices:
            end = _caption_end(lines, index, runs)
            run = _nearest_run(lines, index, end, runs, taken)
            if run is not None:
                _take_table(lines, tables, taken, index, end, run)
    for run in runs:
        if run.start not in taken.indices and _aligned_alone(lines, run):
            _take_table(lines, tables, taken, run.start, run.start, run)
    return _flow(lines, page, style, tables, taken)


def _take_grids(
    lines: list[TextLine], page: Page, tables: dict[int, Block], taken: _Taken, grids: Sequence[Grid]
) -> None:
    """Ruled tables, each with the caption nearest to it; a grid within another is part of that."""
    free = [grid for grid in grids if grid.indices]
    captions = [index for index, line in enumerate(lines) if is_caption(line)]
    for grid in free:
        if not taken.indices.isdisjoint(grid.indices):
            continue
        inside = set(grid.indices)
        near = [
            (distance, index)
            for index in captions
            if index not in inside | taken.indices and (distance := _caption_distance(lines[index], grid)) is not None
        ]
        start = min(near)[1] if near else min(inside)
        end = start
        if near:
            end = _caption_end(lines, start, [])
            while end > start and inside & set(range(start, end)):
                end -= 1
        tables[start] = build_grid_table(caption_lines(lines[start:end]), grid, page.number)
        taken.indices.update(inside, range(start, end))


def _caption_distance(caption: TextLine, grid: Grid) -> float | None:
    """Points between a caption and the grid below or above it; None where it is not near."""
    if caption.right < grid.xs[0] or caption.left > grid.xs[-1]:
        return None
    for distance in (caption.bottom - grid.ys[0], grid.ys[-1] - caption.top + 10.0):
        if -8.0 <= distance <= 45.0:
            return distance
    return None


def _free_parts(run: Run, taken: _Taken) -> list[Run]:
    """A run without the lines that belong to tables already."""
    parts: list[Run] = []
    for index in range(run.start, run.end):
        if index in taken.indices:
            continue
        if parts and parts[-1].end == index:
            parts[-1].end = index + 1
        else:
            parts.append(Run(index, index + 1))
    return parts


class _Taken:
    """Indices of lines that belong to tables."""

    def __init__(self, lines: Sequence[TextLine]) -> None:
        self.indices: set[int] = set()
        self.lines = lines


def _take_table(lines: list[TextLine], tables: dict[int, Block], taken: _Taken, start: int, end: int, run: Run) -> None:
    rows = [index for index in range(run.start, run.end) if not start <= index < end]
    tables[start] = build_table(lines[start:end], [lines[index] for index in rows])
    taken.indices.update(range(start, end))
    taken.indices.update(rows)


def _column_width(lines: Sequence[TextLine]) -> float:
    """Width of the column that running text fills: of the widest lines, the common value."""
    widths = sorted(line.right - line.left for line in lines if len(line.words) > 5)
    return widths[int(0.8 * (len(widths) - 1))] if widths else max(line.right - line.left for line in lines)


def _caption_end(lines: Sequence[TextLine], index: int, runs: Sequence[Run]) -> int:
    """One past the caption's last line: lines of its size follow closely, until the table or a wider space."""
    starts = {run.start for run in runs}
    end = index + 1
    while end < len(lines) and end not in starts and end - index < 8:
        above, line = lines[end - 1], lines[end]
        gap = above.bottom - line.top
        same = abs(line.size - lines[index].size) < 0.3 and -0.3 * line.height < gap < 0.55 * line.height
        if not same or (SENTENCE_END.search(above.text) and above.right < lines[index].right - 3 * line.size):
            break
        end += 1
    return end


def _nearest_run(lines: Sequence[TextLine], start: int, end: int, runs: Sequence[Run], taken: _Taken) -> Run | None:
    """The run just below a caption, else the one just above it, on the page and not in the file's order."""
    bottom, top = min(line.bottom for line in lines[start:end]), max(line.top for line in lines[start:end])
    left, right = min(line.left for line in lines[start:end]), max(line.right for line in lines[start:end])
    best: tuple[float, Run] | None = None
    for run in runs:
        rows = [lines[index] for index in range(run.start, run.end) if not start <= index < end]
        if not rows or run.start in taken.indices:
            continue
        if max(row.right for row in rows) < left or min(row.left for row in rows) > right:
            continue
        below = bottom - max(row.top for row in rows)
        above = min(row.bottom for row in rows) - top
        for distance in (below, above + 10.0):
            if -8.0 <= distance <= 45.0 and (best is None or distance < best[0]):
                best = (distance, run)
    return best[1] if best else None


def _aligned_alone(lines: Sequence[TextLine], run: Run) -> bool:
    """Whether a run without a caption is a table: three rows or more that share two column edges."""
    rows = list(lines[run.start : run.end])
    if len(rows) < 3:
        return False
    block = build_table([], rows)
    full = [row for row in block.cells if len({column for column, _ in row}) >= 2]
    words = sum(len(text.split()) for row in block.cells for _, text in row)
    prose = words > 6 * sum(len(row) for row in block.cells)
    aligned = has_empty_strip(rows)
    return len(block.columns) >= 2 and len(full) >= 3 and len(full) * 2 >= len(block.cells) and aligned and not prose


def _flow(lines: list[TextLine], page: Page, style: Style, tables: dict[int, Block], taken: _Taken) -> list[Block]:
    blocks: list[Block] = []
    group: list[TextLine] = []

    def end_group() -> None:
        if group:
            blocks.append(make_block(group, page, style))
            group.clear()

    for index, line in enumerate(lines):
        if index in tables:
            end_group()
            blocks.append(tables[index])
        if index in taken.indices:
            continue
        if group and begins_block(group, line, style):
            end_group()
        group.append(line)
    end_group()
    return blocks
