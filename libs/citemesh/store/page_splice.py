"""New passages in the place of those of some pages; the ids of all that did not change stay; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citemesh.v1.evidence_pb2 import Passage


@dataclass(frozen=True)
class Splice:
    """What becomes of a version's passages. Places count in the lists that `plan_splice` was given."""

    removed: list[int]
    """Stored passages that go."""
    order: list[tuple[bool, int]]
    """The version's passages from now on in the order of the text: whether it is a new one, and its place."""
    is_changed: bool
    """Whether any text came or went."""


def plan_splice(stored: Sequence[Passage], page_numbers: Sequence[int], new: Sequence[Passage]) -> Splice:
    """Replace the `stored` passages that touch `page_numbers` by `new`, and number all that remain.

    Changes both in place: a new one takes the id of a removed one with its content_hash, and each that stays or comes
    its ordinal. On one page the stored ones come first, each group in its own order.
    """
    pages = set(page_numbers)
    removed: list[int] = []
    kept: list[int] = []
    for place, passage in enumerate(stored):
        touched = pages.intersection(range(passage.page_first, passage.page_last + 1))
        (removed if touched else kept).append(place)
    _give_ids([stored[place] for place in removed], new)
    merged = [(stored[place].page_first, False, place) for place in kept]
    merged += [(passage.page_first, True, place) for place, passage in enumerate(new)]
    order = [(is_new, place) for _, is_new, place in sorted(merged)]
    for ordinal, (is_new, place) in enumerate(order):
        (new if is_new else stored)[place].ordinal = ordinal
    gone = sorted(stored[place].content_hash for place in removed)
    return Splice(removed, order, gone != sorted(passage.content_hash for passage in new))


def _give_ids(removed: Sequence[Passage], new: Sequence[Passage]) -> None:
    ids: dict[str, list[str]] = {}
    for old in reversed(removed):
        ids.setdefault(old.content_hash, []).append(old.passage_id)
    for passage in new:
        if ids.get(passage.content_hash):
            passage.passage_id = ids[passage.content_hash].pop()
