"""Listings: the items that retrieval gathered or that a quoted list holds, and how many the text announces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from citemesh.text.sentences import split_sentences, trim
from citemesh.v1 import answer_pb2, evidence_pb2, generation_pb2, question_pb2
from services.generation.scene import Scene
from services.generation.selection import Pick
from services.generation.units import Unit

Matrix = npt.NDArray[np.float32]
Place = tuple[int, int, int]
"""Index of an evidence, and a span of its text."""

MIN_GATHERED_COUNT = 2
GATHERED_MARGIN = 1.5
"""Merit by which the gathered list may be below the best unit."""
LONGEST_ITEM_CHARACTERS = 400

_COUNT_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12, "both": 2, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8,
    "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7, "huit": 8, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5,
}  # fmt: skip
_ANNOUNCED = re.compile(
    # "5.4 Techniques" is the number of a section.
    rf"(?<![\d.,§])(?<!§ )\b(?P<count>\d{{1,2}}|{'|'.join(_COUNT_WORDS)})"
    r"\s+(?!(?:percent|days?|hours?|minutes?|seconds?|weeks?|months?|years?)\b)"
    r"(?:[^\W\d_][\w-]*\s+){0,3}?[^\W\d_][\w-]*(?:s|n|es)\b",
    re.IGNORECASE,
)


def read_expected_count(announcement: str) -> int | None:
    """How many items "three types of ...:" announces, 2 to 50; None where it does not say."""
    match = _ANNOUNCED.search(announcement)
    if match is None:
        return None
    word = match.group("count").lower()
    count = _COUNT_WORDS.get(word) or int(word)
    return count if 2 <= count <= 50 else None


def pick_gathered(
    scene: Scene, listing: generation_pb2.ListingContext, merit: Matrix, own: Sequence[Pick]
) -> list[Pick]:
    """Picks for the announcement and every item that retrieval gathered; empty where that is not the list asked for.

    It is, where its best unit is as good as the best of the evidence, or nearly so. Items whose quotes do not stand in
    the evidence word for word are left out.
    """
    places = [_find_place(scene, item.citations) for item in listing.items]
    items = [place for place in places if place is not None]
    if len(items) < MIN_GATHERED_COUNT or not own:
        return []
    announcement = _find_place(scene, [listing.announcement]) if listing.HasField("announcement") else None
    spans = [*items, announcement] if announcement else items
    touched = [number for number, unit in enumerate(scene.units) if any(_touches(unit, span) for span in spans)]
    if not touched or max(merit[touched]) < max(merit[pick.unit] for pick in own) - GATHERED_MARGIN:
        return []
    picks = [_to_pick(scene, place, is_item=True) for place in items]
    return [_to_pick(scene, announcement, is_item=False), *picks] if announcement else picks


def _find_place(scene: Scene, citations: Iterable[evidence_pb2.Citation]) -> Place | None:
    for citation in citations:
        for index, evidence in enumerate(scene.evidence):
            if evidence.evidence_id == citation.evidence_id and is_quoted(citation, evidence.text):
                return index, *trim(evidence.text, citation.start_offset, citation.end_offset)
    return None


def _to_pick(scene: Scene, place: Place, *, is_item: bool) -> Pick:
    """The place as a pick of the unit that it begins in; of a long item its first sentences."""
    index, start, end = place
    text = scene.evidence[index].text
    if end - start > LONGEST_ITEM_CHARACTERS:
        sentences = split_sentences(text, start, end)
        end = max((stop for _, stop in sentences if stop - start <= LONGEST_ITEM_CHARACTERS), default=sentences[0][1])
    nearest = min(
        (number for number, unit in enumerate(scene.units) if unit.evidence_index == index),
        key=lambda number: abs(scene.units[number].start - start),
        default=0,
    )
    return Pick(nearest, start, end, is_item)


def _touches(unit: Unit, place: Place) -> bool:
    return unit.evidence_index == place[0] and unit.start < place[2] and unit.end > place[1]


def is_quoted(citation: evidence_pb2.Citation, text: str) -> bool:
    """Whether the citation's quote stands in `text` at its offsets."""
    quoted = text[citation.start_offset : citation.end_offset]
    return bool(citation.quote.strip()) and quoted == citation.quote


def fill_items(
    answer: answer_pb2.AnswerWithEvidence,
    request: generation_pb2.GenerateRequest,
    scene: Scene,
    claims: Sequence[tuple[answer_pb2.Claim, Pick]],
) -> None:
    """Set `items` and `expected_count` from the claims that are items of a quoted list; for list questions only."""
    question = request.parsed_question
    if question.intent != question_pb2.INTENT_LISTING and question.answer_type != question_pb2.ANSWER_TYPE_LIST:
        return
    announced: int | None = None  # a guess from the words before the list, where retrieval did not count
    for claim, pick in claims:
        if pick.is_item:
            answer.items.append(answer_pb2.ListItem(text=claim.text, citations=claim.citations))
            unit = scene.units[pick.unit]
            announced = announced or read_expected_count(unit.lead)
    expected = request.listing.expected_count if request.listing.HasField("expected_count") else announced
    if expected is None and question.HasField("requested_count"):
        expected = question.requested_count
    if expected is not None and answer.items:
        answer.expected_count = expected
