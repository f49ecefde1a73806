"""The table-of-contents leg: sections by their titles and numbers, then their passages."""

from __future__ import annotations

from citemesh.store.contract import Hit, SectionHit, StoreReader, VersionFilter
from citemesh.v1 import activation_pb2

# A title that shares one common word with a long question says little.
_SMALLEST_MATCH = 0.45
_PASSAGES_PER_SECTION = 10


class TocLeg:
    """Passages of the sections whose titles match a query."""

    pattern = activation_pb2.PATTERN_TOC

    def __init__(self, store: StoreReader, section_count: int) -> None:
        self._store = store
        self._section_count = section_count

    def search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        """See Leg; the measure is the match of the section's title."""
        sections = self._store.toc_search(text, versions, self._section_count)
        hits: dict[int, Hit] = {}
        for section in sections:
            if section.leg_score >= _SMALLEST_MATCH:
                for key in self._passage_keys(section, versions):
                    hits.setdefault(key, Hit(key, section.leg_score))
        return list(hits.values())[:limit]

    def _passage_keys(self, hit: SectionHit, versions: VersionFilter) -> list[int]:
        passages = self._store.section_passages(versions, hit.document_id, [hit.section.section_id])
        ids = [passage.passage_id for passage in passages[:_PASSAGES_PER_SECTION]]
        keys = {place.passage_id: place.passage_key for place in self._store.places([], ids, versions)}
        return [keys[passage_id] for passage_id in ids if passage_id in keys]
