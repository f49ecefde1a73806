"""BM25 search for readers: the tantivy index, and, for what it does not hold yet, a small one in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog
import tantivy

from citemesh.caches.recently_used import RecentlyUsed
from citemesh.store.contract import Hit, VersionFilter
from citemesh.store.embedded.changes import read_changed_versions, read_state
from citemesh.store.embedded.database import Database
from citemesh.store.embedded.keyword_index import (
    WRITER_HEAP_SIZE_BYTES,
    add_version,
    build_schema,
    index_directory,
    is_index_failure,
    open_index,
    read_stamp,
)
from citemesh.store.keyword_query import (
    EXACT_BOOST,
    FIELD_BOOSTS,
    NEAR_BOOST,
    NEAR_WORDS,
    KeywordQuery,
    read_keyword_query,
)

_log = structlog.get_logger(__name__)

_MAX_CACHED_FILTERS = 64
_MAX_OPEN_TENANTS = 64


@dataclass
class _TenantIndex:
    """What one reader knows of one tenant's index."""

    index: tantivy.Index | None
    sequence: int = -1
    languages: tuple[str, ...] = ("en",)
    overlay: tantivy.Index | None = None
    overlaid_versions: frozenset[int] = frozenset()


class KeywordSearch:
    """Searches the indexes below `root`. Safe to call from several threads."""

    def __init__(self, root: Path, database: Database) -> None:
        self._root = root
        self._database = database
        self._schema = build_schema()
        self._lock = threading.Lock()
        self._tenants: RecentlyUsed[str, _TenantIndex] = RecentlyUsed(_MAX_OPEN_TENANTS)
        self._filters: RecentlyUsed[tuple[str, bool], tantivy.Query] = RecentlyUsed(_MAX_CACHED_FILTERS)

    def search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        """See StoreReader.keyword_search."""
        if versions.is_empty or limit < 1:
            return []
        tenant = self._fresh(versions.tenant_id)
        asked = read_keyword_query(text, tenant.languages)
        if asked.is_empty:
            return []
        hits = self._search_both(tenant, self._words_query(asked), versions, limit)
        return sorted(hits, key=lambda hit: (-hit.leg_score, hit.passage_key))[:limit]

    def languages(self, tenant_id: str) -> tuple[str, ...]:
        """The languages that the tenant's passages are in, and English."""
        return self._fresh(tenant_id).languages

    def _words_query(self, asked: KeywordQuery) -> tantivy.Query:
        """Words by how often they are asked for, identifiers as written, and neighbours that stand near each other."""
        schema = self._schema
        parts = [_boost(self._word_query(forms), times) for forms, times in asked.words]
        parts += [_boost(tantivy.Query.term_query(schema, "exact", each), EXACT_BOOST) for each in asked.identifiers]
        for pair in asked.neighbours:
            near = tantivy.Query.phrase_query(schema, "text", list(pair), slop=NEAR_WORDS)
            parts.append(_boost(near, NEAR_BOOST))
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in parts])

    def _word_query(self, forms: Sequence[str]) -> tantivy.Query:
        """One word in all fields; of its forms in several languages the best one counts, not their sum."""
        queries = [
            tantivy.Query.boolean_query(
                [
                    (tantivy.Occur.Should, _boost(tantivy.Query.term_query(self._schema, field, form), boost))
                    for field, boost in FIELD_BOOSTS.items()
                ]
            )
            for form in forms
        ]
        return queries[0] if len(queries) == 1 else tantivy.Query.disjunction_max_query(queries)

    def _search_both(
        self, tenant: _TenantIndex, query: tantivy.Query, versions: VersionFilter, limit: int
    ) -> list[Hit]:
        hits: list[Hit] = []
        if tenant.index is not None:
            try:
                hits += self._search_one(tenant.index, query, self._filter(versions, tenant, overlay=False), limit)
            except BaseException as error:
                # Damaged files show as ValueError or as a Rust panic; anything else is passed on.
                if not is_index_failure(error):
                    raise
                _log.warning("store.keyword_index_damaged", error=type(error).__name__)
                tenant = self._replace_damaged(versions.tenant_id)
        if tenant.overlay is not None:
            hits += self._search_one(tenant.overlay, query, self._filter(versions, tenant, overlay=True), limit)
        return hits

    def _search_one(self, index: tantivy.Index, query: tantivy.Query, allowed: tantivy.Query, limit: int) -> list[Hit]:
        searcher = index.searcher()
        filtered = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, allowed)])
        found = searcher.search(filtered, limit=limit, count=False).hits
        rows = searcher.fast_field_values("passage_row", [address for _, address in found]) if found else []
        return [Hit(int(row), float(found[at][0])) for at, row in enumerate(rows) if row is not None]

    def _filter(self, versions: VersionFilter, tenant: _TenantIndex, *, overlay: bool) -> tantivy.Query:
        """The allowed versions as a query without weight; the index leaves out what the overlay holds anew."""
        key = (f"{versions.key}/{tenant.sequence}/{len(tenant.overlaid_versions)}", overlay)
        allowed = self._filters.get(key)
        if allowed is None:
            rows = [row for row in versions.version_keys if (row in tenant.overlaid_versions) == overlay]
            in_rows = tantivy.Query.term_set_query(self._schema, "version_row", rows)
            allowed = tantivy.Query.const_score_query(in_rows, 0.0) if rows else tantivy.Query.empty_query()
            self._filters.put(key, allowed)
        return allowed

    def _fresh(self, tenant_id: str) -> _TenantIndex:
        """The tenant's index, level with the database: reloaded, and completed in memory where it lags behind."""
        with self._database.snapshot() as connection:
            now = read_state(connection, tenant_id).change_sequence
            tenant = self._tenants.get(tenant_id)
            if tenant is not None and tenant.sequence == now:
                return tenant
            with self._lock:
                tenant = self._tenants.get(tenant_id)
                if tenant is None or tenant.sequence < now:
                    tenant = self._load(tenant_id, now, None if tenant is None else tenant.index)
                    self._tenants.put(tenant_id, tenant)
                return tenant

    def _load(self, tenant_id: str, now: int, index: tantivy.Index | None, *, damaged: bool = False) -> _TenantIndex:
        if not damaged:
            index = self._reload(tenant_id, index)
        reached = 0 if index is None else read_stamp(index)
        connection = self._database.connection()
        languages = connection.execute("SELECT language FROM tenant_languages WHERE tenant_id = ?", (tenant_id,))
        loaded = _TenantIndex(index, now, tuple(dict.fromkeys(("en", *(str(row[0]) for row in languages)))))
        if reached >= now:
            return loaded
        changed = read_changed_versions(connection, tenant_id, reached, now)
        if changed:
            loaded.overlaid_versions = frozenset(changed)
            loaded.overlay = self._build_overlay(changed)
        return loaded

    def _reload(self, tenant_id: str, index: tantivy.Index | None) -> tantivy.Index | None:
        try:
            if index is None:
                path = index_directory(self._root, tenant_id)
                # Made by the writer alone; until it has, everything is overlaid.
                return open_index(path) if tantivy.Index.exists(str(path)) else None
            index.reload()
        except BaseException as error:
            # Damaged or half-removed files show as ValueError or as a Rust panic; anything else is passed on.
            if not is_index_failure(error):
                raise
            _log.warning("store.keyword_index_damaged", error=type(error).__name__)
            return None
        return index

    def _replace_damaged(self, tenant_id: str) -> _TenantIndex:
        with self._lock, self._database.snapshot() as connection:
            now = read_state(connection, tenant_id).change_sequence
            tenant = self._load(tenant_id, now, None, damaged=True)
            self._tenants.put(tenant_id, tenant)
            return tenant

    def _build_overlay(self, version_rows: Sequence[int]) -> tantivy.Index:
        overlay = open_index(None)
        writer = overlay.writer(WRITER_HEAP_SIZE_BYTES, 1)
        for version_row in version_rows:
            add_version(writer, self._database.connection(), version_row)
        writer.commit()
        writer.wait_merging_threads()
        overlay.reload()
        return overlay


def _boost(query: tantivy.Query, boost: float) -> tantivy.Query:
    return query if boost == 1.0 else tantivy.Query.boost_query(query, boost)
