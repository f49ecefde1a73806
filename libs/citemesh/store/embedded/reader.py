"""The reading side of the embedded store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from citemesh.auth.principal import Principal
from citemesh.caches.recently_used import RecentlyUsed
from citemesh.store.contract import Hit, IndexCounts, Place, ProfileCounts, SectionHit, Vectors, VersionFilter
from citemesh.store.document_lists import count_profiles
from citemesh.store.embedded import document_reading, passage_reading
from citemesh.store.embedded.changes import read_state
from citemesh.store.embedded.database import Database
from citemesh.store.embedded.dense_search import DenseSearch
from citemesh.store.embedded.encoder_facts import read_encoder
from citemesh.store.embedded.keyword_search import KeywordSearch
from citemesh.store.embedded.toc_search import search_sections
from citemesh.store.embedded.visibility import STORE_NAME, Visibility
from citemesh.store.files import OriginalFiles
from citemesh.store.title_match import TitleIndex
from citemesh.store.visibility import snapshot_name
from citemesh.v1.document_pb2 import Document, DocumentProfile, Section
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.question_pb2 import Scope
from citemesh.v1.retrieval_pb2 import EncoderContract

_MAX_CACHED_COUNTS = 256
# Over all filters that are kept.
_MAX_CACHED_TITLES = 400_000


class EmbeddedReader:
    """See StoreReader."""

    def __init__(self, root: Path) -> None:
        self._database = Database(root)
        self._files = OriginalFiles(root)
        self._visibility = Visibility(self._database)
        self._keyword = KeywordSearch(root, self._database)
        self._dense = DenseSearch(self._database)
        # By VersionFilter.key: each question asks for the profile of its scope.
        self._profile_counts: RecentlyUsed[str, ProfileCounts] = RecentlyUsed(_MAX_CACHED_COUNTS)
        self._counts: RecentlyUsed[str, IndexCounts] = RecentlyUsed(_MAX_CACHED_COUNTS)
        self._titles: RecentlyUsed[str, TitleIndex] = RecentlyUsed(_MAX_CACHED_TITLES, len)
        self._closed = False

    def allowed_versions(
        self, principal: Principal, scope: Scope | None = None, as_of: datetime | None = None
    ) -> VersionFilter:
        """See StoreReader."""
        return self._visibility.view(principal, scope).in_force(as_of)

    def permission_version(self, tenant_id: str) -> int:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            return read_state(connection, tenant_id).permission_version

    def index_snapshot(self, tenant_id: str) -> str:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            return snapshot_name(STORE_NAME, read_state(connection, tenant_id))

    def encoder_contract(self, versions: VersionFilter | None = None) -> EncoderContract | None:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            return read_encoder(connection)

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
        with self._database.snapshot() as connection:
            return document_reading.read_page(
                connection, principal, as_of, include_superseded=include_superseded, after=after, limit=limit
            )

    def get_document(
        self, principal: Principal, document_id: str, document_version: int = 0, as_of: datetime | None = None
    ) -> Document | None:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            if document_version == 0:
                return document_reading.read_in_force(connection, principal, document_id, as_of)
            versions = document_reading.read_versions(connection, principal, document_id)
        return next((each for each in versions if each.document_version == document_version), None)

    def document_versions(self, principal: Principal, document_id: str) -> list[Document]:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            return document_reading.read_versions(connection, principal, document_id)

    def sections(self, principal: Principal, document_id: str, document_version: int) -> list[Section]:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            row = document_reading.find_version_row(connection, principal, document_id, document_version)
            return [] if row is None else document_reading.read_sections(connection, row)

    def profiles(self, versions: VersionFilter, limit: int) -> list[DocumentProfile]:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            return document_reading.read_profiles(connection, versions.version_keys, limit)

    def profile_counts(self, versions: VersionFilter) -> ProfileCounts:
        """See StoreReader."""
        counts = self._profile_counts.get(versions.key)
        if counts is None:
            counts = count_profiles(self.profiles(versions, len(versions.version_keys)))
            self._profile_counts.put(versions.key, counts)
        return counts

    def original_file(self, principal: Principal, document_id: str, document_version: int) -> Path | None:
        """See StoreReader."""
        document = self.get_document(principal, document_id, document_version) if document_version > 0 else None
        if document is None:
            return None
        path = self._files.path(principal.tenant_id, document.content_hash)
        return path if path.is_file() else None

    def document_passages(self, versions: VersionFilter, document_id: str) -> list[Passage]:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            row = passage_reading.find_document_version(connection, document_id, versions)
            return [] if row is None else passage_reading.read_document(connection, row)

    def keyword_search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        """See StoreReader."""
        return self._keyword.search(text, versions, limit)

    def dense_search(self, vector: Vectors, versions: VersionFilter, limit: int) -> list[Hit]:
        """See StoreReader."""
        return self._dense.search(vector, versions, limit)

    def toc_search(self, text: str, versions: VersionFilter, limit: int) -> list[SectionHit]:
        """See StoreReader."""
        if versions.is_empty:
            return []
        languages = self._keyword.languages(versions.tenant_id)
        with self._database.snapshot() as connection:
            return search_sections(connection, text, versions, limit, languages)

    def places(self, keys: Sequence[int], passage_ids: Sequence[str], versions: VersionFilter) -> list[Place]:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            return passage_reading.read_places(connection, keys, passage_ids, versions)

    def passages_by_key(self, keys: Sequence[int], versions: VersionFilter) -> dict[int, Passage]:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            return passage_reading.read_by_key(connection, keys, versions)

    def passages_by_id(self, passage_ids: Sequence[str], versions: VersionFilter) -> dict[str, Passage]:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            return passage_reading.read_by_id(connection, passage_ids, versions)

    def passages_not_in_force(
        self, passage_ids: Sequence[str], principal: Principal, scope: Scope | None = None
    ) -> dict[str, str]:
        """See StoreReader."""
        readable = self._visibility.view(principal, scope).readable()
        found = self.passages_by_id(passage_ids, readable)
        return {passage_id: passage.content_hash for passage_id, passage in found.items()}

    def passages_by_label(
        self, labels: Sequence[str], versions: VersionFilter, document_ids: Sequence[str] | None = None
    ) -> dict[str, list[Passage]]:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            found = {
                label: passage_reading.read_by_label(connection, label, versions, document_ids) for label in labels
            }
        return {label: passages for label, passages in found.items() if passages}

    def section_passages(
        self, versions: VersionFilter, document_id: str, section_ids: Sequence[str], *, with_subsections: bool = True
    ) -> list[Passage]:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            row = passage_reading.find_document_version(connection, document_id, versions)
            if row is None:
                return []
            return passage_reading.read_section(connection, row, section_ids, with_subsections=with_subsections)

    def version_sections(self, versions: VersionFilter, document_id: str) -> list[Section]:
        """See StoreReader."""
        with self._database.snapshot() as connection:
            row = passage_reading.find_document_version(connection, document_id, versions)
            return [] if row is None else document_reading.read_sections(connection, row)

    def documents_by_title(self, title: str, versions: VersionFilter, limit: int) -> list[str]:
        """See StoreReader."""
        titles = self._titles.get(versions.key)
        if titles is None:
            with self._database.snapshot() as connection:
                titles = TitleIndex(document_reading.read_titles(connection, versions.version_keys))
            self._titles.put(versions.key, titles)
        return titles.match(title, limit)

    def count(self, versions: VersionFilter) -> IndexCounts:
        """See StoreReader."""
        counts = self._counts.get(versions.key)
        if counts is None:
            with self._database.snapshot() as connection:
                counts = passage_reading.count_reached(connection, versions)
            self._counts.put(versions.key, counts)
        return counts

    def check(self) -> str | None:
        """See StoreReader."""
        return "the document store is closed" if self._closed else self._database.check()

    def close(self) -> None:
        """See StoreReader."""
        self._closed = True
        self._database.close()
