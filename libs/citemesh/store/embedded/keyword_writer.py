"""Keeps the keyword indexes of all tenants level with the change log. Only the store's one writer has one."""

from __future__ import annotations

import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import structlog
import tantivy

from citemesh.store.embedded.changes import read_changed_versions, read_floor, read_state, read_tenants
from citemesh.store.embedded.database import Database
from citemesh.store.embedded.keyword_index import (
    WRITER_HEAP_SIZE_BYTES,
    count_passages,
    index_directory,
    is_index_failure,
    open_index,
    read_stamp,
    write_versions,
)
from citemesh.store.errors import store_unavailable

_log = structlog.get_logger(__name__)

# Each open writer holds its heap and a thread.
_MAX_OPEN_TENANTS = 4
# A rebuild commits after this many versions, so that what is done survives a kill.
_VERSIONS_PER_COMMIT = 200


class KeywordWriter:
    """Writes the tantivy indexes below `root` from `database`. Safe to call from several threads."""

    def __init__(self, root: Path, database: Database) -> None:
        self._root = root
        self._database = database
        self._lock = threading.Lock()
        self._open: OrderedDict[str, tuple[tantivy.Index, tantivy.IndexWriter]] = OrderedDict()

    def catch_up_all(self) -> None:
        """Bring every tenant's index up to date, building anew those that are missing, damaged or incomplete."""
        with self._database.snapshot() as connection:
            tenants = read_tenants(connection)
        for tenant_id in tenants:
            self.catch_up(tenant_id)
            if not self._is_complete(tenant_id):
                _log.warning("store.keyword_index_incomplete")
                self._rebuild(tenant_id)

    def catch_up(self, tenant_id: str) -> None:
        """Bring one tenant's index up to date. Raises STORE_UNAVAILABLE where it cannot even be built anew."""
        with self._lock:
            try:
                self._write_missing(tenant_id)
            except BaseException as error:
                # A damaged index shows as ValueError or as a Rust panic; anything else is passed on.
                if not is_index_failure(error):
                    raise
                _log.warning("store.keyword_index_damaged", error=type(error).__name__)
                self._remove(tenant_id)
                self._retry(tenant_id)

    def close(self) -> None:
        """Wait for merges and release the locks."""
        with self._lock:
            while self._open:
                self._release(next(iter(self._open)))

    def _retry(self, tenant_id: str) -> None:
        try:
            self._write_missing(tenant_id)
        except BaseException as error:
            if not is_index_failure(error):
                raise
            _log.error("store.keyword_index_failed", detail=str(error))
            raise store_unavailable(
                "The keyword index cannot be written: check the disk and its free space."
            ) from error

    def _write_missing(self, tenant_id: str) -> None:
        index, writer = self._writer(tenant_id)
        index.reload()
        reached = read_stamp(index)
        with self._database.snapshot() as connection:
            now = read_state(connection, tenant_id).change_sequence
            if reached == now:
                return
            # A stamp from the future belongs to another database, one from before the log's memory lacks removals.
            if reached > now or 0 < reached < read_floor(connection, tenant_id):
                writer.delete_all_documents()
                reached = 0
            changed = read_changed_versions(connection, tenant_id, reached, now)
            for start in range(0, max(1, len(changed)), _VERSIONS_PER_COMMIT):
                batch = changed[start : start + _VERSIONS_PER_COMMIT]
                # Until the last batch the stamp stays: a kill in between repeats work, and loses none. One commit for
                # both, because a commit is most of what storing a small document takes.
                write_versions(writer, connection, batch, now if start + len(batch) >= len(changed) else reached)
                writer.commit()

    def _is_complete(self, tenant_id: str) -> bool:
        with self._lock, self._database.snapshot() as connection:
            index, _ = self._writer(tenant_id)
            index.reload()
            query = "SELECT count(*) FROM passages WHERE tenant_id = ?"
            return count_passages(index) == int(connection.execute(query, (tenant_id,)).fetchone()[0])

    def _rebuild(self, tenant_id: str) -> None:
        with self._lock:
            self._remove(tenant_id)
            self._retry(tenant_id)

    def _writer(self, tenant_id: str) -> tuple[tantivy.Index, tantivy.IndexWriter]:
        if tenant_id not in self._open:
            index = open_index(index_directory(self._root, tenant_id))
            self._open[tenant_id] = (index, index.writer(WRITER_HEAP_SIZE_BYTES, 1))
        self._open.move_to_end(tenant_id)
        while len(self._open) > _MAX_OPEN_TENANTS:
            self._release(next(iter(self._open)))
        return self._open[tenant_id]

    def _remove(self, tenant_id: str) -> None:
        if tenant_id in self._open:
            self._release(tenant_id)
        shutil.rmtree(index_directory(self._root, tenant_id), ignore_errors=True)

    def _release(self, tenant_id: str) -> None:
        _, writer = self._open.pop(tenant_id)
        _quietly(writer.wait_merging_threads)


def _quietly(action: Callable[[], object]) -> None:
    try:
        action()
    except BaseException as error:
        # A writer that failed cannot wait for its merges either; its files are replaced next.
        if not is_index_failure(error):
            raise
