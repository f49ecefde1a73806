"""Fields, typed notes, attached files, page labels: what a PDF holds beside its text is read or named."""

from __future__ import annotations

from pathlib import Path

import pypdfium2 as pdfium
import pytest

from services.documents.parsing.blocks import BlockKind, ParsedDocument
from services.documents.parsing.pdf import parse_pdf
from services.documents.parsing.sandbox import ParserSandbox
from tests.unit.services.documents.conftest import NewPdf

TEXT = "Please fill in the form and send it to the office of the lighthouse service."


def read(path: Path) -> ParsedDocument:
    return parse_pdf(path, "", 100)


def write_form(pdf: NewPdf) -> Path:
    page = pdf("form.pdf")
    page.line(TEXT)
    form = page.canvas.acroForm
    form.textfield(name="f1", tooltip="Name of the keeper", value="Ada Byron", x=72, y=600, width=200, height=20)
    form.textfield(name="years", value="", x=72, y=560, width=200, height=20)
    form.checkbox(name="oil", tooltip="Oil is stored", checked=True, x=72, y=520)
    form.checkbox(name="gas", tooltip="Gas is stored", checked=False, x=72, y=480)
    form.choice(name="shift", value="night", options=["day", "night"], x=72, y=440, width=80, height=20)
    form.radio(name="boat", value="rowing", selected=True, x=72, y=400)
    form.radio(name="boat", value="sailing", selected=False, x=72, y=360)
    return page.save()


def test_fields_are_read_with_their_names_and_values(pdf: NewPdf) -> None:
    text, fields = read(write_form(pdf)).blocks
    assert text.text == TEXT
    assert fields.kind is BlockKind.LIST
    assert [line.text for line in fields.lines] == [
        "Name of the keeper: Ada Byron",
        "years: ",
        "Oil is stored: yes",
        "Gas is stored: no",
        "shift: night",
        "boat: rowing",
    ]
    assert fields.lines[0].box == pytest.approx((72, 600, 272, 620), abs=2)


async def test_a_form_is_read_in_the_sandbox_too(sandbox: ParserSandbox, pdf: NewPdf) -> None:
    document = await sandbox.parse(write_form(pdf), "form.pdf")
    assert "Name of the keeper: Ada Byron" in document.blocks[1].text


def test_text_typed_onto_a_page_is_a_paragraph(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line(TEXT)
    page.canvas.freeTextAnnotation("Sent back: the year is missing.", Rect=(72, 300, 300, 340), DA="/Helv 10 Tf")
    page.next_page()
    page.line("The second page.")
    blocks = read(page.save()).blocks
    assert [block.text for block in blocks] == [TEXT, "Sent back: the year is missing.", "The second page."]


def test_attached_files_are_named(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line(TEXT)
    path = page.save()
    document = pdfium.PdfDocument(path)
    for name in ("readings.xlsx", "map.png"):
        document.new_attachment(name).set_data(b"1,2,3")
    with_files = path.with_name("b.pdf")
    document.save(with_files)
    document.close()
    found = read(with_files)
    assert found.notes == ['2 attached files, named but not read: "map.png", "readings.xlsx"']
    assert found.attachments == ["map.png", "readings.xlsx"]
    assert read(path).notes == []


def test_running_lines_and_printed_numbers_are_kept_as_facts_of_the_page(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    for number in range(1, 5):
        page.canvas.drawString(72, 810, "Rules of the lighthouse service")
        page.canvas.drawString(290, 30, f"- {number + 6} -")
        page.line(f"Page body {number} speaks of something else, at some length and with a full stop.")
        page.next_page()
    pages = read(page.save()).pages
    assert [each.label for each in pages] == ["7", "8", "9", "10"]
    assert pages[2].margin_lines == ["Rules of the lighthouse service", "- 9 -"]


def test_the_labels_that_the_file_gives_its_pages_come_first(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.canvas.addPageLabel(0, style="ROMAN_LOWER", start=3)
    for _ in range(2):
        page.line(TEXT)
        page.next_page()
    assert [each.label for each in read(page.save()).pages] == ["iii", "iv"]
