"""A document is seen whole or not at all, whenever its writer ends and whoever else writes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import opensearchpy
import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.errors import store_unavailable
from citemesh.store.opensearch.commits import Commits
from citemesh.store.opensearch.connection import Connection
from citemesh.v1 import errors_pb2
from tests.contract.store.library import ANNA, embed, everyone, found, make_passage, only, put


def fail(*_: object, **__: object) -> None:
    raise ConnectionAbortedError


def test_a_write_that_ends_before_its_record_is_never_seen(
    writer: StoreWriter, reader: StoreReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(writer, tmp_path, "kept", ["Travel needs approval."])
    with monkeypatch.context() as patched:
        patched.setattr(Commits, "commit", fail)
        with pytest.raises(ConnectionAbortedError):
            put(writer, tmp_path, "half", ["Travel is free.", "Travel is fast."])
    assert found(reader, ANNA, "travel") == {"Travel needs approval."}
    put(writer, tmp_path, "half", ["Travel is free.", "Travel is fast."])
    assert len(found(reader, ANNA, "travel")) == 3


def test_what_was_committed_is_acknowledged_though_tidying_up_fails(
    writer: StoreWriter, reader: StoreReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_write = Connection.write

    def fail_to_leave(self: Connection, index: str, key: str, source: dict[str, Any]) -> None:
        if source.get("until_ms") == 0:
            raise store_unavailable("away")
        plain_write(self, index, key, source)

    def fail_to_remove(*_: object, **__: object) -> None:
        raise opensearchpy.exceptions.ConnectionError("N/A", "away", None)

    put(writer, tmp_path, "first", ["Travel needs approval."])
    with monkeypatch.context() as patched:
        patched.setattr(Connection, "write", fail_to_leave)
        patched.setattr(opensearchpy.OpenSearch, "delete_by_query", fail_to_remove)
        put(writer, tmp_path, "second", ["Travel is free."])
        new = make_passage("Travel needs no approval.")
        assert writer.replace_pages("acme", "first", 1, [1], passages=[new], vectors=embed(new.text)[None, :])
    assert found(reader, ANNA, "travel") == {"Travel needs no approval.", "Travel is free."}


@contextlib.contextmanager
def failing_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The record is written, and then its writer ends."""
    plain_put = Connection.put

    def fail_for_state(self: Connection, index: str, key: str, *rest: Any, **more: Any) -> Any:
        if index == self.names.state and "permission_version" in rest[0]:
            raise ConnectionAbortedError
        return plain_put(self, index, key, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Connection, "put", fail_for_state)
        with pytest.raises(ConnectionAbortedError):
            yield


def test_a_document_whose_state_was_not_written_is_seen_after_it_is_sent_again(
    writer: StoreWriter, reader: StoreReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(writer, tmp_path, "first", ["Travel needs approval."])
    assert found(reader, ANNA, "travel") == {"Travel needs approval."}
    with failing_state(monkeypatch):
        put(writer, tmp_path, "second", ["Travel is slow."])
    put(writer, tmp_path, "second", ["Travel is slow."])
    assert found(reader, ANNA, "travel") == {"Travel needs approval.", "Travel is slow."}


def test_a_document_is_seen_after_it_is_sent_again_though_another_took_its_place_in_the_order(
    writer: StoreWriter,
    other_writer: StoreWriter,
    reader: StoreReader,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(writer, tmp_path, "first", ["Travel needs approval."])
    plain_put = Connection.put
    is_between = False

    def end_after_another(self: Connection, index: str, key: str, *rest: Any, **more: Any) -> Any:
        nonlocal is_between
        if index == self.names.documents and not is_between:
            is_between = True
            monkeypatch.setattr(Connection, "put", plain_put)
            put(other_writer, tmp_path, "other", ["Travel is fast."])
            assert found(reader, ANNA, "travel") == {"Travel needs approval.", "Travel is fast."}
            monkeypatch.setattr(Connection, "put", end_after_another)
        elif is_between and index == self.names.state:
            raise ConnectionAbortedError
        return plain_put(self, index, key, *rest, **more)

    monkeypatch.setattr(Connection, "put", end_after_another)
    with pytest.raises(ConnectionAbortedError):
        put(writer, tmp_path, "second", ["Travel is slow."])
    monkeypatch.setattr(Connection, "put", plain_put)
    put(writer, tmp_path, "second", ["Travel is slow."])
    assert found(reader, ANNA, "travel") == {"Travel needs approval.", "Travel is fast.", "Travel is slow."}


def test_what_another_writer_changed_is_not_written_over(
    writer: StoreWriter,
    other_writer: StoreWriter,
    reader: StoreReader,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(writer, tmp_path, "pay", ["Salaries are secret."])
    plain_put = Connection.put
    is_done = False

    def revoke_between(self: Connection, index: str, key: str, *rest: Any, **more: Any) -> Any:
        nonlocal is_done
        if index == self.names.state and "permission_version" in rest[0] and not is_done:
            is_done = True
            other_writer.set_access(ANNA.tenant_id, "pay", only("hr"))
        return plain_put(self, index, key, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Connection, "put", revoke_between)
        with contextlib.suppress(ServiceError):
            writer.set_access(ANNA.tenant_id, "pay", everyone())
    assert found(reader, ANNA, "salaries") == set()


def test_a_conflict_is_an_error_of_the_store(
    writer: StoreWriter, other_writer: StoreWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(writer, tmp_path, "pay", ["Salaries."])
    find = Commits.find

    def change_after(self: Commits, tenant_id: str, document_id: str) -> Any:
        result = find(self, tenant_id, document_id)
        monkeypatch.setattr(Commits, "find", find)
        other_writer.set_access(tenant_id, document_id, only("hr"))
        return result

    monkeypatch.setattr(Commits, "find", change_after)
    with pytest.raises(ServiceError) as raised:
        writer.set_access(ANNA.tenant_id, "pay", everyone())
    assert raised.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE
    assert "another writer" in raised.value.message.lower()
