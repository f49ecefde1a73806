"""Quotes are found in passages whatever their spaces and marks, and give the boxes of the lines that they stand in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citemesh.v1.evidence_pb2 import LineBox, Passage
from services.documents.language import tell_passage_language
from services.documents.quote_boxes import find_quote_boxes

LINES = ("The keeper writes down", "each reading on the", "day it was made.")


def passage() -> Passage:
    made = Passage(text=" ".join(LINES))
    start = 0
    for number, line in enumerate(LINES):
        made.lines.append(
            LineBox(
                page_number=3 if number < 2 else 4,
                x0=10,
                y0=100 - 10 * number,
                x1=90,
                y1=108 - 10 * number,
                start_offset=start,
                end_offset=start + len(line),
            )
        )
        start += len(line) + 1
    return made


def test_the_lines_of_a_quote_on_the_page_are_given() -> None:
    quotes = ["writes down — each", "on the day", "keeper", "nothing of the kind", ""]
    marks = find_quote_boxes([Passage(text="Other."), passage()], 3, quotes)
    assert [(index, bottom) for index, _, bottom, _, _ in marks] == [(0, 100), (0, 90), (1, 90), (2, 100)]
    assert find_quote_boxes([passage()], 5, quotes) == []


@given(st.integers(0, 50), st.integers(1, 30))
def test_every_part_of_a_passage_is_found(start: int, length: int) -> None:
    quote = passage().text[start : start + length]
    pages = {page for page in (3, 4) if find_quote_boxes([passage()], page, [quote])}
    assert bool(pages) == any(character.isalnum() for character in quote)


def test_a_passage_has_the_language_of_its_document_unless_it_clearly_speaks_another() -> None:
    french = (
        "Le plan prévoit que les sentiers de la municipalité sont entretenus par le service des travaux publics, qui "
        "est responsable du réseau et de la sécurité pour les cyclistes et les piétons dans le village."
    )
    assert tell_passage_language(french, "en") == "fr"
    assert tell_passage_language("Table 3: 4.92 25.8 65", "en") == "en"
    assert tell_passage_language("Plan de transport actif", "fr") == "fr"
    assert tell_passage_language("感染症の分類と対象となる疾病の一覧", "en") == "ja"
