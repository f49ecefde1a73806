"""DOCX, PPTX and XLSX as blocks: lists, tables, slides, notes, sheets, formulas."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any

import docx
import openpyxl  # type: ignore[import-untyped]  # it ships no types
import pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from services.documents.parsing import xlsx as xlsx_module
from services.documents.parsing.blocks import Block, BlockKind, ParsedDocument
from services.documents.parsing.docx import parse_docx
from services.documents.parsing.pptx import parse_pptx
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.xlsx import parse_xlsx
from services.documents.sections import build_sections


def tables(document: ParsedDocument) -> list[Block]:
    return [block for block in document.blocks if block.kind is BlockKind.TABLE]


def test_docx_keeps_nested_lists_and_names_the_columns_of_its_tables(tmp_path: Path) -> None:
    file = docx.Document()
    file.core_properties.title = "Keeper's handbook"
    file.add_heading("Duties", 1)
    for text, style in (
        ("Light", "List Bullet"),
        ("Oil", "List Bullet 2"),
        ("Wick", "List Bullet 2"),
        ("Log", "List Bullet"),
    ):
        file.add_paragraph(text, style=style)
    table = file.add_table(rows=3, cols=3)
    for row, texts in zip(table.rows, [("Lamp", "Hours", "Oil"), ("north", "12", "3"), ("", "11", "4")], strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    file.save(str(tmp_path / "a.docx"))
    document = parse_docx(tmp_path / "a.docx")
    assert document.title == "Keeper's handbook"
    listing = next(block for block in document.blocks if block.kind is BlockKind.LIST)
    assert [line.text for line in listing.lines] == ["Light", "Oil", "Wick", "Log"]
    assert listing.levels == [0, 1, 1, 0]
    (found,) = tables(document)
    assert found.columns == ["Lamp", "Hours", "Oil"]
    assert found.cells == [[(0, "north"), (1, "12"), (2, "3")], [(0, "north"), (1, "11"), (2, "4")]]


@pytest.fixture
def deck(tmp_path: Path) -> Path:
    """Three slides: bullets with notes, a table, a chart without a title."""
    deck = pptx.Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Plan of the year"
    frame = first.placeholders[1].text_frame
    frame.text = "Repair the tower"
    for text, level in (("Stairs", 1), ("Windows", 1), ("Buy oil", 0)):
        paragraph = frame.add_paragraph()
        paragraph.text, paragraph.level = text, level
    first.notes_slide.notes_text_frame.text = "Mention the storm of May."
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second.shapes.title.text = "Costs"
    table = second.shapes.add_table(3, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for row, texts in enumerate([("Item", "Pounds"), ("Stairs", "1,200"), ("Oil", "340")]):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    third = deck.slides.add_slide(deck.slide_layouts[6])
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]  # its library gives it no types
    data.categories = ["May", "June"]
    data.add_series("Ships", (12, 15.5))
    third.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(1), Inches(4), Inches(3), data)
    path = tmp_path / "deck.pptx"
    deck.save(str(path))
    return path


def test_pptx_slides_are_pages_and_sections(deck: Path) -> None:
    document = parse_pptx(deck, 100)
    assert [page.number for page in document.pages] == [1, 2, 3]
    assert document.pages[0].width == pytest.approx(720)
    tree = build_sections(document)
    assert [section.title for section in tree.sections] == ["Plan of the year", "Costs"]
    assert tree.has_usable_toc
    bullets = next(block for block in document.blocks if block.kind is BlockKind.LIST)
    assert list(zip([line.text for line in bullets.lines], bullets.levels, strict=True)) == [
        ("Repair the tower", 0), ("Stairs", 1), ("Windows", 1), ("Buy oil", 0),
    ]  # fmt: skip
    notes = next(block for block in document.blocks if block.text.startswith("Notes:"))
    assert (notes.text, notes.first_page) == ("Notes: Mention the storm of May.", 1)
    costs, chart = tables(document)
    assert (costs.columns, costs.first_page) == (["Item", "Pounds"], 2)
    assert chart.cells == [[(0, "May"), (1, "12")], [(0, "June"), (1, "15.5")]]


def test_pptx_beyond_the_page_limit_says_so(deck: Path) -> None:
    document = parse_pptx(deck, 2)
    assert len(document.pages) == 2
    assert document.truncated == "only the first 2 of 3 slides were read"


def test_an_empty_deck_is_refused(tmp_path: Path) -> None:
    pptx.Presentation().save(str(tmp_path / "a.pptx"))
    with pytest.raises(ParseRefused) as refused:
        parse_pptx(tmp_path / "a.pptx", 10)
    assert refused.value.reason is RefusalReason.EMPTY


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    """Two sheets: a captioned table after a note, with a date, a share and a formula; and a list of words."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Oil"
    sheet.append(["Figures of the board"])
    sheet.append(["Use of oil"])
    sheet.append([None, "Lamp", "Since", "Share"])
    sheet.append([None, "north", datetime.date(2024, 5, 1), 0.125])
    sheet["D4"].number_format = "0.0%"
    sheet.append([None, "south", datetime.datetime(2024, 6, 1, 8, 30), 3])
    sheet.append([None, "both", None, "=D4+D5"])
    other = book.create_sheet("Words")
    for word in ("lamp", "wick"):
        other.append([word])
    path = tmp_path / "book.xlsx"
    book.save(path)
    return path


def test_xlsx_sheets_are_sections_and_ranges_tables(workbook: Path) -> None:
    document = parse_xlsx(workbook)
    assert [section.title for section in build_sections(document).sections] == ["Oil", "Words"]
    (table,) = tables(document)
    assert table.lines[0].text == "Use of oil"
    assert table.columns == ["Lamp", "Since", "Share"]
    assert [dict(row) for row in table.cells] == [
        {0: "north", 1: "2024-05-01", 2: "12.5%"},
        {0: "south", 1: "2024-06-01 08:30", 2: "3"},
        {0: "both", 2: "=D4+D5"},
    ]
    assert document.notes == ["1 formulas have no stored result: their text was read instead"]
    assert document.blocks[1].text == "Figures of the board"
    assert document.blocks[-1].text == "lamp\nwick"


def test_xlsx_beyond_the_cell_limit_says_so(workbook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx_module, "MAX_CELL_COUNT", 7)
    document = parse_xlsx(workbook)
    assert 'the workbook is cut off in or before "Oil", "Words"' in document.truncated


def test_an_empty_workbook_is_refused(tmp_path: Path) -> None:
    openpyxl.Workbook().save(tmp_path / "a.xlsx")
    with pytest.raises(ParseRefused) as refused:
        parse_xlsx(tmp_path / "a.xlsx")
    assert refused.value.reason is RefusalReason.EMPTY


def test_texts_of_groups_in_groups_are_read(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    group = deck.slides.add_slide(deck.slide_layouts[6]).shapes
    for _ in range(30):
        group = group.add_group_shape().shapes
    group.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1)).text_frame.text = "The crypt opens at ten."
    path = tmp_path / "deep.pptx"
    deck.save(str(path))
    assert [block.text for block in parse_pptx(path, 10).blocks] == ["The crypt opens at ten."]


@pytest.mark.parametrize("depth", [3, 400])
def test_docx_tables_in_tables_are_read_or_refused(tmp_path: Path, depth: int) -> None:
    document = docx.Document()
    document.add_paragraph("The chapel opens at nine.")
    cell = document.add_table(1, 1).cell(0, 0)
    for _ in range(depth if depth < 10 else 2):
        cell = cell.add_table(1, 1).cell(0, 0)
    cell.paragraphs[0].text = "The crypt opens at ten."
    path = tmp_path / "deep.docx"
    document.save(str(path))
    if depth > 10:
        _wrap_text(path, depth)
        with pytest.raises(ParseRefused, match=r"nested too deeply|damaged"):
            parse_docx(path)
    else:
        assert "The crypt opens at ten." in "\n".join(block.text for block in parse_docx(path).blocks)


def _wrap_text(path: Path, depth: int) -> None:
    """Puts the first paragraph into `depth` content controls."""
    with zipfile.ZipFile(path) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    opening, closing = b"<w:sdt><w:sdtContent>" * depth, b"</w:sdtContent></w:sdt>" * depth
    body = (
        parts["word/document.xml"].replace(b"<w:p>", opening + b"<w:p>", 1).replace(b"</w:p>", b"</w:p>" + closing, 1)
    )
    parts["word/document.xml"] = body
    with zipfile.ZipFile(path, "w") as package:
        for name, data in parts.items():
            package.writestr(name, data)
