"""The queries that search passages, each with tenant and versions inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from citemesh.store.contract import Vectors, VersionFilter
from citemesh.store.embedded.analysis import content_words, find_identifiers, split_words, word_forms
from citemesh.store.embedded.keyword_search import EXACT_BOOST, FIELD_BOOSTS, NEAR_BOOST, NEAR_WORDS

MAX_QUERY_WORDS: Final = 64
_MAX_QUERY_PAIRS: Final = 24
# The server takes 65,536 terms in one clause.
_TERMS_PER_CLAUSE: Final = 50_000
_EXPLORED: Final = 256

Query = dict[str, Any]


def within(versions: VersionFilter) -> list[Query]:
    """What every search is filtered by."""
    keys = list(versions.version_keys)
    clauses = [
        {"terms": {"version_key": keys[start : start + _TERMS_PER_CLAUSE]}}
        for start in range(0, len(keys), _TERMS_PER_CLAUSE)
    ]
    allowed = clauses[0] if len(clauses) == 1 else {"bool": {"should": clauses, "minimum_should_match": 1}}
    return [{"term": {"tenant_id": versions.tenant_id}}, allowed]


def filtered(query: Query, versions: VersionFilter) -> Query:
    """`query` within `versions`."""
    return {"bool": {"must": [query], "filter": within(versions)}}


def words_query(text: str, languages: Sequence[str]) -> Query | None:
    """Words by how often they are asked for, identifiers as written, and neighbours near each other; None: no words."""
    words = content_words(text, languages)[:MAX_QUERY_WORDS]
    counts = Counter(split_words(text))
    parts = [_word_query(word, languages, float(max(1, counts[word]))) for word in words]
    for name in list(dict.fromkeys(find_identifiers(text)))[:MAX_QUERY_WORDS]:
        parts.append(_term("exact", name, EXACT_BOOST))
    for pair in pairwise(words[: _MAX_QUERY_PAIRS + 1]):
        stems = [word_forms(word, languages)[:1] for word in pair]
        if all(stems):
            phrase = " ".join(stem for (stem,) in stems)
            parts.append({"match_phrase": {"text": {"query": phrase, "slop": NEAR_WORDS, "boost": NEAR_BOOST}}})
    return {"bool": {"should": parts, "minimum_should_match": 1}} if parts else None


def occurs_query(word: str, languages: Sequence[str]) -> Query | None:
    """Whatever holds `word` in some form; None where it has none."""
    parts = [_term(field, form, 1.0) for form in word_forms(word, languages) for field in FIELD_BOOSTS]
    return {"bool": {"should": parts, "minimum_should_match": 1}} if parts else None


def exact_query(vector: Vectors, versions: VersionFilter) -> Query:
    """Compares with each allowed passage; its measure is 1 + cosine."""
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


def _word_query(word: str, languages: Sequence[str], boost: float) -> Query:
    """One word in all fields; of its forms in several languages the best one counts, not their sum."""
    forms = [
        {"bool": {"should": [_term(field, form, boost * weight) for field, weight in FIELD_BOOSTS.items()]}}
        for form in word_forms(word, languages)
    ]
    return {"dis_max": {"queries": forms}} if forms else {"match_none": {}}


def _term(field: str, value: str, boost: float) -> Query:
    return {"term": {field: {"value": value, "boost": boost}}}
