"""Lists and versions of documents from a tenant's catalog, filtered by who asks."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import invalid_argument
from citemesh.store.embedded.visibility import to_microseconds
from citemesh.store.opensearch.catalog import Catalog
from citemesh.store.opensearch.records import DocumentRecord
from citemesh.store.opensearch.visibility import may_read
from citemesh.store.versions import choose_in_force
from citemesh.v1.document_pb2 import Document


def read_versions(
    catalog: Catalog, principal: Principal, document_id: str, as_of: datetime | None, *, in_force: bool = False
) -> list[Document]:
    """The versions of a document, newest first; none where it may not be read; with `in_force` that one alone."""
    record = catalog.records.get(document_id)
    if record is None or not may_read(principal, record):
        return []
    return _build(record, to_microseconds(as_of), keep_all=not in_force)


def read_page(
    catalog: Catalog,
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
    for record in catalog.records.values():
        if record.document_id < last_id or not may_read(principal, record):
            continue
        for document in _build(record, at_us, keep_all=include_superseded):
            if document.document_id != last_id or document.document_version < last_version:
                found.append(document)
        if len(found) > limit:
            last = found[limit - 1]
            return found[:limit], _encode_place(last.document_id, last.document_version)
    return found, ""


def _build(record: DocumentRecord, at_us: int, *, keep_all: bool) -> list[Document]:
    spans = {span.version_key: span for span in record.spans()}
    in_force = {span.version_key for span in choose_in_force(spans.values(), at_us)}
    started = [(span.from_us, span.document_version) for span in spans.values() if span.from_us <= at_us]
    latest = max(started, default=None)
    documents = []
    for version in sorted(record.versions, key=lambda each: -each.document.document_version):
        span = spans[version.version_key]
        if keep_all or version.version_key in in_force:
            superseded = latest is not None and (span.from_us, span.document_version) < latest
            documents.append(record.with_access(version, superseded=superseded))
    return documents


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
