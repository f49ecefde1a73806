"""Starts the real mesh as processes: embedded (one for all services) or split (one per service)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from services.registry import ALL, NAMES
from tests.conftest import REPO

START_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Mesh:
    """A running mesh: where each service is called, where its metrics are read, and its processes."""

    hosting: str
    targets: Mapping[str, str]
    metrics_addresses: Mapping[str, str]
    processes: Mapping[str, subprocess.Popen[str]]
    state_dir: Path
    log_path: Path

    @property
    def target(self) -> str:
        """Where callers ask."""
        return self.targets["dispatcher"]


@contextlib.contextmanager
def run_mesh(hosting: str, folder: Path, **settings: str) -> Iterator[Mesh]:
    """Run the mesh with its state, sockets and log below `folder`; ended by SIGTERM to each process's own pid."""
    folder.mkdir(parents=True, exist_ok=True)
    addresses = {name: f"unix:{folder}/{ALL if hosting == 'embedded' else name}.sock" for name in NAMES}
    environ = os.environ | {
        "CITEMESH_STATE_DIR": str(folder / "state"),
        "CITEMESH_AUTH_MODE": "open",
        "CITEMESH_HOST_METRICS_ADDRESS": "127.0.0.1:0",
        "ORT_DISABLE_TELEMETRY": "1",
        **settings,
    }
    groups = [ALL] if hosting == "embedded" else list(NAMES)
    processes: dict[str, subprocess.Popen[str]] = {}
    log_path = folder / "mesh.log"
    with log_path.open("ab") as log, contextlib.ExitStack() as stack:
        for group in groups:
            mine = {"CITEMESH_HOST_LISTEN_ADDRESS": f"unix:{folder}/{group}.sock"}
            # Addresses of local services are refused as ambiguous, so a process gets those of the others only.
            mine |= {f"CITEMESH_{n.upper()}_ADDRESS": a for n, a in addresses.items() if group not in (ALL, n)}
            process = subprocess.Popen(
                [sys.executable, "-m", "services", group],
                cwd=REPO,
                env=environ | mine,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
            processes[group] = process
            stack.callback(end_process, process)
        metrics = {}
        for group, process in processes.items():
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, f"{group} did not start: {log_path.read_text(errors='replace')[-3000:]}"
            ready = json.loads(line)
            assert not ready["problems"], ready
            metrics[group] = ready["metrics"]
        yield Mesh(hosting, addresses, metrics, processes, folder / "state", log_path)


def end_process(process: subprocess.Popen[str], timeout_s: float = 20.0) -> int:
    """SIGTERM, wait for the drain, and SIGKILL what has not ended; returns the exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        if process.stdout is not None:
            process.stdout.close()
