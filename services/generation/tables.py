"""Tables as text: which lines are rows, and each row read together with its column words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citemesh.text.dash_lines import is_dash_line
from citemesh.text.sentences import Span, trim
from services.generation.markup import read_plain

_CELL_BREAK = re.compile(r"(?<!\\)\|")
_CAPTION = re.compile(r"^\s*(?:table|tab\.|tableau|tabelle|tabla|tabella|表)\s*[\dA-ZIVX]", re.IGNORECASE)
_NUMBER = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its span and how it reads, "column: cell; column: cell"."""

    start: int
    end: int
    reading: str


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a table, and the words above them."""

    rows: list[Row]
    caption: str
    header_span: Span | None
    caption_span: Span | None = None
    """Where a caption such as "Table 3: ..." stands in the text."""


def read_pipe_table(text: str, lines: list[Span], heading_context: str = "") -> Table:
    """A Markdown table: the line above the dashes is the header; without dashes it has none, or the given context."""
    separator = next((number for number, (start, end) in enumerate(lines) if is_dash_line(text[start:end])), None)
    header_span: Span | None = None
    columns: list[str] = []
    caption = ""
    if separator:
        header_span = lines[separator - 1]
        columns = split_cells(text[slice(*header_span)])
        body = lines[separator + 1 :]
    else:
        body = lines if separator is None else lines[1:]
        columns = _find_pipe_header(heading_context)
        caption = "" if columns else read_plain(heading_context)
    rows = []
    for start, end in body:
        start, end = trim(text, start, end)
        cells = split_cells(text[start:end])
        if any(cells):
            rows.append(Row(start, end, join_cells(columns, cells)))
    return Table(rows, " ".join([caption, *columns]).strip(), header_span)


def read_plain_table(text: str, heading_context: str = "") -> Table:
    """A table printed line by line: caption and header lines first, then one row a line.

    Where one line of titles stands over rows of as many cells, each cell reads with its title. Else the header is the
    run of lines before the first that holds figures (or the first line after the caption), not divided into columns: a
    row reads with all of its words behind it.
    """
    lines = _line_spans(text)
    columns = next((titles for line in heading_context.splitlines()[::-1] if (titles := _read_titles(line))), [])
    if heading_context or len(lines) < 2:
        rows = [_read_row(text, line, columns) for line in lines]
        return Table(rows, read_plain(heading_context), None)
    count, caption_count = _count_head_lines([text[start:end] for start, end in lines])
    titles = _read_titles(text[slice(*lines[caption_count])]) if caption_count < len(lines) - 1 else []
    body = lines[caption_count + 1 :]
    if titles and _are_cells_of(titles, [text[start:end] for start, end in body]):
        count, columns = caption_count + 1, titles
    head, body = lines[:count], lines[count:]
    caption_span = (lines[0][0], lines[caption_count - 1][1]) if caption_count else None
    return Table(
        rows=[_read_row(text, line, columns) for line in body],
        caption=" ".join(read_plain(text[start:end]) for start, end in head),
        header_span=(head[0][0], head[-1][1]) if head else None,
        caption_span=caption_span,
    )


def _read_row(text: str, line: Span, columns: list[str]) -> Row:
    start, end = line
    cells = [read_plain(cell) for cell in _split_places(text[start:end])]
    if len(columns) < 2 or len(cells) != len(columns):
        return Row(start, end, read_plain(text[start:end]))
    return Row(start, end, join_cells(columns, cells))


def _read_titles(line: str) -> list[str]:
    """The titles of columns in a line of cells; empty where a cell is empty, holds figures, or comes twice."""
    titles = [read_plain(cell) for cell in _split_places(line)]
    is_header = len(titles) > 1 and all(titles) and len(set(titles)) == len(titles)
    return titles if is_header and not any(_NUMBER.search(title) for title in titles) else []


def _are_cells_of(titles: list[str], lines: list[str]) -> bool:
    return all(len(_split_places(line)) == len(titles) for line in lines)


def _split_places(line: str) -> list[str]:
    """The cells of a row whose columns stand two spaces apart."""
    return line.split("  ")


def _line_spans(text: str) -> list[Span]:
    spans = []
    position = 0
    for raw in text.splitlines(keepends=True):
        start, end = trim(text, position, position + len(raw))
        position += len(raw)
        if start < end:
            spans.append((start, end))
    return spans


def _count_head_lines(lines: list[str]) -> tuple[int, int]:
    """Lines of caption and header at the top, at most six and never all, and how many of them are the caption."""
    count = 0
    caption_count = 0
    in_caption = bool(_CAPTION.match(lines[0]))
    for line in lines[: min(6, len(lines) - 1)]:
        figures = sum(bool(_NUMBER.search(word)) for word in line.split())
        if count and not in_caption and figures * 3 >= len(line.split()):
            break
        count += 1
        caption_count += in_caption
        if in_caption and line.rstrip().endswith((".", ":")):
            in_caption = False
    # A caption without a full stop would swallow the header: then only its first line is taken for it.
    return count, 1 if in_caption else caption_count


def _find_pipe_header(heading_context: str) -> list[str]:
    for line in heading_context.splitlines():
        if line.lstrip().startswith("|") and not is_dash_line(line):
            return split_cells(line)
    return []


def split_cells(line: str) -> list[str]:
    """The cells of one pipe row, in plain words."""
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [read_plain(cell) for cell in _CELL_BREAK.split(inner)]


def join_cells(columns: list[str], cells: list[str]) -> str:
    """One row in words: each cell behind its column's title, where it has one."""
    parts = []
    for number, cell in enumerate(cells):
        if not cell:
            continue
        title = columns[number] if number < len(columns) else ""
        parts.append(f"{title}: {cell}" if title and title.lower() != cell.lower() else cell)
    return "; ".join(parts)
