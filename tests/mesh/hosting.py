"""Starts the real mesh as processes: embedded (one for all services) or split (one per service)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from citemesh.config.paths import socket_path
from services.registry import ALL, NAMES
from tests.conftest import REPO


class Mesh:
    """A running mesh: where each service is called, where its metrics are read, and its processes.

    A process is named by its service; the embedded mesh has one, named "all".
    """

    def __init__(self, hosting: str, folder: Path, settings: Mapping[str, str]) -> None:
        self.hosting = hosting
        self.state_dir = folder / "state"
        self.log_path = folder / "mesh.log"
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.metrics_addresses: dict[str, str] = {}
        self.process_names = (ALL,) if hosting == "embedded" else NAMES
        self._settings = settings
        self.targets = {name: self._address(ALL if hosting == "embedded" else name) for name in NAMES}
        """The address of each service."""

    @property
    def target(self) -> str:
        """Where callers ask."""
        return self.targets["dispatcher"]

    def start(self, *names: str) -> None:
        """Start these processes side by side; returns when each has said that it is ready."""
        for name in names:
            self.processes[name] = self._spawn(name)
        for name in names:
            stdout = self.processes[name].stdout
            assert stdout is not None
            line = stdout.readline()
            assert line, f"{name} did not start: {self.log_path.read_text(errors='replace')[-3000:]}"
            ready = json.loads(line)
            assert not ready["problems"], ready
            self.metrics_addresses[name] = ready["metrics"]

    def kill(self, name: str) -> None:
        """End a process as a crash does: SIGKILL to its own pid."""
        self.processes[name].kill()
        end_process(self.processes[name])

    def _address(self, process_name: str) -> str:
        """Where a process listens by default: a socket below its state folder."""
        return f"unix:{socket_path(self.state_dir, 'mesh' if process_name == ALL else process_name)}"

    def _spawn(self, name: str) -> subprocess.Popen[str]:
        environ = os.environ | {
            "CITEMESH_STATE_DIR": str(self.state_dir),
            "CITEMESH_AUTH_MODE": "open",
            "CITEMESH_HOST_METRICS_ADDRESS": "127.0.0.1:0",
            "ORT_DISABLE_TELEMETRY": "1",
        }
        if name != ALL:
            # An address for the service itself is refused as ambiguous, so it gets those of the others only.
            others = {f"CITEMESH_{other.upper()}_ADDRESS": self.targets[other] for other in NAMES if other != name}
            environ |= others
        with self.log_path.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "services", name],
                cwd=REPO,
                env=environ | dict(self._settings),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )


@contextlib.contextmanager
def run_mesh(hosting: str, folder: Path, **settings: str) -> Iterator[Mesh]:
    """Run the mesh with its state, sockets and log below `folder`; ended by SIGTERM to each process's own pid."""
    folder.mkdir(parents=True, exist_ok=True)
    mesh = Mesh(hosting, folder, settings)
    try:
        mesh.start(*mesh.process_names)
        yield mesh
    finally:
        for process in mesh.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in mesh.processes.values():
            end_process(process)


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
