"""Which words are searched by which leg. The original question is always among them; rewrites add, never replace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from citemesh.v1 import activation_pb2, question_pb2, retrieval_pb2
from services.dispatcher.words import fold

Patterns = frozenset[activation_pb2.Pattern.ValueType]

MAX_QUERIES: Final = 32
_MAX_REWRITES: Final = 4

_TOC: Final = activation_pb2.PATTERN_TOC
_KEYWORD: Final = activation_pb2.PATTERN_KEYWORD
_DENSE: Final = activation_pb2.PATTERN_DENSE

_SECTION_NUMBER: Final = re.compile(r"[A-Z]?\d+(\.\d+)*|[A-Z](\.\d+)+", re.IGNORECASE)


def early_queries(question: str) -> tuple[retrieval_pb2.LegQuery, ...]:
    """What can be searched before anything is understood: the question as it was asked, by its words."""
    return (retrieval_pb2.LegQuery(leg=_KEYWORD, text=question),)


def first_queries(
    question: question_pb2.ParsedQuestion, patterns: Patterns, searched: Iterable[retrieval_pb2.LegQuery] = ()
) -> tuple[retrieval_pb2.LegQuery, ...]:
    """The queries of the first pass for the legs that are on, without those that were `searched` already."""
    standalone = question.standalone_question or question.original_question
    plan = question.retrieval
    anchors = " ".join(plan.anchor_keywords)
    wordings = (question.original_question, standalone, plan.main_query, *question.sub_questions)
    texts = {
        _TOC: (standalone, plan.main_query),
        # Other words help where words must match; a vector is near its paraphrases anyway.
        _KEYWORD: (*wordings, *plan.rewrites[:_MAX_REWRITES], anchors),
        _DENSE: wordings,
    }
    return _distinct(
        ((leg, text) for leg in (_TOC, _KEYWORD, _DENSE) if leg in patterns for text in texts[leg]), searched
    )


def keyword_queries(
    question: question_pb2.ParsedQuestion, keywords: Sequence[str], patterns: Patterns
) -> tuple[retrieval_pb2.LegQuery, ...]:
    """The queries of a pass with more keywords, the question's own always among them."""
    words = " ".join(keywords)
    dense = f"{question.standalone_question or question.original_question} {words}"
    pairs = [(_KEYWORD, words)] + [(_DENSE, dense)] * (_DENSE in patterns)
    return _distinct(pairs)


def part_queries(parts: Sequence[str]) -> tuple[retrieval_pb2.LegQuery, ...]:
    """The queries for parts without an answer: by words and by meaning, whatever was on before."""
    return _distinct((leg, part) for part in parts for leg in (_KEYWORD, _DENSE))


def swap_legs(queries: Iterable[retrieval_pb2.LegQuery]) -> tuple[retrieval_pb2.LegQuery, ...]:
    """The same words by the other leg: for where the one that was asked is down."""
    other = {_KEYWORD: _DENSE, _DENSE: _KEYWORD}
    return _distinct((other[query.leg], query.text) for query in queries if query.leg in other)


def named_references(question: question_pb2.ParsedQuestion) -> tuple[question_pb2.Reference, ...]:
    """The labelled places that the question itself names, a numbered section hint included."""
    references = list(question.retrieval.references)
    hint = question.retrieval.section_hint.strip()
    if _SECTION_NUMBER.fullmatch(hint):
        label = f"section {fold(hint)}"
        if all(reference.label != label for reference in references):
            references.append(
                question_pb2.Reference(kind=question_pb2.REFERENCE_KIND_SECTION, label=label, surface=f"Section {hint}")
            )
    return tuple(references)


def _distinct(
    pairs: Iterable[tuple[activation_pb2.Pattern.ValueType, str]], searched: Iterable[retrieval_pb2.LegQuery] = ()
) -> tuple[retrieval_pb2.LegQuery, ...]:
    seen = {(query.leg, fold(query.text)) for query in searched}
    queries = []
    for leg, text in pairs:
        key = (leg, fold(text))
        if key[1] and key not in seen:
            seen.add(key)
            queries.append(retrieval_pb2.LegQuery(leg=leg, text=text))
    return tuple(queries[:MAX_QUERIES])
