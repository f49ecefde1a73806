"""Listings: the items that retrieval gathered or that a quoted list holds, and how many the text announces."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citemesh.v1 import answer_pb2, evidence_pb2, generation_pb2, question_pb2
from services.generation.scene import Scene
from services.generation.selection import Pick

_COUNT_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12, "both": 2, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8,
    "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7, "huit": 8, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5,
}  # fmt: skip
_ANNOUNCED = re.compile(
    rf"\b(?P<count>\d{{1,2}}|{'|'.join(_COUNT_WORDS)})\s+(?!(?:percent|days?|hours?|minutes?|seconds?|weeks?|months?|years?)\b)"
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


def check_items(
    listing: generation_pb2.ListingContext, evidence: Sequence[evidence_pb2.Evidence]
) -> list[answer_pb2.ListItem]:
    """The gathered items whose quotes stand in this evidence word for word; the others are left out."""
    texts = {each.evidence_id: each.text for each in evidence}
    return [
        item
        for item in listing.items
        if item.citations and any(is_quoted(citation, texts.get(citation.evidence_id, "")) for citation in item.citations)
    ]


def is_quoted(citation: evidence_pb2.Citation, text: str) -> bool:
    """Whether the citation's quote stands in `text` at its offsets."""
    return bool(citation.quote) and text[citation.start_offset : citation.end_offset] == citation.quote


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
    announced: int | None = None
    for claim, pick in claims:
        if pick.is_item:
            answer.items.append(answer_pb2.ListItem(text=claim.text, citations=claim.citations))
            unit = scene.units[pick.unit]
            announced = announced or read_expected_count(unit.lead)
    expected = announced
    if expected is None and request.HasField("listing") and request.listing.HasField("expected_count"):
        expected = request.listing.expected_count
    if expected is None and question.HasField("requested_count"):
        expected = question.requested_count
    if expected is not None and answer.items:
        answer.expected_count = expected
