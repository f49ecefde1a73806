"""XLSX as blocks: a sheet is a section, each of its ranges a table; formulas by their results; huge sheets bounded."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final
from zipfile import ZipFile

import openpyxl  # type: ignore[import-untyped]  # it ships no types
from lxml import etree  # type: ignore[import-untyped]  # it ships no types

from services.documents.parsing.blocks import Block, BlockKind, Line, ParsedDocument
from services.documents.parsing.packages import open_package, read_core_title
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.tabular import make_table

MAX_CELL_COUNT: Final = 200_000
_MAX_ROWS: Final = 50_000
_MAX_COLUMNS: Final = 500
_MAX_EMPTY_ROWS: Final = 5_000

Row = list[str]


def parse_xlsx(path: Path) -> ParsedDocument:
    """A workbook as blocks. Raises ParseRefused where it is damaged or empty; what was left out is in `truncated`."""
    # By its stream: openpyxl refuses a path by its ending.
    with open_package(path, "XLSX") as package, path.open("rb") as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl tells of features that it does not keep
        document = ParsedDocument("xlsx", title=read_core_title(package))
        try:
            _Workbook(stream, package, document).read()
        except (AttributeError, IndexError, TypeError, etree.LxmlError, SyntaxError) as error:
            # openpyxl trips over parts that are missing or misshapen in these ways.
            raise ParseRefused(RefusalReason.UNREADABLE, "The file is damaged: it is not a readable XLSX.") from error
    if not any(block.kind is not BlockKind.HEADING for block in document.blocks):
        raise ParseRefused(RefusalReason.EMPTY, "The workbook holds no text.")
    return document


class _Workbook:
    """Reads the sheets in order, until the cells of all of them together are as many as are read."""

    def __init__(self, stream: BinaryIO, package: ZipFile, document: ParsedDocument) -> None:
        self._stream = stream
        self._document = document
        self._has_formulas = any(
            _holds(package, name, b"<f") for name in package.namelist() if name.startswith("xl/worksheets/sheet")
        )
        self._left = MAX_CELL_COUNT
        self._unsolved = 0
        self._cut: list[str] = []

    def read(self) -> None:
        """Adds every sheet to the document."""
        values = openpyxl.load_workbook(self._stream, read_only=True, data_only=True)
        formulas = openpyxl.load_workbook(self._stream, read_only=True) if self._has_formulas else None
        for sheet in values.worksheets:
            if self._left <= 0:
                self._cut.append(sheet.title)
                continue
            rows = self._rows(sheet, formulas[sheet.title] if formulas is not None else None)
            blocks = list(_divide(rows))
            if blocks:
                self._document.blocks.append(Block(BlockKind.HEADING, [Line(sheet.title)], level=1))
                self._document.blocks.extend(blocks)
        if self._cut:
            names = ", ".join(f'"{name}"' for name in dict.fromkeys(self._cut[:5]))
            self._document.truncated = f"not every row was read: the workbook is cut off in or before {names}"
        if self._unsolved:
            self._document.notes.append(f"{self._unsolved} formulas have no stored result: their text was read instead")

    def _rows(self, sheet: Any, formulas: Any) -> Iterator[Row]:
        """Texts by row; where a formula was never calculated, itself."""
        # What a sheet says of its own size is not trusted.
        for each in (sheet, formulas):
            if each is not None:
                each.reset_dimensions()
        others = formulas.iter_rows(max_row=_MAX_ROWS + 1) if formulas is not None else None
        empty = 0
        for number, cells in enumerate(sheet.iter_rows(max_row=_MAX_ROWS + 1)):
            other = next(others, ()) if others is not None else ()
            row = [
                _text_of(cell.value, cell.number_format) if cell.value is not None else ""
                for cell in cells[:_MAX_COLUMNS]
            ]
            for place, cell in enumerate(other[: len(row)]):
                if not row[place] and isinstance(cell.value, str) and cell.value.startswith("="):
                    row[place] = cell.value
                    self._unsolved += 1
            filled = sum(map(bool, row))
            empty = 0 if filled else empty + 1
            # Cells far to the right cost time too, though nothing stands before them.
            self._left -= max(filled, 1, len(cells) // 100)
            if self._left <= 0 or number >= _MAX_ROWS:
                self._cut.append(sheet.title)
                return
            if empty > _MAX_EMPTY_ROWS:
                return
            yield row


def _divide(rows: Iterator[Row]) -> Iterator[Block]:
    """A table begins with a row of two cells or more and ends with an empty row; what stands above it is text."""
    above: list[str] = []
    table: list[Row] = []
    for row in rows:
        texts = [text for text in row if text]
        if len(texts) >= 2 or (texts and table):
            table.append(row)
        elif texts:
            above.append(texts[0])
        elif table:
            yield from _make_blocks(above, table)
            above, table = [], []
    yield from _make_blocks(above, table)


def _make_blocks(above: list[str], table: list[Row]) -> Iterator[Block]:
    """The last line above a table is its caption."""
    caption = above.pop() if table and above else ""
    if above:
        yield Block(BlockKind.PARAGRAPH, [Line(text) for text in above])
    first = min((place for row in table for place, text in enumerate(row) if text), default=0)
    made = make_table([row[first:] for row in table], caption)
    if made is not None:
        yield made


def _text_of(value: object, number_format: str) -> str:
    """A cell as a reader sees it, near enough to be quoted: dates by ISO, shares in percent."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ", "minutes")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (int, float)):
        if "%" in number_format:
            return f"{value * 100:.10g}%"
        return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else f"{value:.12g}"
    return " ".join(str(value).split())


def _holds(package: ZipFile, name: str, mark: bytes) -> bool:
    with package.open(name) as part:
        last = b""
        while piece := part.read(1 << 20):
            if mark in last + piece:
                return True
            last = piece[-len(mark) :]
    return False
