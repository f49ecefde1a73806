"""Where quotes stand on a page by the boxes stored with its passages: for what its text layer does not give as read."""

from __future__ import annotations

from collections.abc import Sequence

from citemesh.v1.evidence_pb2 import Passage

Mark = tuple[int, float, float, float, float]
"""Index of a quote, and a box left, bottom, right, top in PDF points."""


def find_quote_boxes(passages: Sequence[Passage], page_number: int, quotes: Sequence[str]) -> list[Mark]:
    """The lines of a page that hold words of a quote. Spaces and marks need not agree, as in the text layer."""
    marks: list[Mark] = []
    condensed = [_condense(passage.text) for passage in passages]
    for index, quote in enumerate(quotes):
        wanted, _ = _condense(quote)
        for passage, (letters, places) in zip(passages, condensed, strict=True):
            at = letters.find(wanted) if wanted else -1
            if at < 0:
                continue
            start, end = places[at], places[at + len(wanted) - 1] + 1
            marks.extend(
                (index, line.x0, line.y0, line.x1, line.y1)
                for line in passage.lines
                if line.page_number == page_number and line.start_offset < end and line.end_offset > start
            )
            break
    return marks


def _condense(text: str) -> tuple[str, list[int]]:
    """Letters and figures only, small, and where each stands in the text."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for letter in character.casefold():
            if letter.isalnum():
                letters.append(letter)
                places.append(place)
    return "".join(letters), places
