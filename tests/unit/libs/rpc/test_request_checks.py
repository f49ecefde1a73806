"""Checks that requests of several services share."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.rpc import request_checks as checks
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import dispatcher_pb2, errors_pb2, evidence_pb2, question_pb2
from citemesh.v1.question_pb2 import Scope, Turn

ASSISTANT = question_pb2.ROLE_ASSISTANT


def fields(violations: object) -> list[str]:
    return [field for field, _ in violations]  # type: ignore[attr-defined]  # whatever a check yields


def test_all_violations_are_raised_at_once_and_none_raises_nothing() -> None:
    checks.raise_for([])
    with pytest.raises(ServiceError) as raised:
        checks.raise_for(iter([("a", "must not be blank"), ("b", "occurs twice")]))
    assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
    assert [field for field, _ in raised.value.field_violations] == ["a", "b"]


@pytest.mark.parametrize(
    ("question", "is_wrong"), [("Why?", False), (" \n", True), ("x" * 4_000, False), ("x" * 4_001, True)]
)
def test_questions(question: str, is_wrong: bool) -> None:
    assert fields(checks.find_question_violations("question", question)) == ["question"] * is_wrong


def test_turns() -> None:
    good = Turn(role=ASSISTANT, text="x" * 20_000)
    assert not fields(checks.find_history_violations("history", [good] * 50))
    bad = [good, Turn(text="x"), Turn(role=ASSISTANT, text="x" * 20_001)]
    assert fields(checks.find_history_violations("history", bad)) == ["history[1].role", "history[2].text"]
    assert fields(checks.find_history_violations("history", [good] * 51)) == ["history"]


def test_ids() -> None:
    assert fields(checks.find_id_violations("items", "id", ["a", "", "b", "a"])) == ["items[1].id", "items[3].id"]


def test_evidence() -> None:
    long = evidence_pb2.Evidence(evidence_id="E1", text="x" * 100_001)
    assert fields(checks.find_evidence_violations("evidence", [long])) == ["evidence[0].text"]
    many = [evidence_pb2.Evidence(evidence_id=f"E{number}") for number in range(201)]
    assert fields(checks.find_evidence_violations("evidence", many)) == ["evidence"]


def test_scopes() -> None:
    everything = Scope()
    everything.all_documents.SetInParent()
    assert not fields(checks.find_scope_violations("scope", everything))
    assert fields(checks.find_scope_violations("scope", Scope())) == ["scope"]
    named = Scope()
    named.documents.SetInParent()
    assert fields(checks.find_scope_violations("scope", named)) == ["scope.documents.document_ids"]
    named.documents.document_ids.extend(["a", " "])
    assert fields(checks.find_scope_violations("scope", named)) == ["scope.documents.document_ids[1]"]


@pytest.mark.parametrize(("seconds", "is_wrong"), [(0, False), (10**15, True), (-(10**15), True)])
def test_times(seconds: int, is_wrong: bool) -> None:
    assert fields(checks.find_time_violations("as_of_time", Timestamp(seconds=seconds))) == ["as_of_time"] * is_wrong


def test_lists_have_bounds() -> None:
    assert not fields(checks.find_count_violations("queries", 4, 4, min_count=1))
    assert fields(checks.find_count_violations("queries", 0, 4, min_count=1)) == ["queries"]
    assert fields(checks.find_count_violations("queries", 5, 4)) == ["queries"]


def test_enum_numbers_without_a_name_are_found_wherever_they_stand() -> None:
    recorded = dispatcher_pb2.AnswerResponse(outcome=1)  # type: ignore[arg-type]  # a known number
    recorded.history.add(trigger=1)
    assert not fields(checks.find_enum_violations("recorded", recorded))
    recorded.outcome = 77  # type: ignore[assignment]  # what a forged record may hold
    recorded.history.add().signals.gate = 99  # type: ignore[assignment]  # the same
    found = list(checks.find_enum_violations("recorded", recorded))
    assert found == [
        ("recorded.outcome", "is no known AnswerOutcome"),
        ("recorded.history[1].signals.gate", "is no known GateDecision"),
    ]
