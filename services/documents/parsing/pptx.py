"""PPTX as blocks: a slide is a page and a section; its texts, tables, charts and notes in the order of reading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pptx
from lxml import etree  # type: ignore[import-untyped]  # it ships no types
from pptx.exc import PythonPptxError

from services.documents.parsing.blocks import Block, BlockKind, Line, OutlineEntry, Page, ParsedDocument
from services.documents.parsing.packages import open_package, read_core_title
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.tabular import make_table

_POINT = 12700  # English Metric Units
_MARGINS = frozenset({"DATE", "FOOTER", "SLIDE_NUMBER"})


def parse_pptx(path: Path, max_pages: int) -> ParsedDocument:
    """A presentation as blocks, at most `max_pages` slides of it. Raises ParseRefused where it is damaged or empty."""
    with open_package(path, "PPTX") as package:
        document = ParsedDocument("pptx", title=read_core_title(package))
        try:
            deck = pptx.Presentation(str(path))
            width, height = (deck.slide_width or 0) / _POINT, (deck.slide_height or 0) / _POINT
            for number, slide in enumerate(deck.slides, start=1):
                if number > max_pages:
                    document.truncated = f"only the first {max_pages} of {len(deck.slides)} slides were read"
                    break
                _read_slide(document, slide, number, width, height)
        except (PythonPptxError, AttributeError, IndexError, TypeError, etree.LxmlError) as error:
            # python-pptx trips over parts that are missing or misshapen in these ways.
            raise ParseRefused(RefusalReason.UNREADABLE, "The file is damaged: it is not a readable PPTX.") from error
    if not document.blocks:
        raise ParseRefused(RefusalReason.EMPTY, "The presentation holds no text.")
    document.title = document.title or next((entry.title for entry in document.outline), "")
    return document


def _read_slide(document: ParsedDocument, slide: Any, number: int, width: float, height: float) -> None:
    """Adds a slide's page, its outline entry and its blocks."""
    title_shape = slide.shapes.title
    title = " ".join(title_shape.text_frame.text.split()) if title_shape is not None else ""
    blocks: list[Block] = []
    if title:
        blocks.append(Block(BlockKind.HEADING, [Line(title)], level=1))
        document.outline.append(OutlineEntry(title[:300], 0, number))
    for shape in _in_reading_order(slide.shapes):
        if title_shape is None or shape.shape_id != title_shape.shape_id:
            blocks.extend(_read_shape(shape))
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = _read_paragraphs(slide.notes_slide.notes_text_frame)
        if notes:
            notes[0].lines[0].text = f"Notes: {notes[0].lines[0].text}"
        blocks.extend(notes)
    for block in blocks:
        for line in block.lines:
            line.page = number
    char_count = sum(len("".join(line.text.split())) for block in blocks for line in block.lines)
    document.pages.append(Page(number, width, height, char_count, label=str(number)))
    document.blocks.extend(blocks)


def _in_reading_order(shapes: Any) -> Iterator[Any]:
    """Shapes from top to bottom, then from left to right; those of a group in its place. Margins are left out.

    Groups nest at most 256 deep: XML nested deeper is not opened.
    """
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _in_reading_order(shape.shapes)
        elif not (shape.is_placeholder and shape.placeholder_format.type.name in _MARGINS):
            yield shape


def _read_shape(shape: Any) -> list[Block]:
    if getattr(shape, "has_table", False):
        rows = [["" if cell.is_spanned else cell.text for cell in row.cells] for row in shape.table.rows]
        table = make_table(rows, header_count=1 if shape.table.first_row and len(rows) > 1 else None)
        return [table] if table is not None else []
    if getattr(shape, "has_chart", False):
        return _read_chart(shape.chart)
    return _read_paragraphs(shape.text_frame) if shape.has_text_frame else []


def _read_chart(chart: Any) -> list[Block]:
    """The figures behind a chart, a row for each category."""
    title = " ".join(chart.chart_title.text_frame.text.split()) if chart.has_title else ""
    plots = list(chart.plots)
    if not plots:
        return []
    series = list(plots[0].series)
    rows = [["", *(each.name for each in series)]]
    for place, category in enumerate(plots[0].categories):
        values = [each.values[place] if place < len(each.values) else None for each in series]
        rows.append([str(category), *("" if value is None else f"{value:g}" for value in values)])
    table = make_table(rows, title, header_count=1)
    return [table] if table is not None else []


def _read_paragraphs(frame: Any) -> list[Block]:
    """A text of two paragraphs or more that is indented in places, or a body of bullets, is a list."""
    found = [(" ".join(p.text.split()), p.level) for p in frame.paragraphs]
    found = [(text, level) for text, level in found if text]
    if not found:
        return []
    lines = [Line(text) for text, _ in found]
    if len(found) == 1:
        return [Block(BlockKind.PARAGRAPH, lines)]
    return [Block(BlockKind.LIST, lines, items=list(range(len(lines))), levels=[level for _, level in found])]
