"""Documents and their versions as rows: found, added and read within a transaction."""

from __future__ import annotations

import sqlite3

from citemesh.store.access import EVERYONE
from citemesh.store.embedded.rows import write_access
from citemesh.store.errors import document_not_found
from citemesh.store.versions import span_of
from citemesh.v1.document_pb2 import AccessPolicy, Document


def find_document(connection: sqlite3.Connection, tenant_id: str, document_id: str) -> int | None:
    """The row of a document; None for an unknown one."""
    row = connection.execute(
        "SELECT document_row FROM documents WHERE tenant_id = ? AND document_id = ?", (tenant_id, document_id)
    ).fetchone()
    return None if row is None else int(row[0])


def find_or_add_document(connection: sqlite3.Connection, tenant_id: str, document: Document) -> tuple[int, bool]:
    """The document's row and whether it was known; its access is set where the caller gives one or it is new."""
    row = find_document(connection, tenant_id, document.document_id)
    known = row is not None
    if row is None:
        cursor = connection.execute(
            "INSERT INTO documents (tenant_id, document_id, everyone, access) VALUES (?, ?, 0, x'')",
            (tenant_id, document.document_id),
        )
        row = int(cursor.lastrowid or 0)
    if document.HasField("access"):
        write_access(connection, row, document.access)
    elif not known:
        write_access(connection, row, EVERYONE)
    return row, known


def find_version(
    connection: sqlite3.Connection, tenant_id: str, document_id: str, document_version: int
) -> tuple[int, Document]:
    """The row of a version, and its document. Raises DOCUMENT_NOT_FOUND."""
    row = connection.execute(
        "SELECT version_row, document FROM versions JOIN documents USING (document_row)"
        " WHERE tenant_id = ? AND document_id = ? AND document_version = ?",
        (tenant_id, document_id, document_version),
    ).fetchone()
    if row is None:
        raise document_not_found(document_id)
    return int(row[0]), Document.FromString(row[1])


def read_versions(connection: sqlite3.Connection, document_row: int) -> list[Document]:
    """All versions of a document, newest first."""
    rows = connection.execute(
        "SELECT document FROM versions WHERE document_row = ? ORDER BY document_version DESC", (document_row,)
    )
    return [Document.FromString(row[0]) for row in rows]


def insert_version(connection: sqlite3.Connection, document_row: int, document: Document) -> int:
    """Add a version, complete; its row."""
    start, end = span_of(document)
    cursor = connection.execute(
        "INSERT INTO versions (document_row, document_version, from_us, to_us, content_hash, document,"
        " next_passage_number) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            document_row,
            document.document_version,
            start,
            end,
            document.content_hash,
            document.SerializeToString(),
            document.passage_count,
        ),
    )
    return int(cursor.lastrowid or 0)


def with_access(connection: sqlite3.Connection, document_row: int, document: Document) -> Document:
    """`document` with who may read it now."""
    row = connection.execute("SELECT access FROM documents WHERE document_row = ?", (document_row,)).fetchone()
    document.access.CopyFrom(AccessPolicy.FromString(row[0]))
    return document


def is_used(connection: sqlite3.Connection, tenant_id: str, content_hash: str) -> bool:
    """Whether a version of any document of the tenant has this content."""
    row = connection.execute(
        "SELECT 1 FROM versions JOIN documents USING (document_row) WHERE tenant_id = ? AND content_hash = ? LIMIT 1",
        (tenant_id, content_hash),
    ).fetchone()
    return row is not None
