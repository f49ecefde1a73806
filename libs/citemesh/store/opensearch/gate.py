"""How several writers of one cluster stay out of each other's way while all vectors are exchanged.

A writer says that it commits, then looks whether the gate is closed. Who exchanges the vectors closes the gate, then
waits until nobody says that he commits: whichever comes first, one of the two sees the other, and no version is
committed whose passages the exchange has missed. What a dead process said holds until it runs out; clocks of the
machines may differ by seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from citemesh.rpc.errors import ServiceError
from citemesh.store.encoder_match import REENCODE_REMEDY
from citemesh.store.errors import store_unavailable
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.entries import now_ms
from citemesh.store.opensearch.indexes import read_generation
from citemesh.v1 import errors_pb2

_COMMIT_MS: Final = 120_000
_EXCHANGE_MS: Final = 600_000
_POLL_S: Final = 0.1
_EXCHANGE: Final = "exchange"


class Gate:
    """One writer's side of it. Safe to use from several threads, apart from two commits at once."""

    def __init__(self, connection: Connection, writer_id: str) -> None:
        self._connection = connection
        self._index = connection.names.state
        self._writer_id = writer_id
        self._own_exchange = threading.Lock()
        self.leave()

    def enter(self, index: str | None) -> None:
        """Say that a version in `index` is committed next (None: a removal, which fits each index).

        Raises where it could be lost: nothing is said then.
        """
        self._say_committing(now_ms() + _COMMIT_MS)
        try:
            found = self._connection.get(self._index, _EXCHANGE)
            if found is not None and found[0]["is_closed"] and found[0]["until_ms"] > now_ms():
                raise store_unavailable("All vectors are being exchanged at this moment: try again in a minute.")
            used = read_generation(self._connection)
            if index is not None and (used is None or used[0] != index):
                raise ServiceError(
                    errors_pb2.ERROR_REASON_ENCODER_MISMATCH,
                    f"The index was given to another encoder meanwhile. {REENCODE_REMEDY}",
                )
        except BaseException:  # whatever it was, this writer does not commit; raised again
            self.leave()
            raise

    def leave(self) -> None:
        """Say that nothing is being committed. Where that cannot be said, what was said before runs out by itself.

        No error: what was committed stays committed, and its caller must not be told otherwise.
        """
        with suppress(ServiceError):
            self._say_committing(0)

    @contextmanager
    def exchanging(self) -> Iterator[None]:
        """Be the one that exchanges the vectors. Raises STORE_UNAVAILABLE where another writer does."""
        if not self._own_exchange.acquire(blocking=False):
            raise store_unavailable("All vectors are being exchanged already: wait for it.")
        try:
            self._take_exchange()
            try:
                yield
            finally:
                self._give_exchange()
        finally:
            self._own_exchange.release()

    def renew(self, *, is_closed: bool = False) -> None:
        """Say that the exchange goes on. Raises STORE_UNAVAILABLE where another process took it over."""
        found = self._connection.get(self._index, _EXCHANGE)
        if found is None or found[0]["writer_id"] != self._writer_id or found[0]["until_ms"] <= now_ms():
            raise store_unavailable("The exchange of the vectors took too long for one batch: start it again.")
        if not self._connection.put(self._index, _EXCHANGE, self._exchange(is_closed), found[1], refresh=False):
            raise store_unavailable("Another process took over the exchange of the vectors.")

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Let nobody commit; what was being committed is, once this begins. Within `exchanging`."""
        self.renew(is_closed=True)
        try:
            deadline = time.monotonic() + _COMMIT_MS / 1_000
            while self._others_commit():
                if time.monotonic() > deadline:
                    raise store_unavailable("A writer does not end its commit: try again.")
                time.sleep(_POLL_S)
            yield
        finally:
            self.renew()

    def _take_exchange(self) -> None:
        found = self._connection.get(self._index, _EXCHANGE)
        # One of this writer's own is that of a process that ended: it has one process at a time.
        is_free = found is None or found[0]["until_ms"] <= now_ms() or found[0]["writer_id"] == self._writer_id
        condition = None if found is None else found[1]
        if not is_free or not self._connection.put(self._index, _EXCHANGE, self._exchange(), condition, refresh=False):
            raise store_unavailable("Another process is exchanging all vectors: wait for it.")

    def _give_exchange(self) -> None:
        found = self._connection.get(self._index, _EXCHANGE)
        # Where it ran out and another process took it, it is that one's.
        if found is not None and found[0]["writer_id"] == self._writer_id:
            given = self._exchange() | {"until_ms": 0}
            self._connection.put(self._index, _EXCHANGE, given, found[1], refresh=False)

    def _others_commit(self) -> bool:
        # Refreshed, because a search does not see what was just written.
        self._connection.run(lambda client: client.indices.refresh(index=self._index))
        committing = [{"term": {"kind": "writer"}}, {"range": {"until_ms": {"gt": now_ms()}}}]
        hits = self._connection.search(self._index, {"size": 1, "query": {"bool": {"filter": committing}}})
        return bool(hits)

    def _say_committing(self, until_ms: int) -> None:
        source = {"kind": "writer", "writer_id": self._writer_id, "until_ms": until_ms}
        self._connection.write(self._index, f"writer-{self._writer_id}", source)

    def _exchange(self, is_closed: bool = False) -> dict[str, object]:
        until_ms = now_ms() + _EXCHANGE_MS
        return {"kind": "exchange", "writer_id": self._writer_id, "until_ms": until_ms, "is_closed": is_closed}
