"""Which files an ingest need not send: the mesh holds their content already, with the same dates, title and access."""

from __future__ import annotations

import asyncio
from pathlib import Path

from citemesh.cli.connection import Connection
from citemesh.files.ids import derive_id
from citemesh.files.repeats import find_repeated, hash_file
from citemesh.rpc.calls import call
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import document_pb2, documents_pb2, documents_pb2_grpc, errors_pb2


async def find_known(
    connection: Connection, path: Path, header: documents_pb2.IngestHeader
) -> documents_pb2.IngestResponse | None:
    """What the mesh would answer to this file without reading it anew; None where it has to be sent.

    Asks for this one document. Raises OSError where the file cannot be read, ServiceError where the mesh cannot say.
    """
    stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
    request = documents_pb2.GetRequest(document_id=header.document_id or derive_id(header.file_name))
    try:
        stored = await call(stub.Get, request, timeout=connection.timeout_s, service="documents")
    except ServiceError as error:
        if error.reason != errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND:
            raise
        return None
    return await asyncio.to_thread(compare, list(stored.versions), path, header)


def compare(
    versions: list[document_pb2.Document], path: Path, header: documents_pb2.IngestHeader
) -> documents_pb2.IngestResponse | None:
    """The answer, by the stored versions of the document. Reads the whole file for its hash, if a size agrees."""
    size_bytes = path.stat().st_size
    if not any(version.size_bytes == size_bytes for version in versions):
        return None
    same = find_repeated(versions, header, hash_file(path))
    if same is None:
        return None
    return documents_pb2.IngestResponse(document=same, result=documents_pb2.INGEST_RESULT_UNCHANGED)
