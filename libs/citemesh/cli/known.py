"""What the mesh holds of a file: whether it need not be sent, and whether it takes another file's place."""

from __future__ import annotations

from pathlib import Path

from citemesh.cli.connection import Connection
from citemesh.files.ids import derive_id
from citemesh.files.regular import measure_regular
from citemesh.files.repeats import find_repeated
from citemesh.models.files import hash_file
from citemesh.rpc.calls import call
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import document_pb2, documents_pb2, documents_pb2_grpc, errors_pb2


async def read_versions(connection: Connection, header: documents_pb2.IngestHeader) -> list[document_pb2.Document]:
    """The stored versions of the document that a file becomes, newest first; none where it is a new one.

    Raises ServiceError where the mesh cannot say.
    """
    stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
    request = documents_pb2.GetRequest(document_id=header.document_id or derive_id(header.file_name))
    try:
        stored = await call(stub.Get, request, timeout=connection.timeout_s, service="documents")
    except ServiceError as error:
        if error.reason != errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND:
            raise
        return []
    return list(stored.versions)


def compare(
    versions: list[document_pb2.Document], path: Path, header: documents_pb2.IngestHeader
) -> documents_pb2.IngestResponse | None:
    """What the mesh would answer to this file without reading it anew; None where it has to be sent.

    Reads the whole file for its hash, if a size agrees. Raises OSError where it is no file or cannot be read.
    """
    size_bytes = measure_regular(path)
    if not any(version.size_bytes == size_bytes for version in versions):
        return None
    same = find_repeated(versions, header, hash_file(path))
    if same is None:
        return None
    return documents_pb2.IngestResponse(document=same, result=documents_pb2.INGEST_RESULT_UNCHANGED)


def describe_replaced(
    versions: list[document_pb2.Document], path: Path, header: documents_pb2.IngestHeader, stored: document_pb2.Document
) -> str:
    """What to say where a file became a version of a document that looks like another file's; empty where it does not.

    Names that differ in signs alone give one id. A version of another title or kind may be such a one; an id that was
    chosen is meant.
    """
    derived = derive_id(path.name)
    last_part = header.document_id.rpartition("/")[2]
    if not versions or last_part not in ("", derived, derived.removeprefix("document-")):
        return ""
    before = versions[0]
    if (before.title, before.media_type) == (stored.title, stored.media_type):
        return ""
    return (
        f'{path} replaces "{before.title or before.document_id}" ({before.media_type or "unknown"}) as version '
        f"{stored.document_version} of {stored.document_id}; give --document-id to keep both"
    )
