"""How calls end in time: by their deadline, by the default one, and with their caller."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.wrappers_pb2 import StringValue

from citemesh.rpc.deadline import remaining_s
from citemesh.rpc.errors import (
    error_reason,
)
from citemesh.v1 import errors_pb2
from tests.unit.libs.rpc.calling import (
    counted,
    drain,
    eventually,
    value_of,
)


async def test_a_call_without_deadline_gets_the_default_one(serve_fake: Any) -> None:
    seen: list[float | None] = []

    async def sleep(request: StringValue, context: Any) -> StringValue:
        seen.append(remaining_s(context))
        await asyncio.sleep(30)
        return request

    async def trickle(_request: Any, context: Any) -> AsyncIterator[StringValue]:
        yield StringValue(value=str(remaining_s(context)))
        await asyncio.sleep(30)

    rpc = await serve_fake({"CITEMESH_HOST_DEFAULT_DEADLINE_MS": "200"}, Unary=sleep, Server=trickle)
    started = time.monotonic()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.unary(StringValue())
    assert time.monotonic() - started < 2
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED
    assert seen[0] is not None
    assert 0 < seen[0] <= 0.2
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await drain(rpc.server(StringValue()))
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED


async def test_a_handlers_own_timeout_is_a_fault_not_a_deadline(serve_fake: Any) -> None:
    async def time_out(_request: Any, _context: Any) -> StringValue:
        raise TimeoutError

    rpc = await serve_fake(Unary=time_out)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.unary(StringValue())
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_INTERNAL


@pytest.mark.parametrize(("how", "code"), [("cancel", "Canceled"), ("deadline", "DeadlineExceeded")])
@pytest.mark.parametrize("method", ["Unary", "Server"])
async def test_handlers_end_with_their_call(serve_fake: Any, method: str, how: str, code: str) -> None:
    events: list[str] = []

    async def hang(request: StringValue, _context: Any) -> StringValue:
        events.append("begun")
        try:
            await asyncio.sleep(30)
        finally:
            events.append("ended")
        return request

    async def stream(request: StringValue, context: Any) -> AsyncIterator[StringValue]:
        yield request
        yield await hang(request, context)

    rpc = await serve_fake(**{method: stream if method == "Server" else hang})
    call = getattr(rpc, method.lower())(StringValue(), timeout=0.3 if how == "deadline" else 10)
    waiting = asyncio.ensure_future(call.read() if method != "Unary" else call.wait_for_connection())
    await eventually(lambda: "begun" in events)
    if how == "cancel":
        call.cancel()
    await eventually(lambda: "ended" in events)
    kind = "unary" if method == "Unary" else "server_stream"
    await eventually(lambda: counted(rpc, code, kind, method) == 1)
    assert value_of(rpc.host.registry, "citemesh_calls_in_flight") == 0
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
