"""Small real services, hand-made on well-known messages, and hosts to run them in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.wrappers_pb2 import StringValue

from citemesh.rpc.host import Host
from citemesh.rpc.spec import ServiceSpec, StartContext

DECODE, ENCODE = StringValue.FromString, StringValue.SerializeToString
Behaviour = Callable[[Any, Any], Any]


class FakeService:
    """A running service whose behaviours a test sets: one per kind of method."""

    def __init__(self, full_name: str) -> None:
        self.full_name = full_name
        self.problem: str | None = None
        self.closed = False
        self.behaviours: dict[str, Behaviour] = {}

    def register(self, server: grpc.aio.Server) -> None:
        make: dict[str, Any] = {
            "Unary": grpc.unary_unary_rpc_method_handler,
            "Server": grpc.unary_stream_rpc_method_handler,
            "Client": grpc.stream_unary_rpc_method_handler,
            "Bidi": grpc.stream_stream_rpc_method_handler,
        }
        handlers = {name: make[name](behaviour, DECODE, ENCODE) for name, behaviour in self.behaviours.items()}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(self.full_name, handlers),))

    async def check(self) -> str | None:
        return self.problem

    async def close(self) -> None:
        self.closed = True


def make_spec(
    service: FakeService, name: str = "fake", needs: tuple[str, ...] = (), on_start: Any = None
) -> ServiceSpec:
    async def start(context: StartContext) -> FakeService:
        if on_start is not None:
            on_start(context)
        return service

    return ServiceSpec(name=name, full_name=service.full_name, needs=needs, start=start)


class Rpc:
    """Untyped stubs for a FakeService."""

    def __init__(self, channel: grpc.aio.Channel, full_name: str) -> None:
        path = f"/{full_name}/"
        self.unary = channel.unary_unary(path + "Unary", ENCODE, DECODE)
        self.server = channel.unary_stream(path + "Server", ENCODE, DECODE)
        self.client = channel.stream_unary(path + "Client", ENCODE, DECODE)
        self.bidi = channel.stream_stream(path + "Bidi", ENCODE, DECODE)
        self.raw: Any = channel.unary_unary(path + "Unary", None, None)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "CITEMESH_STATE_DIR": str(tmp_path / "s"),
        "CITEMESH_AUTH_MODE": "open",
        "CITEMESH_HOST_METRICS_ADDRESS": "off",
        "CITEMESH_HOST_DRAIN_WAIT_MS": "0",
        "CITEMESH_HOST_DRAIN_GRACE_MS": "2000",
        "CITEMESH_HOST_HEALTH_INTERVAL_MS": "20",
    }


StartHost = Callable[..., Awaitable[Host]]


@pytest.fixture
async def start_host(environ: dict[str, str]) -> AsyncIterator[StartHost]:
    """Starts hosts that are stopped with the test: `host = await start_host(spec, ..., CITEMESH_X="y")`."""
    hosts: list[Host] = []

    async def start(*specs: ServiceSpec, **variables: str) -> Host:
        host = Host(specs, {**environ, **variables})
        await host.start()
        hosts.append(host)
        return host

    yield start
    await asyncio.gather(*(host.stop() for host in hosts))


@pytest.fixture
async def serve_fake(start_host: StartHost) -> AsyncIterator[Callable[..., Awaitable[Rpc]]]:
    """Hosts one FakeService with the given behaviours and returns its stubs: `rpc = await serve_fake(Unary=echo)`."""
    channels: list[grpc.aio.Channel] = []

    async def start(environ: dict[str, str] | None = None, **behaviours: Behaviour) -> Rpc:
        service = FakeService("test.Fake")
        service.behaviours = behaviours
        host = await start_host(make_spec(service), **(environ or {}))
        channel = grpc.aio.insecure_channel(host.target)
        channels.append(channel)
        rpc = Rpc(channel, service.full_name)
        rpc.host = host  # type: ignore[attr-defined]  # tests look at its registry
        return rpc

    yield start
    for channel in channels:
        await channel.close()
