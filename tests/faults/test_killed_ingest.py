"""An ingest that dies with its service: what was acknowledged is whole, and nothing is half there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.killed_ingest import run_rounds


@pytest.mark.timeout(120)
def test_acknowledged_documents_survive_kill_9_whole(tmp_path: Path) -> None:
    tally = run_rounds(tmp_path, 3)
    assert len(tally.acknowledged) >= 3
    assert (tally.lost, tally.half, tally.unfindable) == ([], [], [])
