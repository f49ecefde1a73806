"""Reading documents, sections and profiles, each time filtered by who asks."""

from __future__ import annotations

import json
import sqlite3
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import invalid_argument
from citemesh.store.contract import ProfileCounts
from citemesh.store.embedded.visibility import MAY_READ, reader_entries, to_microseconds
from citemesh.store.versions import VersionSpan, choose_in_force
from citemesh.v1.document_pb2 import AccessPolicy, Document, DocumentProfile, Section

_SELECT = (
    "SELECT version_row, documents.document_row, document_version, from_us, to_us, document, access, document_id"
    " FROM documents JOIN versions USING (document_row)"
)
# So many versions are read at once while a page of a list is filled.
_DOCUMENTS_PER_READ = 500

_Row = tuple[int, int, int, int, int, bytes, bytes, str]


def read_versions(connection: sqlite3.Connection, principal: Principal, document_id: str) -> list[Document]:
    """All versions of one document, newest first, `superseded` as of now; empty where it may not be read."""
    rows = _select_documents(connection, principal, [document_id])
    return _build_all(rows, to_microseconds(None))


def read_in_force(
    connection: sqlite3.Connection, principal: Principal, document_id: str, as_of: datetime | None
) -> Document | None:
    """The version in force; None where there is none for `principal`."""
    rows = _select_documents(connection, principal, [document_id])
    chosen = {span.version_key for span in choose_in_force(_spans(rows), to_microseconds(as_of))}
    return next((_build(row, superseded=False) for row in rows if row[0] in chosen), None)


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
    last_id, last_version = _decode_place(after)
    found: list[Document] = []
    while len(found) <= limit:
        ids = _next_ids(connection, principal, last_id, inclusive=last_version > 0)
        if not ids:
            break
        rows = _select_documents(connection, principal, ids)
        for document in _build_all(rows, at_us, keep_all=include_superseded):
            resumed = document.document_id == last_id and last_version > 0
            if not resumed or document.document_version < last_version:
                found.append(document)
        last_id, last_version = ids[-1], 0
    page = found[:limit]
    if len(found) <= limit:
        return page, ""
    return page, _encode_place(page[-1].document_id, page[-1].document_version)


def read_sections(connection: sqlite3.Connection, version_row: int) -> list[Section]:
    """The sections of a version in the order of the text."""
    rows = connection.execute("SELECT section FROM sections WHERE version_row = ? ORDER BY position", (version_row,))
    return [Section.FromString(row[0]) for row in rows]


def find_version_row(
    connection: sqlite3.Connection, principal: Principal, document_id: str, document_version: int
) -> int | None:
    """The row of a version that `principal` may read."""
    rows = _select_documents(connection, principal, [document_id])
    return next((row[0] for row in rows if row[2] == document_version), None)


def read_profiles(connection: sqlite3.Connection, version_keys: Sequence[int], limit: int) -> list[DocumentProfile]:
    """At most `limit` profiles, by document id."""
    rows = connection.execute(
        "SELECT document FROM versions JOIN documents USING (document_row)"
        " WHERE version_row IN (SELECT value FROM json_each(?)) ORDER BY document_id LIMIT ?",
        (json.dumps(version_keys), limit),
    )
    return [Document.FromString(row[0]).profile for row in rows]


def count_profiles(connection: sqlite3.Connection, version_keys: Sequence[int]) -> ProfileCounts:
    """Sums over the profiles."""
    toc_count = scanned_count = 0
    languages: Counter[str] = Counter()
    for profile in read_profiles(connection, version_keys, len(version_keys)):
        toc_count += profile.has_usable_toc
        scanned_count += profile.likely_scanned
        languages[profile.language or "und"] += 1
    ordered = tuple(language for language, _ in sorted(languages.items(), key=lambda item: (-item[1], item[0])))
    return ProfileCounts(len(version_keys), toc_count, scanned_count, ordered)


def _select_documents(connection: sqlite3.Connection, principal: Principal, ids: Sequence[str]) -> list[_Row]:
    """All versions of the documents that `principal` may read, by document id, newest version first."""
    wanted = "document_id IN (SELECT value FROM json_each(:ids))"
    return connection.execute(
        f"{_SELECT} WHERE {MAY_READ} AND {wanted} ORDER BY document_id, document_version DESC",
        {"tenant_id": principal.tenant_id, "readers": reader_entries(principal), "ids": json.dumps(list(ids))},
    ).fetchall()


def _next_ids(connection: sqlite3.Connection, principal: Principal, after: str, *, inclusive: bool) -> list[str]:
    rows = connection.execute(
        f"SELECT document_id FROM documents WHERE {MAY_READ}"  # noqa: S608  # fixed text only
        f" AND document_id {'>=' if inclusive else '>'} :after ORDER BY document_id LIMIT :count",
        {
            "tenant_id": principal.tenant_id,
            "readers": reader_entries(principal),
            "after": after,
            "count": _DOCUMENTS_PER_READ,
        },
    )
    return [str(row[0]) for row in rows]


def _spans(rows: Sequence[_Row]) -> list[VersionSpan]:
    return [VersionSpan(*row[:5]) for row in rows]


def _build_all(rows: Sequence[_Row], at_us: int, *, keep_all: bool = True) -> list[Document]:
    spans = _spans(rows)
    in_force = {span.version_key for span in choose_in_force(spans, at_us)}
    started: dict[int, tuple[int, int]] = {}
    for span in spans:
        if span.from_us <= at_us:
            started[span.document_key] = max(
                started.get(span.document_key, (span.from_us, 0)), (span.from_us, span.document_version)
            )
    return [
        _build(row, superseded=(row[3], row[2]) < started.get(row[1], (row[3], row[2])))
        for row in rows
        if keep_all or row[0] in in_force
    ]


def _build(row: _Row, *, superseded: bool) -> Document:
    document = Document.FromString(row[5])
    document.access.CopyFrom(AccessPolicy.FromString(row[6]))
    document.superseded = superseded
    return document


def _encode_place(document_id: str, document_version: int) -> str:
    return urlsafe_b64encode(f"{document_version}:{document_id}".encode()).decode()


def _decode_place(after: str) -> tuple[str, int]:
    if not after:
        return "", 0
    try:
        version, document_id = urlsafe_b64decode(after.encode()).decode().split(":", 1)
        return document_id, int(version)
    except ValueError as error:
        raise invalid_argument("page_token", "must come from an earlier response") from error
