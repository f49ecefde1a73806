"""The OpenSearch store keeps the contract that the embedded one keeps; one server for all of these tests."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citemesh.config.paths import STORE_URL_VARIABLE
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.open import open_reader, open_writer
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.generations import find_drift
from citemesh.v1 import errors_pb2
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals, Everyone
from tests.contract.test_store_contract import ANNA, ENCODER, StoreContract


class TestOpenSearchStore(StoreContract):
    """Each test has indexes of its own."""

    @pytest.fixture
    def environ(self, opensearch_address: str) -> dict[str, str]:
        return {STORE_URL_VARIABLE: f"{opensearch_address}/test-{uuid.uuid4().hex[:12]}"}

    @pytest.fixture
    def writer(self, tmp_path: Path, environ: dict[str, str]) -> Iterator[StoreWriter]:
        writer = open_writer(tmp_path / "state", environ)
        writer.set_encoder(ENCODER)
        yield writer
        writer.close()

    @pytest.fixture
    def reader(self, tmp_path: Path, environ: dict[str, str], writer: StoreWriter) -> Iterator[StoreReader]:
        reader = open_reader(tmp_path / "state", environ)
        yield reader
        reader.close()

    def test_a_write_that_ends_before_its_record_is_never_seen(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.put(writer, tmp_path, "kept", ["Travel needs approval."])

        def fail(*_: object, **__: object) -> None:
            raise ConnectionAbortedError

        with monkeypatch.context() as patched:
            patched.setattr(writer, "_commit", fail)
            with pytest.raises(ConnectionAbortedError):
                self.put(writer, tmp_path, "half", ["Travel is free.", "Travel is fast."])
        assert self.found(reader, ANNA, "travel") == {"Travel needs approval."}
        self.put(writer, tmp_path, "half", ["Travel is free.", "Travel is fast."])
        assert len(self.found(reader, ANNA, "travel")) == 3

    def test_a_document_whose_state_was_not_written_is_seen_after_it_is_sent_again(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.put(writer, tmp_path, "first", ["Travel needs approval."])
        assert self.found(reader, ANNA, "travel") == {"Travel needs approval."}
        put = Connection.put

        def fail_for_state(self: Connection, index: str, key: str, *rest: Any, **more: Any) -> Any:
            if index == self.names.state and "change_sequence" in rest[0] and key != "numbers":
                raise ConnectionAbortedError
            return put(self, index, key, *rest, **more)

        with monkeypatch.context() as patched:
            patched.setattr(Connection, "put", fail_for_state)
            with pytest.raises(ConnectionAbortedError):
                self.put(writer, tmp_path, "second", ["Travel is slow."])
        self.put(writer, tmp_path, "second", ["Travel is slow."])
        assert self.found(reader, ANNA, "travel") == {"Travel needs approval.", "Travel is slow."}

    def test_what_another_writer_changed_is_not_written_over(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        self.put(writer, tmp_path, "pay", ["Salaries are secret."])
        other = open_writer(tmp_path / "other", environ)
        other.set_encoder(ENCODER)
        put = Connection.put
        state = {"done": False}

        def revoke_between(connection: Connection, index: str, key: str, *rest: Any, **more: Any) -> Any:
            if index == connection.names.state and not state["done"] and connection is not other_connection:
                state["done"] = True
                access = AccessPolicy(only=AllowedPrincipals(groups=["hr"]))
                other.set_access(ANNA.tenant_id, "pay", access)
            return put(connection, index, key, *rest, **more)

        other_connection = vars(other)["_connection"]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Connection, "put", revoke_between)
            with contextlib.suppress(ServiceError):
                writer.set_access(ANNA.tenant_id, "pay", AccessPolicy(everyone=Everyone()))
        other.close()
        assert self.found(reader, ANNA, "salaries") == set()

    def test_a_lost_index_is_no_empty_answer(
        self, writer: StoreWriter, reader: StoreReader, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        self.put(writer, tmp_path, "first", ["Travel needs approval."])
        connection = Connection(environ[STORE_URL_VARIABLE])
        connection.client.indices.delete(index=f"{connection.names.passages}-*")
        connection.close()
        with pytest.raises(ServiceError) as raised:
            self.found(reader, ANNA, "travel")
        assert raised.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE

    def test_an_absent_cluster_is_said_at_once(self, tmp_path: Path) -> None:
        reader = open_reader(tmp_path, {STORE_URL_VARIABLE: "http://127.0.0.1:1/none"})
        assert reader.check()
        with pytest.raises(ServiceError) as raised:
            reader.allowed_versions(ANNA)
        assert raised.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE
        reader.close()

    def test_drift_of_a_mapping_is_told(self, writer: StoreWriter, environ: dict[str, str]) -> None:
        connection = Connection(environ[STORE_URL_VARIABLE])
        assert find_drift(connection) == []
        body = {"properties": {"surprise": {"type": "keyword"}}}
        connection.client.indices.put_mapping(index=connection.names.documents, body=body)
        assert find_drift(connection) == [f"{connection.names.documents} has another field 'surprise'"]
        connection.close()
