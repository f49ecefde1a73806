"""The reading side of the OpenSearch store: documents from the tenant's catalog, passages from the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import Hit, IndexCounts, Place, ProfileCounts, SectionHit, Vectors, VersionFilter
from citemesh.store.embedded.analysis import content_words
from citemesh.store.embedded.files import OriginalFiles
from citemesh.store.embedded.passage_reading import descend, is_allowed
from citemesh.store.encoder_match import REENCODE_REMEDY
from citemesh.store.labels import canonical_label, section_labels
from citemesh.store.opensearch import document_reading, searches, visibility
from citemesh.store.opensearch.catalog import Catalogs
from citemesh.store.opensearch.connection import Connection, read_hits
from citemesh.store.opensearch.entries import read_passage
from citemesh.store.opensearch.generations import read_generation
from citemesh.store.opensearch.layout import version_of
from citemesh.store.opensearch.records import DocumentRecord, VersionRecord
from citemesh.store.opensearch.title_search import match_titles, search_sections
from citemesh.v1 import errors_pb2
from citemesh.v1.document_pb2 import Document, DocumentProfile, Section
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.question_pb2 import Scope
from citemesh.v1.retrieval_pb2 import EncoderContract

_MAX_READ: Final = 10_000
# Up to here each allowed passage is compared; above, the graph is followed.
_MAX_EXACT: Final = 10_000


class OpenSearchReader:
    """See StoreReader."""

    def __init__(self, url: str, root: Path) -> None:
        self._connection = Connection(url)
        self._passages = self._connection.names.passages
        self._catalogs = Catalogs(self._connection)
        self._files = OriginalFiles(root)

    def allowed_versions(
        self, principal: Principal, scope: Scope | None = None, as_of: datetime | None = None
    ) -> VersionFilter:
        """See StoreReader."""
        return visibility.allowed_versions(self._catalogs.fresh(principal.tenant_id), principal, scope, as_of)

    def permission_version(self, tenant_id: str) -> int:
        """See StoreReader."""
        return self._catalogs.state(tenant_id).permission_version

    def index_snapshot(self, tenant_id: str) -> str:
        """See StoreReader."""
        return visibility.snapshot_name(self._catalogs.state(tenant_id).change_sequence)

    def encoder_contract(self) -> EncoderContract | None:
        """See StoreReader."""
        used = read_generation(self._connection)
        return None if used is None else used[1]

    def list_documents(
        self,
        principal: Principal,
        *,
        as_of: datetime | None = None,
        include_superseded: bool = False,
        after: str = "",
        limit: int = 100,
    ) -> tuple[list[Document], str]:
        """See StoreReader."""
        catalog = self._catalogs.fresh(principal.tenant_id)
        return document_reading.read_page(
            catalog, principal, as_of, include_superseded=include_superseded, after=after, limit=limit
        )

    def get_document(
        self, principal: Principal, document_id: str, document_version: int = 0, as_of: datetime | None = None
    ) -> Document | None:
        """See StoreReader."""
        catalog = self._catalogs.fresh(principal.tenant_id)
        versions = document_reading.read_versions(catalog, principal, document_id, as_of, in_force=not document_version)
        return next((each for each in versions if document_version in (0, each.document_version)), None)

    def document_versions(self, principal: Principal, document_id: str) -> list[Document]:
        """See StoreReader."""
        catalog = self._catalogs.fresh(principal.tenant_id)
        return document_reading.read_versions(catalog, principal, document_id, None)

    def sections(self, principal: Principal, document_id: str, document_version: int) -> list[Section]:
        """See StoreReader."""
        record = self._catalogs.fresh(principal.tenant_id).records.get(document_id)
        if record is None or not visibility.may_read(principal, record):
            return []
        found = (each for each in record.versions if each.document.document_version == document_version)
        return next((list(each.sections) for each in found), [])

    def profiles(self, versions: VersionFilter, limit: int) -> list[DocumentProfile]:
        """See StoreReader."""
        return [version.document.profile for _, version in self._named(versions)[:limit]]

    def profile_counts(self, versions: VersionFilter) -> ProfileCounts:
        """See StoreReader."""
        profiles = self.profiles(versions, len(versions.version_keys))
        languages = Counter(profile.language or "und" for profile in profiles)
        ordered = tuple(language for language, _ in sorted(languages.items(), key=lambda item: (-item[1], item[0])))
        toc_count = sum(profile.has_usable_toc for profile in profiles)
        return ProfileCounts(len(profiles), toc_count, sum(profile.likely_scanned for profile in profiles), ordered)

    def original_file(self, principal: Principal, document_id: str, document_version: int) -> Path | None:
        """See StoreReader."""
        document = self.get_document(principal, document_id, document_version) if document_version > 0 else None
        if document is None:
            return None
        path = self._files.path(principal.tenant_id, document.content_hash)
        return path if path.is_file() else None

    def document_passages(self, versions: VersionFilter, document_id: str) -> list[Passage]:
        """See StoreReader."""
        named = self._named_document(versions, document_id)
        return [] if named is None else self._read_version(versions, named[1])

    def keyword_search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        """See StoreReader."""
        if versions.is_empty or limit < 1:
            return []
        query = searches.words_query(text, self._catalogs.known(versions.tenant_id).languages)
        if query is None:
            return []
        found = self._search(searches.filtered(query, versions), limit)
        return sorted(found, key=lambda hit: (-hit.leg_score, hit.passage_key))

    def dense_search(self, vector: Vectors, versions: VersionFilter, limit: int) -> list[Hit]:
        """See StoreReader."""
        if versions.is_empty or limit < 1:
            return []
        used = read_generation(self._connection)
        if used is None:
            return []
        if len(vector) != used[1].dimension_count:
            raise ServiceError(
                errors_pb2.ERROR_REASON_ENCODER_MISMATCH,
                f"The question's vector is of another width than the index's. {REENCODE_REMEDY}",
            )
        if sum(version.document.passage_count for _, version in self._named(versions)) <= _MAX_EXACT:
            hits = self._search(searches.exact_query(vector, versions), limit)
            return [Hit(hit.passage_key, hit.leg_score - 1.0) for hit in hits]
        hits = self._search(searches.graph_query(vector, versions, limit), limit)
        return [Hit(hit.passage_key, 2.0 * hit.leg_score - 1.0) for hit in hits]

    def toc_search(self, text: str, versions: VersionFilter, limit: int) -> list[SectionHit]:
        """See StoreReader."""
        languages = self._catalogs.known(versions.tenant_id).languages
        return search_sections(self._named(versions), text, limit, languages)

    def matching_words(self, text: str, versions: VersionFilter) -> Mapping[str, bool]:
        """See StoreReader."""
        languages = self._catalogs.known(versions.tenant_id).languages
        words = content_words(text, languages)[: searches.MAX_QUERY_WORDS]
        if versions.is_empty:
            return dict.fromkeys(words, False)
        queries = [(word, searches.occurs_query(word, languages)) for word in words]
        lines: list[dict[str, Any]] = []
        for _, query in queries:
            inner = searches.filtered(query or {"match_none": {}}, versions)
            lines += [{}, {"size": 1, "_source": False, "track_total_hits": False, "query": inner}]
        if not lines:
            return {}
        answer = self._connection.run(lambda client: client.msearch(index=self._passages, body=lines))
        return {word: bool(read_hits(one)) for word, one in zip(words, answer["responses"], strict=True)}

    def places(self, keys: Sequence[int], passage_ids: Sequence[str], versions: VersionFilter) -> list[Place]:
        """See StoreReader."""
        found = {**self._read_keys(keys, versions), **self._read_ids(passage_ids, versions)}
        return [Place(key, each.passage_id, each.document_id, each.parent_id) for key, each in found.items()]

    def passages_by_key(self, keys: Sequence[int], versions: VersionFilter) -> dict[int, Passage]:
        """See StoreReader."""
        return self._read_keys(keys, versions)

    def passages_by_id(self, passage_ids: Sequence[str], versions: VersionFilter) -> dict[str, Passage]:
        """See StoreReader."""
        return {passage.passage_id: passage for passage in self._read_ids(passage_ids, versions).values()}

    def passages_not_in_force(
        self, passage_ids: Sequence[str], principal: Principal, scope: Scope | None = None
    ) -> dict[str, str]:
        """See StoreReader."""
        readable = visibility.readable_versions(self._catalogs.fresh(principal.tenant_id), principal, scope)
        return {key: each.content_hash for key, each in self.passages_by_id(passage_ids, readable).items()}

    def passages_by_label(
        self, labels: Sequence[str], versions: VersionFilter, document_ids: Sequence[str] | None = None
    ) -> dict[str, list[Passage]]:
        """See StoreReader."""
        found = {label: self._read_label(canonical_label(label), versions, document_ids) for label in labels}
        return {label: passages for label, passages in found.items() if passages}

    def section_passages(
        self, versions: VersionFilter, document_id: str, section_ids: Sequence[str], *, with_subsections: bool = True
    ) -> list[Passage]:
        """See StoreReader."""
        named = self._named_document(versions, document_id)
        if named is None:
            return []
        wanted = descend(named[1].sections, section_ids) if with_subsections else set(section_ids)
        return self._read_version(versions, named[1], wanted)

    def version_sections(self, versions: VersionFilter, document_id: str) -> list[Section]:
        """See StoreReader."""
        named = self._named_document(versions, document_id)
        return [] if named is None else list(named[1].sections)

    def documents_by_title(self, title: str, versions: VersionFilter, limit: int) -> list[str]:
        """See StoreReader."""
        return match_titles(self._named(versions), title, limit)

    def count(self, versions: VersionFilter) -> IndexCounts:
        """See StoreReader."""
        named = self._named(versions)
        return IndexCounts(len(named), sum(version.document.passage_count for _, version in named))

    def check(self) -> str | None:
        """See StoreReader."""
        return self._connection.check()

    def close(self) -> None:
        """See StoreReader."""
        self._connection.close()

    def _named(self, versions: VersionFilter) -> list[tuple[DocumentRecord, VersionRecord]]:
        """What the filter names, by document id; what was removed or replaced meanwhile is left out."""
        by_key = self._catalogs.known(versions.tenant_id).by_version_key
        named = [by_key[key] for key in versions.version_keys if key in by_key]
        return sorted(named, key=lambda pair: pair[0].document_id)

    def _named_document(self, versions: VersionFilter, document_id: str) -> tuple[DocumentRecord, VersionRecord] | None:
        record = self._catalogs.known(versions.tenant_id).records.get(document_id)
        if record is None:
            return None
        found = (each for each in record.versions if is_allowed(versions, each.version_key))
        return next(((record, each) for each in found), None)

    def _search(self, query: dict[str, Any], limit: int) -> list[Hit]:
        body = {"size": min(limit, _MAX_READ), "_source": False, "track_total_hits": False, "query": query}
        return [Hit(int(hit["_id"]), float(hit["_score"])) for hit in self._connection.search(self._passages, body)]

    def _read(self, clauses: list[dict[str, Any]], versions: VersionFilter, size: int) -> dict[int, Passage]:
        query = {"bool": {"filter": [{"term": {"tenant_id": versions.tenant_id}}, *clauses]}}
        body = {"size": min(size, _MAX_READ), "_source": ["passage"], "track_total_hits": False, "query": query}
        hits = self._connection.search(self._passages, body)
        found = {int(hit["_id"]): read_passage(hit["_source"]) for hit in hits}
        return {key: passage for key, passage in found.items() if is_allowed(versions, version_of(key))}

    def _read_keys(self, keys: Sequence[int], versions: VersionFilter) -> dict[int, Passage]:
        allowed = {key for key in keys if is_allowed(versions, version_of(key))}
        if not allowed:
            return {}
        return self._read([{"ids": {"values": [str(key) for key in allowed]}}], versions, len(allowed))

    def _read_ids(self, passage_ids: Sequence[str], versions: VersionFilter) -> dict[int, Passage]:
        if not passage_ids or versions.is_empty:
            return {}
        clauses = [{"terms": {"passage_id": list(passage_ids)}}, *searches.within(versions)]
        return self._read(clauses, versions, _MAX_READ)

    def _read_version(
        self, versions: VersionFilter, version: VersionRecord, section_ids: set[str] | None = None
    ) -> list[Passage]:
        query: dict[str, Any] = {"bool": {"filter": [{"term": {"version_key": version.version_key}}]}}
        if section_ids is not None:
            query["bool"]["filter"].append({"terms": {"section_id": sorted(section_ids)}})
        hits = self._connection.scan(self._passages, query, "passage_key", ["passage"])
        return sorted((read_passage(hit["_source"]) for hit in hits), key=lambda passage: passage.ordinal)

    def _read_label(self, label: str, versions: VersionFilter, document_ids: Sequence[str] | None) -> list[Passage]:
        if versions.is_empty or not label:
            return []
        clauses = [{"term": {"label": label}}, *searches.within(versions)]
        found = {each.passage_id: each for each in self._read(clauses, versions, _MAX_READ).values()}
        for _, version in self._named(versions):
            bearing = {each.section_id for each in version.sections if label in section_labels(each)}
            if bearing:
                below = self._read_version(versions, version, descend(version.sections, bearing))
                found.update((each.passage_id, each) for each in below)
        wanted = None if document_ids is None else set(document_ids)
        kept = [each for each in found.values() if wanted is None or each.document_id in wanted]
        return sorted(kept, key=lambda passage: (passage.document_id, passage.ordinal))
