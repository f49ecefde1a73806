from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.v1.evidence_pb2 import Passage
from services.retrieval.dedupe import keep_distinct

LONG = "Employees who travel abroad for the company must ask their manager for approval 14 days before they leave home."


def make(text: str, simhash: int = 0b1011) -> Passage:
    return Passage(text=text, content_hash=hashlib.sha256(text.encode()).hexdigest(), simhash=simhash)


def texts(*passages: Passage) -> list[str]:
    return [passage.text for passage in keep_distinct(passages)]


def test_the_same_words_are_kept_once() -> None:
    assert texts(make("Same."), make("Other."), make("Same.")) == ["Same.", "Other."]


def test_case_and_punctuation_make_no_difference() -> None:
    assert texts(make(LONG), make(LONG.upper().replace(".", "!"))) == [LONG]


@pytest.mark.parametrize(
    "other",
    [
        LONG.replace("14", "15"),
        LONG.replace("must ask", "must not ask"),
        LONG.replace("Employees", "Managers"),
        LONG.replace("14", "1.4"),
    ],
)
def test_what_may_contradict_is_kept(other: str) -> None:
    assert texts(make(LONG), make(other)) == [LONG, other]


def test_far_simhashes_are_not_compared_further() -> None:
    assert len(texts(make(LONG, 0), make(LONG + " ", 2**63 - 1))) == 2


def test_short_passages_are_compared_exactly() -> None:
    assert texts(make("The limit."), make("A limit.")) == ["The limit.", "A limit."]


@given(st.lists(st.text(max_size=40), max_size=20))
def test_the_first_of_each_text_stays_in_order(words: list[str]) -> None:
    assert texts(*(make(word) for word in words)) == list(dict.fromkeys(words))
