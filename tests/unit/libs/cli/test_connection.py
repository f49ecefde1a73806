"""Which mesh a command talks to: the one named, the one that runs, or one of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import structlog

from citemesh.cli import mesh
from citemesh.cli.connection import connect, find_running_mesh
from citemesh.cli.exits import CommandError, Exit
from citemesh.cli.options import Common
from citemesh.cli.output import Output
from citemesh.config.load import ConfigurationError
from citemesh.config.paths import make_run_dir, socket_path
from citemesh.rpc.calls import call
from citemesh.rpc.host import hosted
from citemesh.rpc.spec import ServiceSpec
from citemesh.telemetry import logs
from citemesh.v1 import dispatcher_pb2, dispatcher_pb2_grpc
from tests.conftest import REPO
from tests.unit.libs.cli.scripted_mesh import Script, make_specs

pytestmark = pytest.mark.usefixtures("_scripted")


@pytest.fixture(autouse=True)
def keep_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Logging is set up once in a process's life, for good, and this process is not the command's."""
    silent = structlog.make_filtering_bound_logger(logging.CRITICAL)
    monkeypatch.setattr(logs, "configure_logging", lambda **_: structlog.configure(wrapper_class=silent))
    yield
    structlog.reset_defaults()


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def common(tmp_path: Path) -> Common:
    return Common(None, as_json=False, metadata=(("x-citemesh-user", "ana"),), timeout_s=5.0, state_dir=tmp_path / "s")


@pytest.fixture
def _scripted(monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
    def load_specs(_names: Sequence[str] = ()) -> list[ServiceSpec]:
        return make_specs(script)

    monkeypatch.setattr(mesh, "load_specs", load_specs)
    monkeypatch.setenv("CITEMESH_HOST_DRAIN_WAIT_MS", "0")


async def test_without_a_mesh_one_is_started_for_the_command_and_ends_with_it(
    common: Common, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    async with connect(common, Output()) as connection:
        stub = dispatcher_pb2_grpc.DispatcherServiceStub(connection.channel)
        await call(stub.Answer, dispatcher_pb2.AnswerRequest(question="x"), timeout=5.0)
        # A second command finds it.
        assert await find_running_mesh(common.state_dir) == connection.target
    assert script.principals[0].user_id == "ana"
    assert not socket_path(common.state_dir).exists()
    told = capsys.readouterr()
    assert "starting one for this command" in told.err
    assert told.out == ""


async def test_a_running_mesh_is_used(common: Common, script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    environ = {
        "CITEMESH_STATE_DIR": str(common.state_dir),
        "CITEMESH_AUTH_MODE": "open",
        "CITEMESH_HOST_METRICS_ADDRESS": "off",
    }
    async with hosted(make_specs(script), environ) as host, connect(common, Output()) as connection:
        assert connection.target == host.target
    assert "starting one" not in capsys.readouterr().err


async def test_the_socket_of_a_mesh_that_was_killed_is_not_a_mesh(common: Common) -> None:
    make_run_dir(common.state_dir)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(socket_path(common.state_dir)))
    assert await find_running_mesh(common.state_dir) is None
    async with connect(common, Output()) as connection:
        assert connection.target.endswith("mesh.sock")


async def test_where_none_may_be_started_the_message_says_what_to_do(common: Common) -> None:
    with pytest.raises(CommandError, match="citemesh up") as caught:
        async with connect(common, Output(), may_start=False):
            pass
    assert caught.value.exit_code is Exit.UNAVAILABLE


async def test_a_mesh_that_cannot_start_is_said_in_one_line(common: Common, monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(_context: object) -> object:
        raise ConfigurationError("CITEMESH_THING is not set: set it.")

    spec = ServiceSpec(name="dispatcher", full_name="x", needs=(), start=start)  # type: ignore[arg-type]  # never runs
    monkeypatch.setattr(mesh, "load_specs", lambda: [spec])
    with pytest.raises(CommandError, match="CITEMESH_THING"):
        async with connect(common, Output()):
            pass


async def test_log_lines_of_its_own_mesh_carry_the_request_id(tmp_path: Path) -> None:
    """In a process of its own, because logging is set up once per process."""
    program = (
        "from citemesh.cli import mesh\n"
        "from citemesh.cli.main import main\n"
        "from tests.unit.libs.cli.scripted_mesh import Script, make_specs\n"
        "mesh.load_specs = lambda *_: make_specs(Script())\n"
        "main(['ask', 'What is the allowance?'])\n"
    )
    environ = {**os.environ, "CITEMESH_STATE_DIR": str(tmp_path / "s"), "CITEMESH_LOG_LEVEL": "info", "PYTHONPATH": "."}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=REPO, env=environ, stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    _, err = await asyncio.wait_for(process.communicate(), timeout=60)
    assert process.returncode == 0, err.decode()
    lines = [json.loads(line) for line in err.decode().splitlines() if line.startswith("{")]
    answered = [line for line in lines if "Answer" in str(line.get("method", ""))]
    assert answered, lines
    assert all(line["request_id"] for line in answered)
