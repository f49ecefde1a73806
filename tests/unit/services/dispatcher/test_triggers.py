"""Each trigger with the least that fires it, their order, and what each proposes."""

from __future__ import annotations

from typing import Any

import pytest

from citemesh.v1 import answer_pb2, document_pb2, history_pb2, question_pb2, retrieval_pb2
from services.dispatcher.state import Proposal
from services.dispatcher.triggers import TRIGGERS, propose
from tests.unit.services.dispatcher.records import (
    FAILED,
    PAGE,
    SATISFIED,
    TABLE_3,
    TABLE_4,
    make_case,
    make_history,
    make_signals,
)

LISTING = question_pb2.INTENT_LISTING
PARTS: dict[str, Any] = {"sub_questions": ["Which alarms?", "How long do they wait?"]}

FIRING: list[tuple[dict[str, Any], dict[str, Any], history_pb2.Trigger.ValueType, history_pb2.Action.ValueType]] = [
    (
        {"context_structured": False, "unstructured_pages": [PAGE]},
        {},
        history_pb2.TRIGGER_UNSTRUCTURED_CONTEXT,
        history_pb2.ACTION_REPARSE_PAGES,
    ),
    (
        {"discovered_keywords": ["siren"]},
        {},
        history_pb2.TRIGGER_DISCOVERED_VOCABULARY,
        history_pb2.ACTION_EXPAND_KEYWORDS,
    ),
    (
        {"pending_references": [TABLE_3]},
        {},
        history_pb2.TRIGGER_PENDING_REFERENCES,
        history_pb2.ACTION_FOLLOW_REFERENCES,
    ),
    (
        {"unanswered_sub_questions": [1]},
        PARTS,
        history_pb2.TRIGGER_INCOMPLETE_ANSWER,
        history_pb2.ACTION_RETRIEVE_SUB_QUESTIONS,
    ),
    ({}, {"intent": LISTING}, history_pb2.TRIGGER_INCOMPLETE_ANSWER, history_pb2.ACTION_WIDEN_LISTING),
    ({}, {}, history_pb2.TRIGGER_INCOMPLETE_ANSWER, history_pb2.ACTION_RETRIEVE_SUB_QUESTIONS),
    (
        {"expected_count": 3, "item_count": 2},
        {"intent": LISTING},
        history_pb2.TRIGGER_CARDINALITY_MISMATCH,
        history_pb2.ACTION_WIDEN_LISTING,
    ),
    (
        {"expected_count": 3, "item_count": 5},
        {"intent": LISTING},
        history_pb2.TRIGGER_CARDINALITY_MISMATCH,
        history_pb2.ACTION_NARROW_LISTING,
    ),
    (
        {"failed_verdicts": [FAILED], "complete_answer_found": True},
        {},
        history_pb2.TRIGGER_FAILED_VALIDATION,
        history_pb2.ACTION_CORRECT_ANSWER,
    ),
    (
        {
            "failed_verdicts": [answer_pb2.ClaimVerdict(verdict=answer_pb2.VERDICT_WRONG_VERSION)],
            "complete_answer_found": True,
        },
        {},
        history_pb2.TRIGGER_FAILED_VALIDATION,
        history_pb2.ACTION_RETRIEVE_AGAIN,
    ),
]


@pytest.mark.parametrize(("signals", "question", "trigger", "action"), FIRING)
def test_trigger(
    signals: dict[str, Any],
    question: dict[str, Any],
    trigger: history_pb2.Trigger.ValueType,
    action: history_pb2.Action.ValueType,
) -> None:
    proposal = propose(make_case(**question), make_history(make_signals(**signals)))
    assert proposal is not None
    assert (proposal.trigger, proposal.action) == (trigger, action)
    assert proposal.words


def test_every_trigger_is_covered_and_in_the_order_of_the_contract() -> None:
    fired = {case[2] for case in FIRING}
    assert fired == {value for value in history_pb2.Trigger.values() if value > history_pb2.TRIGGER_FIRST_PASS}
    everything = make_signals(
        context_structured=False,
        unstructured_pages=[PAGE],
        discovered_keywords=["siren"],
        pending_references=[TABLE_3],
        unanswered_sub_questions=[1],
        failed_verdicts=[FAILED],
    )
    history = make_history(everything)
    fired_in_order = [proposal.trigger for trigger in TRIGGERS if (proposal := trigger(make_case(**PARTS), history))]
    assert fired_in_order == sorted(fired_in_order)
    assert fired_in_order[0] == history_pb2.TRIGGER_UNSTRUCTURED_CONTEXT


def test_a_complete_and_validated_answer_fires_nothing() -> None:
    assert propose(make_case(), make_history(make_signals(**SATISFIED))) is None


def test_only_the_flagged_pages_are_parsed_again() -> None:
    history = make_history(make_signals(context_structured=False, unstructured_pages=[PAGE]))
    proposal = propose(make_case(), history)
    assert proposal is not None
    assert proposal.pages == (PAGE,)


def test_pages_without_text_count_as_flagged_where_scans_are_in_scope_and_nothing_was_found() -> None:
    profile = document_pb2.DocumentProfile(document_id="scan", pages_without_text=[1, 2], likely_scanned=True)
    scope = document_pb2.ScopeProfile(document_count=1, profiles=[profile], likely_scanned_count=1)
    weak = make_history(make_signals(gate=history_pb2.GATE_DECISION_NO_EVIDENCE, claim_count=0))
    proposal = propose(make_case(scope=scope), weak)
    assert proposal is not None
    assert [page.page_number for page in proposal.pages] == [1, 2]


def test_pages_that_were_read_in_vain_are_not_proposed_again() -> None:
    def reading(page: int, outcome: document_pb2.PageReadingOutcome.ValueType) -> document_pb2.PageReading:
        return document_pb2.PageReading(page_number=page, strategy=document_pb2.PARSING_STRATEGY_OCR, outcome=outcome)

    profile = document_pb2.DocumentProfile(
        document_id="scan",
        pages_without_text=[1, 2, 3],
        likely_scanned=True,
        page_readings=[
            reading(1, document_pb2.PAGE_READING_OUTCOME_NOTHING_FOUND),
            reading(2, document_pb2.PAGE_READING_OUTCOME_OUT_OF_TIME),
        ],
    )
    scope = document_pb2.ScopeProfile(document_count=1, profiles=[profile], likely_scanned_count=1)
    weak = make_history(make_signals(gate=history_pb2.GATE_DECISION_NO_EVIDENCE, claim_count=0))
    proposal = propose(make_case(scope=scope), weak)
    assert proposal is not None
    assert [page.page_number for page in proposal.pages] == [2, 3]


def test_words_already_searched_are_no_discovery() -> None:
    proposal = propose(make_case(documents=2), make_history(make_signals(discovered_keywords=["ALARMS "])))
    assert proposal is None


def test_places_already_followed_give_way_to_new_ones() -> None:
    first = make_signals(pending_references=[TABLE_3])
    second = make_signals(pending_references=[TABLE_3, TABLE_4], followed_references=[TABLE_3])
    proposal = propose(make_case(), make_history(first, second))
    assert proposal is not None
    assert proposal.references == (TABLE_4,)


def test_a_listing_widens_step_by_step_and_then_no_further() -> None:
    case = make_case(intent=LISTING)
    passes, scopes = [make_signals()], []
    proposals: list[Proposal] = []
    while isinstance(proposal := propose(case, make_history(*passes, proposals=tuple(proposals))), Proposal):
        if proposal.action != history_pb2.ACTION_WIDEN_LISTING:
            break
        scopes.append(proposal.listing_scope)
        proposals.append(proposal)
        passes.append(make_signals())
    assert scopes == [retrieval_pb2.LISTING_SCOPE_PARENT_SECTION, retrieval_pb2.LISTING_SCOPE_DOCUMENT]


def test_a_second_failure_retrieves_again_instead_of_correcting_again() -> None:
    failed = make_signals(failed_verdicts=[FAILED], complete_answer_found=True)
    corrected = Proposal(
        history_pb2.TRIGGER_FAILED_VALIDATION, history_pb2.ACTION_CORRECT_ANSWER, "have the answer corrected"
    )
    proposal = propose(make_case(), make_history(failed, failed, proposals=(corrected,)))
    assert proposal is not None
    assert proposal.action == history_pb2.ACTION_RETRIEVE_AGAIN
