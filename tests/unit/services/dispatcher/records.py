"""Passes and histories made by hand, for the tests of the pure modules."""

from __future__ import annotations

from typing import Any

from citemesh.v1 import (
    answer_pb2,
    budget_pb2,
    dispatcher_pb2,
    document_pb2,
    history_pb2,
    question_pb2,
)
from services.dispatcher.record import build_record
from services.dispatcher.resolve import Facts, resolve
from services.dispatcher.settings import DispatcherSettings
from services.dispatcher.stages import to_duration
from services.dispatcher.state import FIRST_PASS, Case, Proposal

POLICY = DispatcherSettings().policy()
TABLE_3 = question_pb2.Reference(kind=question_pb2.REFERENCE_KIND_TABLE, label="table 3", surface="Table 3")
TABLE_4 = question_pb2.Reference(kind=question_pb2.REFERENCE_KIND_TABLE, label="table 4", surface="Table 4")
FAILED = answer_pb2.ClaimVerdict(claim_id="C1", verdict=answer_pb2.VERDICT_UNSUPPORTED)
PAGE = answer_pb2.PageRef(document_id="d", page_number=3)


def make_case(
    *,
    documents: int = 1,
    scope: document_pb2.ScopeProfile | None = None,
    policy: dispatcher_pb2.Policy = POLICY,
    **question: Any,
) -> Case:
    """A case whose activations follow from its question and scope."""
    parsed = question_pb2.ParsedQuestion(
        **{
            "original_question": "Which alarms?",
            "language": "en",
            "intent": question_pb2.INTENT_FACTOID,
            "need": question_pb2.RETRIEVAL_NEED_RETRIEVE,
            "retrieval": question_pb2.RetrievalPlan(anchor_keywords=["alarms"]),
            **question,
        }
    )
    profile = scope or document_pb2.ScopeProfile(document_count=documents, languages=["en"])
    return Case(parsed, profile, resolve(Facts(parsed, profile)), policy)


def make_signals(**changes: Any) -> history_pb2.PassSignals:
    """A pass that answered, incompletely, with time and budget left."""
    values: dict[str, Any] = {
        "gate": history_pb2.GATE_DECISION_PASS,
        "complete_answer_found": False,
        "confidence": 0.6,
        "context_structured": True,
        "claim_count": 1,
        "release_decision": answer_pb2.RELEASE_DECISION_RELEASE,
        "candidate_ids": ["p1", "p2"],
        "evidence_ids": ["p1"],
        "keywords": ["alarms"],
        "budget_left": budget_pb2.Budget(max_iterations=3, max_model_calls=8, max_model_token_count=1000),
        "time_left_duration": to_duration(20.0),
        "pass_duration": to_duration(1.0),
    }
    return history_pb2.PassSignals(**{**values, **changes})


SATISFIED: dict[str, Any] = {"complete_answer_found": True, "confidence": 0.9}


def make_history(
    *passes: history_pb2.PassSignals, proposals: tuple[Proposal, ...] = ()
) -> list[history_pb2.IterationRecord]:
    """The records of these passes; the first pass's proposal is FIRST_PASS, the others' are given."""
    all_proposals = (FIRST_PASS, *proposals)
    history: list[history_pb2.IterationRecord] = []
    for place, signals in enumerate(passes):
        proposal = (
            all_proposals[place]
            if place < len(all_proposals)
            else Proposal(
                history_pb2.TRIGGER_INCOMPLETE_ANSWER, history_pb2.ACTION_RETRIEVE_SUB_QUESTIONS, f"search {place}"
            )
        )
        before = history[-1].signals if history else None
        history.append(build_record(place + 1, proposal, before, signals))
    return history
