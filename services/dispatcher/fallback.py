"""What takes a stage's place where it fails: one table. No row skips a rule of access, version or citation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from citemesh.v1 import answer_pb2, budget_pb2, question_pb2


@dataclass(frozen=True, slots=True)
class Fallback:
    """One row. `branch` names what takes the stage's place; empty: nothing does.

    `outcome` is how the request ends where nothing takes its place, or where the pipeline says to stop.
    """

    branch: str
    outcome: answer_pb2.AnswerOutcome.ValueType


_UNAVAILABLE: Final = answer_pb2.ANSWER_OUTCOME_RETRIEVAL_UNAVAILABLE
_SOURCES: Final = answer_pb2.ANSWER_OUTCOME_SOURCES_ONLY

FALLBACKS: Final[dict[budget_pb2.Stage.ValueType, Fallback]] = {
    budget_pb2.STAGE_UNDERSTAND: Fallback("original_question", _UNAVAILABLE),
    budget_pb2.STAGE_PROFILE: Fallback("unknown_scope", _UNAVAILABLE),
    budget_pb2.STAGE_RETRIEVE: Fallback("", _UNAVAILABLE),
    budget_pb2.STAGE_FOLLOW_REFERENCES: Fallback("without_references", _UNAVAILABLE),
    budget_pb2.STAGE_LIST_ITEMS: Fallback("without_listing", _UNAVAILABLE),
    budget_pb2.STAGE_DECIDE_FOLLOW_UP: Fallback("no_follow_up", _UNAVAILABLE),
    budget_pb2.STAGE_REPARSE: Fallback("as_first_parsed", _UNAVAILABLE),
    # First-stage values are not relevance: what stands in for it has a gate of its own (gate.admit_first_stage).
    budget_pb2.STAGE_RERANK: Fallback("first_stage", _SOURCES),
    budget_pb2.STAGE_ASSEMBLE: Fallback("fused_order", _SOURCES),
    # What cannot be checked is not shown: neither an answer nor a source.
    budget_pb2.STAGE_RECHECK: Fallback("", _UNAVAILABLE),
    budget_pb2.STAGE_GATE: Fallback("", _UNAVAILABLE),
    budget_pb2.STAGE_GENERATE: Fallback("", _SOURCES),
    # The answer exists and is not released; the passages, checked apart, may be shown.
    budget_pb2.STAGE_VALIDATE: Fallback("", _SOURCES),
}
"""Inside retrieval.Retrieve one failed leg leaves the other, as its leg reports say; the stage fails with both."""


def parse_plainly(question: str) -> question_pb2.ParsedQuestion:
    """What is known of a question that nobody understood: its own words, to be searched for."""
    words = tuple(dict.fromkeys(word.strip(".,;:!?\"'()") for word in question.split()))
    keywords = [word for word in words if len(word) > 3 or any(letter.isdigit() for letter in word)]
    return question_pb2.ParsedQuestion(
        original_question=question,
        standalone_question=question,
        language="und",
        keywords=keywords,
        need=question_pb2.RETRIEVAL_NEED_RETRIEVE,
        need_reason="the question was not understood further, so its own words are searched for",
        retrieval=question_pb2.RetrievalPlan(
            main_query=question, anchor_keywords=keywords[:15], mode=question_pb2.RETRIEVAL_MODE_ALL
        ),
    )
