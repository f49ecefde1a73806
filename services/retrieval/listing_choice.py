"""Which run of items answers a listing question; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from citemesh.v1 import evidence_pb2
from citemesh.v1.evidence_pb2 import Passage
from services.retrieval.count_cues import find_announcements
from services.retrieval.item_spans import Run, RunKind, Span, find_runs, split_inline

_WORD = re.compile(r"[^\W_]{3,}")
_SMALLEST_RATING = 0.6


@dataclass(frozen=True, slots=True)
class Place:
    """Characters of one of the passages at hand."""

    passage_index: int
    span: Span


@dataclass
class Listing:
    """A run, perhaps over several passages, with what announces it."""

    kind: RunKind
    items: list[Place]
    introduction: Place | None
    announcement: Place | None = None
    expected_count: int | None = None
    last_run: Run | None = field(default=None, repr=False)


def find_listings(passages: Sequence[Passage], section_titles: Mapping[str, str]) -> list[Listing]:
    """Every listing in `passages`, which are in the order of the text; `section_titles` by section id."""
    listings: list[Listing] = []
    for index, passage in enumerate(passages):
        is_table = passage.kind == evidence_pb2.PASSAGE_KIND_TABLE
        follows = index > 0 and _is_next(passages[index - 1], passage)
        runs = find_runs(passage.text, is_table=is_table, is_continued=bool(passage.heading_context) or follows)
        for run in runs:
            previous = _find_continued(listings, run, index, passages) if follows else None
            if previous is not None:
                previous.items += [Place(index, item) for item in run.items]
                previous.last_run = run
            else:
                introduction = None if run.introduction is None else Place(index, run.introduction)
                items = [Place(index, item) for item in run.items]
                listings.append(Listing(run.kind, items, introduction, last_run=run))
    listings += _headings(passages, section_titles)
    for listing in listings:
        _announce(listing, passages)
    listings += _inline(passages)
    return [listing for listing in listings if len(listing.items) >= 2]


def choose_listing(
    listings: Sequence[Listing],
    passages: Sequence[Passage],
    words: Collection[str],
    anchor_ranks: Mapping[str, int],
    requested_count: int | None,
) -> Listing | None:
    """The listing that fits the question's `words` and count best; None where none fits."""
    rated = [(rate(each, passages, words, anchor_ranks, requested_count), each) for each in listings]
    best = max(rated, key=lambda entry: entry[0], default=None)
    return best[1] if best is not None and best[0] >= _SMALLEST_RATING else None


def rate(
    listing: Listing,
    passages: Sequence[Passage],
    words: Collection[str],
    anchor_ranks: Mapping[str, int],
    requested_count: int | None,
) -> float:
    """How well a listing fits: its words, what announces it, its count, and how near to the best anchors it stands."""
    indices = {place.passage_index for place in listing.items}
    first = passages[min(indices)]
    # Where the titles themselves are the items, they say nothing of what is listed.
    path = first.section_path[:-1] if listing.kind is RunKind.HEADINGS else first.section_path
    introduction = _text(listing.announcement or listing.introduction, passages)[-300:]
    above = " ".join((introduction, first.heading_context, *path))
    inside = " ".join(_text(place, passages)[:120] for place in listing.items)
    ranks = [
        anchor_ranks[passages[index].passage_id] for index in indices if passages[index].passage_id in anchor_ranks
    ]
    rating = 1.2 * _share(words, above) + 0.4 * _share(words, inside)
    rating += 0.8 / (1 + min(ranks)) if ranks else 0.0
    wanted = listing.expected_count if listing.expected_count is not None else requested_count
    if wanted is not None and len(listing.items) == wanted:
        rating += 0.8 if listing.expected_count is not None else 0.5
    rating += 0.2 if listing.announcement is not None else 0.0
    return rating - 0.08 * listing.kind


def word_forms(text: str) -> set[str]:
    """Words of three letters and more without their endings, enough to compare a question with a heading."""
    return {_fold(word) for word in _WORD.findall(text.lower())}


def _fold(word: str) -> str:
    for ending in ("ization", "isation", "ations", "ation", "ings", "ing", "ies", "ized", "ised", "ed", "es", "s", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _share(words: Collection[str], text: str) -> float:
    return len(set(words) & word_forms(text)) / len(words) if words else 0.0


def _text(place: Place | None, passages: Sequence[Passage]) -> str:
    return "" if place is None else passages[place.passage_index].text[place.span.start : place.span.end]


def _is_next(before: Passage, after: Passage) -> bool:
    return before.document_id == after.document_id and before.ordinal + 1 == after.ordinal


def _find_continued(listings: Sequence[Listing], run: Run, index: int, passages: Sequence[Passage]) -> Listing | None:
    """The listing that `run` goes on with: it ended with the passage before, and its marks are of the same kind."""
    for listing in reversed(listings):
        last, place = listing.last_run, listing.items[-1]
        if last is None or place.passage_index != index - 1 or (last.kind, last.mark) != (run.kind, run.mark):
            continue
        before, after = passages[index - 1], passages[index]
        if before.parent_id != after.parent_id or place.span.end < len(before.text.rstrip()):
            continue
        counts_on = run.first_number == 0 or run.first_number == last.first_number + len(last.items)
        opens = run.introduction is None or run.introduction.start == run.introduction.end
        if counts_on and (opens or run.kind is RunKind.NAMED):
            return listing
    return None


def _headings(passages: Sequence[Passage], section_titles: Mapping[str, str]) -> list[Listing]:
    """The titles of sections that stand side by side, where the passages begin with them."""
    groups: dict[tuple[str, ...], list[Place]] = {}
    seen: set[str] = set()
    for index, passage in enumerate(passages):
        title = section_titles.get(passage.parent_id, "")
        if passage.parent_id in seen or not title:
            continue
        seen.add(passage.parent_id)
        start = passage.text.find(title, 0, 200 + len(title))
        if start >= 0:
            key = (passage.document_id, *passage.section_path[:-1])
            groups.setdefault(key, []).append(Place(index, Span(start, start + len(title))))
    return [Listing(RunKind.HEADINGS, items, None) for items in groups.values() if len(items) >= 2]


def _announce(listing: Listing, passages: Sequence[Passage]) -> None:
    """Find what announces a listing: the last announcement before its first item, here or in the passage before."""
    first = min(listing.items, key=lambda place: (place.passage_index, place.span.start))
    for index in (first.passage_index, first.passage_index - 1):
        if index < 0 or (index < first.passage_index and not _is_next(passages[index], passages[first.passage_index])):
            return
        end = first.span.start if index == first.passage_index else len(passages[index].text)
        found = [each for each in find_announcements(passages[index].text) if each.end <= end + 1]
        if found:
            nearest = next((each for each in reversed(found) if each.count is not None), found[-1])
            listing.announcement = Place(index, Span(nearest.start, min(nearest.end, end)))
            listing.expected_count = nearest.count
            return


def _inline(passages: Sequence[Passage]) -> list[Listing]:
    """Sentences that announce a number of things and name as many."""
    listings = []
    for index, passage in enumerate(passages):
        for announcement in find_announcements(passage.text):
            run = split_inline(passage.text, announcement.start, _sentence_end(passage.text, announcement.end))
            if run is not None and announcement.count is not None and len(run.items) == announcement.count:
                place = Place(index, Span(announcement.start, announcement.end))
                items = [Place(index, item) for item in run.items]
                listings.append(Listing(run.kind, items, None, place, announcement.count))
    return listings


def _sentence_end(text: str, position: int) -> int:
    """The end of the sentence that goes on behind a colon at `position`."""
    match = re.compile(r"[.!?](?:\s|$)|\n").search(text, position)
    return match.start() + 1 if match else len(text)
