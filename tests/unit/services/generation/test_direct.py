"""Replies without documents: short, honest, in the asker's language, without claims."""

from __future__ import annotations

import pytest

from citemesh.v1 import question_pb2
from services.generation.direct import answer_directly
from tests.unit.services.generation.builders import make_question

_TALK = question_pb2.RETRIEVAL_NEED_SMALL_TALK
_TRANSFORM = question_pb2.RETRIEVAL_NEED_TRANSFORM_TURN


@pytest.mark.parametrize(
    ("text", "language", "part"),
    [
        ("hello", "en", "Hello"),
        ("Morning! How are you?", "en", "Hello"),
        ("Thanks a lot!", "en", "welcome"),
        ("Bye", "en", "Goodbye"),
        ("What can you do?", "en", "quote the passages"),
        ("Danke dir!", "de", "Gern"),
        ("Wer bist du?", "de", "Dokumenten"),
        ("merci", "fr", "plaisir"),
        ("gracias", "es", "De nada"),
        ("谢谢", "zh", "不客气"),
        ("grazie", "it", "Prego"),
        ("tack", "sv", "Hello"),
    ],
)
def test_the_reply_fits_and_claims_nothing(text: str, language: str, part: str) -> None:
    answer = answer_directly(make_question(text, language=language, need=_TALK), [])
    assert part in answer.text
    assert not answer.claims
    assert answer.complete_answer_found


def test_a_wish_about_the_last_answer_repeats_it_and_says_so() -> None:
    history = [
        question_pb2.Turn(role=question_pb2.ROLE_USER, text="How long?"),
        question_pb2.Turn(role=question_pb2.ROLE_ASSISTANT, text="30 days [1]."),
    ]
    answer = answer_directly(make_question("Shorter please", need=_TRANSFORM), history)
    assert "30 days" in answer.text
    assert "cannot" in answer.text
    assert "no earlier answer" in answer_directly(make_question("Shorter please", need=_TRANSFORM), []).text
