"""The bulk ingest as a program of its own: what the command says of one that ends early."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.progress import Progress

from citemesh.cli import mesh
from citemesh.cli.exits import CommandError
from citemesh.cli.progress import IngestProgress
from citemesh.cli.ray_reading import _run
from citemesh.cli.tally import Tally


@pytest.mark.parametrize("file_count", [1, 50_000])
async def test_a_program_that_ends_before_it_has_read_its_job_is_told_by_its_code(
    monkeypatch: pytest.MonkeyPatch, file_count: int
) -> None:
    program = [sys.executable, "-c", "import sys; sys.exit(3)"]
    monkeypatch.setattr(mesh, "name_bulk_ingest", lambda: (program, dict(os.environ)))
    job: dict[str, Any] = {"files": [{"path": str(Path("folder") / str(number))} for number in range(file_count)]}
    with pytest.raises(CommandError, match="ended early, with code 3"):
        await _run(job, Tally(), IngestProgress(Progress(), {}))
