"""How what goes wrong in a handler reaches the caller: its reason, and never the exception's text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
import structlog
from google.protobuf.wrappers_pb2 import StringValue

from citemesh.rpc.errors import (
    INTERNAL_TEXT,
    ServiceError,
    error_reason,
    invalid_argument,
    invalid_fields,
    read_field_violations,
)
from citemesh.v1 import errors_pb2
from tests.unit.libs.rpc.calling import (
    SECRET_TEXT,
    counted,
    drain,
    echo,
    info_of,
    one,
    status_of,
    value_of,
)


async def fail(_request: Any, _context: Any) -> StringValue:
    raise ValueError(SECRET_TEXT)


async def fail_late(_request: Any, _context: Any) -> AsyncIterator[StringValue]:
    yield StringValue(value="1")
    raise ValueError(SECRET_TEXT)


async def fail_reading(requests: AsyncIterator[StringValue], _context: Any) -> StringValue:
    async for _ in requests:
        raise ValueError(SECRET_TEXT)
    return StringValue()


async def cancel_itself(_request: Any, _context: Any) -> StringValue:
    raise asyncio.CancelledError(SECRET_TEXT)


async def answer_nonsense(_request: Any, _context: Any) -> Any:
    return SECRET_TEXT


async def test_service_error_carries_reason_metadata_and_violations(serve_fake: Any) -> None:
    async def refuse(request: StringValue, _context: Any) -> StringValue:
        if request.value == "field":
            raise invalid_argument("question", "must not be empty")
        raise ServiceError(errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND, "No such document.", document_id="d1")

    rpc = await serve_fake(Unary=refuse)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.unary(StringValue(), timeout=2)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert caught.value.details() == "No such document."
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND
    info = info_of(caught.value)
    assert (info.reason, info.domain, dict(info.metadata)) == ("DOCUMENT_NOT_FOUND", "citemesh", {"document_id": "d1"})
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.unary(StringValue(value="field"), timeout=2)
    assert read_field_violations(status_of(caught.value)) == [("question", "must not be empty")]
    errors = {"service": "test.Fake", "reason": "INVALID_FIELD"}
    assert value_of(rpc.host.registry, "citemesh_errors_total", **errors) == 1


async def test_long_errors_in_any_script_arrive_whole_enough(serve_fake: Any) -> None:
    async def refuse(_request: StringValue, _context: Any) -> StringValue:
        raise invalid_fields((f"steps[{n}]", "値が正しくありません。" * 20) for n in range(100))

    rpc = await serve_fake(Unary=refuse)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.unary(StringValue(), timeout=2)
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_INVALID_FIELD
    violations = read_field_violations(status_of(caught.value))
    assert violations[0][0] == "steps[0]"
    assert violations[-1][1].endswith("more")


@pytest.mark.parametrize(
    ("method", "behaviour"),
    [
        ("Unary", fail),
        ("Unary", cancel_itself),
        ("Unary", answer_nonsense),
        ("Server", fail_late),
        ("Client", fail_reading),
    ],
)
async def test_no_exception_text_leaves_and_nobody_is_left_waiting(
    serve_fake: Any, method: str, behaviour: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    rpc = await serve_fake(**{method: behaviour})
    stub = getattr(rpc, method.lower())
    started = time.monotonic()
    with structlog.testing.capture_logs() as logs:
        call = stub(one() if method == "Client" else StringValue(value="x"), timeout=5)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await (call if method in ("Unary", "Client") else drain(call))
    error = caught.value
    assert time.monotonic() - started < 2
    assert error.code() is grpc.StatusCode.INTERNAL
    assert error.details() == INTERNAL_TEXT
    assert error_reason(error) == errors_pb2.ERROR_REASON_INTERNAL
    assert SECRET_TEXT not in repr(error)
    lines = [line for line in logs if line["event"] == "call"]
    assert len(lines) == 1
    assert lines[0]["log_level"] == "error"
    assert lines[0]["error_type"]
    assert lines[0]["error_at"]
    assert info_of(error).metadata["request_id"] == lines[0]["request_id"]
    assert SECRET_TEXT not in repr(logs) + "".join(capfd.readouterr())


async def test_exception_text_is_logged_where_the_setting_says_so(serve_fake: Any) -> None:
    rpc = await serve_fake({"CITEMESH_LOG_TEXT": "true"}, Unary=fail)
    with structlog.testing.capture_logs() as logs, pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.unary(StringValue(), timeout=2)
    assert SECRET_TEXT in repr(logs)
    assert SECRET_TEXT not in repr(caught.value)


async def test_handlers_may_abort_by_themselves(serve_fake: Any) -> None:
    async def abort(_request: Any, context: Any) -> StringValue:
        await context.abort(grpc.StatusCode.ALREADY_EXISTS, "there")
        raise AssertionError

    rpc = await serve_fake(Unary=abort)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.unary(StringValue(), timeout=2)
    assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.ALREADY_EXISTS, "there")
    assert counted(rpc, "AlreadyExists") == 1


async def test_a_message_that_cannot_be_decoded_is_the_callers_fault(serve_fake: Any) -> None:
    rpc = await serve_fake(Unary=echo)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.raw(b"\xff\xff\xff", timeout=2)
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_INVALID_FIELD


async def test_the_cause_of_a_known_error_is_logged_and_not_sent(serve_fake: Any) -> None:
    async def lose_the_store(_request: Any, _context: Any) -> StringValue:
        try:
            raise OSError(SECRET_TEXT)
        except OSError as error:
            raise ServiceError(errors_pb2.ERROR_REASON_STORE_UNAVAILABLE, "The store cannot be read.") from error

    rpc = await serve_fake(Unary=lose_the_store)
    with structlog.testing.capture_logs() as logs, pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.unary(StringValue(), timeout=2)
    assert (logs[0]["log_level"], logs[0]["reason"], logs[0]["error_type"]) == (
        "warning",
        "STORE_UNAVAILABLE",
        "OSError",
    )
    assert SECRET_TEXT not in repr(caught.value) + repr(logs)


async def test_a_failed_inner_call_that_nobody_mapped_keeps_its_reason(serve_fake: Any) -> None:
    async def call_nobody(request: StringValue, _context: Any) -> StringValue:
        async with grpc.aio.insecure_channel("unix:/nowhere/at.all") as channel:
            method = channel.unary_unary("/x/Y", StringValue.SerializeToString, StringValue.FromString)
            return await method(request, timeout=1)

    rpc = await serve_fake(Unary=call_nobody)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.unary(StringValue(), timeout=3)
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_UPSTREAM_UNAVAILABLE
    assert "nowhere" not in repr(caught.value)
