"""Tables drawn with ruled lines: the grid of their cells, spans included, and the words in each."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from services.documents.parsing.pdf_rules import Rule, Rules
from services.documents.parsing.pdf_text import TextLine, Word

_TOUCH = 3.5  # points by which lines that meet may miss each other
_SAME_EDGE = 3.0  # points between lines that are one edge of the grid
_LONG_CELL_WORDS = 45.0  # mean words of a filled cell: above it the lines frame text and make no table
_LEAST_COVER = 0.5  # of the cells have words
_MAX_CROSSINGS = 400_000  # a page with more is a map or a chart
_MAX_CELLS = 20_000


@dataclass(frozen=True, slots=True)
class GridCell:
    """A cell over rows `top`..`bottom` and columns `left`..`right` (both inclusive), counted from the upper left."""

    top: int
    bottom: int
    left: int
    right: int
    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        """Its words, line by line."""
        return " ".join(word.text for word in self.words)


@dataclass(slots=True)
class Grid:
    """A ruled table: x of its column edges from left to right, y of its row edges from top to bottom, filled cells in
    reading order, and the indices of the page's lines that it holds."""

    xs: list[float]
    ys: list[float]
    cells: list[GridCell] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)

    @property
    def column_count(self) -> int:
        """Columns, empty ones counted."""
        return len(self.xs) - 1

    @property
    def row_count(self) -> int:
        """Rows, empty ones counted."""
        return len(self.ys) - 1


def find_grids(lines: Sequence[TextLine], rules: Rules, turned: Sequence[TextLine] = ()) -> list[Grid]:
    """Ruled tables of a page, from top to bottom; `turned` lines may be titles of their columns.

    What frames text, and grids with hardly a word, are left out.
    """
    grids = []
    for level, upright in _connect(rules):
        grid = Grid(_edges_of(upright), _edges_of(level)[::-1])
        if grid.column_count < 2 or grid.row_count < 2 or grid.column_count * grid.row_count > _MAX_CELLS:
            continue
        _fill(grid, lines, turned, level, upright)
        if _is_table(grid):
            grids.append(grid)
    return sorted(grids, key=lambda grid: -grid.ys[0])


def _connect(rules: Rules) -> list[tuple[list[Rule], list[Rule]]]:
    """Groups of lines that meet."""
    level, upright = list(rules.level), list(rules.upright)
    if len(level) * len(upright) > _MAX_CROSSINGS:
        return []
    group = list(range(len(level) + len(upright)))

    def root(number: int) -> int:
        while group[number] != number:
            group[number] = group[group[number]]
            number = group[number]
        return number

    for number, up in enumerate(upright):
        for other, across in enumerate(level):
            if across.start - _TOUCH <= up.place <= across.end + _TOUCH and (
                up.start - _TOUCH <= across.place <= up.end + _TOUCH
            ):
                group[root(len(level) + number)] = root(other)
    found: dict[int, tuple[list[Rule], list[Rule]]] = {}
    for number, rule in enumerate((*level, *upright)):
        pair = found.setdefault(root(number), ([], []))
        pair[0 if number < len(level) else 1].append(rule)
    return [pair for pair in found.values() if len(pair[0]) >= 2 and len(pair[1]) >= 2]


def _edges_of(rules: Sequence[Rule]) -> list[float]:
    edges: list[float] = []
    for place in sorted(rule.place for rule in rules):
        if not edges or place - edges[-1] > _SAME_EDGE:
            edges.append(place)
    return edges


def _fill(
    grid: Grid,
    lines: Sequence[TextLine],
    turned: Sequence[TextLine],
    level: Sequence[Rule],
    upright: Sequence[Rule],
) -> None:
    """Puts each word into its cell; cells without a line between them are one."""
    owner = _merge_cells(grid, level, upright)
    words: dict[tuple[int, int], list[Word]] = {}
    heights = [-y for y in grid.ys]
    for index, line in enumerate([*lines, *turned]):
        middle = (line.bottom + line.top) / 2
        if not (grid.ys[-1] < middle < grid.ys[0] and grid.xs[0] - 2 < (line.left + line.right) / 2 < grid.xs[-1] + 2):
            continue
        if index < len(lines):
            grid.indices.append(index)
        for word in line.words:
            row = _interval(heights, -(word.bottom + word.top) / 2)
            column = _interval(grid.xs, (word.left + word.right) / 2)
            words.setdefault(owner[row, column], []).append(word)
    members: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for place, head in owner.items():
        members.setdefault(head, []).append(place)
    for head, held in words.items():
        rows, columns = [row for row, _ in members[head]], [column for _, column in members[head]]
        grid.cells.append(GridCell(min(rows), max(rows), min(columns), max(columns), tuple(_in_lines(held))))
    grid.cells.sort(key=lambda cell: (cell.top, cell.left))


def _merge_cells(grid: Grid, level: Sequence[Rule], upright: Sequence[Rule]) -> dict[tuple[int, int], tuple[int, int]]:
    """For each place (row, column) of the grid, the first place of its cell."""
    owner = {(row, column): (row, column) for row in range(grid.row_count) for column in range(grid.column_count)}

    def root(place: tuple[int, int]) -> tuple[int, int]:
        while owner[place] != place:
            place = owner[place]
        return place

    beside = [[rule for rule in upright if abs(rule.place - x) <= _SAME_EDGE] for x in grid.xs]
    below = [[rule for rule in level if abs(rule.place - y) <= _SAME_EDGE] for y in grid.ys]
    for row, column in itertools.product(range(grid.row_count), range(grid.column_count)):
        x = (grid.xs[column] + grid.xs[column + 1]) / 2
        y = (grid.ys[row] + grid.ys[row + 1]) / 2
        if column + 1 < grid.column_count and not _is_ruled(beside[column + 1], y):
            owner[root((row, column + 1))] = root((row, column))
        if row + 1 < grid.row_count and not _is_ruled(below[row + 1], x):
            owner[root((row + 1, column))] = root((row, column))
    return {place: root(place) for place in owner}


def _is_ruled(rules: Sequence[Rule], position: float) -> bool:
    return any(rule.start <= position <= rule.end for rule in rules)


def _interval(edges: Sequence[float], position: float) -> int:
    return min(max(bisect.bisect_right(edges, position) - 1, 0), len(edges) - 2)


def _in_lines(words: Sequence[Word]) -> list[Word]:
    """Words of one cell in reading order: by baseline, then from left to right as the file has them."""
    long = [word for word in words if len(word.text) > 1]
    if long and all(word.right - word.left < word.top - word.bottom for word in long):
        return sorted(words, key=lambda each: each.start)  # a turned title
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda each: -(each.bottom + each.top)):
        above = rows[-1][0] if rows else None
        if above is not None and (word.bottom + word.top) / 2 > above.bottom:
            rows[-1].append(word)
        else:
            rows.append([word])
    return [word for row in rows for word in sorted(row, key=lambda each: (each.start, each.left))]


def _is_table(grid: Grid) -> bool:
    if len(grid.cells) < 4:
        return False
    words = sum(len(cell.words) for cell in grid.cells)
    columns = {cell.left for cell in grid.cells}
    rows = {cell.top for cell in grid.cells}
    if len(columns) < 2 or len(rows) < 2 or words > _LONG_CELL_WORDS * len(grid.cells):
        return False
    if _overlaps(grid) or 2 * sum(_cells_in(grid, row) >= 2 for row in rows) < len(rows):
        return False
    filled = sum((cell.bottom - cell.top + 1) * (cell.right - cell.left + 1) for cell in grid.cells)
    return filled >= _LEAST_COVER * len(rows) * len(columns)


def _cells_in(grid: Grid, row: int) -> int:
    return sum(cell.top <= row <= cell.bottom for cell in grid.cells)


def _overlaps(grid: Grid) -> bool:
    """Whether cells lie within others, as the boxes of a drawing do."""
    return any(
        one.top <= other.bottom and other.top <= one.bottom and one.left <= other.right and other.left <= one.right
        for one, other in itertools.combinations(grid.cells[:60], 2)
    )
