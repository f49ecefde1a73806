"""A cluster that is away, incomplete or slow is an error of the store, never an empty answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.config.paths import STORE_URL_VARIABLE
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.open import open_reader
from citemesh.store.opensearch.connection import Connection
from citemesh.v1 import errors_pb2
from tests.contract.store.library import ANNA, embed, found, put


def test_a_lost_index_is_no_empty_answer(
    writer: StoreWriter, reader: StoreReader, connection: Connection, tmp_path: Path
) -> None:
    put(writer, tmp_path, "first", ["Travel needs approval."])
    versions = reader.allowed_versions(ANNA)
    connection.client.indices.delete(index=connection.names.generations)
    connection.client.indices.delete(index=connection.names.sections)
    for ask in (
        lambda: found(reader, ANNA, "travel"),
        lambda: reader.toc_search("travel", versions, 5),
        lambda: reader.passages_by_label(["table 1"], versions),
        lambda: reader.document_passages(versions, "first"),
        lambda: reader.dense_search(embed("travel"), versions, 5),
    ):
        with pytest.raises(ServiceError) as raised:
            ask()
        assert raised.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE


def test_an_absent_cluster_is_said_at_once(tmp_path: Path) -> None:
    reader = open_reader(tmp_path, {STORE_URL_VARIABLE: "http://127.0.0.1:1/none"})
    assert reader.check()
    with pytest.raises(ServiceError) as raised:
        reader.allowed_versions(ANNA)
    assert raised.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE
    assert STORE_URL_VARIABLE in raised.value.message
    reader.close()


def test_what_is_not_there_is_an_error_of_the_store(writer: StoreWriter, connection: Connection) -> None:
    with pytest.raises(ServiceError) as raised:
        connection.run(lambda client: client.get(index=connection.names.documents, id="none"))
    assert raised.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE
    with pytest.raises(ServiceError) as raised:
        connection.search("no-such-index", {"query": {"match_all": {}}})
    assert raised.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE
    assert connection.find(lambda client: client.get(index=connection.names.documents, id="none")) is None


def test_a_question_of_another_width_is_a_mismatch(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "first", ["Travel needs approval."])
    with pytest.raises(ServiceError) as raised:
        reader.dense_search(embed("travel")[:8], reader.allowed_versions(ANNA), 5)
    assert raised.value.reason == errors_pb2.ERROR_REASON_ENCODER_MISMATCH
