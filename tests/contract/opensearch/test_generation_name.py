"""The name by which readers know the index in use without asking for the alias."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.indexes import name_generation, read_generation, read_named_generation
from citemesh.v1.retrieval_pb2 import EncoderContract
from tests.contract.store.library import ANNA, ENCODER, embed, put


def another_encoder(revision: str) -> EncoderContract:
    other = EncoderContract()
    other.CopyFrom(ENCODER)
    other.revision = revision
    return other


def exchange(writer: StoreWriter, revision: str) -> None:
    writer.replace_vectors(another_encoder(revision), lambda found: np.stack([embed(each.text) for each in found]))


def test_a_reader_sees_each_exchange_at_once(
    writer: StoreWriter, reader: StoreReader, connection: Connection, tmp_path: Path
) -> None:
    put(writer, tmp_path, "policy", ["A rule."])
    for revision in ("2", "3"):
        assert reader.encoder_contract() is not None
        exchange(writer, revision)
        assert reader.encoder_contract() == another_encoder(revision)
        used = read_generation(connection)
        assert used is not None
        assert read_named_generation(connection) == used[0]


def test_without_a_name_the_alias_tells(
    writer: StoreWriter, other_writer: StoreWriter, reader: StoreReader, connection: Connection, tmp_path: Path
) -> None:
    put(writer, tmp_path, "policy", ["A rule."])
    used = read_generation(connection)
    assert used is not None
    state, entry = connection.names.state, "generation"
    # As a writer that is killed while the alias moves leaves it: nobody but the next that moves it names it again.
    connection.write(state, entry, {"kind": entry, "index": ""})
    assert reader.encoder_contract() == ENCODER
    name_generation(connection)
    assert read_named_generation(connection) == ""
    # As an earlier version leaves it, and as nothing should: the next start mends both.
    connection.write(state, entry, {"kind": entry, "index": "of another time"})
    assert reader.encoder_contract() == ENCODER
    other_writer.set_encoder(ENCODER)
    assert read_named_generation(connection) == used[0]
    connection.run(lambda client: client.delete(index=state, id=entry))
    assert reader.encoder_contract() == ENCODER
    other_writer.set_encoder(ENCODER)
    assert read_named_generation(connection) == used[0]


def test_a_filter_tells_of_which_index_it_is(
    writer: StoreWriter, reader: StoreReader, connection: Connection, tmp_path: Path
) -> None:
    put(writer, tmp_path, "policy", ["A rule."])
    before = reader.allowed_versions(ANNA)
    assert reader.encoder_contract(before) == ENCODER
    exchange(writer, "2")
    after = reader.allowed_versions(ANNA)
    assert after.key != before.key
    assert after.version_keys == before.version_keys
    assert reader.encoder_contract(after) == another_encoder("2")
    # Never earlier than the filter, whatever the filter.
    assert reader.encoder_contract(before) == another_encoder("2")
