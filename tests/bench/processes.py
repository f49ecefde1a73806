"""Processes under measurement: started with their log in a file, ended by their own pid, read from /proc."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import REPO
from tests.mesh.hosting import end_process

_MIB = 1024


@contextlib.contextmanager
def started(module: str, *arguments: str, log: Path, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """`python -m module arguments`, from its line on stdout that says it is ready to the end of the block."""
    settings = {"ORT_DISABLE_TELEMETRY": "1", "CITEMESH_AUTH_MODE": "open", **environ}
    with log.open("ab") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=REPO,
            env=os.environ | settings,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), f"{module} did not start: {log.read_text(errors='replace')[-2000:]}"
        yield process
    finally:
        end_process(process)


def cpu_s(pid: int) -> float:
    """Processor seconds that a process has used, to a hundredth."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> tuple[float, float]:
    """Resident size of a process in MiB: all of it (Rss), and with shared pages counted in parts (Pss)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    sizes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines[1:])}
    return sizes["Rss"] / _MIB, sizes["Pss"] / _MIB
