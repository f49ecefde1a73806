"""Whether a text has the shape that a question asks for."""

from __future__ import annotations

import pytest

from citemesh.v1 import question_pb2
from services.generation.answer_types import has_shape, lacks_asked_shape

DATE = question_pb2.ANSWER_TYPE_DATE
NUMBER = question_pb2.ANSWER_TYPE_NUMBER
MONEY = question_pb2.ANSWER_TYPE_MONEY


@pytest.mark.parametrize(
    ("text", "is_date"),
    [
        ("Due on 3 May.", True),
        ("Due on 1.5.2024.", True),
        ("Due on 01.05.24.", True),
        ("Due on 5/1.", True),
        ("Since 2019.", True),
        ("By Friday.", True),
        ("Update to 3.5 first.", False),
        ("Update to 3.5.32 first.", False),
        ("See section 4.2.", False),
    ],
)
def test_versions_and_sections_are_no_dates(text: str, is_date: bool) -> None:
    assert has_shape(DATE, text) is is_date


@pytest.mark.parametrize(
    ("question", "text", "lacks"),
    [
        ("How many percent does it add?", "It adds two of 14 days.", True),
        ("How many percent does it add?", "It adds 4%.", False),
        ("What percentage is paid?", "Share (%): 12", False),
        ("Wie viel Prozent sind es?", "Es sind 12 Prozent.", False),
        ("How many rows are there?", "There are 14 rows.", False),
    ],
)
def test_who_asks_for_a_percentage_wants_one(question: str, text: str, lacks: bool) -> None:
    assert lacks_asked_shape(NUMBER, question, [text]) is lacks


def test_one_text_with_the_shape_is_enough_and_open_types_have_none_to_lack() -> None:
    assert not lacks_asked_shape(MONEY, "What does it cost?", ["It is cheap.", "It costs $5."])
    assert lacks_asked_shape(MONEY, "What does it cost?", ["It is cheap."])
    assert not lacks_asked_shape(question_pb2.ANSWER_TYPE_TEXT, "What is it?", [])
