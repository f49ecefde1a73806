"""The listings that passages hold: runs of items, over one passage or several, and what announces them; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from citemesh.v1 import evidence_pb2
from citemesh.v1.evidence_pb2 import Passage
from services.retrieval.count_cues import find_announcements
from services.retrieval.item_spans import (
    Run,
    RunKind,
    Span,
    find_code_runs,
    find_enumerated_runs,
    find_enumerating_sentences,
    find_named_runs,
    find_row_run,
    split_inline,
)
from services.retrieval.marked_lines import find_marked_runs

# A sentence that begins so adds an item to the one before it.
_ADDITION = re.compile(r"(?<=[.!?]\s)(?:In addition|Additionally|Furthermore|Moreover|We also|Also)\b")


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
        is_part = bool(passage.heading_context)
        for run in _find_runs(
            passage.text, is_table=is_table, is_part=is_part, smallest=1 if is_part or follows else 2
        ):
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
        _split_additions(listing, passages)
    listings += _inline(passages)
    return [listing for listing in listings if len(listing.items) >= 2]


def _find_runs(text: str, *, is_table: bool, is_part: bool, smallest: int) -> Iterator[Run]:
    """Every run of at least `smallest` items; fewer than two are of use where the others stand in another passage."""
    yield from find_marked_runs(text, smallest)
    if is_table:
        yield from find_row_run(text, has_header=not is_part, smallest=smallest)
    else:
        yield from find_named_runs(text, 1)
        yield from find_enumerated_runs(text)
        yield from find_code_runs(text)


def _is_next(before: Passage, after: Passage) -> bool:
    return before.document_id == after.document_id and before.ordinal + 1 == after.ordinal


def _find_continued(listings: Sequence[Listing], run: Run, index: int, passages: Sequence[Passage]) -> Listing | None:
    """The listing that `run` goes on with: it ended with the passage before, and its marks are of the same kind."""
    if run.kind is not RunKind.NAMED and run.introduction is not None and run.introduction.end > run.introduction.start:
        return None
    for listing in reversed(listings):
        last, place = listing.last_run, listing.items[-1]
        if last is None or place.passage_index != index - 1 or last.kind is not run.kind:
            continue
        before, after = passages[index - 1], passages[index]
        if before.parent_id == after.parent_id and place.span.end >= len(before.text.rstrip()) and _goes_on(last, run):
            return listing
    return None


def _goes_on(last: Run, run: Run) -> bool:
    """Whether the first mark of `run` is the one after the last of `last`, in some way to read both."""
    return any(
        run.readings.get(mark) == (first + len(last.items) if first else 0) for mark, first in last.readings.items()
    )


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
        is_here = index == first.passage_index
        if index < 0 or not (is_here or _leads(passages[index], passages[first.passage_index], listing.kind)):
            return
        end = first.span.start if is_here else len(passages[index].text)
        found = [each for each in find_announcements(passages[index].text) if each.end <= end + 1]
        if found:
            nearest = next((each for each in reversed(found) if each.count is not None), found[-1])
            listing.announcement = Place(index, Span(nearest.start, min(nearest.end, end)))
            listing.expected_count = nearest.count
            return


def _leads(before: Passage, passage: Passage, kind: RunKind) -> bool:
    """Whether `before` may announce what is in `passage`: it precedes it in its section, or stands above headings."""
    if not _is_next(before, passage):
        return False
    path = passage.section_path[:-1] if kind is RunKind.HEADINGS else passage.section_path
    return list(before.section_path) == list(path)


def _split_additions(listing: Listing, passages: Sequence[Passage]) -> None:
    """Where fewer named items stand there than announced, sentences that begin with "In addition" may be the others."""
    missing = (listing.expected_count or 0) - len(listing.items)
    if missing <= 0 or listing.kind not in (RunKind.NAMED, RunKind.MARKED):
        return
    split: list[Place] = []
    for place in listing.items:
        text, start = passages[place.passage_index].text, place.span.start
        for match in _ADDITION.finditer(text, place.span.start, place.span.end):
            split.append(Place(place.passage_index, Span(start, match.start() - 1)))
            start = match.start()
        split.append(Place(place.passage_index, Span(start, place.span.end)))
    if len(split) == listing.expected_count:
        listing.items = split


def _inline(passages: Sequence[Passage]) -> list[Listing]:
    """Sentences that announce a number of things and name as many; and sentences that just name some."""
    listings = []
    for index, passage in enumerate(passages):
        counted: set[Span] = set()
        for announcement in find_announcements(passage.text):
            run = split_inline(passage.text, announcement.start, _sentence_end(passage.text, announcement.end))
            if run is not None and announcement.count is not None and len(run.items) == announcement.count:
                place = Place(index, Span(announcement.start, announcement.end))
                items = [Place(index, item) for item in run.items]
                listings.append(Listing(run.kind, items, None, place, announcement.count))
                counted.update(run.items)
        if passage.kind != evidence_pb2.PASSAGE_KIND_TABLE:
            for run in find_enumerating_sentences(passage.text):
                if counted.isdisjoint(run.items) and run.introduction is not None:
                    items = [Place(index, item) for item in run.items]
                    listings.append(Listing(run.kind, items, Place(index, run.introduction)))
    return listings


def _sentence_end(text: str, position: int) -> int:
    """The end of the sentence that goes on behind a colon at `position`."""
    match = re.compile(r"[.!?](?:\s|$)|\n").search(text, position)
    return match.start() + 1 if match else len(text)
