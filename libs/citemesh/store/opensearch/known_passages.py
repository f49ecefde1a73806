"""Passages that one reader has seen before: nothing about a passage changes under its key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from citemesh.caches.recently_used import RecentlyUsed
from citemesh.store.contract import Place, VersionFilter
from citemesh.store.opensearch import passages
from citemesh.store.opensearch.catalog import Catalogs
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.layout import version_of
from citemesh.store.visibility import is_allowed
from citemesh.v1.evidence_pb2 import Passage

PLACE_FIELDS: Final = ("passage_key", "passage_id", "section_id")
"""What a search asks for beside the measure, so that where its hits stand needs no request of its own."""

_MAX_PLACES: Final = 100_000
_MAX_TEXT_SIZE_BYTES: Final = 64 * 2**20


class KnownPassages:
    """Reads passages, of those asked for earlier from memory. Safe to use from several threads.

    Whether a passage may be read is asked each time: of the filter, and of the tenant's documents as last seen, so that
    one which was replaced or removed is left out although it is still in memory.
    """

    def __init__(self, connection: Connection, catalogs: Catalogs) -> None:
        self._connection = connection
        self._catalogs = catalogs
        # All by tenant too: no fault elsewhere may bring one tenant's texts to another.
        self._places: RecentlyUsed[tuple[str, int], Place] = RecentlyUsed(_MAX_PLACES)
        self._keys: RecentlyUsed[tuple[str, str], int] = RecentlyUsed(_MAX_PLACES)
        # As bytes: a caller may change the message that it is given.
        self._texts: RecentlyUsed[tuple[str, int], bytes] = RecentlyUsed(_MAX_TEXT_SIZE_BYTES, len)

    def keep_places(self, rows: Iterable[dict[str, Any]], versions: VersionFilter) -> None:
        """Keep where the hits of a search stand, by their PLACE_FIELDS."""
        by_version_key = self._catalogs.known(versions.tenant_id).by_version_key
        for row in rows:
            key = int(row["passage_key"])
            stored = by_version_key.get(version_of(key))
            if stored is not None:
                section_id = row.get("section_id", "")
                self._keep(Place(key, row["passage_id"], stored.document.document_id, section_id), versions)

    def places(self, keys: Sequence[int], passage_ids: Sequence[str], versions: VersionFilter) -> list[Place]:
        """See StoreReader.places."""
        known = self._find_keys(passage_ids, versions)
        found: dict[int, Place] = {}
        for key in {*keys, *known.values()}:
            place = self._places.get((versions.tenant_id, key)) if self._is_current(key, versions) else None
            if place is not None:
                found[key] = place
        missing_keys = [key for key in keys if key not in found]
        missing_ids = [each for each in passage_ids if known.get(each) not in found]
        read = self._keep_all(passages.read_by_key(self._connection, missing_keys, versions), versions)
        read |= self._keep_all(passages.read_by_id(self._connection, missing_ids, versions), versions)
        return list((found | {key: _place(key, each) for key, each in read.items()}).values())

    def by_key(self, keys: Sequence[int], versions: VersionFilter) -> dict[int, Passage]:
        """See StoreReader.passages_by_key."""
        found: dict[int, Passage] = {}
        for key in keys:
            data = self._texts.get((versions.tenant_id, key)) if self._is_current(key, versions) else None
            if data is not None:
                found[key] = Passage.FromString(data)
        missing = [key for key in keys if key not in found]
        found.update(self._keep_all(passages.read_by_key(self._connection, missing, versions), versions))
        return found

    def by_id(self, passage_ids: Sequence[str], versions: VersionFilter) -> dict[str, Passage]:
        """See StoreReader.passages_by_id."""
        known = self._find_keys(passage_ids, versions)
        found = {each.passage_id: each for each in self.by_key(list(known.values()), versions).values()}
        missing = [passage_id for passage_id in passage_ids if passage_id not in found]
        read = self._keep_all(passages.read_by_id(self._connection, missing, versions), versions)
        return found | {each.passage_id: each for each in read.values()}

    def _find_keys(self, passage_ids: Sequence[str], versions: VersionFilter) -> dict[str, int]:
        """The keys of those ids that are known and stand for the same still."""
        known = ((each, self._keys.get((versions.tenant_id, each))) for each in passage_ids)
        return {each: key for each, key in known if key is not None and self._is_current(key, versions)}

    def _is_current(self, key: int, versions: VersionFilter) -> bool:
        version_key = version_of(key)
        seen = self._catalogs.known(versions.tenant_id).by_version_key
        return is_allowed(versions, version_key) and version_key in seen

    def _keep_all(self, found: dict[int, Passage], versions: VersionFilter) -> dict[int, Passage]:
        for key, passage in found.items():
            self._keep(_place(key, passage), versions)
            self._texts.put((versions.tenant_id, key), passage.SerializeToString())
        return found

    def _keep(self, place: Place, versions: VersionFilter) -> None:
        self._places.put((versions.tenant_id, place.passage_key), place)
        self._keys.put((versions.tenant_id, place.passage_id), place.passage_key)


def _place(key: int, passage: Passage) -> Place:
    return Place(key, passage.passage_id, passage.document_id, passage.parent_id)
