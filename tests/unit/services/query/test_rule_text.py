"""Texts as the rules read them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citemesh.v1.question_pb2 import Role, Turn
from services.query.rule_text import read_turns, single_space


def test_white_space_is_single_and_lines_stay() -> None:
    assert single_space("a \t b\r\n\r\n  c\u00a0d") == "a b\nc d"


def test_a_long_turn_keeps_its_ends_cut_between_words() -> None:
    words = [f"word{number}" for number in range(3_000)]
    (turn,) = read_turns([Turn(role=Role.ROLE_ASSISTANT, text="  ".join(words)[:20_000])])
    assert turn.role == Role.ROLE_ASSISTANT
    assert len(turn.text) <= 6_001
    kept = turn.text.split()
    assert set(kept[:-1]) <= set(words)
    assert kept[0] == "word0"
    assert "\n" in turn.text


def test_a_short_turn_stays() -> None:
    (turn,) = read_turns([Turn(role=Role.ROLE_USER, text="How many days?\n1. ten\n2. twelve")])
    assert turn.text == "How many days?\n1. ten\n2. twelve"


@given(st.text(st.sampled_from(" \t\n\r\u00a0ab"), max_size=200))
def test_words_and_their_order_stay(text: str) -> None:
    single = single_space(text)
    assert single.split() == text.split()
    assert single_space(single) == single
