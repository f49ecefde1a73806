"""Sixty rounds of `kill -9` to the documents service during an ingest. CITEMESH_BENCH_KILL_ROUNDS sets how many."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.bench.report import Figure
from tests.faults.killed_ingest import run_rounds


def run() -> list[Figure]:
    """Run the rounds; the limits are zero."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        tally = run_rounds(Path(name), int(os.environ.get("CITEMESH_BENCH_KILL_ROUNDS", "60")))
    details = {
        "rounds": tally.round_count,
        "sent": tally.sent_count,
        "acknowledged": len(tally.acknowledged),
        "stored_without_answer": tally.unacknowledged_count,
    }
    return [
        Figure("acknowledged documents lost", float(len(tally.lost)), "documents", 0.0, details),
        Figure("documents half there", float(len(tally.half)), "documents", 0.0),
        Figure("legs that miss passages", float(len(tally.unfindable)), "legs", 0.0),
        Figure("acknowledged over all rounds", float(len(tally.acknowledged)), "documents"),
    ]
