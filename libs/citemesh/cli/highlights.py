"""Pictures of the pages that an answer cites, with the quotes marked."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from citemesh.cli.connection import Connection
from citemesh.cli.narration.answer import list_citations
from citemesh.rpc.calls import call
from citemesh.v1 import dispatcher_pb2, documents_pb2, documents_pb2_grpc

_MAX_HIGHLIGHTS = 50


async def write_highlights(connection: Connection, response: dispatcher_pb2.AnswerResponse, folder: Path) -> list[Path]:
    """Write one PNG for each cited page into `folder`, made if missing, and return the files in order of citation.

    Citations of formats without pages have no picture. Raises ServiceError where a page cannot be drawn.
    """
    stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
    written = []
    for (document_id, version, page_number), quotes in _quotes_by_page(response).items():
        request = documents_pb2.RenderPageRequest(
            document_id=document_id,
            document_version=version,
            page_number=page_number,
            highlights=[documents_pb2.Highlight(quote=quote) for quote in quotes[:_MAX_HIGHLIGHTS]],
        )
        picture = await call(stub.RenderPage, request, timeout=connection.timeout_s, service="documents")
        path = folder / f"{_make_file_name(document_id)}-v{version}-page{page_number}.png"
        await asyncio.to_thread(_write, path, picture.png)
        written.append(path)
    return written


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _quotes_by_page(response: dispatcher_pb2.AnswerResponse) -> dict[tuple[str, int, int], list[str]]:
    pages: dict[tuple[str, int, int], list[str]] = {}
    for citation in list_citations(response.answer):
        if citation.page_number:
            key = (citation.document_id, citation.document_version, citation.page_number)
            quotes = pages.setdefault(key, [])
            if citation.quote not in quotes:
                quotes.append(citation.quote)
    return pages


def _make_file_name(document_id: str) -> str:
    """A document id as part of a file name: it may hold slashes and dots that lead elsewhere."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", document_id).strip("-") or "document"
