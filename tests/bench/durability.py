"""Rounds of `kill -9` to the documents service during an ingest: sixty on the embedded store, twenty on OpenSearch.

CITEMESH_BENCH_KILL_ROUNDS sets how many, CITEMESH_TEST_OPENSEARCH_URL names a server that runs already.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
from pathlib import Path

from citemesh.config.paths import STORE_URL_VARIABLE
from tests.bench.opensearch import find_server
from tests.bench.report import Figure
from tests.faults.killed_ingest import Tally, run_rounds
from tests.opensearch_server.install import CannotInstallError


def run() -> list[Figure]:
    """Kill the service over the embedded store; the limits are zero."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        return _report(run_rounds(Path(name), _count_rounds(60)))


def run_opensearch() -> list[Figure]:
    """The same over OpenSearch, whose server goes on. Nothing where there is none."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, contextlib.ExitStack() as stack:
        try:
            address = find_server(stack, Path(name) / "cluster")
        except CannotInstallError as error:
            return [Figure(f"left out: {error}", 0.0, "")]
        url = f"{address}/killed-{uuid.uuid4().hex[:8]}"
        return _report(run_rounds(Path(name) / "mesh", _count_rounds(20), {STORE_URL_VARIABLE: url}))


def _count_rounds(usual: int) -> int:
    return int(os.environ.get("CITEMESH_BENCH_KILL_ROUNDS", str(usual)))


def _report(tally: Tally) -> list[Figure]:
    details = {
        "rounds": tally.round_count,
        "sent": tally.sent_count,
        "acknowledged": len(tally.acknowledged),
        "stored_without_answer": tally.unacknowledged_count,
    }
    return [
        Figure("acknowledged documents lost", float(len(tally.lost)), "documents", 0.0, details),
        Figure("documents half there", float(len(tally.half)), "documents", 0.0),
        Figure(
            "documents half seen by a reader", float(len(tally.seen_half)), "documents", 0.0, {"seen": tally.seen_count}
        ),
        Figure("legs that miss passages", float(len(tally.unfindable)), "legs", 0.0),
        Figure("acknowledged over all rounds", float(len(tally.acknowledged)), "documents"),
    ]
