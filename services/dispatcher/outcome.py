"""How a request ends, and what a person is told then. Abstaining is an answer like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from citemesh.v1 import answer_pb2, budget_pb2, document_pb2, history_pb2, question_pb2
from services.dispatcher.fallback import FALLBACKS

ANSWERED: Final = answer_pb2.ANSWER_OUTCOME_ANSWERED
CORRECTED: Final = answer_pb2.ANSWER_OUTCOME_ANSWERED_WITH_CORRECTIONS
ABSTAINED: Final = answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE
CLARIFICATION: Final = answer_pb2.ANSWER_OUTCOME_CLARIFICATION_NEEDED
WITHHELD: Final = answer_pb2.ANSWER_OUTCOME_WITHHELD_FOR_REVIEW
SOURCES_ONLY: Final = answer_pb2.ANSWER_OUTCOME_SOURCES_ONLY
UNAVAILABLE: Final = answer_pb2.ANSWER_OUTCOME_RETRIEVAL_UNAVAILABLE
NOT_AUTHORIZED: Final = answer_pb2.ANSWER_OUTCOME_NOT_AUTHORIZED

MESSAGES: Final[dict[answer_pb2.AnswerOutcome.ValueType, str]] = {
    ANSWERED: "",
    CORRECTED: "",
    ABSTAINED: "I cannot confirm that from the documents.",
    CLARIFICATION: "What would you like to know? Please say it in a full question.",
    WITHHELD: "An answer was found, but it did not pass validation. It is held back for review.",
    SOURCES_ONLY: "No validated answer could be given. These passages of the documents may help.",
    UNAVAILABLE: "Retrieval is temporarily unavailable. This says nothing about what the documents hold.",
    NOT_AUTHORIZED: "The request names a document that does not exist or that you may not read.",
}
"""CLARIFICATION's text is used only where the parsed question brings none of its own."""

_RANKS: Final = {ANSWERED: 4, CORRECTED: 4, WITHHELD: 3, SOURCES_ONLY: 2, ABSTAINED: 1, UNAVAILABLE: 0}


def outcome_without_pass(
    question: question_pb2.ParsedQuestion,
    scope: document_pb2.ScopeProfile,
    *,
    scope_is_known: bool,
    unreadable_count: int,
) -> answer_pb2.AnswerOutcome.ValueType | None:
    """How the request ends where no pass is needed; None where the documents are to be searched."""
    if question.need in (question_pb2.RETRIEVAL_NEED_SMALL_TALK, question_pb2.RETRIEVAL_NEED_TRANSFORM_TURN):
        return ANSWERED
    if question.need == question_pb2.RETRIEVAL_NEED_CLARIFY:
        return CLARIFICATION
    if unreadable_count > 0:
        return NOT_AUTHORIZED
    if scope_is_known and scope.document_count == 0:
        return ABSTAINED
    return None


def lacks_only_a_document(question: question_pb2.ParsedQuestion) -> bool:
    """Whether a question is to be asked back although it names a place, so that knowing the document would do."""
    named = question.retrieval.references or question.retrieval.section_hint
    return question.need == question_pb2.RETRIEVAL_NEED_CLARIFY and bool(named)


def complete_by_scope(
    question: question_pb2.ParsedQuestion, scope: document_pb2.ScopeProfile, named_count: int
) -> question_pb2.ParsedQuestion | None:
    """A question that lacks only a document, as one to search for; None where several documents could be meant.

    `named_count`: documents that the request's scope names, 0 for all. Those of them that are not in `scope` might be
    the one that is meant, too.
    """
    is_clear = scope.document_count == 1 or (scope.document_count > 1 and question.retrieval.document_hints)
    if not is_clear or scope.document_count < named_count:
        return None
    completed = question_pb2.ParsedQuestion()
    completed.CopyFrom(question)
    completed.need = question_pb2.RETRIEVAL_NEED_RETRIEVE
    completed.need_reason = "Names a place, and only one document can be meant."
    completed.ClearField("clarification_question")
    return completed


def outcome_of_pass(signals: history_pb2.PassSignals) -> answer_pb2.AnswerOutcome.ValueType:
    """How the request ends where this pass is the best."""
    if signals.failed_stage != budget_pb2.STAGE_UNSPECIFIED:
        return FALLBACKS[signals.failed_stage].outcome
    if signals.gate != history_pb2.GATE_DECISION_PASS or signals.claim_count == 0:
        return ABSTAINED
    if signals.release_decision != answer_pb2.RELEASE_DECISION_RELEASE:
        return WITHHELD
    return CORRECTED if signals.failed_verdicts else ANSWERED


def rank_pass(signals: history_pb2.PassSignals) -> tuple[int, bool, float]:
    """The order of passes from worse to better: validated first, then complete, then the generator's confidence."""
    complete = signals.complete_answer_found and not signals.pending_references
    return _RANKS[outcome_of_pass(signals)], complete, signals.confidence


def best_pass(history: Sequence[history_pb2.IterationRecord]) -> history_pb2.PassSignals:
    """The signals of the best pass; of equals, the later one, which has seen more."""
    place = max(range(len(history)), key=lambda place: (rank_pass(history[place].signals), place))
    return history[place].signals


def message_for(outcome: answer_pb2.AnswerOutcome.ValueType, question: question_pb2.ParsedQuestion) -> str:
    """What to tell a person; empty where the answer speaks for itself."""
    if outcome == CLARIFICATION and question.clarification_question:
        return question.clarification_question
    return MESSAGES[outcome]
