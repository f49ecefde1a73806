"""The client is all that callers install: it must not need what only services need."""

from __future__ import annotations

import json
import subprocess
import sys

SERVER_ONLY = (
    "structlog",
    "pydantic",
    "pydantic_settings",
    "prometheus_client",
    "jwt",
    "cryptography",
    "uvloop",
    "numpy",
)


def test_the_client_imports_nothing_of_the_extra_server() -> None:
    program = "import sys, json, citemesh.client, citemesh.rpc.calls; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert set(SERVER_ONLY) & set(json.loads(output)) == set()
