"""Ids of evidence over the passes of one request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.evidence.ids import EvidenceIds, read_evidence_number


def test_new_numbers_follow_the_highest_ever_given() -> None:
    ids = EvidenceIds({"gone": "E9", "odd": "X1"})
    assert [ids.id_of(each) for each in ("a", "gone", "b", "a")] == ["E10", "E9", "E11", "E10"]


@pytest.mark.parametrize(("evidence_id", "number"), [("E1", 1), ("E120", 120), ("E0", None), ("E", None), ("1", None)])
def test_only_e_and_a_number_from_1_is_an_id(evidence_id: str, number: int | None) -> None:
    assert read_evidence_number(evidence_id) == number


@given(st.lists(st.sampled_from("abcdef")))
def test_a_passage_keeps_its_evidence_id(asked: list[str]) -> None:
    ids = EvidenceIds({"a": "E7"})
    given_ids = [(passage_id, ids.id_of(passage_id)) for passage_id in asked]
    assert len(set(given_ids)) == len(set(asked))
    assert all(evidence_id == "E7" for passage_id, evidence_id in given_ids if passage_id == "a")
    assert len({evidence_id for _, evidence_id in given_ids}) == len(set(asked))
