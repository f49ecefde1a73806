"""Backups of the embedded store: whole, of one moment, checked; and indexes built anew."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreWriter, Vectors
from citemesh.store.embedded.backup import MANIFEST_NAME, BackupError, back_up, restore
from citemesh.store.embedded.database import FILE_NAME
from citemesh.store.embedded.open import open_reader, open_writer
from citemesh.store.embedded.reindex import reindex
from citemesh.v1.document_pb2 import Document
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.retrieval_pb2 import EncoderContract

ANNA = Principal("acme", "anna", frozenset())
ENCODER = EncoderContract(model="test", dimension_count=4, canary_vectors=[1, 0, 0, 0])
OTHER = EncoderContract(model="other", dimension_count=2, canary_vectors=[1, 0])


def say_nothing(_what: str, _done: int, _total: int) -> None: ...


def open_for_writing(state_dir: Path) -> StoreWriter:
    writer = open_writer(state_dir)
    writer.set_encoder(ENCODER)
    return writer


def put(writer: StoreWriter, folder: Path, number: int) -> None:
    text = f"Document {number} of alpha."
    file = folder / f"{number}.txt"
    file.write_text(text)
    writer.put_version(
        "acme",
        Document(document_id=f"d{number}", title=f"d{number}", content_hash=hashlib.sha256(text.encode()).hexdigest()),
        sections=[],
        passages=[Passage(text=text, content_hash=f"h{number}", language="en")],
        vectors=np.eye(4, dtype=np.float32)[number % 4][None, :],
        file=file,
    )


def find_all(state_dir: Path) -> tuple[set[str], set[str]]:
    """The documents that the keyword leg finds, and the dense one; each with its original file."""
    reader = open_reader(state_dir)
    try:
        versions = reader.allowed_versions(ANNA)
        contract = reader.encoder_contract()
        assert contract is not None
        vector = np.eye(contract.dimension_count, dtype=np.float32)[0]
        legs = (reader.keyword_search("alpha", versions, 1000), reader.dense_search(vector, versions, 1000))
        found = [reader.passages_by_key([hit.passage_key for hit in hits], versions).values() for hits in legs]
        for passage in found[0]:
            path = reader.original_file(ANNA, passage.document_id, passage.document_version)
            assert path is not None
            assert path.read_text() == passage.text
        return {each.document_id for each in found[0]}, {each.document_id for each in found[1]}
    finally:
        reader.close()


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    writer = open_for_writing(tmp_path / "state")
    for number in range(20):
        put(writer, tmp_path, number)
    writer.close()
    return tmp_path / "state"


def test_a_restored_store_answers_as_the_first_one(filled: Path, tmp_path: Path) -> None:
    size = back_up(filled, tmp_path / "backup", say_nothing)
    assert (size.document_count, size.passage_count, size.file_count) == (20, 20, 20)
    assert restore(tmp_path / "backup", tmp_path / "new", say_nothing) == size
    open_for_writing(tmp_path / "new").close()
    names = {f"d{number}" for number in range(20)}
    assert find_all(tmp_path / "new") == (names, names) == find_all(filled)


def test_a_backup_of_a_store_in_use_is_one_moment_of_it(tmp_path: Path) -> None:
    writer = open_for_writing(tmp_path / "state")
    put(writer, tmp_path, 0)
    stop = threading.Event()

    def write() -> None:
        number = 1
        while not stop.is_set():
            put(writer, tmp_path, number)
            if number % 3 == 0:
                writer.delete("acme", f"d{number - 1}")
            number += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        sizes = [back_up(tmp_path / "state", tmp_path / f"backup{number}", say_nothing) for number in range(5)]
    finally:
        stop.set()
        thread.join()
        writer.close()
    assert sizes[-1].document_count > sizes[0].document_count
    for number, size in enumerate(sizes):
        restore(tmp_path / f"backup{number}", tmp_path / f"new{number}", say_nothing)
        open_for_writing(tmp_path / f"new{number}").close()
        keyword, dense = find_all(tmp_path / f"new{number}")
        assert len(keyword) == len(dense) == size.document_count


def test_nothing_is_overwritten(filled: Path, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "backup", say_nothing)
    with pytest.raises(BackupError, match="exists already"):
        back_up(filled, tmp_path / "backup", say_nothing)
    with pytest.raises(BackupError, match="nothing is overwritten"):
        restore(tmp_path / "backup", filled, say_nothing)
    with pytest.raises(BackupError, match="no document store"):
        back_up(tmp_path / "empty", tmp_path / "other", say_nothing)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("damage", ["database", "file", "missing", "manifest", "outside"])
def test_a_damaged_backup_is_refused_and_leaves_nothing(filled: Path, tmp_path: Path, damage: str) -> None:
    backup = tmp_path / "backup"
    back_up(filled, backup, say_nothing)
    originals = sorted(path for path in (backup / "files").rglob("*") if path.is_file())
    if damage == "database":
        data = bytearray((backup / FILE_NAME).read_bytes())
        data[5000] ^= 1
        (backup / FILE_NAME).write_bytes(data)
    elif damage == "file":
        originals[3].write_text("something else")
    elif damage == "missing":
        originals[3].unlink()
    elif damage == "manifest":
        (backup / MANIFEST_NAME).unlink()
    else:
        manifest = json.loads((backup / MANIFEST_NAME).read_text())
        manifest["files"][1]["path"] = "../escaped"
        (backup / MANIFEST_NAME).write_text(json.dumps(manifest))
    with pytest.raises(BackupError):
        restore(backup, tmp_path / "new", say_nothing)
    assert not (tmp_path / "new" / "store").exists()
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("target", ["state/store/files/copy", "/proc/copy", "file/copy"])
def test_a_backup_that_cannot_be_made_names_its_place(filled: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "file").touch()
    place = filled / target.removeprefix("state/") if target.startswith("state/") else tmp_path / target
    with pytest.raises(BackupError, match="copy"):
        back_up(filled, place, say_nothing)


@pytest.mark.parametrize("change", [{"schema_version": "later"}, {"files": []}])
def test_a_manifest_that_is_not_whole_restores_nothing(filled: Path, tmp_path: Path, change: dict[str, object]) -> None:
    backup = tmp_path / "backup"
    back_up(filled, backup, say_nothing)
    manifest = json.loads((backup / MANIFEST_NAME).read_text())
    (backup / MANIFEST_NAME).write_text(json.dumps(manifest | change))
    with pytest.raises(BackupError, match="no whole"):
        restore(backup, tmp_path / "new", say_nothing)
    assert not (tmp_path / "new" / "store").exists()


def test_a_rotten_original_is_named_before_it_replaces_a_good_backup(filled: Path, tmp_path: Path) -> None:
    next(path for path in (filled / "store" / "files").rglob("*") if path.is_file()).write_text("rotten")
    with pytest.raises(BackupError, match="damaged"):
        back_up(filled, tmp_path / "backup", say_nothing)
    assert [path.name for path in tmp_path.iterdir() if "backup" in path.name] == []


def encode_other(passages: Sequence[Passage]) -> Vectors:
    return np.tile(np.array([0.6, 0.8], dtype=np.float32), (len(passages), 1))


def test_reindex_builds_the_keyword_index_and_leaves_vectors_of_this_encoder(filled: Path) -> None:
    def refuse(_passages: Sequence[Passage]) -> Vectors:
        raise AssertionError("nothing is to be encoded")

    before = find_all(filled)
    assert reindex(filled, ENCODER, refuse, say_nothing, always_encode=False) == 0
    assert find_all(filled) == before


def test_another_encoder_replaces_all_vectors_and_goes_on_where_it_was_ended(filled: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    encoded: list[str] = []

    def encode(passages: Sequence[Passage]) -> Vectors:
        encoded.extend(passage.document_id for passage in passages)
        return encode_other(passages)

    def note(what: str, done: int, total: int) -> None:
        seen.append((what, done, total))

    assert reindex(filled, OTHER, encode, note, always_encode=False) == 20
    assert seen[-1] == ("vectors", 20, 20)
    assert len(encoded) == len(set(encoded)) == 20
    assert len(find_all(filled)[1]) == 20
    reader = open_reader(filled)
    assert reader.encoder_contract() == OTHER
    reader.close()


def test_an_ended_exchange_of_vectors_goes_on_and_serves_the_old_ones_meanwhile(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citemesh.store.embedded.vector_exchange._PASSAGES_PER_ENCODING", 8)
    calls: list[int] = []

    def encode_some(passages: Sequence[Passage]) -> Vectors:
        if len(calls) == 1:
            raise KeyboardInterrupt
        calls.append(len(passages))
        return encode_other(passages)

    with pytest.raises(KeyboardInterrupt):
        reindex(filled, OTHER, encode_some, say_nothing, always_encode=False)
    assert len(find_all(filled)[1]) == 20, "the old vectors serve"
    assert reindex(filled, OTHER, encode_other, say_nothing, always_encode=False) == 12
    assert len(find_all(filled)[1]) == 20


def test_a_store_in_use_is_not_rebuilt_under_its_mesh(filled: Path) -> None:
    writer = open_for_writing(filled)
    with pytest.raises(ServiceError, match="Another process writes"):
        reindex(filled, ENCODER, encode_other, say_nothing, always_encode=True)
    writer.close()
    assert len(find_all(filled)[0]) == 20
