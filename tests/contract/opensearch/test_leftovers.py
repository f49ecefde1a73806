"""What a writer left behind that ended between two steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.open import open_writer
from citemesh.store.opensearch.commits import Commits
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.health import find_problems
from citemesh.store.opensearch.leftovers import count_versions, find_leftovers
from citemesh.v1.document_pb2 import Section
from tests.contract.store.library import ANNA, found, put


def leave_half(writer: StoreWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three entries that no record names."""

    def fail(*_: object, **__: object) -> None:
        raise ConnectionAbortedError

    with monkeypatch.context() as patched:
        patched.setattr(Commits, "commit", fail)
        section = Section(section_id="s", title="Half")
        with pytest.raises(ConnectionAbortedError):
            put(writer, tmp_path, "half", ["Travel is free.", "Travel is fast."], sections=[section])


def count_entries(connection: Connection) -> int:
    names = connection.names
    return sum(each.count for index in (names.passages, names.sections) for each in count_versions(connection, index))


def test_the_next_start_removes_it(
    writer: StoreWriter,
    reader: StoreReader,
    connection: Connection,
    environ: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(writer, tmp_path, "kept", ["Travel needs approval."])
    leave_half(writer, tmp_path, monkeypatch)
    assert count_entries(connection) == 4
    writer.close()
    open_writer(tmp_path / "state", environ).close()
    assert count_entries(connection) == 1
    assert found(reader, ANNA, "travel") == {"Travel needs approval."}


def test_another_machine_leaves_alone_what_may_be_at_work(
    writer: StoreWriter,
    connection: Connection,
    environ: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leave_half(writer, tmp_path, monkeypatch)
    open_writer(tmp_path / "other", environ).close()
    assert count_entries(connection) == 3
    assert find_leftovers(connection) == []
    assert sum(each.count for each in find_leftovers(connection, older_than_ms=0)) == 3


def test_the_doctor_names_it(
    writer: StoreWriter, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_problems(environ, older_than_ms=0) == []
    leave_half(writer, tmp_path, monkeypatch)
    (problem,) = find_problems(environ, older_than_ms=-60_000)
    assert problem.detail.startswith("3 passages and sections of 1 unfinished writes")
    assert "Restart" in problem.remedy


def test_the_doctor_names_drift_of_a_mapping(
    writer: StoreWriter, connection: Connection, environ: dict[str, str]
) -> None:
    body = {"properties": {"surprise": {"type": "keyword"}}}
    connection.client.indices.put_mapping(index=connection.names.documents, body=body)
    (problem,) = find_problems(environ)
    assert problem.detail == f"{connection.names.documents} has another field 'surprise'"
