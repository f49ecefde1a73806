"""The scripted mesh, running, and the command pointed at it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from citemesh.rpc.host import hosted
from tests.unit.libs.cli.scripted_mesh import Command, Ended, Script, make_specs, run_command


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
async def state_dir(script: Script, tmp_path: Path) -> AsyncIterator[Path]:
    """The state directory of a scripted mesh that runs and listens on its Unix socket."""
    folder = tmp_path / "state"
    environ = {
        "CITEMESH_STATE_DIR": str(folder), "CITEMESH_AUTH_MODE": "open", "CITEMESH_HOST_METRICS_ADDRESS": "off",
        "CITEMESH_HOST_DRAIN_WAIT_MS": "0",
    }  # fmt: skip
    async with hosted(make_specs(script), environ):
        yield folder


@pytest.fixture
def command(state_dir: Path, tmp_path: Path) -> Command:
    """`await command("ask", "question")` against the scripted mesh."""

    async def run(*arguments: str, environ: dict[str, str] | None = None, stdin: bytes = b"") -> Ended:
        return await run_command(
            *arguments, cwd=tmp_path, environ={"CITEMESH_STATE_DIR": str(state_dir), **(environ or {})}, stdin=stdin
        )

    return run
