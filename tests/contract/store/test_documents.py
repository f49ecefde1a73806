"""Storing, storing again, deleting, and the encoder that the vectors come from."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import numpy as np
import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.v1 import documents_pb2, errors_pb2, retrieval_pb2
from tests.contract.store.library import (
    ANNA,
    ENCODER,
    HANNA,
    OTHER_TENANT,
    day,
    embed,
    found,
    nearest,
    only,
    put,
)


def test_a_document_is_found_right_after_it_was_stored(
    writer: StoreWriter, reader: StoreReader, tmp_path: Path
) -> None:
    assert found(reader, ANNA, "travel") == set()
    stored = put(writer, tmp_path, "policy", ["Travel needs approval.", "Meals are paid."])
    assert stored.result == documents_pb2.INGEST_RESULT_CREATED
    assert stored.document.document_version == 1
    assert stored.document.passage_count == 2
    assert stored.document.access.HasField("everyone")
    assert found(reader, ANNA, "travel") == {"Travel needs approval."}
    assert nearest(reader, ANNA, "Meals are paid.")[0] == "Meals are paid."


def test_passages_get_ids_places_and_dates(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "policy", ["First.", "Second."], title="The Policy", start="2024-01-01")
    versions = reader.allowed_versions(ANNA)
    passages = reader.document_passages(versions, "policy")
    assert [passage.ordinal for passage in passages] == [0, 1]
    assert len({passage.passage_id for passage in passages}) == 2
    assert {passage.title for passage in passages} == {"The Policy"}
    assert passages[0].effective_from_time.ToDatetime(UTC) == day("2024-01-01")
    assert not passages[0].HasField("effective_to_time")
    assert reader.passages_by_id([passages[1].passage_id, "nothing"], versions).keys() == {passages[1].passage_id}
    (place,) = reader.places([], [passages[1].passage_id, "nothing"], versions)
    assert reader.places([place.passage_key], [], versions) == [place]
    assert (place.passage_id, place.document_id, place.section_id) == (passages[1].passage_id, "policy", "")
    assert reader.places([place.passage_key], [place.passage_id], reader.allowed_versions(OTHER_TENANT)) == []
    assert [profile.title for profile in reader.profiles(versions, 5)] == ["The Policy"]


def test_the_same_content_again_changes_nothing(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "policy", ["Old rule."], start="2024-01-01")
    put(writer, tmp_path, "policy", ["New rule."], start="2025-01-01")
    again = put(writer, tmp_path, "policy", ["Old rule."], start="2024-01-01")
    assert again.result == documents_pb2.INGEST_RESULT_UNCHANGED
    assert again.document.document_version == 1
    assert len(reader.document_versions(ANNA, "policy")) == 2


def test_going_back_to_corrected_content_is_a_new_version(
    writer: StoreWriter, reader: StoreReader, tmp_path: Path
) -> None:
    for text in ("Right.", "Wrong.", "Right."):
        put(writer, tmp_path, "policy", [text])
    assert [each.document_version for each in reader.document_versions(ANNA, "policy")] == [3, 2, 1]
    assert found(reader, ANNA, "right wrong") == {"Right."}


def test_access_given_with_unchanged_content_holds(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "pay", ["Salary bands."])
    again = put(writer, tmp_path, "pay", ["Salary bands."], access=only("hr"))
    assert again.result == documents_pb2.INGEST_RESULT_UNCHANGED
    assert found(reader, ANNA, "salary") == set()
    assert found(reader, HANNA, "salary") == {"Salary bands."}


def test_a_new_version_keeps_the_access(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "pay", ["Salary bands."], access=only("hr"))
    stored = put(writer, tmp_path, "pay", ["Salary bands, revised."])
    assert list(stored.document.access.only.groups) == ["hr"]
    assert found(reader, ANNA, "salary") == set()


def test_the_original_file_is_kept(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "pay", ["Salary bands."], access=only("hr"))
    (tmp_path / "original.txt").unlink()
    path = reader.original_file(HANNA, "pay", 1)
    assert path is not None
    assert path.read_text() == "Salary bands."
    assert reader.original_file(ANNA, "pay", 1) is None
    assert reader.original_file(HANNA, "pay", 2) is None


def test_delete_removes_every_version_and_file(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "policy", ["Old rule."], start="2024-01-01")
    put(writer, tmp_path, "policy", ["New rule."], start="2025-01-01")
    path = reader.original_file(ANNA, "policy", 1)
    assert writer.exists("acme", "policy")
    assert not writer.exists("umbrella", "policy")
    assert writer.delete("acme", "policy") == 2
    assert not writer.exists("acme", "policy")
    assert writer.delete("acme", "policy") == 0
    assert found(reader, ANNA, "rule") == set()
    assert nearest(reader, ANNA, "New rule.") == []
    assert reader.document_versions(ANNA, "policy") == []
    assert path is not None
    assert not path.exists()


def test_a_file_that_another_document_shares_is_kept(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "one", ["Same text."])
    put(writer, tmp_path, "two", ["Same text."])
    writer.delete("acme", "one")
    assert reader.original_file(ANNA, "two", 1) is not None


def test_vectors_of_another_encoder_are_refused(writer: StoreWriter, tmp_path: Path) -> None:
    put(writer, tmp_path, "policy", ["Text."])
    other, pretender, silent = (retrieval_pb2.EncoderContract() for _ in range(3))
    for each in (other, pretender, silent):
        each.CopyFrom(ENCODER)
    other.revision = "2"
    pretender.canary_vectors[:] = [-value for value in ENCODER.canary_vectors]
    silent.ClearField("canary_vectors")
    for each in (other, pretender, silent):
        with pytest.raises(ServiceError) as raised:
            writer.set_encoder(each)
        assert raised.value.reason == errors_pb2.ERROR_REASON_ENCODER_MISMATCH


def test_an_encoder_on_another_processor_is_the_same(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "policy", ["Text."])
    nudged = retrieval_pb2.EncoderContract()
    nudged.CopyFrom(ENCODER)
    nudged.canary_vectors[:] = [value + 0.002 for value in ENCODER.canary_vectors]
    writer.set_encoder(nudged)
    put(writer, tmp_path, "other policy", ["More text."])
    assert reader.encoder_contract() == ENCODER


def test_replacing_vectors_switches_the_encoder(writer: StoreWriter, reader: StoreReader, tmp_path: Path) -> None:
    put(writer, tmp_path, "policy", ["One.", "Two."])
    assert nearest(reader, ANNA, "One.")[0] == "One."
    other = retrieval_pb2.EncoderContract(model="test", revision="2", dimension_count=4, normalized=True)
    axes = {"One.": 0, "Two.": 1}
    count = writer.replace_vectors(
        other, lambda passages: np.eye(4, dtype=np.float32)[[axes[passage.text] for passage in passages]]
    )
    assert count == 2
    contract = reader.encoder_contract()
    assert contract is not None
    assert contract.revision == "2"
    versions = reader.allowed_versions(ANNA)
    hits = reader.dense_search(np.eye(4, dtype=np.float32)[1], versions, 1)
    assert [each.text for each in reader.passages_by_key([hits[0].passage_key], versions).values()] == ["Two."]
    with pytest.raises(ServiceError) as raised:
        reader.dense_search(embed("One."), versions, 1)
    assert raised.value.reason == errors_pb2.ERROR_REASON_ENCODER_MISMATCH
