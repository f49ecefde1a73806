"""Each reason to stop with the least that makes it, and which reason wins where several hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.v1 import answer_pb2, budget_pb2, dispatcher_pb2, history_pb2, question_pb2
from services.dispatcher.loop import decide
from services.dispatcher.resolve import Facts, resolve
from services.dispatcher.stages import to_duration
from services.dispatcher.state import Case, Proposal
from services.dispatcher.stop import STOPS, Stop
from tests.unit.services.dispatcher.records import (
    POLICY,
    SATISFIED,
    TABLE_3,
    make_case,
    make_history,
    make_signals,
)

FOLLOW = Proposal(history_pb2.TRIGGER_PENDING_REFERENCES, history_pb2.ACTION_FOLLOW_REFERENCES, "follow Table 3")
OPEN = {"pending_references": [TABLE_3]}
NEW = {"candidate_ids": ["p1", "p2", "p3"], "evidence_ids": ["p1", "p3"]}
WORDS = {"discovered_keywords": ["siren"]}


def policy(**changes: Any) -> dispatcher_pb2.Policy:
    limited = dispatcher_pb2.Policy()
    limited.CopyFrom(POLICY)
    limited.MergeFrom(dispatcher_pb2.Policy(**changes))
    return limited


CASES: list[tuple[history_pb2.StopReason.ValueType, bool, Case, list[history_pb2.IterationRecord]]] = [
    (history_pb2.STOP_REASON_SATISFIED, False, make_case(), make_history(make_signals(**SATISFIED))),
    (history_pb2.STOP_REASON_NO_TRIGGER, False, make_case(documents=2), make_history(make_signals())),
    (
        history_pb2.STOP_REASON_ITERATION_CAP,
        True,
        make_case(policy=policy(max_iterations=1)),
        make_history(make_signals(**OPEN)),
    ),
    (
        history_pb2.STOP_REASON_REPEATED_ACTION,
        False,
        make_case(),
        make_history(make_signals(**OPEN), make_signals(**OPEN, followed_references=[TABLE_3]), proposals=(FOLLOW,)),
    ),
    (
        history_pb2.STOP_REASON_SAME_CANDIDATES,
        False,
        make_case(),
        make_history(make_signals(), make_signals()),
    ),
    (
        history_pb2.STOP_REASON_SAME_KEYWORDS,
        False,
        make_case(),
        make_history(make_signals(**WORDS), make_signals(**WORDS, **NEW, keywords=["alarms", "siren"])),
    ),
    (
        history_pb2.STOP_REASON_CONFIDENCE_DROP,
        False,
        make_case(),
        make_history(make_signals(confidence=0.7), make_signals(confidence=0.59, **OPEN, **NEW)),
    ),
    (
        history_pb2.STOP_REASON_DRIFT,
        False,
        make_case(),
        make_history(make_signals(), make_signals(anchor_overlap=0.1, **OPEN, **NEW)),
    ),
    (
        history_pb2.STOP_REASON_BUDGET_SPENT,
        True,
        make_case(),
        make_history(make_signals(**OPEN, budget_left=budget_pb2.Budget(max_model_calls=0, max_model_token_count=9))),
    ),
    (
        history_pb2.STOP_REASON_DEADLINE_SPENT,
        True,
        make_case(),
        make_history(make_signals(**OPEN, time_left_duration=to_duration(0.5), pass_duration=to_duration(1.0))),
    ),
    (
        history_pb2.STOP_REASON_DEADLINE_SPENT,
        True,
        make_case(),
        make_history(make_signals(time_left_duration=to_duration(0.0), failed_stage=budget_pb2.STAGE_GENERATE)),
    ),
    (
        history_pb2.STOP_REASON_STAGE_FAILED,
        False,
        make_case(),
        make_history(make_signals(failed_stage=budget_pb2.STAGE_GENERATE, claim_count=0)),
    ),
]


def without_feedback() -> Case:
    case = make_case()
    for activation in case.activations.activations:
        activation.active = activation.active and activation.rule_id != "feedback.default"
    return case


CASES.append((history_pb2.STOP_REASON_FEEDBACK_OFF, False, without_feedback(), make_history(make_signals(**OPEN))))


@pytest.mark.parametrize(("reason", "exhausted", "case", "history"), CASES)
def test_stop(
    reason: history_pb2.StopReason.ValueType,
    exhausted: bool,
    case: Case,
    history: list[history_pb2.IterationRecord],
) -> None:
    assert decide(case, history) == Stop(reason, exhausted)


def test_every_stop_rule_has_its_case() -> None:
    assert {rule.reason for rule in STOPS} == {case[0] for case in CASES}


def test_confidence_may_fall_by_the_allowed_drop() -> None:
    history = make_history(make_signals(confidence=0.7), make_signals(confidence=0.6, **OPEN, **NEW))
    assert isinstance(decide(make_case(), history), Proposal)


def test_confidence_alone_neither_satisfies_nor_starts_a_pass() -> None:
    sure = make_signals(confidence=1.0, **OPEN)
    assert isinstance(decide(make_case(), make_history(sure)), Proposal)
    unsure = make_signals(confidence=0.0, complete_answer_found=True)
    assert decide(make_case(), make_history(unsure)) == Stop(history_pb2.STOP_REASON_SATISFIED)


def test_the_generators_word_alone_does_not_satisfy() -> None:
    withheld = make_signals(**SATISFIED, release_decision=answer_pb2.RELEASE_DECISION_WITHHOLD)
    decision = decide(make_case(documents=2), make_history(withheld))
    assert decision != Stop(history_pb2.STOP_REASON_SATISFIED)


def test_a_place_that_can_be_named_is_worth_a_pass_though_the_search_found_nothing_new() -> None:
    history = make_history(make_signals(), make_signals(**OPEN))
    decision = decide(make_case(), history)
    assert isinstance(decision, Proposal)
    assert decision.references == (TABLE_3,)


def test_a_mesh_without_language_model_never_spends_a_budget_of_none() -> None:
    limited = dispatcher_pb2.Policy()
    limited.CopyFrom(POLICY)
    limited.max_model_calls = limited.max_model_token_count = 0
    history = make_history(make_signals(**OPEN, budget_left=budget_pb2.Budget(max_iterations=3)))
    assert isinstance(decide(make_case(policy=limited), history), Proposal)


SIGNALS = st.builds(
    make_signals,
    gate=st.sampled_from(history_pb2.GateDecision.values()),
    complete_answer_found=st.booleans(),
    confidence=st.floats(0, 1),
    context_structured=st.booleans(),
    claim_count=st.integers(0, 3),
    release_decision=st.sampled_from(answer_pb2.ReleaseDecision.values()),
    pending_references=st.lists(st.just(TABLE_3), max_size=1),
    discovered_keywords=st.lists(st.sampled_from(["a", "b", "alarms"]), max_size=2),
    unanswered_sub_questions=st.lists(st.integers(0, 3), max_size=2),
    candidate_ids=st.lists(st.sampled_from(["p1", "p2", "p3"]), unique=True),
    item_count=st.integers(0, 3),
)


@given(
    st.lists(SIGNALS, min_size=1, max_size=4),
    st.sampled_from(question_pb2.Intent.values()),
    st.integers(1, 4),
)
def test_no_history_goes_past_the_cap_and_the_same_history_decides_the_same(
    passes: list[history_pb2.PassSignals], intent: question_pb2.Intent.ValueType, cap: int
) -> None:
    case = make_case(intent=intent, policy=policy(max_iterations=cap))
    history = make_history(*passes)
    decision = decide(case, history)
    assert decision == decide(case, history)
    if len(history) >= cap:
        assert isinstance(decision, Stop)
    if isinstance(decision, Stop) and decision.exhausted:
        assert decision.reason in (
            history_pb2.STOP_REASON_ITERATION_CAP,
            history_pb2.STOP_REASON_BUDGET_SPENT,
            history_pb2.STOP_REASON_DEADLINE_SPENT,
        )


def test_activations_in_cases_follow_from_their_question() -> None:
    case = make_case()
    assert case.activations == resolve(Facts(case.question, case.scope))
