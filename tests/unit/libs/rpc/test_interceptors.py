"""What one call costs its handler: nothing; what it gets: deadline, principal, metrics, log line, mapped errors."""

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
from grpc_health.v1 import health_pb2, health_pb2_grpc

from citemesh.auth import current_principal, outgoing_metadata
from citemesh.rpc.deadline import remaining_s
from citemesh.rpc.errors import (
    INTERNAL_TEXT,
    ServiceError,
    error_reason,
    invalid_argument,
    invalid_fields,
    read_error_info,
    read_field_violations,
    read_status,
)
from citemesh.rpc.request_ids import current_request_id
from citemesh.v1 import errors_pb2

SECRET_TEXT = "the salary of Ms Example is 12345"


async def echo(request: StringValue, _context: Any) -> StringValue:
    return request


async def fail(_request: Any, _context: Any) -> StringValue:
    raise ValueError(SECRET_TEXT)


def value_of(registry: Any, name: str, **labels: str) -> float:
    value = registry.get_sample_value(name, labels)
    assert value is not None, (name, labels)
    return float(value)


def status_of(error: grpc.RpcError) -> Any:
    status = read_status(error)
    assert status is not None
    return status


def info_of(error: grpc.RpcError) -> Any:
    info = read_error_info(status_of(error))
    assert info is not None
    return info


def counted(rpc: Any, code: str, kind: str = "unary", method: str = "Unary") -> float:
    return value_of(
        rpc.host.registry,
        "grpc_server_handled_total",
        grpc_type=kind,
        grpc_service="test.Fake",
        grpc_method=method,
        grpc_code=code,
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
    assert 1.0 < seen["remaining"] <= 2.0


async def test_a_request_id_that_is_unfit_for_logs_is_replaced(serve_fake: Any) -> None:
    async def name_it(_request: Any, _context: Any) -> StringValue:
        return StringValue(value=current_request_id())

    rpc = await serve_fake(Unary=name_it)
    given = 'x" injected'
    answer = await rpc.unary(StringValue(), timeout=2, metadata=(("x-request-id", given),))
    assert answer.value
    assert answer.value != given


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


async def fail_late(_request: Any, _context: Any) -> AsyncIterator[StringValue]:
    yield StringValue(value="1")
    raise ValueError(SECRET_TEXT)


async def fail_reading(requests: AsyncIterator[StringValue], _context: Any) -> StringValue:
    async for _ in requests:
        raise ValueError(SECRET_TEXT)
    return StringValue()


async def fail_writing(_request: Any, context: Any) -> None:
    await context.write(StringValue(value="1"))
    raise ValueError(SECRET_TEXT)


async def cancel_itself(_request: Any, _context: Any) -> StringValue:
    raise asyncio.CancelledError(SECRET_TEXT)


async def answer_nonsense(_request: Any, _context: Any) -> Any:
    return SECRET_TEXT


async def one(value: str = "x") -> AsyncIterator[StringValue]:
    yield StringValue(value=value)


async def drain(stream: Any) -> list[Any]:
    return [each async for each in stream]


@pytest.mark.parametrize(
    ("method", "behaviour"),
    [
        ("Unary", fail),
        ("Unary", cancel_itself),
        ("Unary", answer_nonsense),
        ("Server", fail_late),
        ("Client", fail_reading),
        ("Bidi", fail_late),
        ("Written", fail_writing),
    ],
)
async def test_no_exception_text_leaves_and_nobody_is_left_waiting(
    serve_fake: Any, method: str, behaviour: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    rpc = await serve_fake(**{method: behaviour})
    stub = getattr(rpc, method.lower())
    started = time.monotonic()
    with structlog.testing.capture_logs() as logs:
        call = stub(one() if method in ("Client", "Bidi") else StringValue(value="x"), timeout=5)
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


async def test_one_log_line_without_the_text_of_the_request(serve_fake: Any) -> None:
    rpc = await serve_fake(Unary=echo)
    with structlog.testing.capture_logs() as logs:
        await rpc.unary(StringValue(value=SECRET_TEXT), timeout=2)
    assert [line["event"] for line in logs] == ["call"]
    assert logs[0]["method"] == "/test.Fake/Unary"
    assert (logs[0]["code"], logs[0]["tenant_id"]) == ("OK", "default")
    assert SECRET_TEXT not in repr(logs)


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


async def eventually(condition: Any, within_s: float = 3.0) -> None:
    limit = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(("how", "code"), [("cancel", "Canceled"), ("deadline", "DeadlineExceeded")])
@pytest.mark.parametrize("method", ["Unary", "Server", "Written"])
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


async def test_streams_of_all_kinds_pass_and_count_their_messages(serve_fake: Any) -> None:
    async def count_up(_request: Any, _context: Any) -> AsyncIterator[StringValue]:
        for number in range(3):
            yield StringValue(value=str(number))

    async def join(requests: AsyncIterator[StringValue], _context: Any) -> StringValue:
        return StringValue(value="".join([request.value async for request in requests]))

    async def double(requests: AsyncIterator[StringValue], _context: Any) -> AsyncIterator[StringValue]:
        async for request in requests:
            yield StringValue(value=request.value * 2)

    async def write(_request: Any, context: Any) -> None:
        for number in range(3):
            await context.write(StringValue(value=str(number)))

    async def letters() -> AsyncIterator[StringValue]:
        for letter in "abc":
            yield StringValue(value=letter)

    rpc = await serve_fake(Server=count_up, Client=join, Bidi=double, Written=write)
    assert [m.value async for m in rpc.server(StringValue(), timeout=2)] == ["0", "1", "2"]
    assert (await rpc.client(letters(), timeout=2)).value == "abc"
    assert [m.value async for m in rpc.bidi(letters(), timeout=2)] == ["aa", "bb", "cc"]
    assert [m.value async for m in rpc.written(StringValue(), timeout=2)] == ["0", "1", "2"]
    for kind, method, received, sent in (
        ("server_stream", "Server", 1, 3),
        ("client_stream", "Client", 3, 1),
        ("bidi_stream", "Bidi", 3, 3),
    ):
        labels = {"grpc_type": kind, "grpc_service": "test.Fake", "grpc_method": method}
        assert value_of(rpc.host.registry, "grpc_server_msg_received_total", **labels) == received
        assert value_of(rpc.host.registry, "grpc_server_msg_sent_total", **labels) == sent
        assert counted(rpc, "OK", kind, method) == 1


async def test_callers_that_are_not_verified_are_refused(serve_fake: Any) -> None:
    rpc = await serve_fake(
        {"CITEMESH_AUTH_MODE": "jwt", "CITEMESH_AUTH_SECRET": "s" * 32}, Unary=echo, Server=fail_late
    )
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
