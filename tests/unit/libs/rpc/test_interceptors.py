"""What a call gets on its way to the handler: a principal, counts, a log line, a place among the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
import structlog
from google.protobuf.wrappers_pb2 import StringValue
from grpc_health.v1 import health_pb2, health_pb2_grpc

from citemesh.auth import current_principal, outgoing_metadata
from citemesh.rpc.deadline import remaining_s
from citemesh.rpc.errors import (
    error_reason,
)
from citemesh.rpc.request_ids import current_request_id
from citemesh.v1 import errors_pb2
from tests.unit.libs.rpc.calling import (
    SECRET_TEXT,
    counted,
    drain,
    echo,
    eventually,
    one,
    value_of,
)


async def test_unary_call_is_answered_and_counted(serve_fake: Any) -> None:
    rpc = await serve_fake(Unary=echo)
    assert (await rpc.unary(StringValue(value="x"), timeout=2)).value == "x"
    assert counted(rpc, "OK") == 1
    assert counted(rpc, "NotFound") == 0
    labels = {"grpc_type": "unary", "grpc_service": "test.Fake", "grpc_method": "Unary"}
    for name in ("started_total", "msg_received_total", "msg_sent_total", "handling_seconds_count"):
        assert value_of(rpc.host.registry, f"grpc_server_{name}", **labels) == 1
    assert value_of(rpc.host.registry, "citemesh_calls_in_flight") == 0


async def test_principal_and_request_id_reach_the_handler_and_go_on(serve_fake: Any) -> None:
    seen: dict[str, Any] = {}

    async def look(request: StringValue, context: Any) -> StringValue:
        seen["principal"] = current_principal()
        seen["outgoing"] = dict(outgoing_metadata())
        seen["request_id"] = current_request_id()
        seen["remaining"] = remaining_s(context)
        return request

    rpc = await serve_fake(Unary=look)
    traceparent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-00"
    metadata = (
        ("x-citemesh-tenant", "acme"),
        ("x-citemesh-user", "j%C3%BCrgen"),
        ("x-citemesh-groups", "hr,a%2Cb"),
        ("x-request-id", "r-1"),
        ("traceparent", traceparent),
    )
    await rpc.unary(StringValue(), timeout=2, metadata=metadata)
    principal = seen["principal"]
    assert (principal.tenant_id, principal.user_id, principal.groups) == ("acme", "jürgen", {"hr", "a,b"})
    assert seen["outgoing"] == {**dict(metadata), "x-citemesh-groups": "a%2Cb,hr"}
    assert seen["request_id"] == "r-1"
    assert 1.0 < seen["remaining"] <= 2.1  # gRPC rounds deadlines up, on a busy machine by some ms


async def test_a_request_id_that_is_unfit_for_logs_is_replaced(serve_fake: Any) -> None:
    async def name_it(_request: Any, _context: Any) -> StringValue:
        return StringValue(value=current_request_id())

    rpc = await serve_fake(Unary=name_it)
    given = 'x" injected'
    answer = await rpc.unary(StringValue(), timeout=2, metadata=(("x-request-id", given),))
    assert answer.value
    assert answer.value != given


async def test_one_log_line_without_the_text_of_the_request(serve_fake: Any) -> None:
    rpc = await serve_fake(Unary=echo)
    with structlog.testing.capture_logs() as logs:
        await rpc.unary(StringValue(value=SECRET_TEXT), timeout=2)
    assert [line["event"] for line in logs] == ["call"]
    assert logs[0]["method"] == "/test.Fake/Unary"
    assert (logs[0]["code"], logs[0]["tenant_id"]) == ("OK", "default")
    assert SECRET_TEXT not in repr(logs)


async def test_streams_of_all_kinds_pass_and_count_their_messages(serve_fake: Any) -> None:
    async def count_up(_request: Any, _context: Any) -> AsyncIterator[StringValue]:
        for number in range(3):
            yield StringValue(value=str(number))

    async def join(requests: AsyncIterator[StringValue], _context: Any) -> StringValue:
        return StringValue(value="".join([request.value async for request in requests]))

    async def letters() -> AsyncIterator[StringValue]:
        for letter in "abc":
            yield StringValue(value=letter)

    rpc = await serve_fake(Server=count_up, Client=join)
    assert [m.value async for m in rpc.server(StringValue(), timeout=2)] == ["0", "1", "2"]
    assert (await rpc.client(letters(), timeout=2)).value == "abc"
    for kind, method, received, sent in (
        ("server_stream", "Server", 1, 3),
        ("client_stream", "Client", 3, 1),
    ):
        labels = {"grpc_type": kind, "grpc_service": "test.Fake", "grpc_method": method}
        assert value_of(rpc.host.registry, "grpc_server_msg_received_total", **labels) == received
        assert value_of(rpc.host.registry, "grpc_server_msg_sent_total", **labels) == sent
        assert counted(rpc, "OK", kind, method) == 1


async def test_a_method_of_a_shape_that_no_service_has_fails_and_says_so(serve_fake: Any) -> None:
    async def double(requests: AsyncIterator[StringValue], _context: Any) -> AsyncIterator[StringValue]:
        async for request in requests:
            yield request

    async def write(request: StringValue, context: Any) -> None:
        await context.write(request)

    rpc = await serve_fake(Bidi=double, Server=write)
    for call in (rpc.bidi(one(), timeout=2), rpc.server(StringValue(), timeout=2)):
        with pytest.raises(grpc.aio.AioRpcError):
            await drain(call)


async def test_callers_that_are_not_verified_are_refused(serve_fake: Any) -> None:
    async def trickle(request: StringValue, _context: Any) -> AsyncIterator[StringValue]:
        yield request

    rpc = await serve_fake({"CITEMESH_AUTH_MODE": "jwt", "CITEMESH_AUTH_SECRET": "s" * 32}, Unary=echo, Server=trickle)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.unary(StringValue(), timeout=2)
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_UNAUTHENTICATED
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.server(StringValue(), timeout=2).read()
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_UNAUTHENTICATED


async def test_an_unknown_method_is_unimplemented(serve_fake: Any) -> None:
    rpc = await serve_fake(Unary=echo)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.client(one(), timeout=2)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_too_many_calls_at_once_are_refused_and_probes_are_not(serve_fake: Any) -> None:
    release = asyncio.Event()

    async def wait(request: StringValue, _context: Any) -> StringValue:
        await release.wait()
        return request

    rpc = await serve_fake({"CITEMESH_HOST_MAX_CONCURRENT_CALLS": "2"}, Unary=wait)
    waiting = [asyncio.ensure_future(rpc.unary(StringValue(), timeout=5)) for _ in range(2)]
    await eventually(lambda: value_of(rpc.host.registry, "citemesh_calls_in_flight") == 2)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.unary(StringValue(), timeout=2)
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_OVERLOADED
    async with grpc.aio.insecure_channel(rpc.host.target) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        assert (await health.Check(health_pb2.HealthCheckRequest(), timeout=2)).status == 1
    release.set()
    assert len(await asyncio.gather(*waiting)) == 2
