"""Derived indexes that lag, are damaged or are gone; processes that die; two processes at once."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.embedded.keyword_index import index_directory
from citemesh.store.embedded.keyword_writer import KeywordWriter
from citemesh.store.embedded.open import open_reader, open_writer
from citemesh.v1 import errors_pb2
from citemesh.v1.document_pb2 import Document
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.retrieval_pb2 import EncoderContract

ANNA = Principal("acme", "anna", frozenset())
ENCODER = EncoderContract(model="test", dimension_count=4)


def open_for_writing(state_dir: Path) -> StoreWriter:
    writer = open_writer(state_dir)
    writer.set_encoder(ENCODER)
    return writer


def put(writer: StoreWriter, state_dir: Path, name: str) -> None:
    text = f"Document {name} of alpha."
    file = state_dir / f"{name}.txt"
    file.write_text(text)
    writer.put_version(
        "acme",
        Document(document_id=name, title=name, content_hash=hashlib.sha256(text.encode()).hexdigest()),
        sections=[],
        passages=[Passage(text=text, content_hash=name, language="en")],
        vectors=np.eye(4, dtype=np.float32)[:1],
        file=file,
    )


def find(reader: StoreReader, word: str = "alpha") -> set[str]:
    versions = reader.allowed_versions(ANNA)
    hits = reader.keyword_search(word, versions, 1000)
    return {each.document_id for each in reader.passages_by_key([hit.passage_key for hit in hits], versions).values()}


def near(reader: StoreReader) -> set[str]:
    versions = reader.allowed_versions(ANNA)
    hits = reader.dense_search(np.eye(4, dtype=np.float32)[0], versions, 1000)
    return {each.document_id for each in reader.passages_by_key([hit.passage_key for hit in hits], versions).values()}


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return tmp_path


def test_a_second_writer_is_refused(state_dir: Path) -> None:
    writer = open_for_writing(state_dir)
    with pytest.raises(ServiceError) as raised:
        open_writer(state_dir)
    assert raised.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE
    writer.close()
    writer.close()
    open_writer(state_dir).close()


def test_a_reader_may_come_first(state_dir: Path) -> None:
    reader = open_reader(state_dir)
    assert find(reader) == set()
    writer = open_for_writing(state_dir)
    put(writer, state_dir, "one")
    assert find(reader) == near(reader) == {"one"}
    writer.close()
    reader.close()


def test_many_may_open_a_new_store_at_once(state_dir: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        readers = list(threads.map(lambda _: open_reader(state_dir), range(16)))
    for reader in readers:
        assert find(reader) == set()
        reader.close()


def test_what_the_keyword_index_lacks_is_found_all_the_same(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = open_for_writing(state_dir), open_reader(state_dir)
    put(writer, state_dir, "one")
    put(writer, state_dir, "two")
    assert find(reader) == {"one", "two"}
    monkeypatch.setattr(KeywordWriter, "catch_up", lambda self, tenant_id: None)
    put(writer, state_dir, "three")
    writer.delete("acme", "one")
    assert find(reader) == {"two", "three"}
    monkeypatch.undo()
    put(writer, state_dir, "four")
    assert find(reader) == {"two", "three", "four"}
    writer.close()
    reader.close()


def break_files(directory: Path, how: str) -> None:
    if how == "gone":
        shutil.rmtree(directory)
        return
    for path in directory.iterdir():
        if path.name.startswith("."):
            continue
        if how == "truncated":
            os.truncate(path, path.stat().st_size // 2)
        elif how == "zeroed":
            path.write_bytes(b"\0" * path.stat().st_size)
        elif how == "half gone" and path.suffix in (".term", ".store"):
            path.unlink()


@pytest.mark.parametrize("how", ["gone", "truncated", "zeroed", "half gone"])
def test_a_damaged_keyword_index_is_built_anew(state_dir: Path, how: str) -> None:
    writer = open_for_writing(state_dir)
    for name in ("one", "two"):
        put(writer, state_dir, name)
    writer.close()
    break_files(index_directory(state_dir / "store", "acme"), how)
    # A reader that starts now finds everything; so does one after the writer has repaired the index.
    reader = open_reader(state_dir)
    assert find(reader) == near(reader) == {"one", "two"}
    writer = open_for_writing(state_dir)
    put(writer, state_dir, "three")
    assert find(reader) == {"one", "two", "three"}
    reader.close()
    reader = open_reader(state_dir)
    assert find(reader) == {"one", "two", "three"}
    reader.close()
    writer.close()


def test_an_index_of_another_database_is_built_anew(state_dir: Path) -> None:
    writer = open_for_writing(state_dir)
    for name in ("one", "two", "three"):
        put(writer, state_dir, name)
    writer.close()
    for path in (state_dir / "store").glob("documents.sqlite3*"):
        path.unlink()
    shutil.rmtree(state_dir / "store" / "files")
    writer, reader = open_for_writing(state_dir), open_reader(state_dir)
    put(writer, state_dir, "four")
    assert find(reader) == {"four"}
    writer.close()
    reader.close()


def test_a_database_that_is_no_database_is_said_to_be_unusable(state_dir: Path) -> None:
    (state_dir / "store").mkdir()
    (state_dir / "store" / "documents.sqlite3").write_bytes(b"no database at all" * 100)
    for opened in (open_reader, open_writer):
        with pytest.raises(ServiceError) as raised:
            opened(state_dir)
        assert raised.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE


def test_a_later_schema_is_refused(state_dir: Path) -> None:
    open_for_writing(state_dir).close()
    with sqlite3.connect(state_dir / "store" / "documents.sqlite3") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ServiceError, match="later version"):
        open_reader(state_dir)


_WRITE_FOREVER = """
import sys
from pathlib import Path
from tests.unit.libs.store.test_embedded_recovery import open_for_writing, put
state_dir = Path(sys.argv[1])
writer = open_for_writing(state_dir)
for number in range(100_000):
    put(writer, state_dir, f"{sys.argv[2]}-{number}")
    print(f"{sys.argv[2]}-{number}", flush=True)
"""


def test_what_was_acknowledged_survives_a_kill_and_other_processes_see_it(state_dir: Path) -> None:
    acknowledged: set[str] = set()
    reader = open_reader(state_dir)
    for turn in range(3):
        command = [sys.executable, "-c", _WRITE_FOREVER, str(state_dir), str(turn)]
        environ = os.environ | {"PYTHONPATH": os.pathsep.join(["libs", "."])}
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
        assert child.stdout is not None
        for _ in range(4):
            acknowledged.add(child.stdout.readline().strip())
            # Another process has written it and is still writing.
            assert acknowledged <= find(reader)
            assert acknowledged <= near(reader)
        time.sleep(0.01 * turn)
        child.send_signal(signal.SIGKILL)
        acknowledged.update(line.strip() for line in child.stdout if line.endswith("\n"))
        child.wait()
        child.stdout.close()
    assert "" not in acknowledged
    assert acknowledged <= find(reader)
    writer = open_writer(state_dir)
    reader.close()
    reader = open_reader(state_dir)
    assert acknowledged <= find(reader)
    assert find(reader) == near(reader)
    writer.close()
    reader.close()
