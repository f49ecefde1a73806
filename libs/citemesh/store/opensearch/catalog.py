"""A tenant's documents in memory, level with the index: a read of one small entry says whether anything changed."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from citemesh.auth.principal import Principal
from citemesh.caches.recently_used import RecentlyUsed
from citemesh.store.access import allowed_readers, reader_entries
from citemesh.store.document_lists import StoredDocument
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.indexes import GENERATION, index_of
from citemesh.store.opensearch.layout import tenant_key
from citemesh.store.opensearch.records import DocumentRecord
from citemesh.store.visibility import TenantState

_MAX_TENANTS = 64


@dataclass(frozen=True)
class CatalogDocument:
    """One document, made ready for being asked often."""

    versions: list[StoredDocument]
    """Newest first."""
    readers: frozenset[str] | None
    """Who may read it, as `allowed_readers` names them; None: everyone of the tenant."""

    def admits(self, entries: frozenset[str]) -> bool:
        """Whether a principal with these entries may read it."""
        return self.readers is None or not self.readers.isdisjoint(entries)


@dataclass(frozen=True)
class Catalog:
    """The documents of one tenant as of one state; never changed once built."""

    state: TenantState = field(default_factory=TenantState)
    documents: dict[str, CatalogDocument] = field(default_factory=dict)
    """By id, in the order of the ids."""
    by_version_key: dict[int, StoredDocument] = field(default_factory=dict)
    languages: tuple[str, ...] = ("en",)

    def within(self, index_name: str) -> Catalog:
        """The same documents where another index is searched: an exchange of indexes changes no document."""
        if index_name == self.state.index_name:
            return self
        return replace(self, state=replace(self.state, index_name=index_name))

    def readable(self, principal: Principal, document_ids: Iterable[str] | None = None) -> list[CatalogDocument]:
        """The documents that `principal` may read, of those named (None: of all)."""
        entries = reader_entries(principal)
        if document_ids is None:
            return [each for each in self.documents.values() if each.admits(entries)]
        named = (self.documents.get(document_id) for document_id in document_ids)
        return [each for each in named if each is not None and each.admits(entries)]

    def versions(self, principal: Principal, document_id: str) -> list[StoredDocument]:
        """The versions of a document, newest first; none where it may not be read."""
        return [version for each in self.readable(principal, [document_id]) for version in each.versions]


class Catalogs:
    """The catalogs of all tenants. Safe to use from several threads."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._catalogs: RecentlyUsed[str, Catalog] = RecentlyUsed(_MAX_TENANTS)
        self._lock = threading.Lock()

    def state(self, tenant_id: str) -> TenantState:
        """Where the tenant stands now."""
        keys = (tenant_key(tenant_id), GENERATION)
        state, generation = self._connection.get_all(self._connection.names.state, keys)
        return TenantState(**(state or {}), index_name=index_of(generation))

    def known(self, tenant_id: str) -> Catalog:
        """The catalog last built: for what a filter names, which an older one holds too."""
        return self._catalogs.get(tenant_id) or self.fresh(tenant_id)

    def fresh(self, tenant_id: str) -> Catalog:
        """The tenant's documents now."""
        state = self.state(tenant_id)
        catalog = self._catalogs.get(tenant_id)
        if catalog is None or catalog.state.change_sequence < state.change_sequence:
            with self._lock:
                catalog = self._catalogs.get(tenant_id) or Catalog()
                if catalog.state.change_sequence < state.change_sequence:
                    catalog = self._read_changes(tenant_id, catalog, state)
                    self._catalogs.put(tenant_id, catalog)
        return catalog.within(state.index_name)

    def _read_changes(self, tenant_id: str, old: Catalog, state: TenantState) -> Catalog:
        changed = {"range": {"change_sequence": {"gt": old.state.change_sequence}}}
        query = {"bool": {"filter": [{"term": {"tenant_id": tenant_id}}, changed]}}
        documents = dict(old.documents)
        by_version_key = dict(old.by_version_key)
        languages = set(old.languages)
        is_sorted = True
        for hit in self._connection.scan(self._connection.names.documents, query, "document_key", {}):
            record = DocumentRecord.from_source(hit["_source"])
            before = documents.get(record.document_id)
            for gone in () if before is None else before.versions:
                by_version_key.pop(gone.span.version_key, None)
            if not record.versions:
                documents.pop(record.document_id, None)
                continue
            found = _make_ready(record)
            is_sorted = is_sorted and before is not None
            documents[record.document_id] = found
            by_version_key.update((each.span.version_key, each) for each in found.versions)
            languages.update(language for version in record.versions for language in version.languages)
        if not is_sorted:
            documents = dict(sorted(documents.items()))
        return Catalog(state, documents, by_version_key, ("en", *sorted(languages - {"en"})))


def _make_ready(record: DocumentRecord) -> CatalogDocument:
    readers = None if record.access.HasField("everyone") else allowed_readers(record.access)
    return CatalogDocument(record.stored(), readers)
