"""Pages read again through the whole service, and what is refused where OCR is missing."""

from __future__ import annotations

import pytest

from citemesh.rpc.errors import ServiceError, reason_name
from citemesh.v1 import documents_pb2 as pb
from citemesh.v1.document_pb2 import ParsingStrategy
from tests.unit.services.documents.conftest import NewPdf
from tests.unit.services.documents.serving import (
    Mesh,
    reason_of,
)


async def test_without_ocr_a_page_without_text_is_refused_and_the_others_are_read(
    mesh: Mesh, pdf: NewPdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.documents.scanned.ocr_is_installed", lambda: False)
    page = pdf("a.pdf")
    page.line("The first page has nothing but this sentence on it, and that is enough for it.")
    page.next_page()
    page.next_page()
    page.line("The second page is empty.")
    await mesh.ingest(page.save().read_bytes(), "a.pdf")
    empty = mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[2]))
    assert await reason_of(empty) == "NOT_CONFIGURED"
    both = await mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[1, 2]))
    assert both.passage_count == 1


async def test_reparsed_pages_get_the_tables_that_the_first_reading_missed(mesh: Mesh, pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("The first page has nothing but this sentence on it, and that is enough for it.")
    page.next_page()
    top = page.y
    for x, cells in (
        (72, ("Keeper", "Ada", "Bo", "Cy")),
        (200, ("Shift", "night", "day", "night")),
        (300, ("Hours", "8", "9", "7")),
    ):
        page.y = top
        for text in cells:
            page.line(text, x=x, gap=16)
    await mesh.ingest(page.save().read_bytes(), "a.pdf")
    first = await mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[2]))
    assert first.changed
    assert first.passage_count == 1
    again = await mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[2]))
    assert not again.changed
    assert await reason_of(mesh.call("Reparse", pb.ReparseRequest(document_id="a"))) == "INVALID_FIELD"
    assert (
        await reason_of(mesh.call("Reparse", pb.ReparseRequest(document_id="a", page_numbers=[3]))) == "PAGE_NOT_FOUND"
    )


async def test_ocr_that_is_not_installed_is_refused_in_plain_words(
    mesh: Mesh, pdf: NewPdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.documents.scanned.ocr_is_installed", lambda: False)
    page = pdf("a.pdf")
    page.line("The first page has nothing but this sentence on it, and that is enough for it.")
    await mesh.ingest(page.save().read_bytes(), "a.pdf")
    request = pb.ReparseRequest(document_id="a", page_numbers=[1], strategy=ParsingStrategy.PARSING_STRATEGY_OCR)
    with pytest.raises(ServiceError, match="OCR is not installed") as raised:
        await mesh.call("Reparse", request)
    assert reason_name(raised.value.reason) == "NOT_CONFIGURED"
    assert not raised.value.metadata
