"""Files made to do harm, to the running mesh: each is read or refused in time, in words, and the service lives on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from citemesh.rpc.errors import reason_name
from citemesh.v1 import documents_pb2
from tests.faults.hostile_files import FILES, READ
from tests.faults.test_files import LIMIT_S, list_documents, send
from tests.mesh.hosting import Mesh


def wrote_outside() -> bool:
    """Whether the file is there that one of them names as a part of itself."""
    return Path("/tmp/book.opf").exists()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", FILES)
async def test_a_hostile_file_is_read_or_refused_in_time(embedded_mesh: Mesh, tmp_path: Path, name: str) -> None:
    file_name, write, ends = FILES[name]
    path = tmp_path / file_name
    write(path)
    started = time.monotonic()
    # The time is said, because OCR takes what a call leaves it.
    result = await send(embedded_mesh, path, f"hostile-{name}", timeout=LIMIT_S)
    assert time.monotonic() - started < LIMIT_S
    ended = READ if isinstance(result, documents_pb2.IngestResponse) else reason_name(result)
    assert ended in ends
    assert embedded_mesh.processes["all"].poll() is None
    assert (f"hostile-{name}" in await list_documents(embedded_mesh)) == (ended == READ)
    assert not wrote_outside()
