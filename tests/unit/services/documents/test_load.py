"""Bad streams, bad files, many files at once, and limits that refuse more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from citemesh.auth.principal import acting_as
from citemesh.rpc.errors import ServiceError, reason_name
from citemesh.v1 import documents_pb2 as pb
from tests.unit.services.documents.conftest import NewPdf
from tests.unit.services.documents.serving import (
    ADA,
    RULES,
    Mesh,
    Unhurried,
    reason_of,
    start,
)


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([], "header"),
        ([pb.IngestRequest(chunk=b"x")], "header"),
        ([pb.IngestRequest(header=pb.IngestHeader(file_name="a.txt"))] * 2, "part"),
        (
            [pb.IngestRequest(header=pb.IngestHeader(file_name="a.txt")), pb.IngestRequest(chunk=bytes(1 << 21))],
            "chunk",
        ),
        ([pb.IngestRequest(header=pb.IngestHeader(file_name="a.txt", document_id="a b"))], "header.document_id"),
    ],
)
async def test_streams_out_of_order_are_refused_by_field(
    mesh: Mesh, messages: list[pb.IngestRequest], field: str
) -> None:
    async def send() -> AsyncIterator[pb.IngestRequest]:
        for message in messages:
            yield message

    with pytest.raises(ServiceError) as refused, acting_as(ADA):
        await mesh.handler.Ingest(send(), Unhurried())
    assert refused.value.field_violations[0][0] == field


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (b"", "a.txt", "FILE_EMPTY"),
        (b"   \n", "a.txt", "FILE_EMPTY"),
        (b"%PDF-1.7 nothing more", "a.pdf", "FILE_CORRUPT"),
        (b"\x89PNG\r\n" + bytes(50), "a.png", "FILE_TYPE_UNSUPPORTED"),
        (bytes(2 << 20), "a.txt", "FILE_TOO_LARGE"),
    ],
)
async def test_bad_files_are_refused_with_their_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes, name: str, reason: str
) -> None:
    mesh = await start(monkeypatch, tmp_path, CITEMESH_DOCUMENTS_MAX_FILE_SIZE_MIB="1")
    assert await reason_of(mesh.ingest(content, name)) == reason
    assert mesh.ingested(reason) == 1
    assert not (await mesh.call("List", pb.ListRequest())).documents
    assert list((tmp_path / "uploads").iterdir()) == []
    await mesh.service.close()


async def test_a_cancelled_ingest_leaves_nothing(mesh: Mesh) -> None:
    async def endless() -> AsyncIterator[pb.IngestRequest]:
        yield pb.IngestRequest(header=pb.IngestHeader(file_name="a.txt"))
        yield pb.IngestRequest(chunk=b"Some text.")
        await asyncio.sleep(60)

    async def ingest() -> None:
        with acting_as(ADA):
            await mesh.handler.Ingest(endless(), Unhurried())

    task = asyncio.create_task(ingest())
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list((mesh.state_dir / "uploads").iterdir()) == []
    assert not (await mesh.call("List", pb.ListRequest())).documents


async def test_too_many_at_once_are_refused_as_overload(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mesh = await start(monkeypatch, tmp_path, CITEMESH_DOCUMENTS_MAX_PENDING_INGESTS="1")
    results = await asyncio.gather(mesh.ingest(RULES, "a.md"), mesh.ingest(RULES, "b.md"), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["IngestResponse", "ServiceError"]
    assert (await mesh.ingest(RULES, "b.md")).document.document_id == "b"
    await mesh.service.close()


async def test_too_many_files_waiting_for_a_parser_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pdf: NewPdf
) -> None:
    limits = {"CITEMESH_DOCUMENTS_PARSER_COUNT": "1", "CITEMESH_DOCUMENTS_MAX_WAITING_PARSES": "0"}
    mesh = await start(monkeypatch, tmp_path / "state", **limits)
    page = pdf("a.pdf")
    page.line("The lamp shall burn from the setting of the sun.")
    await mesh.ingest(page.save().read_bytes(), "a.pdf")
    request = pb.RenderPageRequest(document_id="a", page_number=1)
    both = asyncio.gather(*(mesh.call("RenderPage", request) for _ in range(2)), return_exceptions=True)
    (refused,) = (result for result in await both if isinstance(result, ServiceError))
    assert reason_name(refused.reason) == "OVERLOADED"
    assert (await mesh.call("RenderPage", request)).png
    await mesh.service.close()


async def test_forty_at_once_with_three_bad_ones_lose_nothing(mesh: Mesh, pdf: NewPdf) -> None:
    async def one(number: int) -> str:
        if number in (5, 17, 33):
            return await reason_of(mesh.ingest(b"%PDF-1.4 broken" + bytes([number]), f"d{number}.pdf"))
        page = pdf(f"d{number}.pdf")
        page.line(f"Document {number} says that the lamp burns {number} hours each night.")
        response = await mesh.ingest(page.save().read_bytes(), f"d{number}.pdf")
        return response.document.document_id

    results = await asyncio.gather(*(one(number) for number in range(40)))
    assert sum(result == "FILE_CORRUPT" for result in results) == 3
    listed = await mesh.call("List", pb.ListRequest())
    assert len(listed.documents) == 37
    assert {document.passage_count for document in listed.documents} == {1}
