"""Programs that tests need and that are not Python packages: found, or built once and kept."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "citemesh" / "tools"


def find_go_tool(name: str, module: str) -> Path:
    """The program `name`, built from the pinned Go `module` where it is not in the cache yet (a minute or two).

    Skips the test with the reason where this machine has no Go; with CITEMESH_TEST_STRICT=1 that is a failure.
    """
    version = module.rsplit("@", 1)[1]
    path = _CACHE / f"{name}-{version}" / name
    if path.is_file():
        return path
    if shutil.which("go") is None:
        miss(f"{name} {version} is built with Go, and this machine has no `go`")
    path.parent.mkdir(parents=True, exist_ok=True)
    environ = os.environ | {"GOBIN": str(path.parent), "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"}
    built = subprocess.run(["go", "install", "-trimpath", module], env=environ, capture_output=True, text=True, cwd="/")
    if built.returncode:
        miss(f"{module} could not be built: {built.stderr[-300:]}")
    return path


def miss(reason: str) -> None:
    """Skip the test, or fail it where the run is strict: CI has what the tests need."""
    if os.environ.get("CITEMESH_TEST_STRICT") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
