"""CSV and TSV as one table: the first row names the columns; long files in their first rows."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Final

from services.documents.parsing.blocks import ParsedDocument
from services.documents.parsing.plain import parse_plain, read_text
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.tabular import is_figure, make_table

MAX_CELL_COUNT: Final = 200_000
_SAMPLE_CHARS: Final = 16_384
_MAX_FIELD_CHARS: Final = 1_000_000
_MAX_LINE_CHARS: Final = 5_000_000
_LONG_LINE: Final = re.compile(rf"[^\n]{{{_MAX_LINE_CHARS + 1}}}")
_DELIMITERS: Final = ",;\t|"


def parse_delimited(path: Path) -> ParsedDocument:
    """A file of rows as a table; one that has no columns is read as plain text. Raises ParseRefused where empty."""
    text = read_text(path)
    _refuse_long_lines(text)
    csv.field_size_limit(_MAX_FIELD_CHARS)
    try:
        rows, is_cut = _read_rows(text)
    except csv.Error:
        return parse_plain(path)
    if is_cut and not rows:
        raise ParseRefused(
            RefusalReason.TOO_LARGE, f"The file's first row has more than the {MAX_CELL_COUNT:,} cells that are read."
        )
    if max(map(len, rows), default=0) < 2:
        return parse_plain(path)
    named = len(rows) > 1 and not any(is_figure(cell.strip()) for cell in rows[0])
    table = make_table(rows, header_count=int(named))
    document = ParsedDocument("csv", blocks=[table] if table is not None else [])
    if is_cut:
        document.truncated = f"only the first {len(rows):,} rows were read"
    return document


def _refuse_long_lines(text: str) -> None:
    """Raises ParseRefused where a line holds what a whole table may: the parser of rows takes it at once."""
    if _LONG_LINE.search(text):
        raise ParseRefused(
            RefusalReason.TOO_LARGE,
            f"A line of the file has more than {_MAX_LINE_CHARS:,} characters.",
        )


def _read_rows(text: str) -> tuple[list[list[str]], bool]:
    """Rows until there are as many cells as are read, and whether that cut them off."""
    rows: list[list[str]] = []
    cell_count = 0
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=_tell_delimiter(text[:_SAMPLE_CHARS])):
        cell_count += max(len(row), 1)
        if cell_count > MAX_CELL_COUNT:
            return rows, True
        if any(cell.strip() for cell in row):
            rows.append(row)
    return rows, False


def _tell_delimiter(sample: str) -> str:
    """The mark that divides most rows into the same number of cells, of more than one."""
    best, best_count = ",", 0
    lines = [line for line in sample.split("\n")[:50] if line.strip()]
    for mark in _DELIMITERS:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=mark)]
        except csv.Error:
            continue
        usual = max(set(counts), key=counts.count) if counts else 0
        agreeing = counts.count(usual) if usual > 1 else 0
        if agreeing > best_count:
            best, best_count = mark, agreeing
    return best
