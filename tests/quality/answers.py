"""The question sets beside the checkout against a mesh of this checkout; its state is in build/quality."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import REPO

SETS = ("etcd", "owasp", "handbook18f", "papers", "regs")


def main(arguments: list[str]) -> int:
    """Ask the named sets, or all; details of every row go to build/quality/rows.jsonl."""
    folder = REPO.parent / "shared" / "data" / "qa"
    build = REPO / "build" / "quality"
    build.mkdir(parents=True, exist_ok=True)
    files = [str(folder / f"{name}.jsonl") for name in arguments or SETS]
    keep = ["--rows", str(build / "rows.jsonl"), "--responses", str(build / "responses.jsonl")]
    command = [sys.executable, "-m", "citemesh.cli.main", "eval", "answers", *files, *keep]
    return subprocess.run([*command, "--state-dir", str(build / "state")], check=False, cwd=REPO).returncode
