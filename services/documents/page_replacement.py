"""Which stored passages a second reading of some pages replaces, and by what; pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from citemesh.v1.document_pb2 import Section
from citemesh.v1.evidence_pb2 import Passage
from services.documents.page_plan import stands_on


@dataclass(frozen=True, slots=True)
class Replacement:
    """The pages whose passages go, and the passages that come.

    `lost` are pages whose stored text would go with them although this reading has nothing of it, and `tied` those of
    `pages` that cannot be replaced without losing it.
    """

    pages: list[int]
    passages: list[Passage]
    lost: list[int]
    tied: list[int]


def choose_without_loss(
    old: Sequence[Passage], new: Sequence[Passage], pages: Collection[int], recognised: Collection[int]
) -> tuple[Replacement, list[int]]:
    """What replaces as many of `pages` as can be without losing the text of others, and the pages given up for that.

    `recognised` are pages whose stored text is that of OCR.
    """
    left = set(pages)
    while (chosen := choose_replaced(old, new, left, set(recognised) - left)).lost:
        left -= set(chosen.tied)
    return chosen, sorted(set(pages) - left)


def choose_replaced(
    old: Sequence[Passage], new: Sequence[Passage], pages: Collection[int], unseen: Collection[int] = ()
) -> Replacement:
    """What replaces the passages of `pages`.

    Reading a page anew can move the cut between passages on its neighbours: where a passage there comes or goes, its
    pages are replaced too. Passages beyond stay as they are, so an earlier heavier reading of them is kept. `unseen`
    are pages whose stored text only OCR can see, and that this reading took for empty: their passages stay, given again
    where a replaced page lies between their lines.
    """
    kept = [passage for passage in old if any(stands_on(passage, page) for page in unseen)]
    others = [passage for passage in old if passage not in kept]
    old_hashes = {passage.content_hash for passage in others}
    new_hashes = {passage.content_hash for passage in new}
    moved = [p for p in others if p.content_hash not in new_hashes] + [
        p for p in new if p.content_hash not in old_hashes
    ]
    touched = _reach(pages, moved)
    again = [passage for passage in kept if touches(passage, touched)]
    coming = [passage for passage in new if touches(passage, touched)]
    seen = touched - set(unseen)
    # Words of an unseen page go with those of a page that is replaced; or what this reading sees on it, which is not
    # what is stored of it, would stand beside that.
    losing = [passage for passage in again if any(stands_on(passage, page) for page in seen)]
    losing += [passage for passage in coming if any(stands_on(passage, page) for page in unseen)]
    lost = {page for passage in losing for page in unseen if stands_on(passage, page)}
    tied = _reach({page for passage in losing for page in _span(passage) if page in touched}, moved)
    coming = sorted([*coming, *again], key=lambda passage: passage.page_first)
    return Replacement(sorted(touched), coming, sorted(lost), sorted(tied))


def _reach(pages: Collection[int], moved: Sequence[Passage]) -> set[int]:
    """The pages, and all that passages which come or go bind to them."""
    reached = set(pages)
    grown = True
    while grown:
        grown = False
        for passage in moved:
            span = set(_span(passage))
            if span & reached and not span <= reached:
                reached |= span
                grown = True
    return reached


def _span(passage: Passage) -> range:
    return range(passage.page_first, passage.page_last + 1)


def touches(passage: Passage, pages: Collection[int]) -> bool:
    """Whether a passage reaches over any of the pages."""
    return any(page in pages for page in _span(passage))


def place_in_sections(passages: Sequence[Passage], read: Sequence[Section], stored: Sequence[Section]) -> None:
    """Make parent_id name a stored section: the one of the same number and title, else the one that holds the page.

    A second reading can see other headings, and numbers its sections anew; the stored ones stay.
    """
    own = {section.section_id: section for section in read}
    same = {(section.number, section.title, section.level): section.section_id for section in stored}
    known = {section.section_id for section in stored if own.get(section.section_id) == section}
    for passage in passages:
        section = own.get(passage.parent_id)
        if section is None or passage.parent_id in known:
            continue
        around = [each.section_id for each in stored if each.page_first <= passage.page_first <= each.page_last]
        named = (section.number, section.title, section.level)
        passage.parent_id = same.get(named, around[-1] if around else "")
