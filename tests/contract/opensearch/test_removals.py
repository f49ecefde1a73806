"""A deletion that ends between two steps is ended by the next try, and nobody finds the text after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.files import OriginalFiles
from citemesh.store.opensearch import removals
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.gate import Gate
from citemesh.store.opensearch.leftovers import count_versions
from citemesh.v1 import errors_pb2
from tests.contract.opensearch.test_commits import fail, failing_state
from tests.contract.store.library import ANNA, found, only, put

TENANT = ANNA.tenant_id


def count_passages(connection: Connection) -> int:
    return sum(each.count for each in count_versions(connection, connection.names.passages))


def test_what_readers_were_not_told_of_is_deleted_by_the_next_try(
    writer: StoreWriter,
    reader: StoreReader,
    connection: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(writer, tmp_path, "pay", ["Salaries are secret."])
    put(writer, tmp_path, "pay", ["Salaries are very secret."])
    assert found(reader, ANNA, "salaries")
    with failing_state(monkeypatch):
        writer.delete(TENANT, "pay")
    assert found(reader, ANNA, "salaries")
    assert writer.exists(TENANT, "pay")
    assert writer.delete(TENANT, "pay") == 2
    assert found(reader, ANNA, "salaries") == set()
    assert count_passages(connection) == 0
    assert not writer.exists(TENANT, "pay")
    assert writer.delete(TENANT, "pay") == 0


def test_access_to_what_readers_were_not_told_of_can_be_taken_away(
    writer: StoreWriter, reader: StoreReader, connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(writer, tmp_path, "pay", ["Salaries are secret."])
    before = reader.permission_version(TENANT)
    assert found(reader, ANNA, "salaries")
    with failing_state(monkeypatch):
        writer.delete(TENANT, "pay")
    assert writer.set_access(TENANT, "pay", only("hr")) > before
    assert found(reader, ANNA, "salaries") == set()
    assert count_passages(connection) == 0
    with pytest.raises(ServiceError) as raised:
        writer.set_access(TENANT, "pay", only("hr"))
    assert raised.value.reason == errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND


@pytest.mark.parametrize(("where", "step"), [(removals, "remove_parts"), (OriginalFiles, "remove")])
def test_passages_and_files_that_a_deletion_left_are_removed_by_the_next_try(
    where: object,
    step: str,
    writer: StoreWriter,
    reader: StoreReader,
    connection: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = put(writer, tmp_path, "pay", ["Salaries are secret."])
    path = reader.original_file(ANNA, "pay", stored.document.document_version)
    assert path is not None
    with monkeypatch.context() as patched:
        patched.setattr(where, step, fail)
        with pytest.raises(ConnectionAbortedError):
            writer.delete(TENANT, "pay")
    assert found(reader, ANNA, "salaries") == set()
    assert path.is_file()
    assert writer.delete(TENANT, "pay") == 1
    assert not path.exists()
    assert count_passages(connection) == 0


def test_a_document_sent_anew_after_half_a_deletion_is_whole(
    writer: StoreWriter, reader: StoreReader, connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(writer, tmp_path, "pay", ["Salaries are secret."])
    with failing_state(monkeypatch):
        writer.delete(TENANT, "pay")
    stored = put(writer, tmp_path, "pay", ["Salaries are secret."])
    assert stored.document.document_version == 1
    assert found(reader, ANNA, "salaries") == {"Salaries are secret."}
    path = reader.original_file(ANNA, "pay", 1)
    assert path is not None
    assert path.is_file()
    assert count_passages(connection) == 1


def test_a_deletion_while_the_gate_is_closed_is_asked_to_come_again(
    writer: StoreWriter, reader: StoreReader, connection: Connection, tmp_path: Path
) -> None:
    put(writer, tmp_path, "old", ["Old rule."])
    gate = Gate(connection, "third")
    with gate.exchanging(), gate.closed():
        with pytest.raises(ServiceError) as raised:
            writer.delete(TENANT, "old")
        assert "try again" in raised.value.message
    assert found(reader, ANNA, "rule") == {"Old rule."}
    assert writer.delete(TENANT, "old") == 1
    assert found(reader, ANNA, "rule") == set()
