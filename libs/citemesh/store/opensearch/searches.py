"""The queries that search passages, each with tenant and versions inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from citemesh.store.contract import Vectors, VersionFilter
from citemesh.store.keyword_query import EXACT_BOOST, FIELD_BOOSTS, NEAR_BOOST, NEAR_WORDS, KeywordQuery

# The server takes 65,536 terms in one clause.
_TERMS_PER_CLAUSE: Final = 50_000
_EXPLORED: Final = 256

Query = dict[str, Any]


def of_tenant(versions: VersionFilter) -> Query:
    """What every query has beside what it asks for."""
    return {"term": {"tenant_id": versions.tenant_id}}


def within(versions: VersionFilter) -> list[Query]:
    """What every search is filtered by."""
    keys = list(versions.version_keys)
    clauses = [
        {"terms": {"version_key": keys[start : start + _TERMS_PER_CLAUSE]}}
        for start in range(0, len(keys), _TERMS_PER_CLAUSE)
    ]
    allowed = clauses[0] if len(clauses) == 1 else {"bool": {"should": clauses, "minimum_should_match": 1}}
    return [of_tenant(versions), allowed]


def any_of(field: str, values: Sequence[str]) -> Query:
    """Whatever holds one of `values`; the more and the rarer, the better."""
    if not values:
        return {"match_none": {}}
    return {"bool": {"should": [_term(field, value, 1.0) for value in values], "minimum_should_match": 1}}


def filtered(query: Query, versions: VersionFilter) -> Query:
    """`query` within `versions`."""
    return {"bool": {"must": [query], "filter": within(versions)}}


def words_query(asked: KeywordQuery) -> Query:
    """Words by how often they are asked for, identifiers as written, and neighbours near each other."""
    parts = [_word_query(forms, times) for forms, times in asked.words]
    parts += [_term("exact", name, EXACT_BOOST) for name in asked.identifiers]
    for pair in asked.neighbours:
        near = {"query": " ".join(pair), "slop": NEAR_WORDS, "boost": NEAR_BOOST}
        parts.append({"match_phrase": {"text": near}})
    return {"bool": {"should": parts, "minimum_should_match": 1}}


def exact_query(vector: Vectors, versions: VersionFilter) -> Query:
    """Compares with each allowed passage; its measure is (1 + cosine) / 2."""
    parameters = {"field": "vector", "query_value": vector.tolist(), "space_type": "cosinesimil"}
    return {
        "script_score": {
            "query": {"bool": {"filter": within(versions)}},
            "script": {"lang": "knn", "source": "knn_score", "params": parameters},
        }
    }


def graph_query(vector: Vectors, versions: VersionFilter, limit: int) -> Query:
    """Follows the graph; its measure is (1 + cosine) / 2."""
    return {
        "knn": {
            "vector": {
                "vector": vector.tolist(),
                "k": limit,
                "filter": {"bool": {"filter": within(versions)}},
                "method_parameters": {"ef_search": max(_EXPLORED, 2 * limit)},
            }
        }
    }


def _word_query(forms: Sequence[str], boost: float) -> Query:
    """One word in all fields; of its forms in several languages the best one counts, not their sum."""
    queries = [
        {"bool": {"should": [_term(field, form, boost * weight) for field, weight in FIELD_BOOSTS.items()]}}
        for form in forms
    ]
    return {"dis_max": {"queries": queries}}


def _term(field: str, value: str, boost: float) -> Query:
    return {"term": {field: {"value": value, "boost": boost}}}
