"""SQLite as this store uses it: one file, write-ahead log, one connection per thread, errors as ServiceError."""

from __future__ import annotations

import errno
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from citemesh.store.embedded.schema import SCHEMA_VERSION, STATEMENTS
from citemesh.store.errors import store_unavailable
from citemesh.store.files import FOLDER_NAME

_log = structlog.get_logger(__name__)

_BUSY_TIMEOUT_MS = 10_000
_CACHE_SIZE_KIB = 8_192
_SWITCH_ATTEMPTS = 100
_SWITCH_PAUSE_S = 0.02
FILE_NAME = "documents.sqlite3"


@contextmanager
def as_store_errors() -> Iterator[None]:
    """Turn what SQLite and the file system raise into STORE_UNAVAILABLE; the details go to the log."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        _log.error("store.failed", error=type(error).__name__, detail=str(error))
        raise store_unavailable(_tell_remedy(error)) from error


def _tell_remedy(error: sqlite3.Error | OSError) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of the number tells kinds of it apart
    if code == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) in (errno.ENOSPC, errno.EDQUOT):
        return "The disk of the document store is full: make room on it. Nothing that was acknowledged is lost."
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return f"The document store's {FILE_NAME} is damaged: restore a backup (`citemesh store restore`)."
    if code == sqlite3.SQLITE_READONLY or getattr(error, "errno", 0) in (errno.EROFS, errno.EACCES):
        return "The document store cannot be written: see to the permissions of the state directory."
    return "The document store cannot be used: see the log of this service."


class Database:
    """The database file below `directory`; made, with its tables, where it is missing."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE_NAME
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        with as_store_errors():
            directory.mkdir(parents=True, exist_ok=True)
            self._prepare(directory)

    def connection(self) -> sqlite3.Connection:
        """This thread's connection, in autocommit mode. Use it inside `as_store_errors`."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connect()
            self._local.connection = connection
        return connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: committed and on disk when the block is left, undone where it raises."""
        with as_store_errors():
            connection = self.connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:  # no end may leave the transaction open; raised again
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A read transaction: everything read in the block belongs to one state of the store."""
        with as_store_errors():
            connection = self.connection()
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    def check(self) -> str | None:
        """Why the database cannot be read; None where it can."""
        try:
            self.connection().execute("SELECT 1 FROM facts LIMIT 1").fetchone()
        except sqlite3.Error as error:
            return f"the document store cannot be read ({type(error).__name__})"
        return None

    def close(self) -> None:
        """Close the connections of all threads; no thread may be using one."""
        with self._lock:
            self._closed = True
            while self._open:
                self._open.pop().close()

    def _connect(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise sqlite3.ProgrammingError("the store is closed")
            # Each thread uses its own connection; only `close` touches those of others.
            connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            self._open.append(connection)
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        _use_write_ahead_log(connection)
        # A commit is on disk before it is acknowledged, also when the power fails next.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_SIZE_KIB}")
        return connection

    def _prepare(self, directory: Path) -> None:
        connection = self.connection()
        found = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if found == SCHEMA_VERSION:
            return
        if found > SCHEMA_VERSION:
            raise store_unavailable(
                f"The store was written by a later version of citemesh (schema {found}, known {SCHEMA_VERSION}): "
                "start that version, or another state directory."
            )
        if not found and any((directory / FOLDER_NAME).glob("*")):
            # An empty store in place of a lost one would answer every question with "I cannot confirm that".
            raise store_unavailable(
                f"{FILE_NAME} is missing or empty although original files lie beside it: restore a backup "
                "(`citemesh store restore`), or move the store folder away to begin anew."
            )
        connection.executescript(f"BEGIN IMMEDIATE; {STATEMENTS} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a new database to its write-ahead log; connections that do so at once wait for each other here.

    SQLite reports that case as locked without waiting, whatever the busy timeout says.
    """
    for attempt in range(_SWITCH_ATTEMPTS):
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                return
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if attempt == _SWITCH_ATTEMPTS - 1:
                raise
            time.sleep(_SWITCH_PAUSE_S)
