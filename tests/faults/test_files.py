"""Files that are broken or made to do harm: refused with a reason, or read; the service lives on and loses nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import grpc.aio

from citemesh.auth.principal import Principal, open_metadata
from citemesh.rpc.errors import from_rpc_error
from citemesh.v1 import documents_pb2, documents_pb2_grpc, errors_pb2
from tests.mesh.hosting import Mesh

LIMIT_S = 10.0
INGEST_COUNT = 40
METADATA = open_metadata(Principal("files", "librarian", frozenset()))

HARMLESS = ("encrypted", "corrupt", "hostile")
"""Folders of ../shared/data/pdfs with files that somebody else's reader stumbled over."""

REASONS = {
    errors_pb2.ERROR_REASON_FILE_EMPTY,
    errors_pb2.ERROR_REASON_FILE_CORRUPT,
    errors_pb2.ERROR_REASON_FILE_ENCRYPTED,
    errors_pb2.ERROR_REASON_FILE_TOO_LARGE,
    errors_pb2.ERROR_REASON_FILE_PASSWORD_WRONG,
    errors_pb2.ERROR_REASON_FILE_TYPE_UNSUPPORTED,
    errors_pb2.ERROR_REASON_PARSE_TIMEOUT,
    errors_pb2.ERROR_REASON_PARSE_MEMORY_EXCEEDED,
    errors_pb2.ERROR_REASON_PARSE_CRASHED,
}

GOOD = (
    "outline/pdflatex-outline.pdf",
    "outline/nested_outline.pdf",
    "multicolumn/multicolumn.pdf",
    "tables/senate-expenditures.pdf",
    "unicode/habibi.pdf",
    "scanned/invisible_text_layer.pdf",
)
BAD = ("corrupt/empty.pdf", "corrupt/bug1020226.pdf", "encrypted/password-example.pdf")


def parts(path: Path, document_id: str) -> Iterator[documents_pb2.IngestRequest]:
    yield documents_pb2.IngestRequest(
        header=documents_pb2.IngestHeader(document_id=document_id, file_name=path.name, title=document_id)
    )
    content = path.read_bytes()
    for start in range(0, len(content), 65536):
        yield documents_pb2.IngestRequest(chunk=content[start : start + 65536])


async def send(
    mesh: Mesh, path: Path, document_id: str, timeout: float = 120.0
) -> documents_pb2.IngestResponse | errors_pb2.ErrorReason.ValueType:
    """The response, or the documented reason for which the file was refused."""
    async with grpc.aio.insecure_channel(mesh.targets["documents"]) as channel:
        stub = documents_pb2_grpc.DocumentsServiceStub(channel)
        try:
            return await stub.Ingest(parts(path, document_id), timeout=timeout, metadata=METADATA)
        except grpc.aio.AioRpcError as error:
            refusal = from_rpc_error(error)
            assert refusal.reason in REASONS, refusal
            assert refusal.message.endswith((".", ")")), "a sentence that a person understands"
            assert "Error" not in refusal.message
            assert "Traceback" not in refusal.message
            return refusal.reason


async def list_documents(mesh: Mesh) -> dict[str, int]:
    """Ids, each with the version in force."""
    async with grpc.aio.insecure_channel(mesh.targets["documents"]) as channel:
        stub = documents_pb2_grpc.DocumentsServiceStub(channel)
        listed = await stub.List(documents_pb2.ListRequest(page_size=200), timeout=10, metadata=METADATA)
        return {document.document_id: document.document_version for document in listed.documents}


async def test_each_bad_file_is_refused_or_read_in_time(embedded_mesh: Mesh, shared_data: Path) -> None:
    files = [path for folder in HARMLESS for path in sorted((shared_data / "pdfs" / folder).glob("*.pdf"))]
    assert len(files) >= 10
    slow: dict[str, float] = {}
    for path in files:
        started = time.monotonic()
        # The time is said, because OCR takes what a call leaves it.
        await send(embedded_mesh, path, f"bad-{path.stem}", timeout=LIMIT_S)
        elapsed_s = time.monotonic() - started
        print(f"{path.parent.name}/{path.name}: {elapsed_s:.1f} s")
        if elapsed_s > LIMIT_S:
            slow[path.name] = elapsed_s
    assert not slow
    assert embedded_mesh.processes["all"].poll() is None


async def test_many_files_at_once_lose_nothing_to_the_bad_ones_among_them(
    embedded_mesh: Mesh, shared_data: Path
) -> None:
    folder = shared_data / "pdfs"
    sources = {f"good-{number}": folder / GOOD[number % len(GOOD)] for number in range(INGEST_COUNT - len(BAD))}
    sources |= {f"spoilt-{number}": folder / name for number, name in enumerate(BAD)}
    results = await asyncio.gather(*(send(embedded_mesh, path, name) for name, path in sources.items()))
    refused = {name for name, result in zip(sources, results, strict=True) if isinstance(result, int)}
    assert refused == {name for name in sources if name.startswith("spoilt-")}
    stored = await list_documents(embedded_mesh)
    assert {name for name in sources if name.startswith("good-")} == {n for n in stored if n.startswith("good-")}
    assert not {name for name in stored if name.startswith("spoilt-")}
    assert embedded_mesh.processes["all"].poll() is None
