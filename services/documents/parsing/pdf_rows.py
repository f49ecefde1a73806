"""Which lines of a page look like rows of a table: cells with gaps between them, and what stands among such lines.

A line is cut into cells where the space between words is wider than a word space.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.documents.parsing.pdf_text import TextLine, Word

TABLE_CAPTION = re.compile(
    r"^(?:table|tableau|tabelle|tabla|tab\.)\s+(?:[A-Z]{1,2}[-.]?)?(?:\d+|[IVXL]+)(?:[-.]\d+)*\b(?!\s*[,;)])",
    re.IGNORECASE,
)
NUMBER = re.compile(r"^[-+−–~≈<>≤≥$€£(×]*\d[\d.,:/%·×x\s-]*[%)KMGBkms$€]*$")
_SECTION_NUMBER = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[A-Z](?:\.\d{1,2}){1,3})$")
_CELL_GAP = 0.62  # of the font size; word spaces are 0.25-0.35, justified ones seldom above 0.55
_WIDE_GAP = 1.4
_STRIP_WIDTH = 0.55  # of the font size: the least width of the empty strip between two columns
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
    return label.right <= line.left and middle(label) < middle(line) + line.height


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
    if len(cells) == 2 and words <= 8 and any(NUMBER.match(cell.text) for cell in cells):
        return "row"
    if words >= 3 and sum(bool(NUMBER.match(word.text)) for word in line.words) * 2 >= words and width < text_width:
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


def middle(line: TextLine) -> float:
    return (line.top + line.bottom) / 2
