"""Which versions a principal may read and which are in force, from a tenant's catalog."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime

from citemesh.auth.principal import Principal
from citemesh.store.contract import VersionFilter
from citemesh.store.embedded.visibility import scope_documents, to_microseconds
from citemesh.store.opensearch.catalog import Catalog
from citemesh.store.opensearch.records import DocumentRecord
from citemesh.store.versions import choose_in_force
from citemesh.v1.question_pb2 import Scope


def may_read(principal: Principal, record: DocumentRecord) -> bool:
    """Whether `principal` may read a document of its tenant."""
    if record.access.HasField("everyone"):
        return True
    entries = {f"group:{group}" for group in principal.groups if group}
    if principal.user_id:
        entries.add(f"user:{principal.user_id}")
    return not entries.isdisjoint(record.readers())


def allowed_versions(
    catalog: Catalog, principal: Principal, scope: Scope | None, as_of: datetime | None
) -> VersionFilter:
    """See StoreReader.allowed_versions."""
    moment = to_microseconds(as_of)
    spans = [span for record in _readable(catalog, principal, scope) for span in record.spans()]
    return _make_filter(principal.tenant_id, [span.version_key for span in choose_in_force(spans, moment)], catalog)


def readable_versions(catalog: Catalog, principal: Principal, scope: Scope | None) -> VersionFilter:
    """Every version that may be read, in force or not."""
    records = _readable(catalog, principal, scope)
    keys = sorted(version.version_key for record in records for version in record.versions)
    return _make_filter(principal.tenant_id, keys, catalog)


def snapshot_name(change_sequence: int) -> str:
    """The state of a tenant's documents as callers see it."""
    return f"opensearch-{change_sequence}"


def _readable(catalog: Catalog, principal: Principal, scope: Scope | None) -> Iterable[DocumentRecord]:
    ids = scope_documents(scope)
    wanted = None if ids is None else set(ids)
    for record in catalog.records.values():
        if (wanted is None or record.document_id in wanted) and may_read(principal, record):
            yield record


def _make_filter(tenant_id: str, keys: list[int], catalog: Catalog) -> VersionFilter:
    state = catalog.state
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{tenant_id}\0{state.change_sequence}\0{state.permission_version}\0".encode())
    digest.update(",".join(map(str, keys)).encode())
    return VersionFilter(
        tenant_id, tuple(keys), snapshot_name(state.change_sequence), state.permission_version, digest.hexdigest()
    )
