"""The keyword leg: BM25."""

from __future__ import annotations

from citemesh.store.contract import Hit, StoreReader, VersionFilter
from citemesh.v1 import activation_pb2


class KeywordLeg:
    """Passages that hold the words of a query."""

    pattern = activation_pb2.PATTERN_KEYWORD

    def __init__(self, store: StoreReader) -> None:
        self._store = store

    def search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        """See Leg."""
        return self._store.keyword_search(text, versions, limit)
