"""The wheel alone: the command works without what the services need, and says what is missing where they are needed."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

import citemesh
from tests.unit.libs.cli.scripted_mesh import Command

# Run before the command: what the extra `server` installs cannot be imported (typer brings pydantic itself).
_WITHOUT_SERVER = """
import sys

class Missing:
    names = {
        "cryptography", "jwt", "numpy", "onnx", "onnxruntime", "opentelemetry", "prometheus_client",
        "pydantic_settings", "pypdfium2", "simsimd", "structlog", "tantivy", "tokenizers", "uvloop",
    }

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from citemesh.cli.main import main
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the package and nothing of the checkout around it."""
    place = tmp_path_factory.mktemp("site")
    shutil.copytree(Path(citemesh.__file__).parent, place / "citemesh", ignore=shutil.ignore_patterns("__pycache__"))
    return place


async def _run(installed: Path, state_dir: Path, *arguments: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _WITHOUT_SERVER, *arguments,
        cwd=state_dir.parent, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(installed), "CITEMESH_STATE_DIR": str(state_dir), "NO_COLOR": "1"},
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), timeout=60)
    return process.returncode or 0, out.decode(), err.decode()


async def test_a_running_mesh_can_be_asked(installed: Path, state_dir: Path) -> None:
    code, out, err = await _run(installed, state_dir, "ask", "What is the allowance?")
    assert code == 0, err
    assert "It is EUR 64" in out


@pytest.mark.parametrize("arguments", [("ask", "What?"), ("up",)])
async def test_without_a_mesh_it_says_where_services_come_from(
    installed: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, out, err = await _run(installed, tmp_path / "state", *arguments)
    assert (code, out) == (2, "")
    assert "no services" in err
    assert "Traceback" not in err


async def test_models_need_the_extra(installed: Path, tmp_path: Path) -> None:
    code, _, err = await _run(installed, tmp_path / "state", "models", "verify")
    assert code == 2
    assert "citemesh[server]" in err


async def test_every_form_has_help_and_later_ones_say_so(command: Command) -> None:
    ended = await command("--help")
    for name in ("up", "ingest", "documents", "ask", "search", "explain", "replay", "check", "eval", "calibrate",
                 "pipelines", "models", "reviews", "reindex", "doctor"):  # fmt: skip
        assert name in ended.out
    assert "3 abstained" in " ".join(ended.out.split())
    later = await command("reviews", "--help")
    assert "comes with a later step" in " ".join(later.out.split())
