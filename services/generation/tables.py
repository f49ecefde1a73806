"""Tables as text: which lines are rows, and each row read together with its column words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from services.generation.markup import read_plain
from services.generation.sentences import Span, trim

_SEPARATOR = re.compile(r"^\s*\|?(?:\s*:?-{2,}:?\s*\|?)+\s*$")
_CELL_BREAK = re.compile(r"(?<!\\)\|")
_CAPTION = re.compile(r"^\s*(?:table|tab\.|tableau|tabelle|tabla|tabella|表)\s*[\w.\-]*", re.IGNORECASE)
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


def read_pipe_table(text: str, lines: list[Span], heading_context: str = "") -> Table:
    """A Markdown table: the line above the dashes is the header; without dashes it has none, or the given context."""
    separator = next((number for number, (start, end) in enumerate(lines) if _SEPARATOR.match(text[start:end])), None)
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

    The header is the run of lines before the first line that holds figures (or the first line after the caption);
    its words are not divided into columns, so a row reads with all of them behind it.
    """
    lines = _line_spans(text)
    caption_parts: list[str] = [read_plain(heading_context)] if heading_context else []
    header_span: Span | None = None
    body = lines
    if not heading_context and len(lines) > 1:
        count = _count_head_lines([text[start:end] for start, end in lines])
        caption_parts = [read_plain(text[start:end]) for start, end in lines[:count]]
        header_span = (lines[0][0], lines[count - 1][1]) if count else None
        body = lines[count:]
    caption = " ".join(caption_parts)
    return Table([Row(start, end, read_plain(text[start:end])) for start, end in body], caption, header_span)


def _line_spans(text: str) -> list[Span]:
    spans = []
    position = 0
    for raw in text.splitlines(keepends=True):
        start, end = trim(text, position, position + len(raw))
        position += len(raw)
        if start < end:
            spans.append((start, end))
    return spans


def _count_head_lines(lines: list[str]) -> int:
    """Lines of caption and header at the top; at most six, and never all lines."""
    count = 0
    in_caption = bool(_CAPTION.match(lines[0]))
    for line in lines[: min(6, len(lines) - 1)]:
        figures = sum(bool(_NUMBER.search(word)) for word in line.split())
        if count and not in_caption and figures * 3 >= len(line.split()):
            break
        count += 1
        if in_caption and line.rstrip().endswith((".", ":")):
            in_caption = False
    return count


def _find_pipe_header(heading_context: str) -> list[str]:
    for line in heading_context.splitlines():
        if line.lstrip().startswith("|") and not _SEPARATOR.match(line):
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
