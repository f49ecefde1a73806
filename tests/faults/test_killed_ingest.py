"""An ingest that dies with its service: what was acknowledged is whole, and nothing is half there."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from citemesh.config.paths import STORE_URL_VARIABLE
from tests.faults.killed_ingest import run_rounds


@pytest.mark.timeout(120)
def test_acknowledged_documents_survive_kill_9_whole(tmp_path: Path) -> None:
    tally = run_rounds(tmp_path, 3)
    assert len(tally.acknowledged) >= 3
    assert (tally.lost, tally.half, tally.seen_half, tally.unfindable) == ([], [], [], [])


@pytest.mark.timeout(180)
def test_acknowledged_documents_survive_kill_9_whole_on_opensearch(tmp_path: Path, opensearch_address: str) -> None:
    url = f"{opensearch_address}/killed-{uuid.uuid4().hex[:8]}"
    tally = run_rounds(tmp_path, 2, {STORE_URL_VARIABLE: url})
    assert len(tally.acknowledged) >= 2
    assert (tally.lost, tally.half, tally.seen_half, tally.unfindable) == ([], [], [], [])
