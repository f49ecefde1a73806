"""The two legs that search passages, and which words of a question occur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import Hit, Vectors, VersionFilter
from citemesh.store.encoder_match import refuse_other_width
from citemesh.store.keyword_query import read_keyword_query, searched_words
from citemesh.store.opensearch import searches
from citemesh.store.opensearch.connection import MAX_READ, Connection, columns, read_columns
from citemesh.store.opensearch.indexes import read_generation
from citemesh.store.opensearch.known_passages import PLACE_FIELDS, KnownPassages

# Up to here each allowed passage is compared; above, the graph is followed.
_MAX_EXACT: Final = 10_000
# So many hits are looked at for the words that they hold before the next are asked for.
_WORD_HITS: Final = 20


def search_keywords(
    connection: Connection,
    known: KnownPassages,
    text: str,
    languages: Sequence[str],
    versions: VersionFilter,
    limit: int,
) -> list[Hit]:
    """See StoreReader.keyword_search."""
    asked = read_keyword_query(text, languages)
    if asked.is_empty:
        return []
    found = _search(connection, known, searches.filtered(searches.words_query(asked), versions), versions, limit)
    return sorted(found, key=lambda hit: (-hit.leg_score, hit.passage_key))


def search_vectors(
    connection: Connection,
    known: KnownPassages,
    vector: Vectors,
    versions: VersionFilter,
    passage_count: int,
    limit: int,
) -> list[Hit]:
    """See StoreReader.dense_search; `passage_count` is what the filter reaches."""
    is_exact = passage_count <= _MAX_EXACT
    query = searches.exact_query(vector, versions) if is_exact else searches.graph_query(vector, versions, limit)
    try:
        hits = _search(connection, known, query, versions, limit)
    except ServiceError:
        # Asked only now, because it costs a request of its own: the cluster refuses a vector of another width.
        used = read_generation(connection)
        if used is not None:
            refuse_other_width(used[1].dimension_count, vector)
        raise
    return [Hit(hit.passage_key, 2.0 * hit.leg_score - 1.0) for hit in hits]


def find_words(connection: Connection, text: str, languages: Sequence[str], versions: VersionFilter) -> dict[str, bool]:
    """See StoreReader.matching_words."""
    words = dict.fromkeys(searched_words(text, languages), False)
    left = {f"word {number}": word for number, word in enumerate(words)}
    # The best hits hold the rare words, and mostly the common ones too: one search, seldom more, tells of all.
    while left and not versions.is_empty:
        query = searches.filtered(searches.occurs_query(left, languages), versions)
        body = {"size": _WORD_HITS, "track_total_hits": False, "query": query, **columns([])}
        hits = connection.search(connection.names.passages, body)
        found = {name for hit in hits for name in hit.get("matched_queries", ()) if name in left}
        if not found:
            break
        words.update((left.pop(name), True) for name in found)
    return words


def _search(
    connection: Connection, known: KnownPassages, query: dict[str, Any], versions: VersionFilter, limit: int
) -> list[Hit]:
    body = {"size": min(limit, MAX_READ), "track_total_hits": False, "query": query, **columns(PLACE_FIELDS)}
    hits = connection.search(connection.names.passages, body)
    rows = [read_columns(hit) for hit in hits]
    known.keep_places(rows, versions)
    return [Hit(row["passage_key"], float(hit["_score"])) for row, hit in zip(rows, hits, strict=True)]
