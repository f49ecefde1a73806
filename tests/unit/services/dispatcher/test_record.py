"""Budgets, drift, corrections, citations and outcomes: the small pure parts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.evidence.citing import cite
from citemesh.v1 import (
    answer_pb2,
    budget_pb2,
    document_pb2,
    evidence_pb2,
    history_pb2,
    question_pb2,
    rerank_pb2,
    retrieval_pb2,
)
from services.dispatcher.budget import left_after, limit_policy, open_budget, reserve_s, stage_timeout_s, sum_costs
from services.dispatcher.candidates import (
    add_candidates,
    assemble_plainly,
    order_candidates,
    trace_candidates,
    with_scores,
)
from services.dispatcher.citing import tie_listing
from services.dispatcher.correct import drop_claims
from services.dispatcher.fallback import FALLBACKS, parse_plainly
from services.dispatcher.outcome import MESSAGES, message_for, outcome_of_pass, outcome_without_pass
from services.dispatcher.record import anchor_overlap
from services.dispatcher.state import Gathered
from tests.unit.services.dispatcher.records import FAILED, POLICY, make_signals

COSTS = st.builds(
    budget_pb2.Cost,
    model_call_count=st.integers(0, 50),
    prompt_token_count=st.integers(0, 10_000),
    completion_token_count=st.integers(0, 10_000),
    scored_pair_count=st.integers(0, 100),
)
LIMITS = st.builds(budget_pb2.Budget, max_iterations=st.integers(1, 4), max_model_calls=st.none() | st.integers(0, 99))


# Budget ------------------------------------------------------------------------------------------------------------


@given(LIMITS)
def test_a_request_lowers_limits_and_never_raises_them(requested: budget_pb2.Budget) -> None:
    limited = limit_policy(POLICY, requested)
    assert limited.max_iterations == min(POLICY.max_iterations, requested.max_iterations)
    assert limited.max_model_calls <= POLICY.max_model_calls
    assert limited.min_relevance == POLICY.min_relevance


@given(st.lists(COSTS), st.integers(0, 4))
def test_what_is_left_only_falls_and_never_below_nothing(costs: list[budget_pb2.Cost], passes: int) -> None:
    total = sum_costs(costs)
    assert total.scored_pair_count == sum(cost.scored_pair_count for cost in costs)
    left, opened = left_after(POLICY, total, passes), open_budget(POLICY)
    for name in ("max_iterations", "max_model_calls", "max_model_token_count"):
        assert 0 <= getattr(left, name) <= getattr(opened, name)


@given(st.floats(0.1, 600))
def test_no_stage_may_use_the_reserve(total_s: float) -> None:
    left_s = max(0.0, total_s - reserve_s(total_s))
    stages = [stage for stage in budget_pb2.Stage.values() if stage in FALLBACKS and stage != budget_pb2.STAGE_GATE]
    assert all(stage_timeout_s(stage, left_s) < left_s for stage in stages)
    assert 0.05 <= reserve_s(total_s) <= 0.5


def test_every_stage_has_a_row_in_the_table_of_fallbacks() -> None:
    assert set(FALLBACKS) == {stage for stage in budget_pb2.Stage.values() if stage}


# Drift -------------------------------------------------------------------------------------------------------------


def candidate(passage_id: str, text: str = "", hop_count: int = 0, **scores: float) -> evidence_pb2.Candidate:
    passage = evidence_pb2.Passage(passage_id=passage_id, text=text, token_count=10)
    return evidence_pb2.Candidate(passage=passage, hop_count=hop_count, **scores)  # type: ignore[arg-type]  # fields of the message


def test_drift_is_the_share_of_new_candidates_that_hold_an_anchor() -> None:
    found = [candidate("old", "premium"), candidate("n1", "the premiums rise"), candidate("n2", "reinsurance")]
    assert anchor_overlap(["premium"], ["old"], found) == 0.5
    assert anchor_overlap(["premium"], ["old", "n1", "n2"], found) is None
    assert anchor_overlap([], [], found) is None


def test_a_place_reached_by_a_reference_is_no_drift() -> None:
    assert anchor_overlap(["premium"], [], [candidate("table", "12 34", hop_count=1)]) is None


# Candidates --------------------------------------------------------------------------------------------------------


def test_found_again_ranks_add_up_and_the_first_pass_counts() -> None:
    first = candidate("p", fused_score=0.1)
    first.leg_ranks.add(leg=2, query="a", rank=1)
    again = candidate("p", fused_score=0.2)
    again.leg_ranks.add(leg=2, query="a", rank=9)
    again.leg_ranks.add(leg=3, query="b", rank=2)
    gathered = add_candidates(add_candidates(Gathered(), [first], 1), [again, candidate("q")], 2)
    merged = gathered.candidates["p"]
    assert [(rank.leg, rank.rank) for rank in merged.leg_ranks] == [(2, 1), (3, 2)]
    assert merged.fused_score == 0.2
    assert gathered.found_in == {"p": 1, "q": 2}


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-9, 9)), min_size=1, max_size=12))
def test_what_is_first_in_both_orders_is_first(values: list[tuple[float, float]]) -> None:
    found = [candidate(f"p{n}", fused_score=fused) for n, (fused, _) in enumerate(values)]
    found.append(candidate("top", fused_score=2.0))
    scores = {f"p{n}": pair_score(f"p{n}", score) for n, (_, score) in enumerate(values)}
    gathered = replace(add_candidates(Gathered(), found, 1), scores={**scores, "top": pair_score("top", 10.0)})
    ordered = list(order_candidates(gathered).candidates)
    assert ordered[0] == "top"
    assert sorted(ordered) == sorted(item.passage.passage_id for item in found)


def pair_score(passage_id: str, rerank_score: float) -> rerank_pb2.PairScore:
    return rerank_pb2.PairScore(passage_id=passage_id, rerank_score=rerank_score, relevance=0.5)


def test_scores_go_with_copies_and_leave_what_was_found_as_it_was() -> None:
    gathered = add_candidates(Gathered(), [candidate("a", fused_score=0.1), candidate("b", fused_score=0.2)], 1)
    scored, unscored = with_scores(replace(gathered, scores={"a": pair_score("a", 3.0)}), ["a", "b"])
    assert (scored.rerank_score, scored.relevance) == (3.0, 0.5)
    assert not unscored.HasField("relevance")
    assert not gathered.candidates["a"].HasField("rerank_score")


def test_traced_are_the_best_and_all_that_were_scored_or_selected() -> None:
    found = [candidate(f"p{number}", fused_score=1 / (1 + number)) for number in range(60)]
    gathered = replace(
        add_candidates(Gathered(), found, 1),
        scores={"p30": pair_score("p30", 3.0)},
        evidence=(evidence_pb2.Evidence(evidence_id="E1", passage_id="p40"),),
    )
    traces = {trace.passage_id: trace for trace in trace_candidates(gathered)}
    assert list(traces) == [*(f"p{number}" for number in range(10)), "p30", "p40"]
    assert traces["p30"].relevance == 0.5
    assert traces["p40"].evidence_id == "E1"
    assert not traces["p0"].HasField("relevance")


def test_no_more_than_fifty_are_traced() -> None:
    found = [candidate(f"p{number}") for number in range(70)]
    scores = {item.passage.passage_id: pair_score(item.passage.passage_id, 0.0) for item in found}
    assert len(trace_candidates(replace(add_candidates(Gathered(), found, 1), scores=scores))) == 50


def test_plain_assembly_keeps_whole_units_within_the_tokens_in_the_order_chosen() -> None:
    gathered = add_candidates(Gathered(), [candidate(name, "text") for name in "abcd"], 1)
    chosen = replace(gathered, chosen=("c", "a", "b"))
    evidence = assemble_plainly(chosen, max_token_count=25, max_evidence_count=9)
    assert [unit.passage_id for unit in evidence] == ["c", "a"]
    assert [unit.evidence_id for unit in evidence] == ["E1", "E2"]


# Citing and correcting ---------------------------------------------------------------------------------------------

UNIT = evidence_pb2.Evidence(
    evidence_id="E1",
    passage_id="p",
    text="Three kinds: door, supply.",
    page_first=4,
    lines=[
        evidence_pb2.LineBox(page_number=4, start_offset=0, end_offset=12),
        evidence_pb2.LineBox(page_number=5, start_offset=13, end_offset=26),
    ],
)


def test_a_citation_names_the_words_their_page_and_their_lines() -> None:
    citation = cite(UNIT, 13, 17)
    assert (citation.quote, citation.page_number, len(citation.boxes)) == ("door", 5, 1)


def test_a_listing_is_tied_to_its_evidence_and_what_has_none_is_left_out() -> None:
    listing = retrieval_pb2.ListItemsResponse(
        items=[
            retrieval_pb2.FoundItem(text="door", passage_id="p", start_offset=13, end_offset=17),
            retrieval_pb2.FoundItem(text="supply", passage_id="p", start_offset=0, end_offset=6),
            retrieval_pb2.FoundItem(text="excursion", passage_id="elsewhere", start_offset=0, end_offset=9),
        ],
        expected_count=3,
        announcement="Three kinds",
        announcement_passage_id="p",
    )
    context = tie_listing(listing, [UNIT])
    assert context is not None
    assert [item.text for item in context.items] == ["door"]
    assert context.announcement.quote == "Three kinds"
    assert context.expected_count == 3
    assert tie_listing(listing, []) is None
    assert tie_listing(None, [UNIT]) is None


def make_answer() -> answer_pb2.AnswerWithEvidence:
    def citation(start: int, end: int) -> evidence_pb2.Citation:
        return evidence_pb2.Citation(evidence_id="E1", start_offset=start, end_offset=end)

    return answer_pb2.AnswerWithEvidence(
        text="a b",
        complete_answer_found=True,
        claims=[
            answer_pb2.Claim(claim_id="C1", text="First.", citations=[citation(0, 5)]),
            answer_pb2.Claim(claim_id="C2", text="Second.", citations=[citation(6, 9)], sub_question_index=1),
        ],
        items=[
            answer_pb2.ListItem(text="one", citations=[citation(1, 4)]),
            answer_pb2.ListItem(text="two", citations=[citation(6, 8)]),
        ],
    )


def test_a_failed_claim_takes_its_item_and_its_part_with_it() -> None:
    corrected = drop_claims(make_answer(), {"C2"})
    assert [item.claim_id for item in corrected.claims] == ["C1"]
    assert [item.text for item in corrected.items] == ["one"]
    assert corrected.text == "First. [1]"
    assert not corrected.complete_answer_found
    assert list(corrected.unanswered_sub_questions) == [1]


@given(st.sets(st.sampled_from(["C1", "C2", "C9"])))
def test_nothing_that_failed_is_left_and_nothing_else_is_lost(failed: set[str]) -> None:
    answer = make_answer()
    corrected = drop_claims(answer, failed)
    assert {item.claim_id for item in corrected.claims} == {"C1", "C2"} - failed
    assert answer == make_answer(), "the argument stays as it was"


# Outcome -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, answer_pb2.ANSWER_OUTCOME_ANSWERED),
        ({"failed_verdicts": [FAILED]}, answer_pb2.ANSWER_OUTCOME_ANSWERED_WITH_CORRECTIONS),
        (
            {"release_decision": answer_pb2.RELEASE_DECISION_WITHHOLD},
            answer_pb2.ANSWER_OUTCOME_WITHHELD_FOR_REVIEW,
        ),
        ({"release_decision": answer_pb2.RELEASE_DECISION_CORRECT}, answer_pb2.ANSWER_OUTCOME_WITHHELD_FOR_REVIEW),
        ({"claim_count": 0}, answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE),
        ({"gate": history_pb2.GATE_DECISION_TOO_WEAK}, answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE),
        ({"failed_stage": budget_pb2.STAGE_GENERATE}, answer_pb2.ANSWER_OUTCOME_SOURCES_ONLY),
        ({"failed_stage": budget_pb2.STAGE_RETRIEVE}, answer_pb2.ANSWER_OUTCOME_RETRIEVAL_UNAVAILABLE),
    ],
)
def test_outcome_of_a_pass(changes: dict[str, object], outcome: answer_pb2.AnswerOutcome.ValueType) -> None:
    assert outcome_of_pass(make_signals(**changes)) == outcome


def test_an_unknown_scope_is_searched_and_an_empty_one_is_not() -> None:
    question = question_pb2.ParsedQuestion(need=question_pb2.RETRIEVAL_NEED_RETRIEVE)
    empty = document_pb2.ScopeProfile()
    assert outcome_without_pass(question, empty, scope_is_known=False, unreadable_count=0) is None
    ended = outcome_without_pass(question, empty, scope_is_known=True, unreadable_count=0)
    assert ended == answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE


def test_every_outcome_has_its_words() -> None:
    assert set(MESSAGES) == {value for value in answer_pb2.AnswerOutcome.values() if value}
    question = question_pb2.ParsedQuestion(clarification_question="Which one?")
    assert message_for(answer_pb2.ANSWER_OUTCOME_CLARIFICATION_NEEDED, question) == "Which one?"


@given(st.text(min_size=1, max_size=200))
def test_a_question_that_nobody_understood_is_kept_and_searched(question: str) -> None:
    parsed = parse_plainly(question)
    assert parsed.original_question == parsed.retrieval.main_query == question
    assert len(parsed.retrieval.anchor_keywords) <= 15


def test_a_corrected_text_holds_no_citation_numbers_but_its_own() -> None:
    answer = answer_pb2.AnswerWithEvidence(text="It opens at nine. (2) [1]")
    answer.claims.add(claim_id="C1", text="It opens at nine. [2]", citations=[evidence_pb2.Citation(evidence_id="E1")])
    corrected = drop_claims(answer, {"C2"})
    assert corrected.text == "It opens at nine. (2) [1]"
    assert corrected.claims[0].text == "It opens at nine. [2]"
