"""All vectors are exchanged while others write: nothing is lost, and what cannot be kept is refused clearly."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter, Vectors
from citemesh.store.opensearch import parts
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.gate import Gate
from citemesh.store.opensearch.indexes import read_generation
from citemesh.store.opensearch.leftovers import count_versions
from citemesh.store.opensearch.vector_exchange import VectorExchange
from citemesh.v1 import errors_pb2
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.retrieval_pb2 import EncoderContract
from tests.contract.store.library import ANNA, ENCODER, embed, found, nearest, put


def another_encoder() -> EncoderContract:
    """One of the same width."""
    other = EncoderContract()
    other.CopyFrom(ENCODER)
    other.revision = "2"
    return other


def encode(passages: Sequence[Passage]) -> Vectors:
    return np.stack([embed(each.text) for each in passages])


def test_what_others_write_meanwhile_is_kept(
    writer: StoreWriter, other_writer: StoreWriter, reader: StoreReader, tmp_path: Path
) -> None:
    for number in range(3):
        put(writer, tmp_path, f"old{number}", [f"Old rule {number}."])
    is_first = True

    def encode_while_written(passages: Sequence[Passage]) -> Vectors:
        nonlocal is_first
        if is_first:
            is_first = False
            put(other_writer, tmp_path, "new", ["New rule by another."])
            put(writer, tmp_path, "own", ["New rule by the same."])
            other_writer.delete(ANNA.tenant_id, "old1")
        return encode(passages)

    assert writer.replace_vectors(another_encoder(), encode_while_written) == 4
    kept = {"Old rule 0.", "Old rule 2.", "New rule by another.", "New rule by the same."}
    assert found(reader, ANNA, "rule") == kept
    assert set(nearest(reader, ANNA, "New rule by another.")) == kept


def test_what_is_written_but_not_committed_meanwhile_is_no_obstacle(
    writer: StoreWriter,
    other_writer: StoreWriter,
    reader: StoreReader,
    connection: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(writer, tmp_path, "old", ["Old rule."])
    plain_level = VectorExchange._level
    refused = 0

    def level_beside_a_writer(self: VectorExchange, index: str, *, is_closed: bool) -> bool:
        nonlocal refused
        if is_closed:
            with pytest.raises(ServiceError):
                put(other_writer, tmp_path, f"half{refused}", ["Half a rule."])
            refused += 1
        return plain_level(self, index, is_closed=is_closed)

    monkeypatch.setattr(VectorExchange, "_level", level_beside_a_writer)
    # Killed before it removed what it had written.
    monkeypatch.setattr(parts, "remove_parts", lambda *_: None)
    assert writer.replace_vectors(another_encoder(), encode) == 1
    assert refused == 2
    assert found(reader, ANNA, "rule") == {"Old rule."}
    assert sum(each.count for each in count_versions(connection, connection.names.passages)) == 1


def test_a_writer_with_the_old_encoder_is_refused_afterwards(
    writer: StoreWriter, other_writer: StoreWriter, reader: StoreReader, tmp_path: Path
) -> None:
    put(writer, tmp_path, "old", ["Old rule."])
    writer.replace_vectors(another_encoder(), encode)
    with pytest.raises(ServiceError) as raised:
        put(other_writer, tmp_path, "late", ["Late rule."])
    assert raised.value.reason == errors_pb2.ERROR_REASON_ENCODER_MISMATCH
    put(writer, tmp_path, "next", ["Next rule."])
    assert found(reader, ANNA, "rule") == {"Old rule.", "Next rule."}


def test_a_commit_while_the_gate_is_closed_is_asked_to_come_again(
    writer: StoreWriter, other_writer: StoreWriter, reader: StoreReader, connection: Connection, tmp_path: Path
) -> None:
    put(writer, tmp_path, "old", ["Old rule."])
    gate = Gate(connection, "third")
    with gate.exchanging(), gate.closed():
        with pytest.raises(ServiceError) as raised:
            put(other_writer, tmp_path, "new", ["New rule."])
        assert raised.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE
        assert "try again" in raised.value.message
    put(other_writer, tmp_path, "new", ["New rule."])
    assert found(reader, ANNA, "rule") == {"Old rule.", "New rule."}


def test_the_gate_waits_for_a_commit(writer: StoreWriter, connection: Connection) -> None:
    used = read_generation(connection)
    assert used is not None
    committing, exchanging = Gate(connection, "one"), Gate(connection, "two")
    committing.enter(used[0])
    order: list[str] = []

    def close() -> None:
        with exchanging.exchanging(), exchanging.closed():
            order.append("closed")

    thread = threading.Thread(target=close)
    thread.start()
    thread.join(0.5)
    order.append("left")
    committing.leave()
    thread.join(20)
    assert order == ["left", "closed"]


def test_two_exchanges_at_once_are_refused(writer: StoreWriter, connection: Connection) -> None:
    with Gate(connection, "third").exchanging(), pytest.raises(ServiceError) as raised:
        writer.replace_vectors(another_encoder(), encode)
    assert raised.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE
    assert writer.replace_vectors(another_encoder(), encode) == 0
