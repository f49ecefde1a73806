"""Parent merge: where several passages of one short section are found, the rest of the section comes with them."""

from __future__ import annotations

from collections.abc import Sequence

from citemesh.store.contract import StoreReader, VersionFilter
from citemesh.v1.evidence_pb2 import Passage

# Only the best candidates say which sections matter, and only a short section is one unit of thought.
LEADER_COUNT = 12
_MIN_FOUND = 2
_MAX_SECTION_PASSAGES = 5
_MAX_ADDED = 6


def find_siblings(store: StoreReader, versions: VersionFilter, passages: Sequence[Passage]) -> list[Passage]:
    """Passages that are missing from `passages` (best first) to make short sections whole, in the order of the text.

    A section counts where at least two of its passages are among the LEADER_COUNT best.
    """
    found: dict[tuple[str, str], int] = {}
    for passage in passages[:LEADER_COUNT]:
        if passage.parent_id:
            key = (passage.document_id, passage.parent_id)
            found[key] = found.get(key, 0) + 1
    leaders = {passage.passage_id for passage in passages[:LEADER_COUNT]}
    siblings: list[Passage] = []
    for (document_id, section_id), count in found.items():
        if count < _MIN_FOUND:
            continue
        section = store.section_passages(versions, document_id, [section_id], with_subsections=False)
        if len(section) <= _MAX_SECTION_PASSAGES:
            siblings += [each for each in section if each.passage_id not in leaders]
    return siblings[:_MAX_ADDED]
