"""Scanned pages: read by OCR within their time, whichever way they lie, with boxes where the words stand."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents.parsing.blocks import Block, BlockKind, Line, OcrOutcome, Page, ParsedDocument
from services.documents.parsing.ocr import PageTimeoutError, ReadLine, ReadPicture, ScanReader, load_scan_reader
from services.documents.parsing.ocr_words import Picture, PlacedWord
from services.documents.parsing.pdf import parse_pdf
from services.documents.parsing.pdf_scans import ScanJob, read_scans, turn_back
from services.documents.parsing.sandbox import ParserSandbox, SandboxLimits
from tests.unit.services.documents.scans import HEIGHT, WIDTH, draw_text, write_scan

TEXT = ("The keeper writes down each reading", "on the day on which it was made.")


@pytest.fixture(scope="module")
def reader() -> ScanReader:
    loaded = load_scan_reader(2)
    if loaded is None:
        pytest.skip("the extra `ocr` is not installed")
    return loaded


def read(path: Path, reader: ScanReader, *pages: int) -> ParsedDocument:
    return parse_pdf(path, "", 500, frozenset(), ScanJob(reader, pages, time.monotonic() + 60))


@pytest.mark.parametrize("quarter_turns", range(4))
def test_a_picture_of_text_is_read_whichever_way_it_lies(
    tmp_path: Path, reader: ScanReader, quarter_turns: int
) -> None:
    picture = draw_text(TEXT, quarter_turns=quarter_turns)
    document = read(write_scan(tmp_path / "a.pdf", [picture]), reader, 1)
    assert document.pages[0].recognised
    assert not document.pages[0].has_text
    assert " ".join(block.text for block in document.blocks) == " ".join(TEXT)
    box = document.blocks[0].lines[0].box
    assert box is not None
    # The first line was drawn 60 pixels from the upper edge, which is at the left, below or at the right once turned.
    edge = (HEIGHT - box[3], box[0], box[1], WIDTH - box[2])[quarter_turns]
    assert edge == pytest.approx(32, abs=6)


def test_what_is_read_by_ocr_has_headings_and_order_like_other_text(tmp_path: Path, reader: ScanReader) -> None:
    document = read(
        write_scan(tmp_path / "a.pdf", ["A page with a text layer, long enough.", draw_text(TEXT)]), reader, 2
    )
    assert [page.recognised for page in document.pages] == [False, True]
    assert [line.page for block in document.blocks for line in block.lines] == [1, 2, 2]


class SlowReader(ScanReader):
    """Takes ten seconds a page by a clock of its own, and gives up where that is beyond the end."""

    def __init__(self) -> None:
        super().__init__(None)
        self.now = 0.0

    def read(self, picture: Picture, ends_at: float) -> ReadPicture:
        self.now += 10.0
        if self.now > ends_at:
            raise PageTimeoutError
        height, width, _ = np.shape(picture)
        return ReadPicture([ReadLine([PlacedWord("word", 0, width)], (0, 0, width, height / 10))], 0)


def test_pages_are_read_while_there_is_time_and_the_others_are_named(tmp_path: Path) -> None:
    path = write_scan(tmp_path / "a.pdf", [draw_text(["x"])] * 5)
    slow = SlowReader()
    document = pdfium.PdfDocument(path)
    scans = read_scans(document, ScanJob(slow, range(1, 6), 25.0), lambda: slow.now)
    document.close()
    assert sorted(scans.lines) == [1, 2]
    assert [scans.outcomes[page] for page in (3, 4, 5)] == [OcrOutcome.NOT_BEGUN] * 3
    assert slow.now == 20.0  # the third page would not have fitted, so it was not begun


@given(
    st.integers(0, 3),
    st.tuples(st.floats(0, 90), st.floats(0, 40), st.floats(91, 200), st.floats(41, 100)),
)
def test_boxes_of_turned_pages_stay_on_the_page_and_keep_their_size(
    quarter_turns: int, box: tuple[float, float, float, float]
) -> None:
    # As read, the page is 200 x 100; a quarter turn makes that of a page 100 x 200.
    width, height = (100.0, 200.0) if quarter_turns % 2 else (200.0, 100.0)
    block = Block(BlockKind.PARAGRAPH, [Line("a", 1, box)])
    turn_back([block], [Page(1, width, height, 0)], {1: quarter_turns} if quarter_turns else {})
    left, bottom, right, top = block.lines[0].box or (0, 0, 0, 0)
    assert 0 <= left <= right <= width
    assert 0 <= bottom <= top <= height
    assert (right - left) * (top - bottom) == pytest.approx((box[2] - box[0]) * (box[3] - box[1]), abs=0.01)


async def test_ocr_works_within_the_limits_of_the_sandbox(
    sandbox: ParserSandbox, tmp_path: Path, reader: ScanReader
) -> None:
    path = write_scan(tmp_path / "a.pdf", [draw_text(TEXT)])
    document = await sandbox.parse(path, "a.pdf", ocr_pages=(1,), ocr_s=30.0)
    assert [block.text for block in document.blocks] == [" ".join(TEXT)]


async def test_without_time_for_ocr_the_page_stays_unread(sandbox: ParserSandbox, tmp_path: Path) -> None:
    path = write_scan(tmp_path / "a.pdf", [draw_text(TEXT)])
    document = await sandbox.parse(path, "a.pdf", ocr_pages=(1,), ocr_s=0.0)
    assert not document.pages[0].recognised
    assert document.pages[0].is_scan


async def test_real_scans_that_lie_in_all_four_ways_read_the_same(
    tmp_path: Path, shared_data: Path, reader: ScanReader
) -> None:
    sandbox = ParserSandbox(SandboxLimits(ocr_s=120, wall_s=60), 1, tmp_path)  # the machine may be busy
    path = shared_data / "pdfs" / "scanned" / "nemotron_multipage.pdf"
    document = await sandbox.parse(path, path.name, ocr_pages=(1, 2, 3, 4))
    texts = [" ".join(li.text for b in document.blocks for li in b.lines if li.page == page) for page in range(1, 5)]
    assert texts[0].startswith("Docling bundles PDF document conversion to JSON and Markdown")
    assert set(texts) == {texts[0]}


def test_a_real_page_gives_the_words_of_its_text_layer(shared_data: Path, reader: ScanReader) -> None:
    """A scan of 1958 whose text layer another program made: nearly all of its words are found, spaces included."""
    path = shared_data / "pdfs" / "scanned" / "Rosenblatt1958_ocr_layer.pdf"
    layer, seen = ({*words_on(document, 4)} for document in (parse_pdf(path, "", 100), read(path, reader, 4)))
    assert len(layer) > 150
    assert len(layer & seen) >= 0.95 * len(layer)


def words_on(document: ParsedDocument, page: int) -> list[str]:
    lines = [line.text for block in document.blocks for line in block.lines if line.page == page]
    return re.findall(r"[A-Za-z]{3,}", " ".join(lines))
