"""Hosting: who is here, where the others are, health, metrics, reflection, draining."""

# ruff: noqa: ASYNC240 - a test may look at a file

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import textwrap
import time
import urllib.request
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
import structlog
from google.protobuf.wrappers_pb2 import StringValue
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from citemesh.config.load import ConfigurationError
from citemesh.rpc.host import Host, StartError, hosted
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.v1 import dispatcher_pb2

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
REPO = Path(__file__).resolve().parents[4]


class Plain:
    """A service that answers its own name, and asks a neighbour where it has one."""

    def __init__(self, name: str, neighbour: grpc.aio.Channel | None = None, neighbour_name: str = "") -> None:
        self.name = name
        self.problem: str | None = None
        self.closed = False
        self.delay_s = 0.0
        self._neighbour = neighbour
        self._path = f"/test.{neighbour_name}/Unary"

    def register(self, server: grpc.aio.Server) -> None:
        method = grpc.unary_unary_rpc_method_handler(self.answer, StringValue.FromString, StringValue.SerializeToString)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(f"test.{self.name}", {"Unary": method}),))

    async def answer(self, _request: StringValue, _context: Any) -> StringValue:
        await asyncio.sleep(self.delay_s)
        if self._neighbour is None:
            return StringValue(value=self.name)
        ask = self._neighbour.unary_unary(self._path, StringValue.SerializeToString, StringValue.FromString)
        reply = await ask(StringValue(), timeout=2)
        return StringValue(value=f"{self.name}>{reply.value}")

    async def check(self) -> str | None:
        return self.problem

    async def close(self) -> None:
        self.closed = True


def spec_of(name: str, *needs: str, made: dict[str, Plain] | None = None) -> ServiceSpec:
    async def start(context: StartContext) -> Plain:
        service = Plain(name, context.channel(needs[0]), needs[0]) if needs else Plain(name)
        if made is not None:
            made[name] = service
        return service

    return ServiceSpec(name=name, full_name=f"test.{name}", needs=needs, start=start)


async def ask(target: str, name: str, **options: Any) -> str:
    async with grpc.aio.insecure_channel(target) as channel:
        method = channel.unary_unary(f"/test.{name}/Unary", StringValue.SerializeToString, StringValue.FromString)
        return str((await method(StringValue(), timeout=5, **options)).value)


async def health(target: str, service: str = "") -> int:
    async with grpc.aio.insecure_channel(target) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        return int((await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=2)).status)


async def test_services_of_one_process_reach_each_other_over_its_socket(start_host: Any) -> None:
    host = await start_host(spec_of("a", "b"), spec_of("b"))
    assert host.target.startswith("unix:")
    assert host.service_names == ("b", "a")
    assert await ask(host.target, "a") == "a>b"


async def test_split_over_two_processes_only_the_address_differs(start_host: Any, tmp_path: Path) -> None:
    remote = await start_host(
        spec_of("b"), CITEMESH_HOST_LISTEN_ADDRESS="127.0.0.1:0", CITEMESH_STATE_DIR=str(tmp_path / "r")
    )
    assert remote.target.startswith("127.0.0.1:")
    host = await start_host(spec_of("a", "b"), CITEMESH_B_ADDRESS=remote.target)
    assert await ask(host.target, "a") == "a>b"


async def test_local_hops_work_behind_a_tcp_door(start_host: Any) -> None:
    host = await start_host(spec_of("a", "b"), spec_of("b"), CITEMESH_HOST_LISTEN_ADDRESS="127.0.0.1:0")
    assert await ask(host.target, "a") == "a>b"


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        ([spec_of("a", "b")], ["a needs b", "CITEMESH_B_ADDRESS"]),
        (
            [spec_of("a", "b", "c"), spec_of("d", "e")],
            ["CITEMESH_B_ADDRESS", "CITEMESH_C_ADDRESS", "CITEMESH_E_ADDRESS"],
        ),
        ([spec_of("a", "b"), spec_of("b", "c"), spec_of("c", "a")], ["a -> b -> c -> a"]),
        ([spec_of("a", "a")], ["a -> a"]),
        ([spec_of("a"), spec_of("a")], ["a", "twice"]),
        ([], ["No service"]),
    ],
)
def test_a_plan_that_cannot_work_is_refused_by_name(
    specs: list[ServiceSpec], words: list[str], environ: dict[str, str]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Host(specs, environ)
    assert all(word in str(caught.value) for word in words)


async def test_a_failing_start_names_the_service_and_closes_the_others(environ: dict[str, str]) -> None:
    made: dict[str, Plain] = {}

    async def start(_context: StartContext) -> Any:
        raise RuntimeError("no model")

    broken = ServiceSpec("b", "test.b", (), start)
    with pytest.raises(StartError, match="The service b cannot start: RuntimeError: no model"):
        await Host([spec_of("a", made=made), broken], environ).start()
    assert made["a"].closed
    async with hosted([spec_of("a")], environ) as host:  # the socket is free again
        assert await ask(host.target, "a") == "a"


async def test_health_follows_the_services(start_host: Any) -> None:
    made: dict[str, Plain] = {}
    host = await start_host(spec_of("a", made=made), spec_of("b", made=made))
    assert [await health(host.target, name) for name in ("", "test.a", "test.b")] == [SERVING] * 3
    async with grpc.aio.insecure_channel(host.target) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=10)
        other = stub.Watch(health_pb2.HealthCheckRequest(), timeout=10)
        assert (await watch.read()).status == (await other.read()).status == SERVING
        other.cancel()
        made["b"].problem = "no index"
        assert (await watch.read()).status == NOT_SERVING
        assert await health(host.target, "test.a") == SERVING
        assert await health(host.target, "test.b") == NOT_SERVING
        assert host.problems == {"b": "no index"}
        assert host.registry.get_sample_value("citemesh_service_serving", {"service": "b"}) == 0
        made["b"].problem = None
        assert (await watch.read()).status == SERVING
        watch.cancel()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await health(host.target, "test.nowhere")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_a_check_that_fails_or_hangs_is_not_serving(start_host: Any, environ: dict[str, str]) -> None:
    class Broken(Plain):
        async def check(self) -> str | None:
            if self.name == "hangs":
                await asyncio.sleep(60)
            raise ValueError("text")

    async def start_fails(_context: StartContext) -> Plain:
        return Broken("fails")

    async def start_hangs(_context: StartContext) -> Plain:
        return Broken("hangs")

    specs = [ServiceSpec("fails", "test.fails", (), start_fails), ServiceSpec("hangs", "test.hangs", (), start_hangs)]
    host = await start_host(*specs, CITEMESH_HOST_HEALTH_TIMEOUT_MS="50")
    assert host.problems == {
        "fails": "the check failed with ValueError",
        "hangs": "the check took longer than 0.05 s",
    }


async def test_metrics_over_http_have_every_method_and_code_from_zero(start_host: Any) -> None:
    spec = spec_of("dispatcher")
    full_name = dispatcher_pb2.DESCRIPTOR.services_by_name["DispatcherService"].full_name
    spec = ServiceSpec("dispatcher", full_name, (), spec.start)
    host = await start_host(spec, CITEMESH_HOST_METRICS_ADDRESS="127.0.0.1:0")
    url = f"http://{host.metrics_address}/metrics"
    text = await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=5).read().decode())
    for method, kind in (("Answer", "unary"), ("AnswerStream", "server_stream")):
        labels = f'grpc_method="{method}",grpc_service="citemesh.v1.DispatcherService",grpc_type="{kind}"'
        assert f"grpc_server_started_total{{{labels}}} 0.0" in text
        for code in ("OK", "DeadlineExceeded", "Canceled", "Internal", "Unavailable"):
            assert f'grpc_server_handled_total{{grpc_code="{code}",{labels}}} 0.0' in text
    assert 'citemesh_service_serving{service="dispatcher"} 1.0' in text
    assert "process_resident_memory_bytes" in text


async def test_reflection_lists_the_services(start_host: Any) -> None:
    host = await start_host(spec_of("a"))
    async with grpc.aio.insecure_channel(host.target) as channel:
        reflection_stub: Any = reflection_pb2_grpc.ServerReflectionStub
        stub = reflection_stub(channel)
        question: Any = reflection_pb2.ServerReflectionRequest()
        question.list_services = ""
        call = stub.ServerReflectionInfo(iter([question]), timeout=5)
        answer = await call.read()
        call.cancel()
    listed = {service.name for service in answer.list_services_response.service}
    assert {"test.a", "grpc.health.v1.Health"} <= listed


async def test_a_living_mesh_keeps_its_socket_and_a_dead_ones_is_cleared(
    start_host: Any, environ: dict[str, str]
) -> None:
    host = await start_host(spec_of("a"))
    with pytest.raises(ConfigurationError, match="already listening"):
        await Host([spec_of("a")], environ).start()
    assert await ask(host.target, "a") == "a"
    path = Path(host.target.removeprefix("unix:"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    stale = path.parent / "b.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(stale))
    assert stale.is_socket()
    other = await start_host(spec_of("b"))
    assert await ask(other.target, "b") == "b"


async def test_a_socket_whose_owner_does_not_answer_is_left_alone(environ: dict[str, str]) -> None:
    path = Path(environ["CITEMESH_STATE_DIR"]) / "busy.sock"
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(path))
        busy.listen(0)
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.connect(str(path))  # the backlog is full now
            with pytest.raises(ConfigurationError, match="already listening"):
                await Host([spec_of("a")], {**environ, "CITEMESH_HOST_LISTEN_ADDRESS": f"unix:{path}"}).start()
    assert path.is_socket()


async def test_spans_and_trace_ids_go_through_a_host(start_host: Any) -> None:
    host = await start_host(spec_of("a", "b"), spec_of("b"))
    parent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
    with structlog.testing.capture_logs() as logs:
        await ask(host.target, "a", metadata=(("traceparent", parent), ("x-request-id", "r-1")))
    calls = {line["method"]: line for line in logs if line["event"] == "call"}
    assert calls["/test.a/Unary"]["trace_id"] == "0123456789abcdef0123456789abcdef"
    assert calls["/test.a/Unary"]["request_id"] == "r-1"


async def test_a_taken_port_is_refused_with_advice(start_host: Any, environ: dict[str, str]) -> None:
    host = await start_host(spec_of("a"), CITEMESH_HOST_LISTEN_ADDRESS="127.0.0.1:0")
    with pytest.raises(ConfigurationError, match="CITEMESH_HOST_LISTEN_ADDRESS"):
        await Host([spec_of("b")], {**environ, "CITEMESH_HOST_LISTEN_ADDRESS": host.target}).start()


async def test_draining_lets_calls_in_flight_end_with_their_inner_calls(environ: dict[str, str]) -> None:
    made: dict[str, Plain] = {}
    host = Host([spec_of("a", "b"), spec_of("b", made=made)], environ)
    await host.start()
    made["b"].delay_s = 0.4
    calls = [asyncio.create_task(ask(host.target, "a")) for _ in range(5)]
    await asyncio.sleep(0.1)
    started = time.monotonic()
    await host.stop()
    assert await asyncio.gather(*calls) == ["a>b"] * 5
    assert 0.1 < time.monotonic() - started < 1.5
    assert made["b"].closed
    assert not Path(host.target.removeprefix("unix:")).exists()


async def test_watchers_do_not_hold_up_a_drain(environ: dict[str, str]) -> None:
    host = Host([spec_of("a")], {**environ, "CITEMESH_HOST_DRAIN_GRACE_MS": "10000"})
    await host.start()
    async with grpc.aio.insecure_channel(host.target) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(service="test.a"), timeout=20)
        assert (await watch.read()).status == SERVING
        started = time.monotonic()
        await host.stop()
        assert (await watch.read()).status == NOT_SERVING
        assert time.monotonic() - started < 2


async def test_a_call_that_outlasts_the_grace_is_ended(environ: dict[str, str]) -> None:
    made: dict[str, Plain] = {}
    host = Host([spec_of("a", made=made)], {**environ, "CITEMESH_HOST_DRAIN_GRACE_MS": "100"})
    await host.start()
    made["a"].delay_s = 30
    call = asyncio.create_task(ask(host.target, "a"))
    await asyncio.sleep(0.1)
    started = time.monotonic()
    await host.stop()
    assert time.monotonic() - started < 2
    with pytest.raises(grpc.aio.AioRpcError):
        await call


PROGRAM = """
    import asyncio, os, sys, json
    import grpc
    from google.protobuf.wrappers_pb2 import StringValue
    from citemesh.rpc.host import run
    from citemesh.rpc.spec import ServiceSpec

    class Slow:
        def register(self, server):
            handler = grpc.unary_unary_rpc_method_handler(
                self.answer, StringValue.FromString, StringValue.SerializeToString)
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.slow", {"Unary": handler}),))
        async def answer(self, request, context):
            await asyncio.sleep(0.6)
            return StringValue(value="slow")
        async def check(self): return None
        async def close(self): print("closed", flush=True)

    async def start(context): return Slow()
    run([ServiceSpec("slow", "test.slow", (), start)], os.environ, lambda host: print(host.target, flush=True))
"""


async def test_sigterm_drains_a_process(environ: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        textwrap.dedent(PROGRAM),
        env={**os.environ, **environ, "PYTHONPATH": str(REPO / "libs"), "CITEMESH_HOST_DRAIN_WAIT_MS": "300"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    target = (await asyncio.wait_for(process.stdout.readline(), 20)).decode().strip()
    try:
        call = asyncio.create_task(ask(target, "slow"))
        await asyncio.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.1)
        assert await health(target) == NOT_SERVING
        assert await call == "slow"
        out, err = await asyncio.wait_for(process.communicate(), 10)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()
    assert out.decode().strip() == "closed"
    events = [json.loads(line)["event"] for line in err.decode().splitlines()]
    assert {"ready", "draining", "call", "stopped"} <= set(events)
