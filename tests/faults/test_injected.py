"""A fault inside any RPC of any service: a documented reason reaches the caller, the exception's text nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
import pytest_asyncio
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from citemesh.auth.principal import Principal, open_metadata
from citemesh.rpc.errors import from_rpc_error
from citemesh.rpc.host import hosted
from citemesh.v1 import errors_pb2
from services.registry import ALL, load_specs
from tests.faults.injection import SECRET, Method, all_methods, catch_handler, inject

pytestmark = pytest.mark.asyncio(loop_scope="module")

METADATA = open_metadata(Principal("acme", "ana", frozenset({"staff"})))
METHODS = list(all_methods())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mesh(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The seven services in this process: where they are called, and their handlers by service name."""
    environ = {
        "CITEMESH_STATE_DIR": str(tmp_path_factory.mktemp("injected")),
        "CITEMESH_AUTH_MODE": "open",
        "CITEMESH_HOST_METRICS_ADDRESS": "off",
        "CITEMESH_HOST_DRAIN_WAIT_MS": "0",
    }
    handlers: dict[str, Any] = {}
    async with hosted([catch_handler(spec, handlers) for spec in load_specs([ALL])], environ) as host:
        yield host.target, handlers


async def call(channel: grpc.aio.Channel, method: Method) -> None:
    """Call the method with an empty request; a stream is read to its end."""
    request_type = GetMessageClass(method.descriptor.input_type)
    request = request_type()
    codecs = (request_type.SerializeToString, GetMessageClass(method.descriptor.output_type).FromString)
    if method.descriptor.client_streaming:

        async def requests() -> AsyncIterator[Message]:
            yield request

        await channel.stream_unary(method.path, *codecs)(requests(), timeout=10, metadata=METADATA)
    elif method.descriptor.server_streaming:
        async for _ in channel.unary_stream(method.path, *codecs)(request, timeout=10, metadata=METADATA):
            pass
    else:
        await channel.unary_unary(method.path, *codecs)(request, timeout=10, metadata=METADATA)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.path.removeprefix("/citemesh.v1."))
async def test_a_fault_in_a_handler_is_told_by_its_reason_alone(
    mesh: tuple[str, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    method: Method,
) -> None:
    target, handlers = mesh
    inject(monkeypatch, handlers[method.service_name], method.service_name)
    async with grpc.aio.insecure_channel(target) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(channel, method)
    error = from_rpc_error(caught.value)
    assert caught.value.code() == grpc.StatusCode.INTERNAL
    assert error.reason == errors_pb2.ERROR_REASON_INTERNAL
    assert error.metadata["request_id"], "with which the operator finds the log line"
    trailing = caught.value.trailing_metadata() or ()
    for told in (caught.value.details(), caught.value.debug_error_string(), error.message, *map(repr, trailing)):
        assert SECRET not in (told or "")
    assert "RuntimeError" not in repr(caught.value)
    output = capfd.readouterr()
    logged = output.out + output.err
    assert SECRET not in logged
    assert "RuntimeError" in logged, "the fault is the injected one, and its log line names the type"


async def test_every_service_has_methods_here() -> None:
    assert {method.service_name for method in METHODS} == {spec.name for spec in load_specs([ALL])}
    assert len(METHODS) >= 27
