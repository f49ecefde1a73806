"""The change log stays as long as the store is large, and whoever lags behind what it forgot starts anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from citemesh.store.embedded import changes
from citemesh.store.embedded.changes import (
    forget_removed,
    read_changed_versions,
    read_floor,
    read_state,
    record_change,
)
from citemesh.store.embedded.database import FILE_NAME
from citemesh.store.embedded.open import open_reader
from tests.unit.libs.store.test_embedded_recovery import find, near, open_for_writing, put


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """The tables of an empty store."""
    writer = open_for_writing(tmp_path)
    writer.close()
    (path,) = tmp_path.rglob(FILE_NAME)
    connection = sqlite3.connect(path)
    yield connection
    connection.close()


def rows(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM changes").fetchone()[0])


def test_only_the_last_change_of_a_version_is_kept(database: sqlite3.Connection) -> None:
    for _ in range(50):
        record_change(database, "acme", 7)
        record_change(database, "acme", None, permissions=True)
        last = record_change(database, "other", 7)
    assert rows(database) == 3
    assert read_state(database, "other").change_sequence == last
    assert read_state(database, "acme").permission_version == 50
    assert read_changed_versions(database, "acme", 0, last) == [7]
    assert read_changed_versions(database, "acme", last - 3, last) == [7]
    assert read_changed_versions(database, "acme", last - 1, last) == []


def test_removed_versions_are_forgotten_in_time(database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_KEPT_COUNT", 10)
    for number in range(1, 31):
        record_change(database, "acme", number)  # no such version is stored
    assert forget_removed(database, "acme", 30) == 20
    assert read_floor(database, "acme") == 20
    assert rows(database) == 10
    record_change(database, "acme", 31)
    assert forget_removed(database, "acme", 31) == 0, "not at every change"


def test_what_lags_behind_the_forgotten_is_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_KEPT_COUNT", 3)
    writer = open_for_writing(tmp_path)
    reader = open_reader(tmp_path)
    try:
        for name in ("kept", "gone"):
            put(writer, tmp_path, name)
        assert find(reader) == near(reader) == {"kept", "gone"}
        writer.delete("acme", "gone")
        for number in range(12):
            put(writer, tmp_path, f"passing-{number}")
            writer.delete("acme", f"passing-{number}")
        assert find(reader) == near(reader) == {"kept"}
    finally:
        reader.close()
        writer.close()
