"""Scanned pages through the whole service: read at ingest as far as time allows, the rest when asked for again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from citemesh.v1 import documents_pb2 as pb
from citemesh.v1.document_pb2 import ParsingStrategy
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.question_pb2 import DocumentIds, Scope
from services.documents.scanned import name_pages, ocr_is_installed
from tests.unit.services.documents.conftest import NewPdf
from tests.unit.services.documents.scans import draw_text, write_scan
from tests.unit.services.documents.serving import ADA, Mesh, start

FIRST = ("The first page tells of lamps", "and of the oil for them.")
SECOND = ("The second page tells of ropes", "and of nothing else at all.")
WRITTEN = "A page with a text layer stands between the scanned ones, and it is long enough."

needs_ocr = pytest.mark.skipif(not ocr_is_installed(), reason="the extra `ocr` is not installed")


@pytest_asyncio.fixture
async def hurried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Mesh]:
    """A service that does no OCR at ingest, and then is told to."""
    started = await start(monkeypatch, tmp_path / "hurried", CITEMESH_DOCUMENTS_PARSE_OCR_S="0")
    yield started
    await started.service.close()


def stored_passages(mesh: Mesh) -> list[Passage]:
    reader = mesh.service._reader
    versions = reader.allowed_versions(ADA, Scope(documents=DocumentIds(document_ids=["a"])), None)
    return reader.document_passages(versions, "a")


def scan(tmp_path: Path) -> bytes:
    return write_scan(tmp_path / "a.pdf", [draw_text(FIRST), WRITTEN, draw_text(SECOND)]).read_bytes()


@needs_ocr
async def test_scanned_pages_are_read_at_ingest(mesh: Mesh, tmp_path: Path) -> None:
    document = (await mesh.ingest(scan(tmp_path), "a.pdf")).document
    assert document.profile.likely_scanned
    assert list(document.profile.pages_without_text) == [1, 3]
    assert list(document.warnings) == ["pages 1, 3: read by OCR, which may have mistaken letters"]
    again = await mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[1, 3]))
    assert not again.changed
    assert again.passage_count


@needs_ocr
async def test_unread_pages_are_read_when_asked_for_and_only_those(
    hurried: Mesh, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    document = (await hurried.ingest(scan(tmp_path), "a.pdf")).document
    assert list(document.warnings) == ["pages 1, 3: a picture without text, not read: OCR is switched off"]
    await hurried.service.close()
    patient = await start(monkeypatch, hurried.state_dir)
    first = await patient.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[3]))
    assert first.changed
    assert first.passage_count
    got = (await patient.call("Get", pb.GetRequest(document_id="a"))).document
    assert list(got.warnings) == [
        "page 3: read by OCR, which may have mistaken letters",
        "page 1: a picture without text, not read in the time allowed",
    ]
    # Page 1 is read next to what OCR found on page 3, which stays.
    await patient.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[1]))
    got = (await patient.call("Get", pb.GetRequest(document_id="a"))).document
    assert list(got.warnings) == ["pages 1, 3: read by OCR, which may have mistaken letters"]
    texts = " ".join(passage.text for passage in stored_passages(patient))
    assert all(line in texts for line in (*FIRST, *SECOND, WRITTEN))
    await patient.service.close()


@needs_ocr
async def test_a_page_with_text_is_read_as_a_picture_when_asked_for_by_name(mesh: Mesh, tmp_path: Path) -> None:
    await mesh.ingest(scan(tmp_path), "a.pdf")
    request = pb.ReparseRequest(document_id="a", page_numbers=[2], strategy=ParsingStrategy.PARSING_STRATEGY_OCR)
    assert (await mesh.call("Reparse", request)).passage_count
    texts = " ".join(passage.text for passage in stored_passages(mesh))
    assert "stands between the scanned ones" in texts
    assert all(line in texts for line in (*FIRST, *SECOND))


async def test_without_ocr_the_pages_are_reported_unread(
    mesh: Mesh, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("services.documents.scanned.ocr_is_installed", lambda: False)
    document = (await mesh.ingest(scan(tmp_path), "a.pdf")).document
    assert list(document.warnings) == ["pages 1, 3: a picture without text, not read: OCR is not installed"]
    assert document.passage_count == 1


@pytest.mark.parametrize(
    ("numbers", "words"),
    [([3], "page 3"), ([2, 1, 4], "pages 1-2, 4"), (range(1, 40, 2), "pages 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 …")],
)
def test_pages_are_named_in_few_words(numbers: list[int], words: str) -> None:
    assert name_pages(numbers) == words


@needs_ocr
async def test_quotes_are_marked_on_a_scanned_page(mesh: Mesh, tmp_path: Path) -> None:
    await mesh.ingest(scan(tmp_path), "a.pdf")
    request = pb.RenderPageRequest(document_id="a", page_number=1)
    plain = await mesh.call("RenderPage", request)
    for quote in ("tells of lamps and of the oil", "it tells of something else"):
        request.highlights.add(quote=quote)
    marked = await mesh.call("RenderPage", request)
    assert list(marked.highlighted_indices) == [0]
    assert marked.png != plain.png


async def test_a_row_of_a_table_is_marked_though_the_page_says_it_in_another_order(mesh: Mesh, pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    xs, ys = (72.0, 172.0, 272.0), (700.0, 660.0, 620.0)
    for x in xs:
        page.canvas.line(x, ys[0], x, ys[-1])
    for y in ys:
        page.canvas.line(xs[0], y, xs[-1], y)
    page.canvas.setFont("Helvetica", 9)
    for x, y, text in (
        (76, 688, "Keeper"),
        (176, 688, "Duty"),
        (76, 648, "Ada of the"),
        (76, 637, "north tower"),
        (176, 648, "cleans the lamp"),
        (176, 637, "and fills it"),
    ):
        page.canvas.drawString(x, y, text)
    await mesh.ingest(page.save().read_bytes(), "a.pdf")
    request = pb.RenderPageRequest(document_id="a", page_number=1)
    request.highlights.add(quote="Ada of the north tower  cleans the lamp and fills it")
    assert list((await mesh.call("RenderPage", request)).highlighted_indices) == [0]
