"""The reading side of the OpenSearch store: documents from the tenant's catalog, passages from the index."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from citemesh.auth.principal import Principal
from citemesh.store.access import scope_documents
from citemesh.store.contract import Hit, IndexCounts, Place, ProfileCounts, SectionHit, Vectors, VersionFilter
from citemesh.store.document_lists import describe_versions, read_place, write_place
from citemesh.store.files import OriginalFiles
from citemesh.store.labels import canonical_label
from citemesh.store.opensearch import legs, passages, sections
from citemesh.store.opensearch.catalog import Catalogs
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.entries import read_version_sections
from citemesh.store.opensearch.indexes import read_generation, read_named_generation
from citemesh.store.opensearch.known_passages import KnownPassages
from citemesh.store.opensearch.reach import Reach
from citemesh.store.opensearch.settings import StoreSettings
from citemesh.store.toc_match import descend, read_toc_question
from citemesh.store.versions import to_microseconds
from citemesh.store.visibility import View, Views, snapshot_name
from citemesh.v1.document_pb2 import Document, DocumentProfile, Section
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.question_pb2 import Scope
from citemesh.v1.retrieval_pb2 import EncoderContract

STORE_NAME: Final = "opensearch"


class OpenSearchReader:
    """See StoreReader."""

    def __init__(self, settings: StoreSettings, root: Path) -> None:
        self._connection = Connection(settings)
        self._catalogs = Catalogs(self._connection)
        self._files = OriginalFiles(root)
        self._views = Views(STORE_NAME)
        self._reach = Reach(self._catalogs)
        # An index never takes the vectors of another encoder: what it holds is known by its name.
        self._generation: tuple[str, EncoderContract] | None = None
        self._known = KnownPassages(self._connection, self._catalogs)

    def allowed_versions(
        self, principal: Principal, scope: Scope | None = None, as_of: datetime | None = None
    ) -> VersionFilter:
        """See StoreReader."""
        return self._view(principal, scope).in_force(as_of)

    def permission_version(self, tenant_id: str) -> int:
        """See StoreReader."""
        return self._catalogs.state(tenant_id).permission_version

    def index_snapshot(self, tenant_id: str) -> str:
        """See StoreReader."""
        return snapshot_name(STORE_NAME, self._catalogs.state(tenant_id))

    def encoder_contract(self, versions: VersionFilter | None = None) -> EncoderContract | None:
        """See StoreReader."""
        named = read_named_generation(self._connection) if versions is None else versions.index_name
        known = self._generation
        if named and known is not None and known[0] == named:
            return _copy(known[1])
        used = read_generation(self._connection)
        self._generation = used
        return None if used is None else _copy(used[1])

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
        last_id, last_version = read_place(after)
        at_us = to_microseconds(as_of)
        found: list[Document] = []
        for each in self._catalogs.fresh(principal.tenant_id).readable(principal):
            if each.versions[0].document.document_id < last_id:
                continue
            for document in describe_versions(each.versions, at_us, in_force_only=not include_superseded):
                if document.document_id != last_id or document.document_version < last_version:
                    found.append(document)
            if len(found) > limit:
                return found[:limit], write_place(found[limit - 1])
        return found, ""

    def get_document(
        self, principal: Principal, document_id: str, document_version: int = 0, as_of: datetime | None = None
    ) -> Document | None:
        """See StoreReader."""
        stored = self._catalogs.fresh(principal.tenant_id).versions(principal, document_id)
        versions = describe_versions(stored, to_microseconds(as_of), in_force_only=not document_version)
        return next((each for each in versions if document_version in (0, each.document_version)), None)

    def document_versions(self, principal: Principal, document_id: str) -> list[Document]:
        """See StoreReader."""
        stored = self._catalogs.fresh(principal.tenant_id).versions(principal, document_id)
        return describe_versions(stored, to_microseconds(None))

    def sections(self, principal: Principal, document_id: str, document_version: int) -> list[Section]:
        """See StoreReader."""
        for each in self._catalogs.fresh(principal.tenant_id).versions(principal, document_id):
            if each.span.document_version == document_version:
                return self._read_sections(each.span.version_key)
        return []

    def profiles(self, versions: VersionFilter, limit: int) -> list[DocumentProfile]:
        """See StoreReader."""
        reached = list(self._reach.of(versions).by_document.values())
        return [each.document.profile for each in reached[:limit]]

    def profile_counts(self, versions: VersionFilter) -> ProfileCounts:
        """See StoreReader."""
        return self._reach.of(versions).counts

    def original_file(self, principal: Principal, document_id: str, document_version: int) -> Path | None:
        """See StoreReader."""
        document = self.get_document(principal, document_id, document_version) if document_version > 0 else None
        if document is None:
            return None
        path = self._files.path(principal.tenant_id, document.content_hash)
        return path if path.is_file() else None

    def document_passages(self, versions: VersionFilter, document_id: str) -> list[Passage]:
        """See StoreReader."""
        version_key = self._reach.find_version(versions, document_id)
        return [] if version_key is None else passages.read_version(self._connection, version_key, versions)

    def keyword_search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        """See StoreReader."""
        if versions.is_empty or limit < 1:
            return []
        languages = self._catalogs.known(versions.tenant_id).languages
        return legs.search_keywords(self._connection, self._known, text, languages, versions, limit)

    def dense_search(self, vector: Vectors, versions: VersionFilter, limit: int) -> list[Hit]:
        """See StoreReader."""
        if versions.is_empty or limit < 1:
            return []
        passage_count = self._reach.of(versions).passage_count
        return legs.search_vectors(self._connection, self._known, vector, versions, passage_count, limit)

    def toc_search(self, text: str, versions: VersionFilter, limit: int) -> list[SectionHit]:
        """See StoreReader."""
        if versions.is_empty or limit < 1:
            return []
        question = read_toc_question(text, self._catalogs.known(versions.tenant_id).languages)
        document_ids = self._reach.of(versions).document_ids
        return sections.search_sections(self._connection, question, versions, document_ids, limit)

    def places(self, keys: Sequence[int], passage_ids: Sequence[str], versions: VersionFilter) -> list[Place]:
        """See StoreReader."""
        return self._known.places(keys, passage_ids, versions)

    def passages_by_key(self, keys: Sequence[int], versions: VersionFilter) -> dict[int, Passage]:
        """See StoreReader."""
        return self._known.by_key(keys, versions)

    def passages_by_id(self, passage_ids: Sequence[str], versions: VersionFilter) -> dict[str, Passage]:
        """See StoreReader."""
        return self._known.by_id(passage_ids, versions)

    def passages_not_in_force(
        self, passage_ids: Sequence[str], principal: Principal, scope: Scope | None = None
    ) -> dict[str, str]:
        """See StoreReader."""
        readable = self._view(principal, scope).readable()
        return {key: each.content_hash for key, each in self.passages_by_id(passage_ids, readable).items()}

    def passages_by_label(
        self, labels: Sequence[str], versions: VersionFilter, document_ids: Sequence[str] | None = None
    ) -> dict[str, list[Passage]]:
        """See StoreReader."""
        keys: list[int] | None = None
        if document_ids is not None:
            named = (self._reach.find_version(versions, document_id) for document_id in set(document_ids))
            keys = [key for key in named if key is not None]
        found = {
            label: passages.read_by_label(self._connection, canonical_label(label), versions, keys) for label in labels
        }
        return {label: places for label, places in found.items() if places}

    def section_passages(
        self, versions: VersionFilter, document_id: str, section_ids: Sequence[str], *, with_subsections: bool = True
    ) -> list[Passage]:
        """See StoreReader."""
        version_key = self._reach.find_version(versions, document_id)
        if version_key is None:
            return []
        wanted = set(section_ids)
        if with_subsections:
            wanted = descend(self._read_sections(version_key), wanted)
        return passages.read_version(self._connection, version_key, versions, wanted)

    def version_sections(self, versions: VersionFilter, document_id: str) -> list[Section]:
        """See StoreReader."""
        version_key = self._reach.find_version(versions, document_id)
        return [] if version_key is None else self._read_sections(version_key)

    def documents_by_title(self, title: str, versions: VersionFilter, limit: int) -> list[str]:
        """See StoreReader."""
        return self._reach.of(versions).titles.match(title, limit)

    def count(self, versions: VersionFilter) -> IndexCounts:
        """See StoreReader."""
        reached = self._reach.of(versions)
        return IndexCounts(len(reached.by_document), reached.passage_count)

    def check(self) -> str | None:
        """See StoreReader."""
        return self._connection.check()

    def close(self) -> None:
        """See StoreReader."""
        self._connection.close()

    def _view(self, principal: Principal, scope: Scope | None) -> View:
        """What `principal` may read in `scope` now."""
        document_ids = scope_documents(scope)
        catalog = self._catalogs.fresh(principal.tenant_id)
        return self._views.get(
            principal,
            document_ids,
            catalog.state,
            lambda: [
                version.span for document in catalog.readable(principal, document_ids) for version in document.versions
            ],
        )

    def _read_sections(self, version_key: int) -> list[Section]:
        return read_version_sections(self._connection, [version_key])[version_key]


def _copy(contract: EncoderContract) -> EncoderContract:
    copy = EncoderContract()
    copy.CopyFrom(contract)
    return copy
