"""Tables whose columns exist only as x-coordinates: rows of aligned cells become a block with columns and cells.

A run of lines that look like rows, near a caption or aligned among themselves, is a table; its columns are the clusters
of the cells' x-intervals.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.documents.parsing.blocks import Block
from services.documents.parsing.pdf_rows import NUMBER, Cell, cut_cells, middle
from services.documents.parsing.pdf_table_block import Row, caption_lines, join_boxes, make_table
from services.documents.parsing.pdf_text import TextLine, Word

_MAX_HEADER_LINES = 6


def build_table(caption: Sequence[TextLine], rows: Sequence[TextLine]) -> Block:
    """One table block of its caption's lines and its rows' lines, with columns and cells where they can be told."""
    cut = [cut_cells(row) for row in rows]
    header_count = _count_header(rows, cut)
    columns = _find_columns(cut[header_count:])
    # A file may draw the lines of a header in any order.
    header = [cut[number] for number in sorted(range(header_count), key=lambda number: -rows[number].top)]
    made: list[Row] = []
    labelled = False
    group: tuple[str, float] | None = None
    for number in range(header_count, len(rows)):
        row = rows[number]
        cells = _place(cut[number], columns)
        label_of_group = len(cells) == 1 and _is_group_label(rows, number)
        if labelled:
            # The label is drawn half-way down the rows that it names; this is the first of them.
            label = rows[number - 1]
            made[-1] = Row([*made[-1].cells, *cells], join_boxes([made[-1].box, row.box]))
            group = (label.text, 2 * middle(label) - middle(row))
        elif len(cells) == 1 and cells[0][0] > 0 and made and not label_of_group:
            # The next line of a cell.
            for each in (made[-1].cells, made[-1].named):
                _continue_cell(each, cells[0])
            made[-1].box = join_boxes([made[-1].box, row.box])
        else:
            named, group = _name_group(row, cells, group)
            made.append(Row(cells, row.box, list(named)))
        labelled = label_of_group
    titles = _column_titles(header, columns)
    if len(columns) < 2:
        titles = [" ".join(cell.text for row in header for cell in row)]
    header_box = join_boxes([row.box for row in rows[:header_count]]) if header_count else None
    page = (caption or rows)[0].page if caption or rows else 0
    return make_table(caption_lines(caption), titles, header_box, made, page)


def _continue_cell(cells: list[tuple[int, str]], more: tuple[int, str]) -> None:
    for number, (column, text) in enumerate(cells):
        if column == more[0]:
            cells[number] = (column, f"{text} {more[1]}")
            return
    cells.append(more)
    cells.sort()


def _name_group(
    row: TextLine, cells: list[tuple[int, str]], group: tuple[str, float] | None
) -> tuple[list[tuple[int, str]], tuple[str, float] | None]:
    """A row's cells with the label of the group that it stands in; and the group (label, lower end) after this row."""
    if _has_low_label(row) and len(cells) > 1:
        return cells, (cells[0][1], 2 * _word_middle(row.words[0]) - _word_middle(row.words[-1]))
    if group is not None and cells[0][0] > 0 and middle(row) >= group[1] - 0.3 * row.height:
        return [(0, group[0]), *cells], group
    return cells, None


def _is_group_label(rows: Sequence[TextLine], number: int) -> bool:
    """A label drawn half-way down the rows that it names: it stands lower than the row that the file draws next."""
    if number + 1 >= len(rows):
        return False
    label, following = rows[number], rows[number + 1]
    return label.right <= following.left and middle(label) < middle(following) + 0.5 * following.height


def _has_low_label(row: TextLine) -> bool:
    """A row whose first word stands lower than its last: a label drawn between this row and those below it."""
    low = _word_middle(row.words[-1]) - _word_middle(row.words[0])
    return (
        0.2 * row.size < low < 1.5 * row.size and row.words[0].right < row.words[1].left
        if len(row.words) > 1
        else False
    )


def _word_middle(word: Word) -> float:
    return (word.top + word.bottom) / 2


def _count_header(rows: Sequence[TextLine], cut: list[list[Cell]]) -> int:
    """Leading lines without figures, before the first line with some; in a table of words the first line, and those
    after it that begin right of the first column."""
    count = _first_with_figures(cut)
    if count is None:
        left, size = min(row.left for row in rows), rows[0].size
        count = 1 if len(rows) > 2 else 0
        while 0 < count < len(rows) - 1 and count < 4 and rows[count].left > left + 3 * size:
            if len(cut[count]) >= len(cut[0]):
                break
            count += 1
        return count
    full = max(map(len, cut))
    for number in range(1, min(count, _MAX_HEADER_LINES)):
        # After a line with a title for every column come rows: another such line, or the name of a group of rows.
        if len(cut[number - 1]) == full and (len(cut[number]) == full or _names_rows(cut[number], cut[number - 1])):
            return number
    return count if count <= _MAX_HEADER_LINES else 1


def _names_rows(cells: list[Cell], titles: list[Cell]) -> bool:
    """Whether a line is one cell under the first title, or under several."""
    if len(cells) != 1:
        return False
    under = [title for title in titles if _overlap(cells[0], (title.left, title.right)) > 0]
    return len(under) >= 2 or abs(cells[0].left - titles[0].left) < 4


def _first_with_figures(cut: list[list[Cell]]) -> int | None:
    for number, cells in enumerate(cut):
        figures = sum(bool(NUMBER.match(cell.text)) for cell in cells)
        if len(cells) >= 2 and figures * 3 >= len(cells):
            return number
    return None


def _find_columns(cut: list[list[Cell]]) -> list[tuple[float, float]]:
    """x-intervals of columns: narrow cells first; a cell that covers two columns is a span and makes none."""
    cells = sorted((cell for row in cut if len(row) > 1 for cell in row), key=lambda cell: cell.right - cell.left)
    columns: list[tuple[float, float]] = []
    for cell in cells:
        hits = [i for i, column in enumerate(columns) if _overlap(cell, column) > 0]
        if not hits:
            columns.append((cell.left, cell.right))
        elif len(hits) == 1:
            left, right = columns[hits[0]]
            columns[hits[0]] = (min(left, cell.left), max(right, cell.right))
    for row in cut:
        if len(row) == 1 and not any(_overlap(row[0], column) > 0 for column in columns):
            columns.append((row[0].left, row[0].right))
    return sorted(columns)


def _overlap(cell: Cell, column: tuple[float, float]) -> float:
    return min(cell.right, column[1]) - max(cell.left, column[0])


def _column_of(cell: Cell, columns: list[tuple[float, float]]) -> int:
    """Index of the column that a cell stands in."""
    if not columns:
        return 0
    covered = [i for i, column in enumerate(columns) if _overlap(cell, column) > 0]
    if covered:
        # Of a span, the column that it begins in.
        return min(covered, key=lambda i: abs(columns[i][0] - cell.left))
    middle = (cell.left + cell.right) / 2
    return min(range(len(columns)), key=lambda i: abs((columns[i][0] + columns[i][1]) / 2 - middle))


def _place(cells: list[Cell], columns: list[tuple[float, float]]) -> list[tuple[int, str]]:
    """Cells with their columns; neighbours in one column are one cell."""
    placed: list[tuple[int, str]] = []
    for cell in cells:
        column = _column_of(cell, columns)
        if placed and placed[-1][0] == column:
            placed[-1] = (column, f"{placed[-1][1]} {cell.text}")
        else:
            placed.append((column, cell.text))
    return placed


def _column_titles(header: list[list[Cell]], columns: list[tuple[float, float]]) -> list[str]:
    """The header's words above each column, from top to bottom; a title over several columns counts for each."""
    titles = ["" for _ in columns]
    for row in header:
        for cell in row:
            covered = [i for i, column in enumerate(columns) if _overlap(cell, column) > -1.0]
            for index in covered or [_column_of(cell, columns)] if columns else []:
                titles[index] = f"{titles[index]} {cell.text}".strip()
    return titles
