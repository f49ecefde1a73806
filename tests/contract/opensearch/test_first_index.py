"""Writers that start at the same moment, or with nearly the same encoder, share one index and lose nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.open import open_reader, open_writer
from citemesh.store.opensearch import first_index
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.gate import Gate
from citemesh.store.opensearch.indexes import begin_generation, read_generation, use_generation
from citemesh.v1 import errors_pb2
from citemesh.v1.retrieval_pb2 import EncoderContract
from tests.contract.store.library import ANNA, ENCODER, found, put


@pytest.fixture
def starting(tmp_path: Path, environ: dict[str, str]) -> Iterator[list[StoreWriter]]:
    """Two writers that have not said yet which encoder is theirs."""
    writers = [open_writer(tmp_path / name, environ) for name in ("one", "two")]
    yield writers
    for writer in writers:
        writer.close()


def changed_encoder(*, revision: str = ENCODER.revision, canary_change: float = 0.0) -> EncoderContract:
    changed = EncoderContract()
    changed.CopyFrom(ENCODER)
    changed.revision = revision
    changed.canary_vectors[0] += canary_change
    return changed


def test_writers_that_start_at_once_share_the_first_index(
    starting: list[StoreWriter],
    environ: dict[str, str],
    connection: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, two = starting
    second = threading.Thread(target=two.set_encoder, args=[ENCODER])

    def use_after_the_second_began(connection: Connection, index: str) -> None:
        if not second.ident:
            second.start()
            second.join(1.0)
        use_generation(connection, index)

    monkeypatch.setattr(first_index, "use_generation", use_after_the_second_began)
    one.set_encoder(ENCODER)
    second.join(30)
    assert not second.is_alive()
    indexes = connection.client.indices.get_alias(index=connection.names.generations)
    assert len(indexes) == 1
    put(one, tmp_path, "a", ["Rule of one."])
    put(two, tmp_path, "b", ["Rule of two."])
    reader = open_reader(tmp_path / "one", environ)
    assert found(reader, ANNA, "rule") == {"Rule of one.", "Rule of two."}
    reader.close()


def test_an_index_that_a_dead_writer_made_and_never_used_is_no_obstacle(
    starting: list[StoreWriter], connection: Connection, tmp_path: Path
) -> None:
    begin_generation(connection, ENCODER)
    starting[0].set_encoder(ENCODER)
    assert len(connection.client.indices.get_alias(index=connection.names.generations)) == 1
    put(starting[0], tmp_path, "a", ["Rule."])


def test_an_empty_index_stays_where_only_the_processor_differs(
    writer: StoreWriter, starting: list[StoreWriter], reader: StoreReader, connection: Connection, tmp_path: Path
) -> None:
    used = read_generation(connection)
    starting[0].set_encoder(changed_encoder(canary_change=1e-4))
    assert read_generation(connection) == used
    put(writer, tmp_path, "a", ["Rule of one."])
    put(starting[0], tmp_path, "b", ["Rule of two."])
    assert found(reader, ANNA, "rule") == {"Rule of one.", "Rule of two."}


def test_an_empty_index_is_given_to_another_encoder(
    writer: StoreWriter, starting: list[StoreWriter], reader: StoreReader, tmp_path: Path
) -> None:
    starting[0].set_encoder(changed_encoder(revision="2"))
    with pytest.raises(ServiceError) as raised:
        put(writer, tmp_path, "a", ["Rule of one."])
    assert raised.value.reason == errors_pb2.ERROR_REASON_ENCODER_MISMATCH
    put(starting[0], tmp_path, "b", ["Rule of two."])
    assert found(reader, ANNA, "rule") == {"Rule of two."}


def test_what_was_committed_before_the_switch_is_not_given_up(
    writer: StoreWriter,
    starting: list[StoreWriter],
    reader: StoreReader,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain_closed = Gate.closed

    def commit_before(self: Gate) -> object:
        put(writer, tmp_path, "a", ["Rule of one."])
        return plain_closed(self)

    monkeypatch.setattr(Gate, "closed", commit_before)
    with pytest.raises(ServiceError) as raised:
        starting[0].set_encoder(changed_encoder(revision="2"))
    assert raised.value.reason == errors_pb2.ERROR_REASON_ENCODER_MISMATCH
    assert found(reader, ANNA, "rule") == {"Rule of one."}
