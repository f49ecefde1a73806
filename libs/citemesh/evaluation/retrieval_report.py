"""Sums up what a judged collection's searches found: one estimate for each way and measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from citemesh.evaluation.judged_collection import Collection
from citemesh.evaluation.ranking_measures import (
    Estimate,
    character_recall,
    estimate,
    has_all,
    ndcg,
    recall,
    reciprocal_rank,
)
from citemesh.evaluation.retrieval_run import WAYS, Searched, find_spans, store_id

Grades = Mapping[str, float]
_MEASURES: Final[dict[str, Callable[[Sequence[str], Grades], float]]] = {
    "nDCG@10": lambda ranked, grades: ndcg(ranked, grades, 10),
    "MRR@10": lambda ranked, grades: reciprocal_rank(ranked, grades, 10),
    "recall@10": lambda ranked, grades: recall(ranked, grades, 10),
    "recall@100": lambda ranked, grades: recall(ranked, grades, 100),
    "all in 10": lambda ranked, grades: has_all(ranked, grades, 10),
}
SPAN_DEPTHS: Final = (4, 16, 64)
"""Passages read for the share of characters found."""

Summary = dict[str, dict[str, Estimate]]
"""Way -> measure -> estimate over the queries."""


def summarize_documents(searched: Sequence[Searched]) -> Summary:
    """Measures of document rankings, over the queries that have judged documents; empty where none has."""
    judged = [(each, {store_id(item): grade for item, grade in each.query.grades.items()}) for each in searched]
    judged = [(each, grades) for each, grades in judged if grades]
    if not judged:
        return {}
    return {
        way: {
            name: estimate([measure(each.documents(way), grades) for each, grades in judged])
            for name, measure in _MEASURES.items()
        }
        for way in _ways(searched)
    }


def summarize_spans(collection: Collection, searched: Sequence[Searched]) -> dict[str, Summary]:
    """Set name -> way -> "characters@N": the mean share of the wanted characters in the first N passages."""
    texts = {store_id(document.document_id): document.text for document in collection.documents}
    rows: dict[str, list[Searched]] = {}
    for each in searched:
        if each.query.spans:
            rows.setdefault(each.query.set_name, []).append(each)
    return {
        name: {
            way: {
                f"characters@{depth}": estimate([_found_share(each, way, depth, texts) for each in found])
                for depth in SPAN_DEPTHS
            }
            for way in _ways(found)
        }
        for name, found in sorted(rows.items())
    }


def _ways(searched: Iterable[Searched]) -> list[str]:
    """The ways that were searched in, in their order."""
    return [way for way in WAYS if all(way in each.passages for each in searched)]


def _found_share(searched: Searched, way: str, depth: int, texts: Mapping[str, str]) -> float:
    found_count = wanted_count = 0
    read = searched.passages[way][:depth]
    for document_id in {store_id(span.document_id) for span in searched.query.spans}:
        wanted = [(span.start, span.end) for span in searched.query.spans if store_id(span.document_id) == document_id]
        passages = [passage for passage in read if passage.document_id == document_id]
        found, of = character_recall(wanted, find_spans(texts[document_id], passages))
        found_count, wanted_count = found_count + found, wanted_count + of
    return found_count / wanted_count if wanted_count else 0.0


def as_plain(summary: Summary) -> dict[str, dict[str, dict[str, Any]]]:
    """The summary for JSON, rounded to four places."""
    return {
        way: {
            name: {key: round(value, 4) for key, value in asdict(measured).items()}
            for name, measured in measures.items()
        }
        for way, measures in summary.items()
    }
