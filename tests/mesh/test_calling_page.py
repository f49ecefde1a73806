"""docs/calling.md: each snippet runs as it stands, against the mesh; grpcurl too, where it can be built."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.mesh.hosting import Mesh, run_mesh
from tests.servers import find_go_tool

PAGE = (REPO / "docs" / "calling.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
HANDBOOK = """# Trips

## Approval

A trip that costs more than 500 EUR is approved by the head of department.

## Vouchers

Vouchers are handed in within five business days of the return.
"""


@pytest.fixture(scope="module")
def local_mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mesh, Path]]:
    """A mesh as `citemesh up` leaves it, and a folder with the page's handbook."""
    folder = tmp_path_factory.mktemp("calling")
    (folder / "handbook.md").write_text(HANDBOOK, encoding="utf-8")
    with run_mesh("embedded", folder) as mesh:
        yield mesh, folder


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_snippet_runs(local_mesh: tuple[Mesh, Path], number: int) -> None:
    mesh, folder = local_mesh
    environ = os.environ | {"CITEMESH_STATE_DIR": str(mesh.state_dir)}
    # The later snippets ask about what the first one ingests.
    code = SNIPPETS[number] if number == 0 else SNIPPETS[0] + "\n" + SNIPPETS[number]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=folder, env=environ, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "five business days" in done.stdout


@pytest.mark.timeout(900)  # on a fresh machine grpcurl is built first
def test_grpcurl_line_runs(local_mesh: tuple[Mesh, Path]) -> None:
    mesh, folder = local_mesh
    grpcurl = find_go_tool("grpcurl", "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3")
    line = re.search(r"    grpcurl (.*?)\n\n", PAGE, re.DOTALL)
    assert line is not None
    command = line.group(1).replace("localhost:8470", mesh.target)
    done = subprocess.run(
        ["bash", "-c", f"{grpcurl} {command}"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"].startswith("ANSWER_OUTCOME_")
