"""The evidence gate: enough, readable, in force; and its stricter twin for where nothing was reranked."""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from citemesh.v1 import activation_pb2, evidence_pb2, history_pb2, retrieval_pb2
from services.dispatcher.gate import admit, admit_first_stage, in_force
from tests.unit.services.dispatcher.records import POLICY

NOW = Timestamp(seconds=1000)
CURRENT = retrieval_pb2.PASSAGE_STATUS_CURRENT
OUTDATED = retrieval_pb2.PASSAGE_STATUS_NOT_IN_FORCE
ABSENT = retrieval_pb2.PASSAGE_STATUS_NOT_FOUND


def unit(passage_id: str, relevance: float | None = 0.9, **fields: object) -> evidence_pb2.Evidence:
    evidence = evidence_pb2.Evidence(passage_id=passage_id, content_hash=f"h-{passage_id}", **fields)  # type: ignore[arg-type]  # fields of the message
    if relevance is not None:
        evidence.relevance = relevance
    return evidence


def check(
    passage_id: str, status: retrieval_pb2.PassageStatus.ValueType = CURRENT, content_hash: str = ""
) -> retrieval_pb2.PassageCheck:
    return retrieval_pb2.PassageCheck(
        passage_id=passage_id, status=status, content_hash=content_hash or f"h-{passage_id}"
    )


def test_relevant_readable_current_evidence_passes() -> None:
    admission = admit([unit("a"), unit("b", 0.01)], [check("a"), check("b")], NOW, POLICY)
    assert admission.decision == history_pb2.GATE_DECISION_PASS
    assert [item.passage_id for item in admission.evidence] == ["a", "b"]


def test_each_way_to_be_closed() -> None:
    cases = {
        history_pb2.GATE_DECISION_NO_EVIDENCE: admit([], [], NOW, POLICY),
        history_pb2.GATE_DECISION_TOO_WEAK: admit([unit("a", 0.01)], [check("a")], NOW, POLICY),
        history_pb2.GATE_DECISION_NOT_AUTHORIZED: admit([unit("a")], [check("a", ABSENT)], NOW, POLICY),
        history_pb2.GATE_DECISION_NOT_IN_FORCE: admit([unit("a")], [check("a", OUTDATED)], NOW, POLICY),
    }
    for decision, admission in cases.items():
        assert admission.decision == decision
        assert not admission.evidence


def test_what_nobody_checked_is_not_admitted() -> None:
    assert admit([unit("a")], [], NOW, POLICY).decision == history_pb2.GATE_DECISION_NOT_AUTHORIZED


def test_changed_text_is_not_the_evidence_that_was_found() -> None:
    changed = admit([unit("a")], [check("a", content_hash="other")], NOW, POLICY)
    assert changed.decision == history_pb2.GATE_DECISION_NOT_IN_FORCE


def test_relevance_of_what_may_not_be_read_counts_for_nothing() -> None:
    evidence = [unit("a", 0.9), unit("b", 0.01)]
    assert admit(evidence, [check("a", ABSENT), check("b")], NOW, POLICY).decision == history_pb2.GATE_DECISION_TOO_WEAK


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(0, 2000))
def test_in_force_from_its_first_moment_until_before_its_last(begin: int, end: int, now: int) -> None:
    evidence = unit("a", effective_from_time=Timestamp(seconds=begin), effective_to_time=Timestamp(seconds=end))
    assert in_force(evidence, Timestamp(seconds=now)) == (begin <= now < end)
    assert in_force(unit("a"), Timestamp(seconds=now))


def first_stage(
    text: str, *legs: activation_pb2.Pattern.ValueType, score: float = 0.0
) -> history_pb2.GateDecision.ValueType:
    passage = evidence_pb2.Passage(passage_id="a", text=text)
    candidate = evidence_pb2.Candidate(passage=passage, keyword_score=score, fused_score=score)
    for leg in legs:
        candidate.leg_ranks.add(leg=leg, rank=1)
    anchors = ["alarm", "delay", "device", "supply", "door"]
    return admit_first_stage([unit("a", None)], [check("a")], NOW, {"a": candidate}, anchors).decision


def test_the_first_stage_gate_reads_words_and_agreement_never_scores() -> None:
    keyword, dense = activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE
    assert first_stage("Each alarm has its delay before the device rings", keyword) == history_pb2.GATE_DECISION_PASS
    assert first_stage("Each alarm has its delay", keyword) == history_pb2.GATE_DECISION_TOO_WEAK
    assert first_stage("Each alarm has its delay", keyword, dense) == history_pb2.GATE_DECISION_PASS
    assert first_stage("Nothing of the kind", keyword, dense, score=99.0) == history_pb2.GATE_DECISION_TOO_WEAK
