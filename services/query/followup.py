"""Whether a first retrieval calls for a second, and which: the contract {query, retrieval {mode, targets}}."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from citemesh.text.function_words import is_function_word
from citemesh.v1.activation_pb2 import Pattern
from citemesh.v1.evidence_pb2 import Candidate
from citemesh.v1.query_pb2 import FollowUpDecision, FollowUpRetrieval
from citemesh.v1.question_pb2 import Intent, ParsedQuestion, RetrievalMode
from services.query.lexicon import GENERIC_WORDS
from services.query.words import split_words

_ENOUGH_COVERED: Final = 0.5  # of a part's content words that the candidates hold
_READ_CANDIDATES: Final = 10
_STEM: Final = 6  # letters that two forms of a word share


def decide_follow_up(
    question: ParsedQuestion, candidates: Sequence[Candidate], available: Sequence[Pattern.ValueType]
) -> FollowUpDecision:
    """Decide by what the best candidates hold; targets are always among `available`."""
    query = question.standalone_question or question.original_question
    if not available:
        return _none(query)
    if not candidates:
        rewrite = next(iter(question.retrieval.rewrites), query)
        return FollowUpDecision(query=rewrite, retrieval=FollowUpRetrieval(mode=RetrievalMode.RETRIEVAL_MODE_ALL))
    read = candidates[:_READ_CANDIDATES]
    missing = _find_missing_reference(question, read)
    if missing and Pattern.PATTERN_TWO_HOP_REFERENCES in available:
        return _selected(f"{query} {missing}", [Pattern.PATTERN_TWO_HOP_REFERENCES])
    uncovered = _find_uncovered_part(question, read)
    legs = [leg for leg in (Pattern.PATTERN_KEYWORD, Pattern.PATTERN_DENSE) if leg in available]
    if uncovered and legs:
        return _selected(uncovered, legs)
    if (
        question.intent == Intent.INTENT_LISTING
        and Pattern.PATTERN_LISTING_AGGREGATION in available
        and not _has_listing(read)
    ):
        return _selected(query, [Pattern.PATTERN_LISTING_AGGREGATION])
    return _none(query)


def _none(query: str) -> FollowUpDecision:
    return FollowUpDecision(query=query, retrieval=FollowUpRetrieval(mode=RetrievalMode.RETRIEVAL_MODE_NONE))


def _selected(query: str, targets: list[Pattern.ValueType]) -> FollowUpDecision:
    return FollowUpDecision(
        query=query, retrieval=FollowUpRetrieval(mode=RetrievalMode.RETRIEVAL_MODE_SELECTED, targets=targets)
    )


def _find_missing_reference(question: ParsedQuestion, candidates: Sequence[Candidate]) -> str:
    """The first labelled place that the question names and that no candidate is the place of; empty where none."""
    labels = {candidate.passage.label for candidate in candidates}
    numbers = {
        f"section {candidate.passage.section_number}" for candidate in candidates if candidate.passage.section_number
    }
    for reference in question.retrieval.references:
        if reference.label not in labels | numbers:
            return reference.surface
    return ""


def _find_uncovered_part(question: ParsedQuestion, candidates: Sequence[Candidate]) -> str:
    held = {
        _stem(word.lower)
        for candidate in candidates
        for word in split_words(f"{candidate.passage.title} {candidate.passage.text}")
    }
    for part in question.sub_questions:
        content = {
            _stem(word.lower)
            for word in split_words(part)
            if not is_function_word(word.lower) and word.lower not in GENERIC_WORDS
        }
        if content and len(content & held) / len(content) < _ENOUGH_COVERED:
            return part
    return ""


def _has_listing(candidates: Sequence[Candidate]) -> bool:
    return any(
        rank.leg == Pattern.PATTERN_LISTING_AGGREGATION for candidate in candidates for rank in candidate.leg_ranks
    )


def _stem(word: str) -> str:
    return word[:_STEM]
