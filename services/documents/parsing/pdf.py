"""Reads a PDF with pdfium: pages, outline, and blocks in reading order over the whole document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from services.documents.parsing.blocks import Block, OutlineEntry, Page, ParsedDocument
from services.documents.parsing.hyphens import join_divided_words
from services.documents.parsing.pdf_columns import restore_columns
from services.documents.parsing.pdf_flow import join_flow
from services.documents.parsing.pdf_forms import (
    add_annotations,
    describe_attachments,
    name_attachments,
    read_annotations,
)
from services.documents.parsing.pdf_geometry import order_by_place
from services.documents.parsing.pdf_layout import Drawn, layout_page
from services.documents.parsing.pdf_margins import drop_margins
from services.documents.parsing.pdf_paragraphs import measure_style
from services.documents.parsing.pdf_rules import Rules, read_rules
from services.documents.parsing.pdf_scans import ScanJob, Scans, read_scans, turn_back
from services.documents.parsing.pdf_text import TextLine, place_on_page, read_all_lines
from services.documents.parsing.refusal import ParseRefused, RefusalReason

_MAX_OUTLINE_ENTRIES = 5_000
_MAX_OUTLINE_DEPTH = 15
_SHORT_CELL_WORDS = 3.0
_ENCRYPTED_NOTE = "encrypted, and opened with its password, which is not kept: its pages cannot be drawn or read again"
_FEW_CHAR_COUNT = 200  # on a page with more, nobody asks how much of it pictures cover


def open_pdf(path: Path, password: str) -> pdfium.PdfDocument:
    """Opens a PDF. Raises ParseRefused: empty, encrypted, wrong password, or not a PDF that can be read."""
    if path.stat().st_size == 0:
        raise ParseRefused(RefusalReason.EMPTY, "The file is empty (0 bytes).")
    try:
        return pdfium.PdfDocument(path, password=password or None)
    except pdfium.PdfiumError as error:
        if "password" in str(error).lower():
            if password:
                raise ParseRefused(RefusalReason.PASSWORD_WRONG, "The password does not open this PDF.") from error
            raise ParseRefused(
                RefusalReason.PASSWORD_NEEDED, "The PDF is encrypted: send its password along with it."
            ) from error
        raise ParseRefused(
            RefusalReason.UNREADABLE, "The file is damaged or not a PDF: its structure cannot be read."
        ) from error


def parse_pdf(
    path: Path,
    password: str,
    max_pages: int,
    layout_pages: frozenset[int] = frozenset(),
    scan_job: ScanJob | None = None,
) -> ParsedDocument:
    """A PDF as pages, outline and blocks.

    `layout_pages` are read by where their words stand too, and that reading is kept where it finds more of their
    tables; the pages of `scan_job` are read by OCR, and what that finds takes the place of their text layer.

    Raises ParseRefused where it cannot be opened or has no page.
    """
    document = open_pdf(path, password)
    try:
        count = len(document)
        if count == 0:
            raise ParseRefused(RefusalReason.UNREADABLE, "The PDF has no pages.")
        if count > max_pages:
            raise ParseRefused(
                RefusalReason.TOO_LARGE, f"The PDF has {count} pages; at most {max_pages} are read. Split it."
            )
        if document.get_formtype() != pdfium_c.FORMTYPE_NONE:
            document.init_forms()
        pages, lines, drawn, failed = _read_pages(document, count)
        if len(failed) == count:
            raise ParseRefused(RefusalReason.UNREADABLE, "None of the PDF's pages can be read: the file is damaged.")
        scans = _recognise(document, scan_job, pages, lines)
        outline = _read_outline(document)
        title = _title(document)
        encrypted = pdfium_c.FPDF_GetSecurityHandlerRevision(document.raw) >= 0
        attachments = name_attachments(document)
        notes = describe_attachments(attachments, document.count_attachments())
        if encrypted and password:
            notes.insert(0, _ENCRYPTED_NOTE)
    finally:
        document.close()
    lines = [restore_columns(page_lines) for page_lines in drop_margins(lines, pages)]
    style = measure_style(lines)
    blocks: list[Block] = []
    for page, page_lines in zip(pages, lines, strict=True):
        page_drawn = drawn[page.number - 1]
        page_blocks = layout_page(page_lines, page, style, page_drawn)
        if page.number in layout_pages:
            placed = layout_page(order_by_place(page_lines), page, style, page_drawn)
            page_blocks = _more_structured(page_blocks, placed)
        blocks.extend(page_blocks)
    blocks = join_flow(blocks)
    join_divided_words(blocks)
    add_annotations(blocks, [block for each in drawn for block in each.annotations])
    turn_back(blocks, pages, scans.turns)
    truncated = ", ".join(f"page {number} is damaged and was not read" for number in failed[:20])
    return ParsedDocument(
        "pdf",
        title=title or _largest_line([] if scans.lines else lines),
        pages=pages,
        outline=outline,
        blocks=blocks,
        truncated=truncated,
        notes=notes,
        encrypted=encrypted,
        attachments=attachments,
    )


def _recognise(
    document: pdfium.PdfDocument, job: ScanJob | None, pages: list[Page], lines: list[list[TextLine]]
) -> Scans:
    """Puts what OCR reads in the place of the pages' lines."""
    if job is None:
        return Scans()
    scans = read_scans(document, job)
    for number, found in scans.lines.items():
        lines[number - 1] = found
    for number, outcome in scans.outcomes.items():
        pages[number - 1].ocr = outcome
        pages[number - 1].ocr_limit_s = round(scans.limits_s[number], 3)
    return scans


def _more_structured(native: list[Block], placed: list[Block]) -> list[Block]:
    """The reading that tells more cells of tables apart; the file's own order where both tell the same."""
    return placed if _cell_count(placed) > _cell_count(native) else native


def _cell_count(blocks: Sequence[Block]) -> int:
    """Cells of tables whose cells are short: two columns of text side by side would look like a table of long ones."""
    count = 0
    for block in blocks:
        cells = [text for row in block.cells for _, text in row]
        if sum(len(text.split()) for text in cells) <= _SHORT_CELL_WORDS * len(cells):
            count += len(cells)
    return count


def _read_pages(
    document: pdfium.PdfDocument, count: int
) -> tuple[list[Page], list[list[TextLine]], list[Drawn], list[int]]:
    pages: list[Page] = []
    lines: list[list[TextLine]] = []
    drawn: list[Drawn] = []
    failed: list[int] = []
    for index in range(count):
        try:
            page = document[index]
        except pdfium.PdfiumError:
            failed.append(index + 1)
            pages.append(Page(index + 1, 0.0, 0.0, 0))
            lines.append([])
            drawn.append(Drawn())
            continue
        width, height = page.get_size()
        page_lines, turned = read_all_lines(page, index + 1)
        place = place_on_page(page)
        rules = read_rules(page, place) if page_lines else Rules()
        drawn.append(Drawn(rules, turned, read_annotations(page, index + 1, document.formenv, place)))
        char_count = sum(len(word.text) for line in page_lines for word in line.words)
        image_share = _image_share(page, width * height) if char_count < _FEW_CHAR_COUNT else 0.0
        label = document.get_page_label(index)[:20]
        pages.append(Page(index + 1, round(width, 2), round(height, 2), char_count, image_share, label=label))
        lines.append(page_lines)
        page.close()
    return pages, lines, drawn, failed


def _image_share(page: pdfium.PdfPage, area: float) -> float:
    """Share of the page that its largest picture covers, 0 to 1."""
    largest = 0.0
    for number, image in enumerate(page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE], max_depth=3)):
        if number >= 50:
            break
        left, bottom, right, top = image.get_bounds()
        largest = max(largest, (right - left) * (top - bottom))
    return round(min(1.0, largest / area), 2) if area > 0 else 0.0


def _read_outline(document: pdfium.PdfDocument) -> list[OutlineEntry]:
    entries: list[OutlineEntry] = []
    try:
        for bookmark in document.get_toc(max_depth=_MAX_OUTLINE_DEPTH):
            destination = bookmark.get_dest()
            index = destination.get_index() if destination is not None else None
            title = re.sub(r"\s+", " ", bookmark.get_title()).strip()
            entries.append(OutlineEntry(title, bookmark.level + 1, index + 1 if index is not None else 0))
            if len(entries) >= _MAX_OUTLINE_ENTRIES:
                break
    except pdfium.PdfiumError:
        # A broken outline costs the outline: the text is still worth reading.
        return entries
    return entries


def _title(document: pdfium.PdfDocument) -> str:
    title = re.sub(r"\s+", " ", document.get_metadata_value("Title") or "").strip()
    # What programs leave there when nobody set a title.
    if re.search(
        r"\.(?:docx?|pdf|tex|dvi|indd|qxd|pptx?|xlsx?)$|^untitled|^microsoft word|^\W*$", title, re.IGNORECASE
    ):
        return ""
    return title[:300]


def _largest_line(pages: Sequence[Sequence[TextLine]]) -> str:
    """The words in the largest type on the first page with text; empty where no line stands out."""
    lines = next((page for page in pages if page), [])
    if not lines:
        return ""
    size = max(line.size for line in lines)
    if sum(line.size == size for line in lines) > 4 or len({line.size for line in lines}) < 2:
        return ""
    return " ".join(line.text for line in lines if line.size == size)[:300]
