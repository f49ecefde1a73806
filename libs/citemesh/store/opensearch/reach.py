"""What a filter names, from the tenant's catalog: worked out at the first look and kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from citemesh.caches.recently_used import RecentlyUsed
from citemesh.store.contract import ProfileCounts, VersionFilter
from citemesh.store.document_lists import StoredDocument, count_profiles
from citemesh.store.opensearch.catalog import Catalogs
from citemesh.store.title_match import TitleIndex

# Over all filters that are kept; about 1 kB each.
_MAX_CACHED_DOCUMENTS: Final = 400_000


@dataclass
class Reached:
    """The documents of one filter."""

    by_document: dict[str, StoredDocument]
    """By document id, in the order of the ids."""
    document_ids: dict[int, str]
    """By version."""
    passage_count: int
    counts: ProfileCounts

    def __len__(self) -> int:
        """How many documents."""
        return len(self.by_document)

    @cached_property
    def titles(self) -> TitleIndex:
        """What they are called."""
        return TitleIndex((document_id, each.document.title) for document_id, each in self.by_document.items())


class Reach:
    """What filters name. Safe to use from several threads."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs
        self._reached: RecentlyUsed[str, Reached] = RecentlyUsed(_MAX_CACHED_DOCUMENTS, len)

    def of(self, versions: VersionFilter) -> Reached:
        """What the filter names; what was removed or replaced before the first look is left out."""
        reached = self._reached.get(versions.key)
        if reached is None:
            by_key = self._catalogs.known(versions.tenant_id).by_version_key
            found = [by_key[key] for key in versions.version_keys if key in by_key]
            reached = _add_up(sorted(found, key=lambda each: each.document.document_id))
            self._reached.put(versions.key, reached)
        return reached

    def find_version(self, versions: VersionFilter, document_id: str) -> int | None:
        """The document's version that is in the filter."""
        found = self.of(versions).by_document.get(document_id)
        return None if found is None else found.span.version_key


def _add_up(found: list[StoredDocument]) -> Reached:
    return Reached(
        {each.document.document_id: each for each in found},
        {each.span.version_key: each.document.document_id for each in found},
        sum(each.document.passage_count for each in found),
        count_profiles(each.document.profile for each in found),
    )
