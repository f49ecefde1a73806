"""What is read from PDFs: order, headings, lists, tables, captions, outlines, and pages without text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from services.documents.parsing.blocks import BlockKind, ParsedDocument, from_json, to_json
from services.documents.parsing.pdf import parse_pdf
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from tests.unit.services.documents.conftest import NewPdf

PROSE = (
    "The keeper shall write down each reading on the day it is made and",
    "shall send the list to the office before the end of the same month.",
)


def read(path: Path, layout_pages: frozenset[int] = frozenset()) -> ParsedDocument:
    return parse_pdf(path, "", 500, layout_pages)


def kinds(document: ParsedDocument) -> list[tuple[BlockKind, str]]:
    return [(block.kind, block.text) for block in document.blocks]


def test_headings_and_paragraphs_are_told_apart(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("3 Keeping of lists", size=14, bold=True, gap=26)
    for text in PROSE:
        page.line(text)
    page.space(10)
    for text in PROSE:
        page.line(text)
    document = read(page.save())
    assert [kind for kind, _ in kinds(document)] == [BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.PARAGRAPH]
    assert document.blocks[1].text == " ".join(PROSE)


def test_each_line_has_its_box_on_the_page(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line(PROSE[0])
    baseline = page.y + 12
    document = read(page.save())
    box = document.blocks[0].lines[0].box
    assert box is not None
    left, bottom, right, top = box
    assert left == pytest.approx(72, abs=2)
    assert bottom < baseline + 1 < top
    assert right > 300


def test_a_word_divided_at_the_end_of_a_line_is_joined_as_the_document_spells_it(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("The regularization of a well-known model helps; nothing replaces regulari-")
    page.line("zation in a model that is so well-")
    page.line("known as this one.")
    text = read(page.save()).blocks[0].text
    assert "replaces regularization in" in text
    assert "so well-known as" in text


def test_a_list_keeps_its_introduction_and_its_items(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("Three things are to be brought:", gap=14)
    page.line("• a lamp with oil for the whole night, and a second one that")
    page.line("is kept dry", x=LEFT_HANGING)
    page.line("• a rope")
    page.line("• bread")
    intro, items = read(page.save()).blocks
    assert intro.text.endswith("brought:")
    assert items.kind is BlockKind.LIST
    assert items.attached
    assert len(items.items) == 3
    assert items.text.split("\n")[1] == "• a rope"


LEFT_HANGING = 82.0


def test_a_paragraph_over_a_page_break_is_one_paragraph(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("The lamp shall burn from the setting of the sun until the keeper has seen")
    page.next_page()
    page.line("that the day has come and that no ship is near the rocks of the point.")
    document = read(page.save())
    assert len(document.blocks) == 1
    assert [line.page for line in document.blocks[0].lines] == [1, 2]


def test_running_headers_and_page_numbers_are_dropped(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    for number in range(1, 5):
        page.canvas.drawString(72, 810, "Rules of the lighthouse service")
        page.canvas.drawString(290, 30, str(number))
        page.line(f"Page body {number} speaks of something else, at some length and with a full stop.")
        page.next_page()
    text = "\n".join(block.text for block in read(page.save()).blocks)
    assert "lighthouse service" not in text
    assert "Page body 3" in text


def test_columns_that_are_only_positions_become_cells(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("Table 2: Wicks and what they cost. Empty cells were not measured.", gap=16)
    page.row([(140, "length"), (220, "burns"), (300, "price")])
    page.row([(72, "round"), (140, "10"), (220, "4.5"), (300, "12")])
    page.row([(72, "flat"), (220, "6.0"), (300, "15")])
    page.row([(72, "woven"), (140, "12"), (300, "19")])
    page.space(20)
    for text in PROSE:
        page.line(text)
    table, paragraph = read(page.save()).blocks
    assert table.kind is BlockKind.TABLE
    assert (table.caption_count, table.header_count) == (1, 1)
    assert table.columns == ["", "length", "burns", "price"]
    assert table.cells[1] == [(0, "flat"), (2, "6.0"), (3, "15")]
    assert table.lines[3].text.split("  ") == ["flat", "", "6.0", "15"]
    assert paragraph.kind is BlockKind.PARAGRAPH


def test_a_label_drawn_half_way_down_its_rows_names_each_of_them(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("Table 1: Wicks by keeper.", gap=16)
    page.row([(140, "length"), (220, "burns")])
    page.row([(72, "all"), (140, "10"), (220, "4.5")])
    page.y -= 6
    page.row([(72, "(B)")], gap=-6)
    page.row([(140, "11"), (220, "5.5")])
    page.row([(140, "12"), (220, "6.5")])
    table = read(page.save()).blocks[0]
    assert [row[0] for row in table.cells] == [(0, "all"), (0, "(B)"), (0, "(B)")]
    assert "(B)  11  5.5" in table.text


def test_a_sentence_that_begins_with_a_table_is_no_caption(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("Table 2 shows that flat wicks burn longer than round ones do at sea.")
    page.line("Nothing follows from it for woven wicks, which nobody has measured.")
    assert [block.kind for block in read(page.save()).blocks] == [BlockKind.PARAGRAPH]


def test_outline_entries_have_pages_and_levels(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.bookmark("First")
    page.line("First", bold=True, size=14)
    page.next_page()
    page.bookmark("Second", 1)
    page.line("Second", bold=True, size=14)
    document = read(page.save())
    assert [(e.title, e.level, e.page) for e in document.outline] == [("First", 1, 1), ("Second", 2, 2)]


def test_a_page_without_text_is_known_as_such(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("There is some text on this page, and it is long enough.")
    page.next_page()
    page.canvas.rect(100, 100, 200, 200, fill=1)
    page.next_page()
    document = read(page.save())
    assert [each.has_text for each in document.pages] == [True, False]


def test_a_file_that_is_no_pdf_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7 and then nothing")
    with pytest.raises(ParseRefused) as refused:
        read(path)
    assert refused.value.reason is RefusalReason.UNREADABLE
    assert refused.value.message.endswith(".")


def test_too_many_pages_are_refused(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    for _ in range(4):
        page.line("Some text.")
        page.next_page()
    with pytest.raises(ParseRefused) as refused:
        parse_pdf(page.save(), "", 3)
    assert refused.value.reason is RefusalReason.TOO_LARGE


def test_blocks_survive_the_pipe(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("Table 2: Wicks.", gap=16)
    for name in ("round", "flat", "woven"):
        page.row([(72, name), (140, "10"), (220, "4.5")])
    document = read(page.save())
    assert from_json(json.loads(json.dumps(to_json(document)))) == document


def test_scattered_cells_are_gathered_by_place_when_asked(pdf: NewPdf) -> None:
    """A file may draw a table column by column; the heavier reading puts its rows together."""
    page = pdf("a.pdf")
    top = page.y
    for x, cells in (
        (72, ("Keeper", "Ada", "Bo", "Cy")),
        (200, ("Shift", "night", "day", "night")),
        (300, ("Hours", "8", "9", "7")),
    ):
        page.y = top
        for text in cells:
            page.line(text, x=x, gap=16)
    path = page.save()
    assert not any(block.cells for block in read(path).blocks)
    placed = read(path, layout_pages=frozenset({1}))
    table = next(block for block in placed.blocks if block.cells)
    assert [text for _, text in table.cells[1]] == ["Bo", "day", "9"]


@pytest.mark.parametrize("name", ["1706.03762v7.pdf", "1706.03762v5_resaved.pdf", "1706.03762v7_no_outline.pdf"])
def test_a_real_table_without_lines_is_read_by_columns(shared_data: Path, name: str) -> None:
    document = read(shared_data / "pdfs" / "attention" / name)
    table = next(b for b in document.blocks if b.kind is BlockKind.TABLE and b.text.startswith("Table 3"))
    smoothing = next(title for title in table.columns if title.endswith("ls"))  # one edition's font hides the epsilon
    rows = [{table.columns[column]: text for column, text in row} for row in table.cells]
    drop = [row for row in rows if row.get("") == "(D)"]
    assert [(row.get("Pdrop"), row.get(smoothing), row["BLEU (dev)"]) for row in drop] == [
        ("0.0", None, "24.6"),
        ("0.2", None, "25.5"),
        (None, "0.0", "25.3"),
        (None, "0.2", "25.7"),
    ]
