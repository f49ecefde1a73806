"""Many entries written at once, as fast as the cluster takes them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from opensearchpy.exceptions import TransportError

from citemesh.store.errors import store_unavailable
from citemesh.store.opensearch.connection import Connection, Source, as_store_errors

_TIMEOUT_S: Final = 60.0
_ACTIONS: Final = 250
_ATTEMPTS: Final = 6
_FIRST_WAIT_S: Final = 0.25
_TOO_MANY_REQUESTS: Final = 429
_FIRST_FAILURE: Final = 300


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an index."""

    index: str
    key: int
    source: Source


def write_entries(connection: Connection, entries: Sequence[Entry], *, refresh: bool) -> None:
    """Write entries in small requests, waiting where the cluster says that it has too many.

    With `refresh` searches find them afterwards.
    """
    for start in range(0, len(entries), _ACTIONS):
        _write_some(connection, list(entries[start : start + _ACTIONS]))
    if refresh and entries:
        indexes = ",".join(sorted({entry.index for entry in entries}))
        refresh_index(connection, indexes)


def refresh_index(connection: Connection, indexes: str) -> None:
    """Let searches find what was written to `indexes`, names by commas; after a large write it takes long."""
    connection.run(lambda client: client.indices.refresh(index=indexes, request_timeout=_TIMEOUT_S))


def _write_some(connection: Connection, entries: list[Entry]) -> None:
    for attempt in range(_ATTEMPTS):
        statuses = _send(connection, entries)
        if any(status >= _FIRST_FAILURE and status != _TOO_MANY_REQUESTS for status in statuses):
            raise store_unavailable("The cluster refused to store passages: see its log.")
        entries = [each for each, status in zip(entries, statuses, strict=True) if status == _TOO_MANY_REQUESTS]
        if not entries:
            return
        time.sleep(_FIRST_WAIT_S * 2**attempt)
    raise store_unavailable("The cluster is too busy to store passages.")


def _send(connection: Connection, entries: Sequence[Entry]) -> list[int]:
    """The status of each entry."""
    lines = [
        json.dumps(part)
        for entry in entries
        for part in ({"index": {"_index": entry.index, "_id": str(entry.key)}}, entry.source)
    ]
    try:
        with as_store_errors(passed=_TOO_MANY_REQUESTS):
            answer = connection.client.bulk(body="\n".join(lines) + "\n", request_timeout=_TIMEOUT_S)
    except TransportError:
        return [_TOO_MANY_REQUESTS] * len(entries)
    return [int(item["index"]["status"]) for item in answer["items"]]
