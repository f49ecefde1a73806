"""A tenant's documents in memory, level with the index: a read of one small entry says whether anything changed."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from citemesh.caches.recently_used import RecentlyUsed
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.layout import tenant_key
from citemesh.store.opensearch.records import DocumentRecord, VersionRecord

_MAX_TENANTS = 64


@dataclass(frozen=True, slots=True)
class TenantState:
    """Where a tenant stands; both rise."""

    change_sequence: int = 0
    permission_version: int = 0


@dataclass(frozen=True)
class Catalog:
    """The documents of one tenant as of one state; never changed once built."""

    state: TenantState = TenantState()
    records: dict[str, DocumentRecord] = field(default_factory=dict)
    by_version_key: dict[int, tuple[DocumentRecord, VersionRecord]] = field(default_factory=dict)
    languages: tuple[str, ...] = ("en",)


class Catalogs:
    """The catalogs of all tenants. Safe to use from several threads."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._catalogs: RecentlyUsed[str, Catalog] = RecentlyUsed(_MAX_TENANTS)
        self._lock = threading.Lock()

    def state(self, tenant_id: str) -> TenantState:
        """Where the tenant stands now."""
        found = self._connection.get(self._connection.names.state, tenant_key(tenant_id))
        return TenantState() if found is None else TenantState(**found[0])

    def known(self, tenant_id: str) -> Catalog:
        """The catalog last built: for what a filter names, which an older one holds too."""
        return self._catalogs.get(tenant_id) or self.fresh(tenant_id)

    def fresh(self, tenant_id: str) -> Catalog:
        """The tenant's documents now."""
        state = self.state(tenant_id)
        catalog = self._catalogs.get(tenant_id)
        if catalog is not None and catalog.state.change_sequence >= state.change_sequence:
            return catalog
        with self._lock:
            catalog = self._catalogs.get(tenant_id) or Catalog()
            if catalog.state.change_sequence < state.change_sequence:
                catalog = self._read_changes(tenant_id, catalog, state)
                self._catalogs.put(tenant_id, catalog)
        return catalog

    def _read_changes(self, tenant_id: str, old: Catalog, state: TenantState) -> Catalog:
        changed = {"range": {"change_sequence": {"gt": old.state.change_sequence}}}
        query = {"bool": {"filter": [{"term": {"tenant_id": tenant_id}}, changed]}}
        records = dict(old.records)
        names = self._connection.names
        for hit in self._connection.scan(names.documents, query, "document_id", ["*"]):
            record = DocumentRecord.from_source(hit["_source"])
            if record.versions:
                records[record.document_id] = record
            else:
                records.pop(record.document_id, None)
        records = dict(sorted(records.items()))
        versions = [(record, version) for record in records.values() for version in record.versions]
        languages = {language for _, version in versions for language in version.languages} | set(old.languages)
        return Catalog(
            state,
            records,
            {version.version_key: (record, version) for record, version in versions},
            ("en", *sorted(languages - {"en"})),
        )
