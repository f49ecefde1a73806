"""`citemesh up` with a real service: it says where it listens, answers, and drains."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.unit.libs.cli.scripted_mesh import run_command


async def test_one_service_listens_on_the_socket_of_this_user_and_drains(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "citemesh.cli", "up", "query", "--state-dir", str(tmp_path),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "CITEMESH_LOG_LEVEL": "error"},
    )  # fmt: skip
    assert process.stdout is not None
    target = (await asyncio.wait_for(process.stdout.readline(), timeout=60)).decode().strip()
    assert target == f"unix:{tmp_path / 'run' / 'query.sock'}"
    async with grpc.aio.insecure_channel(target) as channel:
        check = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined]  # its stubs omit it
        status = await check(health_pb2.HealthCheckRequest(), timeout=5.0)
    assert status.status == health_pb2.HealthCheckResponse.SERVING
    process.send_signal(signal.SIGTERM)
    out, err = await asyncio.wait_for(process.communicate(), timeout=30)
    assert (process.returncode, out) == (0, b"")
    assert b"Ready: query on unix:" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("up", "qery"), "did you mean query?"),
        # Callers from elsewhere are verified: no key, no start.
        (("up", "query", "--listen", "127.0.0.1:0"), "CITEMESH_AUTH_MODE=open"),
        (("up", "query", "--auth", "maybe"), "maybe"),
    ],
)
async def test_a_start_that_cannot_be_is_bad_usage(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    ended = await run_command(*arguments, "--state-dir", str(tmp_path), cwd=tmp_path, environ={})
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
