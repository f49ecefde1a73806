"""Reading documents, sections and profiles, each time filtered by who asks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from citemesh.auth.principal import Principal
from citemesh.store.document_lists import StoredDocument, describe_versions, read_place, write_place
from citemesh.store.embedded.text_lists import write_texts
from citemesh.store.embedded.visibility import MAY_READ, list_readers
from citemesh.store.versions import VersionSpan, to_microseconds
from citemesh.v1.document_pb2 import AccessPolicy, Document, DocumentProfile, Section

_SELECT = (
    "SELECT version_row, documents.document_row, document_version, from_us, to_us, document, access"
    " FROM documents JOIN versions USING (document_row)"
)
# So many versions are read at once while a page of a list is filled.
_DOCUMENTS_PER_READ = 500

_Row = tuple[int, int, int, int, int, bytes, bytes]


def read_versions(connection: sqlite3.Connection, principal: Principal, document_id: str) -> list[Document]:
    """All versions of one document, newest first, `superseded` as of now; empty where it may not be read."""
    return describe_versions(_select_documents(connection, principal, [document_id]), to_microseconds(None))


def read_in_force(
    connection: sqlite3.Connection, principal: Principal, document_id: str, as_of: datetime | None
) -> Document | None:
    """The version in force; None where there is none for `principal`."""
    versions = _select_documents(connection, principal, [document_id])
    return next(iter(describe_versions(versions, to_microseconds(as_of), in_force_only=True)), None)


def read_page(
    connection: sqlite3.Connection,
    principal: Principal,
    as_of: datetime | None,
    *,
    include_superseded: bool,
    after: str,
    limit: int,
) -> tuple[list[Document], str]:
    """A page of documents and the next page's `after`; see StoreReader.list_documents."""
    at_us = to_microseconds(as_of)
    last_id, last_version = read_place(after)
    found: list[Document] = []
    while len(found) <= limit:
        ids = _next_ids(connection, principal, last_id, inclusive=last_version > 0)
        if not ids:
            break
        versions = _select_documents(connection, principal, ids)
        for document in describe_versions(versions, at_us, in_force_only=not include_superseded):
            resumed = document.document_id == last_id and last_version > 0
            if not resumed or document.document_version < last_version:
                found.append(document)
        last_id, last_version = ids[-1], 0
    page = found[:limit]
    if len(found) <= limit:
        return page, ""
    return page, write_place(page[-1])


def read_sections(connection: sqlite3.Connection, version_row: int) -> list[Section]:
    """The sections of a version in the order of the text."""
    rows = connection.execute("SELECT section FROM sections WHERE version_row = ? ORDER BY position", (version_row,))
    return [Section.FromString(row[0]) for row in rows]


def find_version_row(
    connection: sqlite3.Connection, principal: Principal, document_id: str, document_version: int
) -> int | None:
    """The row of a version that `principal` may read."""
    spans = (each.span for each in _select_documents(connection, principal, [document_id]))
    return next((span.version_key for span in spans if span.document_version == document_version), None)


def read_profiles(connection: sqlite3.Connection, version_keys: Sequence[int], limit: int) -> list[DocumentProfile]:
    """At most `limit` profiles, by document id."""
    rows = connection.execute(
        "SELECT document FROM versions JOIN documents USING (document_row)"
        " WHERE version_row IN (SELECT value FROM json_each(?)) ORDER BY document_id LIMIT ?",
        (json.dumps(version_keys), limit),
    )
    return [Document.FromString(row[0]).profile for row in rows]


def _select_documents(connection: sqlite3.Connection, principal: Principal, ids: Sequence[str]) -> list[StoredDocument]:
    """All versions of the documents that `principal` may read, by document id, newest version first."""
    wanted = "document_id IN (SELECT value FROM json_each(:ids))"
    rows = connection.execute(
        f"{_SELECT} WHERE {MAY_READ} AND {wanted} ORDER BY document_id, document_version DESC",
        {"tenant_id": principal.tenant_id, "readers": list_readers(principal), "ids": write_texts(ids)},
    )
    return [_stored(row) for row in rows]


def _next_ids(connection: sqlite3.Connection, principal: Principal, after: str, *, inclusive: bool) -> list[str]:
    rows = connection.execute(
        f"SELECT document_id FROM documents WHERE {MAY_READ}"  # noqa: S608  # fixed text only
        f" AND document_id {'>=' if inclusive else '>'} :after ORDER BY document_id LIMIT :count",
        {
            "tenant_id": principal.tenant_id,
            "readers": list_readers(principal),
            "after": after,
            "count": _DOCUMENTS_PER_READ,
        },
    )
    return [str(row[0]) for row in rows]


def _stored(row: _Row) -> StoredDocument:
    return StoredDocument(VersionSpan(*row[:5]), Document.FromString(row[5]), AccessPolicy.FromString(row[6]))


def read_titles(connection: sqlite3.Connection, version_keys: Sequence[int]) -> list[tuple[str, str]]:
    """Ids and titles of versions."""
    rows = connection.execute(
        "SELECT document_id, document FROM versions JOIN documents USING (document_row)"
        " WHERE version_row IN (SELECT value FROM json_each(?))",
        (json.dumps(version_keys),),
    )
    return [(str(row[0]), Document.FromString(row[1]).title) for row in rows]
