"""One client with time limits, whose failures are STORE_UNAVAILABLE."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from opensearchpy import OpenSearch
from opensearchpy.exceptions import ConflictError, NotFoundError, OpenSearchException, TransportError

from citemesh.rpc.errors import ServiceError
from citemesh.store.opensearch.layout import IndexNames
from citemesh.v1 import errors_pb2

_READ_TIMEOUT_S: Final = 10.0
_BULK_TIMEOUT_S: Final = 60.0
_CHECK_TIMEOUT_S: Final = 2.0
_BULK_ACTIONS: Final = 250
_BULK_ATTEMPTS: Final = 6
_FIRST_WAIT_S: Final = 0.25
_TOO_MANY_REQUESTS: Final = 429

Source = dict[str, Any]


class Connection:
    """The cluster behind one address. Safe to use from several threads."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.names = IndexNames(parts.path.strip("/") or "citemesh")
        host = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
        # Retried by nobody: a write may have happened, and a caller has its own time limit.
        self.client = OpenSearch([host], timeout=_READ_TIMEOUT_S, max_retries=0, pool_maxsize=16)
        self._closed = False

    def search(self, index: str, body: Source) -> list[Source]:
        """The hits of one search; none where the index does not exist yet.

        Passages are searched for documents that are there, so their index must be: without it nothing can be said.
        """
        with as_store_errors():
            try:
                answer = self.client.search(index=index, body=body)
            except NotFoundError:
                if index == self.names.passages:
                    raise store_unavailable("The index of the passages is missing from the cluster.") from None
                return []
        return read_hits(answer)

    def scan(self, index: str, query: Source, order: str, source: Sequence[str], batch: int = 500) -> Iterator[Source]:
        """Everything that matches as of now, by `order`, a field without repetition."""
        after: list[Any] = []
        with as_store_errors():
            try:
                point = self.client.create_pit(index=index, params={"keep_alive": "2m"})["pit_id"]
            except NotFoundError:
                if index == self.names.passages:
                    raise store_unavailable("The index of the passages is missing from the cluster.") from None
                return
        try:
            while True:
                body: Source = {"size": batch, "query": query, "sort": [{order: "asc"}], "_source": list(source)}
                body["pit"] = {"id": point, "keep_alive": "2m"}
                if after:
                    body["search_after"] = after
                with as_store_errors():
                    hits = read_hits(self.client.search(body=body))
                yield from hits
                if len(hits) < batch:
                    return
                after = hits[-1]["sort"]
        finally:
            with as_store_errors():
                self.client.delete_pit(body={"pit_id": [point]})

    def get(self, index: str, key: str) -> tuple[Source, Source] | None:
        """The newest state of one entry, and the place in the log to write it again on condition of; None: absent."""
        with as_store_errors():
            try:
                found = self.client.get(index=index, id=key)
            except NotFoundError:
                return None
        return found["_source"], {"if_seq_no": found["_seq_no"], "if_primary_term": found["_primary_term"]}

    def put(self, index: str, key: str, source: Source, condition: Source | None, *, refresh: bool) -> Source | None:
        """Write one entry where it is still as `condition` says (None: absent); the condition that holds now, or None
        where it was otherwise and nothing was written."""
        params = {"refresh": "true" if refresh else "false", **(condition or {"op_type": "create"})}
        with as_store_errors():
            try:
                written = self.client.index(index=index, id=key, body=source, params=params)
            except ConflictError:
                return None
        return {"if_seq_no": written["_seq_no"], "if_primary_term": written["_primary_term"]}

    def bulk(self, index: str, entries: Sequence[tuple[str, Source]]) -> None:
        """Write entries in small requests, waiting where the cluster says that it has too many."""
        for start in range(0, len(entries), _BULK_ACTIONS):
            self._bulk_some(index, list(entries[start : start + _BULK_ACTIONS]))

    def _bulk_some(self, index: str, entries: list[tuple[str, Source]]) -> None:
        for attempt in range(_BULK_ATTEMPTS):
            lines = [
                json.dumps(part)
                for key, source in entries
                for part in ({"index": {"_index": index, "_id": key}}, source)
            ]
            try:
                with as_store_errors(passed=_TOO_MANY_REQUESTS):
                    answer = self.client.bulk(body="\n".join(lines) + "\n", request_timeout=_BULK_TIMEOUT_S)
                results = [item["index"] for item in answer["items"]]
            except TransportError:
                results = [{"status": _TOO_MANY_REQUESTS}] * len(entries)
            failed = [result for result in results if result["status"] >= 300]
            if any(result["status"] != _TOO_MANY_REQUESTS for result in failed):
                raise store_unavailable("The cluster refused to store passages: see its log.")
            entries = [entry for entry, result in zip(entries, results, strict=True) if result["status"] >= 300]
            if not entries:
                return
            time.sleep(_FIRST_WAIT_S * 2**attempt)
        raise store_unavailable("The cluster is too busy to store passages.")

    def run(self, action: Callable[[OpenSearch], Any]) -> Any:
        """Any other call; its failure is STORE_UNAVAILABLE."""
        with as_store_errors():
            return action(self.client)

    def check(self) -> str | None:
        """Why the cluster cannot be used; None where it can."""
        if self._closed:
            return "the document store is closed"
        try:
            health = self.client.cluster.health(request_timeout=_CHECK_TIMEOUT_S)
        except OpenSearchException:
            return "the document store's cluster does not answer"
        return "the document store's cluster has lost shards" if health["status"] == "red" else None

    def close(self) -> None:
        """Close the connections; twice is allowed."""
        if not self._closed:
            self._closed = True
            self.client.close()


def read_hits(answer: Source) -> list[Source]:
    """The hits of one answer. Raises STORE_UNAVAILABLE where it is partial: what is missing would look absent."""
    if "error" in answer or answer["timed_out"] or answer["_shards"]["failed"]:
        raise store_unavailable("The search did not reach every shard: see the cluster's health.")
    hits: list[Source] = answer["hits"]["hits"]
    return hits


@contextmanager
def as_store_errors(passed: int = 0) -> Iterator[None]:
    """Turn the client's failures into STORE_UNAVAILABLE; what is meant for the caller passes."""
    try:
        yield
    except (NotFoundError, ConflictError):
        raise
    except OpenSearchException as error:
        if passed and isinstance(error, TransportError) and error.status_code == passed:
            raise
        raise store_unavailable("The document store's cluster cannot be used: see its log and its address.") from error


def store_unavailable(message: str) -> ServiceError:
    """The error of a store that cannot be read or written."""
    return ServiceError(errors_pb2.ERROR_REASON_STORE_UNAVAILABLE, message)
