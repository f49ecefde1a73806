"""One client with time limits, whose failures are STORE_UNAVAILABLE."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from opensearchpy import OpenSearch
from opensearchpy.exceptions import (
    AuthenticationException,
    AuthorizationException,
    ConflictError,
    NotFoundError,
    OpenSearchException,
    SSLError,
    TransportError,
)

from citemesh.config.load import ConfigurationError
from citemesh.store.errors import store_unavailable
from citemesh.store.opensearch.layout import IndexNames
from citemesh.store.opensearch.settings import StoreSettings, read_settings

MAX_READ: Final = 10_000
"""So many entries the cluster gives in one answer."""

_READ_TIMEOUT_S: Final = 10.0
_CHECK_TIMEOUT_S: Final = 2.0

Source = dict[str, Any]


class Connection:
    """The cluster behind one address. Safe to use from several threads."""

    def __init__(self, settings: StoreSettings) -> None:
        self.settings = settings
        self.names = IndexNames(settings.prefix)
        self.client = _make_client(settings)
        self._closed = False

    def search(self, index: str, body: Source) -> list[Source]:
        """The hits of one search. Raises STORE_UNAVAILABLE where the index is missing."""
        with as_store_errors():
            return read_hits(self.client.search(index=index, body=body))

    def read(self, index: str, query: Source, order: str, fields: Sequence[str]) -> list[Source]:
        """`fields` of everything that matches, by `order`, a field without repetition.

        One request where it is not much. Fields come from columns: a stored entry is slow to unpack.
        """
        body = {"size": MAX_READ, "query": query, "sort": [{order: "asc"}], "track_total_hits": False}
        hits = self.search(index, body | columns(fields))
        if len(hits) == MAX_READ:
            hits = list(self.scan(index, query, order, columns(fields)))
        return [read_columns(hit) for hit in hits]

    def scan(self, index: str, query: Source, order: str, selected: Source, batch: int = 500) -> Iterator[Source]:
        """The hits of everything that matches as of now, by `order`, with what `selected` asks for."""
        after: list[Any] = []
        with as_store_errors():
            point = self.client.create_pit(index=index, params={"keep_alive": "2m"})["pit_id"]
        try:
            while True:
                body: Source = {"size": batch, "query": query, "sort": [{order: "asc"}], **selected}
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
        found = self.find(lambda client: client.get(index=index, id=key))
        if found is None:
            return None
        return found["_source"], {"if_seq_no": found["_seq_no"], "if_primary_term": found["_primary_term"]}

    def get_all(self, index: str, keys: Sequence[str]) -> list[Source | None]:
        """The newest states of several entries in one request, None for each that is absent."""
        found = self.run(lambda client: client.mget(index=index, body={"ids": list(keys)}))
        for entry in found["docs"]:
            # A missing index holds nothing, as for `get`; any other fault must not look so.
            if "error" in entry and entry["error"]["type"] != "index_not_found_exception":
                raise store_unavailable("An entry could not be read: see the cluster's health.")
        return [entry.get("_source") for entry in found["docs"]]

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

    def write(self, index: str, key: str, source: Source) -> None:
        """Write one entry, whatever it was."""
        self.run(lambda client: client.index(index=index, id=key, body=source))

    def run(self, action: Callable[[OpenSearch], Any]) -> Any:
        """Any other call; each failure is STORE_UNAVAILABLE."""
        with as_store_errors():
            return action(self.client)

    def find(self, action: Callable[[OpenSearch], Any]) -> Any | None:
        """A call for something that need not be there: None where it is not."""
        with as_store_errors():
            try:
                return action(self.client)
            except NotFoundError:
                return None

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


def open_connection(environ: Mapping[str, str]) -> Connection:
    """A connection to the cluster that `environ` names. Raises ConfigurationError."""
    return Connection(read_settings(environ))


def _make_client(settings: StoreSettings) -> OpenSearch:
    options: dict[str, Any] = {}
    if settings.host.startswith("https"):
        try:
            context = ssl.create_default_context(cafile=None if settings.ca_file is None else str(settings.ca_file))
        except (OSError, ssl.SSLError) as error:
            raise ConfigurationError(
                f"CITEMESH_STORE_CA_FILE: {settings.ca_file} holds no certificate in PEM form."
            ) from error
        options["ssl_context"] = context
    if settings.user:
        options["http_auth"] = (settings.user, settings.password.get_secret_value())
    elif settings.api_key.get_secret_value():
        options["headers"] = {"Authorization": f"ApiKey {settings.api_key.get_secret_value()}"}
    # It warns of each entry that is not there, which is how a new document looks.
    logging.getLogger("opensearch").setLevel(logging.ERROR)
    # Retried by nobody: a write may have happened, and a caller has its own time limit.
    return OpenSearch([settings.host], timeout=_READ_TIMEOUT_S, max_retries=0, pool_maxsize=16, **options)


def columns(fields: Sequence[str]) -> Source:
    """The part of a search that asks for `fields` and nothing else."""
    return {"docvalue_fields": list(fields), "stored_fields": "_none_"}


def read_columns(hit: Source) -> Source:
    """The fields of a hit of such a search; each entry has one value of each."""
    return {name: values[0] for name, values in hit.get("fields", {}).items()}


def read_hits(answer: Source) -> list[Source]:
    """The hits of one answer. Raises STORE_UNAVAILABLE where it is partial: what is missing would look absent."""
    if "error" in answer or answer["timed_out"] or answer["_shards"]["failed"]:
        raise store_unavailable("The search did not reach every shard: see the cluster's health.")
    hits: list[Source] = answer["hits"]["hits"]
    return hits


@contextmanager
def as_store_errors(passed: int = 0) -> Iterator[None]:
    """Turn each of the client's failures into STORE_UNAVAILABLE, which says what to check; status `passed` passes."""
    try:
        yield
    except OpenSearchException as error:
        if passed and isinstance(error, TransportError) and error.status_code == passed:
            raise
        raise store_unavailable(_explain(error)) from error


def _explain(error: OpenSearchException) -> str:
    if isinstance(error, NotFoundError):
        return "An index of the document store is missing from the cluster: run `citemesh doctor`."
    if isinstance(error, ConflictError):
        return "Another writer changed the same entry of the document store meanwhile: try again."
    if isinstance(error, AuthenticationException | AuthorizationException):
        return (
            "The document store's cluster refuses this service: check CITEMESH_STORE_USER and CITEMESH_STORE_PASSWORD,"
            " or CITEMESH_STORE_API_KEY, and what they may do."
        )
    if isinstance(error, SSLError):
        return "The document store's cluster shows a certificate that is not trusted: check CITEMESH_STORE_CA_FILE."
    return "The document store's cluster cannot be used: check CITEMESH_STORE_URL, and the cluster's log."
