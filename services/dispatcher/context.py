"""Which candidates a pass is about: what it was led to, then the best few. The assembler chooses among these alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from citemesh.v1 import activation_pb2, evidence_pb2, question_pb2

_HINTED_KINDS: Final = {
    question_pb2.LAYOUT_HINT_TABLE: evidence_pb2.PASSAGE_KIND_TABLE,
    question_pb2.LAYOUT_HINT_FIGURE: evidence_pb2.PASSAGE_KIND_FIGURE_CAPTION,
}


def choose_candidates(
    candidates: Mapping[str, evidence_pb2.Candidate],
    required: Sequence[str],
    held_back: Iterable[str],
    max_count: int,
) -> tuple[str, ...]:
    """Passage ids, best first: the required ones, then the best of the others, `max_count` in all or all required."""
    first = [item for item in dict.fromkeys(required) if item in candidates]
    out = {*first, *held_back}
    others = [item for item in candidates if item not in out]
    return (*first, *others[: max(0, max_count - len(first))])


def find_held_back(
    question: question_pb2.ParsedQuestion,
    patterns: frozenset[activation_pb2.Pattern.ValueType],
    candidates: Mapping[str, evidence_pb2.Candidate],
) -> frozenset[str]:
    """Places of the kind that the question hints at, which the first pass leaves to two-hop retrieval.

    Which table is meant is said by the text that refers to it, not by the words in its cells: such a place is read once
    that text has named it, and then the history says why. Only places that some other candidate refers to are left out.
    """
    kind = _HINTED_KINDS.get(question.retrieval.layout_hint)
    if kind is None or activation_pb2.PATTERN_TWO_HOP_REFERENCES not in patterns:
        return frozenset()
    named = {
        (candidate.passage.document_id, reference.label)
        for candidate in candidates.values()
        for reference in candidate.passage.references
        if reference.label != candidate.passage.label
    }
    return frozenset(
        passage_id
        for passage_id, candidate in candidates.items()
        if candidate.passage.kind == kind and (candidate.passage.document_id, candidate.passage.label) in named
    )
