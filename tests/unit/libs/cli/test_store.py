"""`citemesh store`: a copy taken and put back, indexes built anew, with what people and programs are told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from citemesh.store.embedded.open import open_writer
from tests.conftest import REPO
from tests.unit.libs.cli.scripted_mesh import Ended, run_command


async def command(tmp_path: Path, *arguments: str) -> Ended:
    return await run_command(*arguments, cwd=tmp_path, environ={"CITEMESH_STATE_DIR": str(tmp_path / "state")})


@pytest.fixture
async def filled(tmp_path: Path) -> Path:
    """A folder whose `state` holds one real document."""
    shutil.copy(REPO / "demo" / "corpus" / "leave-policy.md", tmp_path)
    ended = await command(tmp_path, "ingest", "leave-policy.md")
    assert ended.code == 0, ended.err
    return tmp_path


async def test_a_copy_is_taken_and_put_back(filled: Path) -> None:
    ended = await command(filled, "store", "backup", "copy")
    assert ended.code == 0, ended.err
    assert "The backup is in copy: 1 document, 9 passages, 1 file" in ended.out
    again = await command(filled, "store", "backup", "copy")
    assert again.code == 2
    assert "nothing is overwritten" in again.err
    refused = await command(filled, "store", "restore", "copy")
    assert refused.code == 2
    assert "holds a store already" in refused.err
    (filled / "state" / "store").rename(filled / "old")
    restored = await command(filled, "store", "restore", "copy", "--json")
    assert restored.code == 0, restored.err
    assert json.loads(restored.out)["passage_count"] == 9
    found = await command(filled, "search", "days of annual leave", "--top", "1")
    assert found.code == 0
    assert "Leave policy" in found.out


async def test_reindex_encodes_where_it_is_asked_to(filled: Path) -> None:
    ended = await command(filled, "store", "reindex")
    assert ended.code == 0, ended.err
    assert "the vectors are of this encoder already" in ended.out
    ended = await command(filled, "reindex", "--encode", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out) == {"encodedPassageCount": 9}


async def test_a_store_in_use_is_left_alone(filled: Path) -> None:
    writer = open_writer(filled / "state")
    try:
        ended = await command(filled, "store", "reindex")
    finally:
        writer.close()
    assert ended.code == 5
    assert "Another process writes this document store: stop it" in ended.err


@pytest.mark.parametrize("arguments", [("backup", "copy"), ("reindex",), ("restore", "nothing")])
async def test_without_a_store_or_a_backup_it_says_so(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ended = await command(tmp_path, "store", *arguments)
    assert ended.code == 2
    assert "no document store" in ended.err or "no backup" in ended.err


async def test_with_json_stdout_holds_nothing_else(filled: Path) -> None:
    # A store that logs: its database is damaged.
    database = filled / "state" / "store" / "documents.sqlite3"
    for file in database.parent.glob("documents.sqlite3*"):
        file.unlink()
    database.write_text("no database" * 1_000)
    ended = await command(filled, "store", "reindex", "--json")
    assert ended.code == 5
    assert ended.out == ""
    assert "store.failed" in ended.err
