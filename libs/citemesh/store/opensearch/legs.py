"""The two legs that search passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import Hit, Vectors, VersionFilter
from citemesh.store.encoder_match import refuse_other_width
from citemesh.store.keyword_query import read_keyword_query
from citemesh.store.opensearch import searches
from citemesh.store.opensearch.connection import MAX_READ, Connection, columns, read_columns
from citemesh.store.opensearch.indexes import read_generation
from citemesh.store.opensearch.known_passages import HIT_FIELDS, KnownPassages

# Up to here each allowed passage is compared; above, the graph is followed.
_MAX_EXACT: Final = 10_000


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


def _search(
    connection: Connection, known: KnownPassages, query: dict[str, Any], versions: VersionFilter, limit: int
) -> list[Hit]:
    body = {"size": min(limit, MAX_READ), "track_total_hits": False, "query": query, **columns(HIT_FIELDS)}
    hits = connection.search(connection.names.passages, body)
    rows = [read_columns(hit) for hit in hits]
    known.keep_hits(rows, versions)
    return [Hit(row["passage_key"], float(hit["_score"])) for row, hit in zip(rows, hits, strict=True)]
