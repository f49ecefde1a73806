"""Tables whose columns exist only as x-coordinates: runs of lines with gaps between aligned cells.

A line is cut into cells where the space between words is wider than a word space. A run of such lines, near a
caption or aligned among themselves, is a table; its columns are the clusters of the cells' x-intervals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.documents.parsing.blocks import Block
from services.documents.parsing.pdf_table_block import Row, caption_lines, join_boxes, make_table
from services.documents.parsing.pdf_text import TextLine, Word

TABLE_CAPTION = re.compile(
    r"^(?:table|tableau|tabelle|tabla|tab\.)\s+(?:[A-Z]{1,2}[-.]?)?(?:\d+|[IVXL]+)(?:[-.]\d+)*\b(?!\s*[,;)])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"^[-+−–~≈<>≤≥$€£(×]*\d[\d.,:/%·×x\s-]*[%)KMGBkms$€]*$")
_SECTION_NUMBER = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[A-Z](?:\.\d{1,2}){1,3})$")
_CELL_GAP = 0.62  # of the font size; word spaces are 0.25-0.35, justified ones seldom above 0.55
_WIDE_GAP = 1.4
_STRIP_WIDTH = 0.55  # of the font size: the least width of the empty strip between two columns
_MAX_HEADER_LINES = 6
_CROSSED_ROWS = 8  # one row in so many may cross a strip: a title, or a cell over two columns


@dataclass(slots=True)
class Cell:
    """Words of one line that stand together."""

    text: str
    left: float
    right: float


@dataclass(slots=True)
class Run:
    """Consecutive lines `start`..`end` (exclusive) of a page that look like rows."""

    start: int
    end: int


def cut_cells(line: TextLine, gap_factor: float = _CELL_GAP) -> list[Cell]:
    """The cells of a line, left to right as the file orders them."""
    cells: list[list[Word]] = []
    limit = gap_factor * max(line.size, 1.0)
    for word in line.words:
        if cells and _distance(cells[-1][-1], word) <= limit:
            cells[-1].append(word)
        else:
            cells.append([word])
    return [
        Cell(" ".join(w.text for w in words), min(w.left for w in words), max(w.right for w in words))
        for words in cells
    ]


def _distance(previous: Word, word: Word) -> float:
    """Empty space between two words, whichever way the script runs."""
    return max(word.left - previous.right, previous.left - word.right)


def is_caption(line: TextLine) -> bool:
    """Whether a line begins a table's caption, and not a sentence that begins with the table's name."""
    match = TABLE_CAPTION.match(line.text)
    if match is None:
        return False
    return titles_after(line.text[match.end() :])


def titles_after(rest: str) -> bool:
    """Whether what follows a label makes it a caption.

    "Table 2 summarizes our results" is prose; a caption has punctuation, a capital or nothing after its number.
    """
    rest = rest.lstrip()
    return not rest or rest[0] in ":.—–-|" or rest[0].isupper() or rest[0].isdigit()


def find_runs(lines: Sequence[TextLine], text_width: float) -> list[Run]:
    """Runs of lines that look like rows: cells with gaps, or short pieces between such lines."""
    shapes = [_looks_like_row(line, text_width) for line in lines]
    for index in range(1, len(lines) - 1):
        # A title between rows, such as a group's name across the table, is longer than a cell and still a row.
        if (
            shapes[index] == "prose"
            and shapes[index - 1] == shapes[index + 1] == "row"
            and len(lines[index].words) <= 12
        ):
            shapes[index] = "short"
    runs: list[Run] = []
    start = -1
    for index, line in enumerate(lines):
        joined = start >= 0 and _follows(lines, index)
        if shapes[index] == "prose" and joined and _in_row_columns(lines, shapes, start, index):
            shapes[index] = "short"
        if shapes[index] == "prose" or is_caption(line):
            start = _close(runs, lines, shapes, start, index)
        elif not joined:
            _close(runs, lines, shapes, start, index)
            start = index
    _close(runs, lines, shapes, start, len(lines))
    return runs


def _close(runs: list[Run], lines: Sequence[TextLine], shapes: list[str], start: int, end: int) -> int:
    """Ends a run; short lines before it that finish a paragraph, and short ones after it, are no rows."""
    if start >= 0:
        if start > 0 and shapes[start] == "short" and _finishes(lines[start - 1], lines[start]):
            start += 1
        while end > start and shapes[end - 1] == "short" and not _in_row_columns(lines, shapes, start, end - 1):
            end -= 1
        gapped = sum(shape == "row" for shape in shapes[start:end])
        if gapped >= 2 and gapped * 3 >= end - start:
            runs.append(Run(start, end))
    return -1


def _finishes(previous: TextLine, line: TextLine) -> bool:
    """Whether a line is the last of the paragraph above it."""
    gap = previous.bottom - line.top
    return abs(previous.left - line.left) < 12 and abs(previous.size - line.size) < 0.3 and -2 < gap < 0.5 * line.height


def _in_row_columns(lines: Sequence[TextLine], shapes: list[str], start: int, index: int) -> bool:
    """Whether a short last line stands where a column begins that is not the first."""
    left = lines[index].left
    for number in range(max(start, index - 12), index):
        if shapes[number] == "row" and any(abs(cell.left - left) < 4 for cell in cut_cells(lines[number])[1:]):
            return True
    return False


def _follows(lines: Sequence[TextLine], index: int) -> bool:
    """Whether a line may belong to the table of the line before it: no column jump, no large empty space."""
    previous, line = lines[index - 1], lines[index]
    height = max(previous.height, line.height, 1.0)
    if _is_label(line) and index + 1 < len(lines) and _is_beside(line, lines[index + 1]):
        line = lines[index + 1]  # a label drawn half-way down its rows: measure to the first of them
    gap = previous.bottom - line.top
    beside = _is_label(previous) and _is_beside(previous, line)
    return (-12 if beside else -2.5) * height <= gap <= 2.6 * height


def _is_label(line: TextLine) -> bool:
    return line.right - line.left < 11 * max(line.height, 1.0)


def _is_beside(label: TextLine, line: TextLine) -> bool:
    return label.right <= line.left and _middle(label) < _middle(line) + line.height


def _looks_like_row(line: TextLine, text_width: float) -> str:
    cells = cut_cells(line)
    width = line.right - line.left
    if line.fixed_width:
        return "prose"  # code is aligned too, and no table
    if line.bold and _SECTION_NUMBER.match(line.words[0].text):
        return "prose"
    words = len(line.words)
    wide = len(cut_cells(line, _WIDE_GAP))
    if len(cells) >= 3 or wide == 2:
        widest = max(len(cell.text.split()) for cell in cells)
        if widest <= 9 or wide >= 2:
            return "row"
    if len(cells) == 2 and words <= 8 and any(_NUMBER.match(cell.text) for cell in cells):
        return "row"
    if words >= 3 and sum(bool(_NUMBER.match(word.text)) for word in line.words) * 2 >= words and width < text_width:
        return "row"
    return "short" if width < 0.62 * text_width and words <= 9 else "prose"


def has_empty_strip(rows: Sequence[TextLine]) -> bool:
    """Whether an empty vertical strip runs through nearly all rows: justified text has wide spaces too, but not one
    above the other."""
    size = max(row.size for row in rows)
    left, right = min(row.left for row in rows), max(row.right for row in rows)
    allowed = len(rows) // _CROSSED_ROWS
    place = left
    width = 0.0
    while place < right:
        crossing = sum(any(word.left < place < word.right for word in row.words) for row in rows)
        beside = sum(row.right < place for row in rows) + sum(row.left > place for row in rows)
        width = width + 1.0 if crossing <= allowed and beside <= len(rows) / 2 else 0.0
        if width >= _STRIP_WIDTH * size:
            return True
        place += 1.0
    return False


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
            group = (label.text, 2 * _middle(label) - _middle(row))
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
    if group is not None and cells[0][0] > 0 and _middle(row) >= group[1] - 0.3 * row.height:
        return [(0, group[0]), *cells], group
    return cells, None


def _is_group_label(rows: Sequence[TextLine], number: int) -> bool:
    """A label drawn half-way down the rows that it names: it stands lower than the row that the file draws next."""
    if number + 1 >= len(rows):
        return False
    label, following = rows[number], rows[number + 1]
    return label.right <= following.left and _middle(label) < _middle(following) + 0.5 * following.height


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


def _middle(line: TextLine) -> float:
    return (line.top + line.bottom) / 2


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
        figures = sum(bool(_NUMBER.match(cell.text)) for cell in cells)
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
