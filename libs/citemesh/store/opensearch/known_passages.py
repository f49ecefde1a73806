"""Passages that one reader has seen before: nothing about a passage changes under its key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

from citemesh.caches.recently_used import RecentlyUsed
from citemesh.store.contract import Place, VersionFilter
from citemesh.store.opensearch import passages
from citemesh.store.opensearch.catalog import Catalogs
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.entries import read_passage_bytes
from citemesh.store.opensearch.layout import version_of
from citemesh.store.visibility import is_allowed
from citemesh.v1.evidence_pb2 import Passage

Value = TypeVar("Value")

HIT_FIELDS: Final = ("passage_key", "passage_id", "section_id", "passage")
"""What a search asks for beside the measure, so that no hit needs a request of its own: most are read next."""

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

    def keep_hits(self, rows: Iterable[dict[str, Any]], versions: VersionFilter) -> None:
        """Keep where the hits of a search stand, and their texts, by their HIT_FIELDS."""
        by_version_key = self._catalogs.known(versions.tenant_id).by_version_key
        places, texts = [], []
        for row in rows:
            key = int(row["passage_key"])
            stored = by_version_key.get(version_of(key))
            if stored is not None:
                section_id = row.get("section_id", "")
                places.append(Place(key, row["passage_id"], stored.document.document_id, section_id))
                texts.append((key, read_passage_bytes(row)))
        self._keep(places, texts, versions)

    def places(self, keys: Sequence[int], passage_ids: Sequence[str], versions: VersionFilter) -> list[Place]:
        """See StoreReader.places."""
        known = self._find_keys(passage_ids, versions)
        found = self._find(self._places, {*keys, *known.values()}, versions)
        missing_keys = [key for key in keys if key not in found]
        missing_ids = [each for each in passage_ids if known.get(each) not in found]
        read = self._keep_all(passages.read_by_key(self._connection, missing_keys, versions), versions)
        read |= self._keep_all(passages.read_by_id(self._connection, missing_ids, versions), versions)
        return list((found | {key: _place(key, each) for key, each in read.items()}).values())

    def by_key(self, keys: Sequence[int], versions: VersionFilter) -> dict[int, Passage]:
        """See StoreReader.passages_by_key."""
        known = self._find(self._texts, keys, versions)
        missing = [key for key in keys if key not in known]
        read = self._keep_all(passages.read_by_key(self._connection, missing, versions), versions)
        return {key: Passage.FromString(data) for key, data in known.items()} | read

    def by_id(self, passage_ids: Sequence[str], versions: VersionFilter) -> dict[str, Passage]:
        """See StoreReader.passages_by_id."""
        known = self._find_keys(passage_ids, versions)
        found = {each.passage_id: each for each in self.by_key(list(known.values()), versions).values()}
        missing = [passage_id for passage_id in passage_ids if passage_id not in found]
        read = self._keep_all(passages.read_by_id(self._connection, missing, versions), versions)
        return found | {each.passage_id: each for each in read.values()}

    def _find(
        self, kept: RecentlyUsed[tuple[str, int], Value], keys: Iterable[int], versions: VersionFilter
    ) -> dict[int, Value]:
        """What is kept of those keys that may be read."""
        current = self._are_current(keys, versions)
        return {key: value for (_, key), value in kept.get_all((versions.tenant_id, key) for key in current).items()}

    def _find_keys(self, passage_ids: Sequence[str], versions: VersionFilter) -> dict[str, int]:
        """The keys of those ids that are known and stand for the same still."""
        kept = self._keys.get_all((versions.tenant_id, each) for each in passage_ids)
        current = set(self._are_current(kept.values(), versions))
        return {passage_id: key for (_, passage_id), key in kept.items() if key in current}

    def _are_current(self, keys: Iterable[int], versions: VersionFilter) -> list[int]:
        seen = self._catalogs.known(versions.tenant_id).by_version_key
        return [key for key in keys if (of := version_of(key)) in seen and is_allowed(versions, of)]

    def _keep_all(self, found: dict[int, Passage], versions: VersionFilter) -> dict[int, Passage]:
        places = [_place(key, passage) for key, passage in found.items()]
        self._keep(places, [(key, passage.SerializeToString()) for key, passage in found.items()], versions)
        return found

    def _keep(self, places: Sequence[Place], texts: Iterable[tuple[int, bytes]], versions: VersionFilter) -> None:
        tenant_id = versions.tenant_id
        self._places.put_all(((tenant_id, place.passage_key), place) for place in places)
        self._keys.put_all(((tenant_id, place.passage_id), place.passage_key) for place in places)
        self._texts.put_all(((tenant_id, key), text) for key, text in texts)


def _place(key: int, passage: Passage) -> Place:
    return Place(key, passage.passage_id, passage.document_id, passage.parent_id)
