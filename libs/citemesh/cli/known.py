"""Which files an ingest need not send: the mesh holds their content already, with the same dates, title and access."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from pathlib import Path, PurePosixPath
from typing import Final

from citemesh.cli.connection import Connection
from citemesh.rpc.calls import call
from citemesh.store.versions import find_same
from citemesh.v1 import document_pb2, documents_pb2, documents_pb2_grpc

_PAGE_SIZE: Final = 1000
_NOT_IN_AN_ID: Final = re.compile(r"[^A-Za-z0-9_.]+")


class KnownDocuments:
    """The documents of a mesh that the caller may read, by id, every version of each."""

    def __init__(self, documents: dict[str, list[document_pb2.Document]]) -> None:
        self._documents = documents

    def find(self, path: Path, header: documents_pb2.IngestHeader) -> documents_pb2.IngestResponse | None:
        """What the mesh would answer to this file without reading it anew; None where it has to be sent.

        Reads the whole file for its hash: run it in a thread. Raises OSError where the file cannot be read.
        """
        versions = self._documents.get(header.document_id or _derive_id(header.file_name), [])
        if not versions or not any(version.size_bytes == path.stat().st_size for version in versions):
            return None
        with path.open("rb") as file:
            content_hash = hashlib.file_digest(file, "sha256").hexdigest()
        same = find_same(versions, header, content_hash, header.title)
        if same is None or (header.HasField("access") and header.access != same.access):
            return None
        return documents_pb2.IngestResponse(document=same, result=documents_pb2.INGEST_RESULT_UNCHANGED)


async def read_known(connection: Connection) -> KnownDocuments:
    """List what the mesh holds: one call for each thousand versions."""
    stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
    request = documents_pb2.ListRequest(page_size=_PAGE_SIZE, include_superseded=True)
    found: dict[str, list[document_pb2.Document]] = {}
    while True:
        page = await call(stub.List, request, timeout=connection.timeout_s, service="documents")
        for document in page.documents:
            found.setdefault(document.document_id, []).append(document)
        if not page.next_page_token:
            return KnownDocuments(found)
        request.page_token = page.next_page_token


def _derive_id(file_name: str) -> str:
    """The id that the documents service gives a file without one. A difference costs a file sent twice, no more."""
    plain = unicodedata.normalize("NFKD", PurePosixPath(file_name).stem).encode("ascii", "ignore").decode()
    return _NOT_IN_AN_ID.sub("-", plain).strip("-._")[:200]
