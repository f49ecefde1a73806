"""From a ruled grid to a table: columns and rows that hold something, titles, and rows drawn without lines between."""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.documents.parsing.blocks import Block, Box, Line
from services.documents.parsing.pdf_grid import Grid, GridCell
from services.documents.parsing.pdf_table_block import Row, Title, join_boxes, make_table, spread_titles
from services.documents.parsing.pdf_text import Word

_FIGURE = re.compile(r"^\W*\d[\d.,:/% ]*\W*$")
_MAX_HEADER_ROWS = 4
_ALIGNED_SHARE = 0.6
_SHORT_CELL_WORDS = 2.5
_LEAST_COLUMNS = 4
Band = tuple[int, int]


def build_grid_table(caption: Sequence[Line], grid: Grid, page: int) -> Block:
    """The block of a ruled table; a row over its whole width at the top is its title and joins the caption."""
    columns = find_bands([(cell.left, cell.right) for cell in grid.cells])
    rows = find_bands([(cell.top, cell.bottom) for cell in grid.cells])
    cells = sorted(grid.cells, key=lambda cell: (cell.top, cell.left))
    lines = list(caption)
    start = 0
    while start < len(rows) - 2 and _is_title(_in_band(cells, rows[start]), columns):
        title = _in_band(cells, rows[start])[0]
        lines.append(Line(title.text, page, _box(title.words), "\n"))
        start += 1
    header_end = start + _count_header(cells, rows[start:], columns)
    header = [cell for cell in cells if any(_meets(cell, row) for row in rows[start:header_end])]
    titled = set(map(id, header))
    below = [cell for cell in cells if id(cell) not in titled]
    body: list[Row] = []
    for band in rows[header_end:]:
        body.extend(_make_rows(_in_band(below, band), band, columns))
    titles = _read_titles(header, columns)
    header_box = join_boxes([_box(cell.words) for cell in header]) if header else None
    return make_table(lines, titles, header_box, body, page)


def find_bands(ranges: Sequence[Band]) -> list[Band]:
    """Columns (or rows) from the ranges of cells: ranges that overlap are one; a range over several is a span."""
    bands: list[Band] = []
    for first, last in sorted(set(ranges), key=lambda each: (each[1] - each[0], each)):
        hits = [number for number, band in enumerate(bands) if first <= band[1] and last >= band[0]]
        if not hits:
            bands.append((first, last))
        elif len(hits) == 1:
            band = bands[hits[0]]
            bands[hits[0]] = (min(first, band[0]), max(last, band[1]))
    return sorted(bands)


def _in_band(cells: Sequence[GridCell], band: Band) -> list[GridCell]:
    return [cell for cell in cells if _meets(cell, band)]


def _meets(cell: GridCell, row: Band) -> bool:
    return cell.top <= row[1] and cell.bottom >= row[0]


def _columns_of(cell: GridCell, columns: Sequence[Band]) -> list[int]:
    return [number for number, band in enumerate(columns) if cell.left <= band[1] and cell.right >= band[0]]


def _is_title(cells: Sequence[GridCell], columns: Sequence[Band]) -> bool:
    return len(cells) == 1 and len(_columns_of(cells[0], columns)) * 2 > len(columns)


def _count_header(cells: Sequence[GridCell], rows: Sequence[Band], columns: Sequence[Band]) -> int:
    """Rows of column titles: the first, and those below that a title over several columns or rows calls for."""
    first = _in_band(cells, rows[0])
    if len(rows) < 2 or 2 * sum(bool(_FIGURE.match(cell.text)) for cell in first) >= len(first):
        return 0
    count = 1
    while count < min(_MAX_HEADER_ROWS, len(rows) - 1):
        above = _in_band(cells, rows[count - 1])
        divided = any(len(_columns_of(cell, columns)) > 1 for cell in above) and len(above) > 1
        reaches = any(_meets(cell, rows[count]) for cell in above)
        below = [cell for cell in _in_band(cells, rows[count]) if cell not in above]
        if not (divided or reaches) or any(_FIGURE.match(cell.text) for cell in below):
            break
        count += 1
    return count


def _read_titles(header: Sequence[GridCell], columns: Sequence[Band]) -> list[str]:
    titles = ["" for _ in columns]
    groups = _find_group_titles(header, columns)
    over_groups = set(map(id, groups))
    for cell in header:
        words = [word for word in cell.words if id(word) not in over_groups]
        text = " ".join(word.text for word in words)
        for column in _columns_of(cell, columns):
            titles[column] = f"{titles[column]} {text}".strip()
    if groups:
        places = [_place(header, column, columns, groups) for column in range(len(columns))]
        if all(place is not None for place in places):
            over = spread_titles(_join_words(groups), [place for place in places if place is not None], titles)
            titles = [f"{above} {title}".strip() for above, title in zip(over, titles, strict=True)]
    return titles


def _find_group_titles(header: Sequence[GridCell], columns: Sequence[Band]) -> list[Word]:
    """Words of the header's upper line that stand over groups of columns: the line below has a title for nearly every
    column, and titles that occur more than once."""
    baselines = _baselines([word for cell in header for word in cell.words])
    if len(baselines) < 2:
        return []
    second = set(map(id, baselines[1]))
    lower = [" ".join(word.text for word in cell.words if id(word) in second) for cell in header]
    titled = [title for title in lower if title]
    repeated = len(set(titled)) < len(titled)
    return baselines[0] if repeated and len(titled) >= _ALIGNED_SHARE * len(columns) else []


def _place(
    header: Sequence[GridCell], column: int, columns: Sequence[Band], groups: Sequence[Word]
) -> tuple[float, float] | None:
    cells = [cell for cell in header if _columns_of(cell, columns) == [column]]
    over_groups = set(map(id, groups))
    words = [word for cell in cells for word in cell.words if id(word) not in over_groups]
    return (min(word.left for word in words), max(word.right for word in words)) if words else None


def _join_words(words: Sequence[Word]) -> list[Title]:
    titles: list[Title] = []
    for word in sorted(words, key=lambda each: each.left):
        if titles and word.left - titles[-1].right < 0.7 * (word.top - word.bottom):
            titles[-1] = Title(f"{titles[-1].text} {word.text}", titles[-1].left, word.right)
        else:
            titles.append(Title(word.text, word.left, word.right))
    return titles


def _make_rows(cells: Sequence[GridCell], band: Band, columns: Sequence[Band]) -> list[Row]:
    """One row, or several where the lines between them were left out: then most lines have words in most columns, and
    the words in one column on one line are few."""
    own = [cell for cell in cells if cell.top >= band[0]]
    if not own:
        return []
    baselines = _baselines([word for cell in own for word in cell.words])
    owner = {id(word): number for number, cell in enumerate(own) for word in cell.words}
    counts = [len({owner[id(word)] for word in line}) for line in baselines]
    full = sum(count >= max(2, len(own) / 2) for count in counts) >= _ALIGNED_SHARE * len(baselines)
    short = sum(len(cell.words) for cell in own) <= _SHORT_CELL_WORDS * sum(counts)
    if len(baselines) > 1 and len(own) >= _LEAST_COLUMNS and full and short:
        rows = [_rows_of_line(line, own, columns) for line in baselines]
        return [row for row in rows if row.cells]
    texts = [(_columns_of(cell, columns)[0], cell.text) for cell in own if cell.words]
    shared = [(_columns_of(cell, columns)[0], cell.text) for cell in cells if cell.top < band[0]]
    return [Row(sorted(texts), join_boxes([_box(cell.words) for cell in own]), sorted([*shared, *texts]))]


def _rows_of_line(line: Sequence[Word], cells: Sequence[GridCell], columns: Sequence[Band]) -> Row:
    texts = []
    members = set(map(id, line))
    for cell in cells:
        words = [word.text for word in cell.words if id(word) in members]
        if words:
            texts.append((_columns_of(cell, columns)[0], " ".join(words)))
    return Row(sorted(texts), _box(line))


def _baselines(words: Sequence[Word]) -> list[list[Word]]:
    """Words by the height at which they stand, from top to bottom."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda each: -(each.bottom + each.top)):
        middle = (word.bottom + word.top) / 2
        if lines and middle > lines[-1][0].bottom + 0.25 * (lines[-1][0].top - lines[-1][0].bottom):
            lines[-1].append(word)
        else:
            lines.append([word])
    return lines


def _box(words: Sequence[Word]) -> Box:
    return join_boxes([(word.left, word.bottom, word.right, word.top) for word in words])
