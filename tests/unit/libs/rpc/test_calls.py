"""Calling on: deadline, credentials, reasons, and no handler left running."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.protobuf.wrappers_pb2 import StringValue

from citemesh.auth import Principal, current_principal
from citemesh.auth.principal import acting_as
from citemesh.rpc.calls import call, open_stream, send_stream
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2


async def name_caller(_request: StringValue, _context: Any) -> StringValue:
    return StringValue(value=current_principal().user_id)


async def refuse(_request: StringValue, _context: Any) -> StringValue:
    raise ServiceError(errors_pb2.ERROR_REASON_PAGE_NOT_FOUND, "No such page.", page_number=9)


async def test_the_callers_credentials_go_along(serve_fake: Any) -> None:
    rpc = await serve_fake(Unary=name_caller)
    with acting_as(Principal("t", "ann", frozenset())):
        assert (await call(rpc.unary, StringValue(), timeout=2)).value == "ann"


async def test_the_peers_reason_comes_back(serve_fake: Any) -> None:
    rpc = await serve_fake(Unary=refuse)
    with pytest.raises(ServiceError) as caught:
        await call(rpc.unary, StringValue(), timeout=2, service="documents")
    assert caught.value.reason == errors_pb2.ERROR_REASON_PAGE_NOT_FOUND
    assert caught.value.metadata == {"page_number": "9"}


async def test_without_time_there_is_no_call(serve_fake: Any) -> None:
    rpc = await serve_fake(Unary=name_caller)
    with pytest.raises(ServiceError) as caught:
        await call(rpc.unary, StringValue(), timeout=0.0)
    assert caught.value.reason == errors_pb2.ERROR_REASON_DEADLINE_TOO_SHORT
    metric = "grpc_server_started_total"
    labels = {"grpc_type": "unary", "grpc_service": "test.Fake", "grpc_method": "Unary"}
    assert not rpc.host.registry.get_sample_value(metric, labels)


async def test_a_deadline_that_passes_has_a_reason(serve_fake: Any) -> None:
    async def sleep(request: StringValue, _context: Any) -> StringValue:
        await asyncio.sleep(30)
        return request

    rpc = await serve_fake(Unary=sleep)
    started = time.monotonic()
    with pytest.raises(ServiceError) as caught:
        await call(rpc.unary, StringValue(), timeout=0.2)
    assert caught.value.reason == errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED
    assert time.monotonic() - started < 1.0


async def test_leaving_a_stream_early_ends_its_handler(serve_fake: Any) -> None:
    running: set[int] = set()

    async def forever(_request: StringValue, _context: Any) -> AsyncIterator[StringValue]:
        running.add(id(_context))
        try:
            while True:
                yield StringValue(value="x")
                await asyncio.sleep(0.01)
        finally:
            running.discard(id(_context))

    rpc = await serve_fake(Server=forever)
    for _ in range(5):
        async with open_stream(rpc.server, StringValue(), timeout=10) as responses:
            async for response in responses:
                assert response.value == "x"
                break
    limit = time.monotonic() + 2
    while running:
        assert time.monotonic() < limit, "a handler lives on"
        await asyncio.sleep(0.01)


async def test_a_stream_of_requests(serve_fake: Any) -> None:
    async def join(requests: AsyncIterator[StringValue], _context: Any) -> StringValue:
        return StringValue(value="".join([request.value async for request in requests]))

    async def letters() -> AsyncIterator[StringValue]:
        for letter in "abc":
            yield StringValue(value=letter)

    rpc = await serve_fake(Client=join)
    assert (await send_stream(rpc.client, letters(), timeout=2)).value == "abc"
