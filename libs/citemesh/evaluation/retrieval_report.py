"""Sums up what a judged collection's searches found: one estimate for each way and measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from citemesh.evaluation.collection_ingest import store_id
from citemesh.evaluation.found_passages import WAYS, Searched
from citemesh.evaluation.ranking_measures import (
    Estimate,
    character_recall,
    estimate,
    has_all,
    ndcg,
    recall,
    reciprocal_rank,
)

Grades = Mapping[str, float]
_MEASURES: Final[dict[str, Callable[[Sequence[str], Grades], float]]] = {
    "ndcg@10": lambda ranked, grades: ndcg(ranked, grades, 10),
    "mrr@10": lambda ranked, grades: reciprocal_rank(ranked, grades, 10),
    "recall@10": lambda ranked, grades: recall(ranked, grades, 10),
    "recall@100": lambda ranked, grades: recall(ranked, grades, 100),
    "all@10": lambda ranked, grades: has_all(ranked, grades, 10),
}
SPAN_DEPTHS: Final = (4, 16, 64)
"""Passages read for the share of characters found."""

Summary = dict[str, dict[str, Estimate]]
"""Way -> measure -> estimate over the queries."""


def summarize(searched: Sequence[Searched]) -> Summary:
    """Measures of document rankings over the queries with judged documents, "characters@N" over those with spans.

    "characters@N" is the mean share of the wanted characters that stand in the first N passages.
    """
    judged = [each for each in searched if each.query.grades]
    spanned = [each for each in searched if each.query.spans]
    summary: Summary = {}
    for way in _ways(searched):
        measured: dict[str, Estimate] = {}
        if judged:
            ranked = [(each.documents(way), _grades(each)) for each in judged]
            for name, measure in _MEASURES.items():
                measured[name] = estimate([measure(documents, grades) for documents, grades in ranked])
        if spanned:
            for depth in SPAN_DEPTHS:
                measured[f"characters@{depth}"] = estimate([_found_share(each, way, depth) for each in spanned])
        summary[way] = measured
    return summary


def summarize_sets(searched: Sequence[Searched]) -> dict[str, Summary]:
    """Set name -> summary of its queries; empty where all queries are of one set."""
    sets: dict[str, list[Searched]] = {}
    for each in searched:
        sets.setdefault(each.query.set_name, []).append(each)
    return {name: summarize(sets[name]) for name in sorted(sets)} if len(sets) > 1 else {}


def as_plain(summary: Summary) -> dict[str, Any]:
    """For JSON: means under "legs", by way and measure, and 95 % intervals in the same shape under "intervals"."""
    return {
        "legs": {way: {name: _round(each.mean) for name, each in row.items()} for way, row in summary.items()},
        "intervals": {
            way: {name: [_round(each.low), _round(each.high)] for name, each in row.items()}
            for way, row in summary.items()
        },
    }


def _round(value: float) -> float:
    return round(value, 4)


def _ways(searched: Iterable[Searched]) -> list[str]:
    """The ways that were searched in, in their order."""
    found = [set(each.passages) for each in searched]
    return [way for way in WAYS if found and all(way in each for each in found)]


def _grades(searched: Searched) -> dict[str, float]:
    return {store_id(document_id): grade for document_id, grade in searched.query.grades.items()}


def _found_share(searched: Searched, way: str, depth: int) -> float:
    found_count = wanted_count = 0
    read = searched.passages[way][:depth]
    for document_id in {store_id(span.document_id) for span in searched.query.spans}:
        wanted = [(span.start, span.end) for span in searched.query.spans if store_id(span.document_id) == document_id]
        spans = [passage.span for passage in read if passage.document_id == document_id and passage.span is not None]
        found, of = character_recall(wanted, spans)
        found_count, wanted_count = found_count + found, wanted_count + of
    return found_count / wanted_count if wanted_count else 0.0
