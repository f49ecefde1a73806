"""The dense leg: nearest vectors."""

from __future__ import annotations

from typing import Protocol

from citemesh.caches.recently_used import RecentlyUsed
from citemesh.models.errors import ModelError
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import Hit, StoreReader, Vectors, VersionFilter
from citemesh.v1 import activation_pb2, errors_pb2
from services.retrieval.measures import VECTORS, Measures


class QueryEncoder(Protocol):
    """The part of citemesh.models.encoder.Encoder that this leg needs."""

    def encode_queries(self, texts: list[str]) -> Vectors:
        """Vectors [texts, dimensions]."""
        ...


class DenseLeg:
    """Passages whose meaning is near to that of a query."""

    pattern = activation_pb2.PATTERN_DENSE

    def __init__(
        self,
        store: StoreReader,
        encoder: QueryEncoder,
        encoder_key: str,
        cached_vector_count: int,
        measures: Measures,
    ) -> None:
        self._store = store
        self._measures = measures
        self._encoder = encoder
        # The whole encoding contract: a vector is of use under it alone.
        self._encoder_key = encoder_key
        self._vectors: RecentlyUsed[tuple[str, str], Vectors] = RecentlyUsed(cached_vector_count)

    def search(self, text: str, versions: VersionFilter, limit: int) -> list[Hit]:
        """See Leg."""
        if versions.is_empty:
            return []
        return self._store.dense_search(self._encode(text), versions, limit)

    def _encode(self, text: str) -> Vectors:
        key = (self._encoder_key, text)
        vector = self._vectors.get(key)
        self._measures.count_look_up(VECTORS, hit=vector is not None)
        if vector is None:
            try:
                vector = self._encoder.encode_queries([text])[0]
            except ModelError as error:
                raise ServiceError(
                    errors_pb2.ERROR_REASON_MODEL_UNAVAILABLE, "The encoder failed: see the log of this service."
                ) from error
            self._vectors.put(key, vector)
        return vector
