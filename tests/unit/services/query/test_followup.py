"""The follow-up decision."""

from __future__ import annotations

from citemesh.v1.activation_pb2 import Pattern
from citemesh.v1.evidence_pb2 import Candidate, LegRank, Passage
from citemesh.v1.question_pb2 import RetrievalMode
from services.query.followup import decide_follow_up
from services.query.understand import understand

ALL = [
    Pattern.PATTERN_KEYWORD,
    Pattern.PATTERN_DENSE,
    Pattern.PATTERN_TWO_HOP_REFERENCES,
    Pattern.PATTERN_LISTING_AGGREGATION,
]


def candidate(text: str, label: str = "", leg: Pattern.ValueType = Pattern.PATTERN_KEYWORD) -> Candidate:
    return Candidate(passage=Passage(text=text, label=label), leg_ranks=[LegRank(leg=leg, rank=1)])


def test_what_suffices_needs_no_follow_up() -> None:
    parsed = understand("Who approves travel abroad?")
    decision = decide_follow_up(parsed, [candidate("Travel abroad is approved by the head.")], ALL)
    assert decision.retrieval.mode == RetrievalMode.RETRIEVAL_MODE_NONE
    assert decision.query == parsed.standalone_question
    assert not decision.retrieval.targets


def test_nothing_found_runs_everything_with_another_wording() -> None:
    parsed = understand("How many vacation days do I get per year?")
    decision = decide_follow_up(parsed, [], ALL)
    assert decision.retrieval.mode == RetrievalMode.RETRIEVAL_MODE_ALL
    assert decision.query in parsed.retrieval.rewrites


def test_a_named_place_that_was_not_found_is_followed() -> None:
    parsed = understand("What does Table 4 of the manual say about the pump?")
    decision = decide_follow_up(parsed, [candidate("The pump is described in Table 4.")], ALL)
    assert list(decision.retrieval.targets) == [Pattern.PATTERN_TWO_HOP_REFERENCES]
    found = decide_follow_up(parsed, [candidate("Pump | 4 bar", label="table 4")], ALL)
    assert found.retrieval.mode == RetrievalMode.RETRIEVAL_MODE_NONE


def test_a_part_that_the_candidates_do_not_hold_is_searched_alone() -> None:
    parsed = understand("Who approves travel abroad, and which insurer covers luggage theft?")
    decision = decide_follow_up(parsed, [candidate("Travel abroad is approved by the head.")], ALL)
    assert list(decision.retrieval.targets) == [Pattern.PATTERN_KEYWORD, Pattern.PATTERN_DENSE]
    assert "insurer" in decision.query


def test_targets_stay_among_the_available_ones() -> None:
    parsed = understand("List all kinds of alarm")
    text = [candidate("The kinds of alarm are many.")]
    assert list(decide_follow_up(parsed, text, ALL).retrieval.targets) == [Pattern.PATTERN_LISTING_AGGREGATION]
    only_dense = decide_follow_up(parsed, text, [Pattern.PATTERN_DENSE])
    assert only_dense.retrieval.mode == RetrievalMode.RETRIEVAL_MODE_NONE
    assert decide_follow_up(parsed, [], []).retrieval.mode == RetrievalMode.RETRIEVAL_MODE_NONE
