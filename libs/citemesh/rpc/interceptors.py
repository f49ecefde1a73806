"""The one server interceptor: deadline, principal, metrics, log line and error mapping, fused.

One instead of five because each link of a chain costs every call; the order inside is fixed: count the call, check
its deadline, decode, verify the caller, run the handler, map what went wrong, count and log the end.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import grpc
import grpc.aio
import structlog
from google.protobuf.message import DecodeError

from citemesh.auth.authenticate import Authenticator
from citemesh.auth.principal import Credentials, set_credentials
from citemesh.rpc import deadline
from citemesh.rpc.errors import (
    INTERNAL_TEXT,
    ServiceError,
    from_rpc_error,
    reason_name,
    to_status,
    to_trailing_metadata,
)
from citemesh.rpc.method_metrics import MethodMetrics, RpcMetrics
from citemesh.rpc.request_ids import REQUEST_ID_KEY, accept_request_id, set_request_id
from citemesh.telemetry.logs import describe_exception
from citemesh.telemetry.tracing import TRACEPARENT_KEY, CallTrace, CallTracer
from citemesh.v1 import errors_pb2

_log = structlog.get_logger(__name__)

_INFRASTRUCTURE = "/grpc."  # health and reflection: open to probes, and counted by nobody

# Generic in the type stubs only, hence the quotes.
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class _Call:
    """One call from begin to end. Every call runs in a task, and so in a context, of its own."""

    __slots__ = ("context", "credentials", "method", "request_id", "started", "timeout_s", "trace")

    def __init__(self, method: _Method, context: Context) -> None:
        self.started = time.perf_counter()
        self.method = method
        self.context = context
        self.request_id = ""
        self.credentials: Credentials | None = None
        self.timeout_s: float | None = None
        self.trace: CallTrace | None = None
        method.owner.count_begin()
        method.metrics.begin()

    def admit(self) -> None:
        """Check the deadline and the caller; make both, and the ids, known to the handler. Raises ServiceError."""
        owner = self.method.owner
        metadata = self.context.invocation_metadata() or ()
        request_id: str | bytes | None = None
        traceparent: str | bytes | None = None
        for key, value in metadata:
            if key == REQUEST_ID_KEY:
                request_id = value
            elif key == TRACEPARENT_KEY:
                traceparent = value
        self.request_id = accept_request_id(request_id)
        set_request_id(self.request_id)
        self.trace = owner.tracer.begin(self.method.path, traceparent)
        remaining = deadline.remaining_s(self.context)
        if remaining is None:
            self.timeout_s = owner.default_deadline_s
            deadline.set_default_deadline(self.timeout_s)
        elif remaining <= 0.0:
            raise _deadline_exceeded()
        credentials = owner.authenticator.authenticate(metadata)
        forwarded = (*credentials.metadata, (REQUEST_ID_KEY, self.request_id))
        if self.trace.traceparent:
            forwarded = (*forwarded, (TRACEPARENT_KEY, self.trace.traceparent))
        self.credentials = Credentials(credentials.principal, forwarded)
        set_credentials(self.credentials)

    async def run(self, step: Awaitable[Any]) -> Any:
        """Await one step of the handler, within the default deadline where the caller gave none."""
        if self.timeout_s is None:
            return await step
        limit = asyncio.timeout(max(0.0, self.started + self.timeout_s - time.perf_counter()))
        try:
            async with limit:
                return await step
        except TimeoutError:
            if limit.expired():
                raise _deadline_exceeded() from None
            raise

    def succeed(self) -> None:
        """The handler returned: its code is OK, or what it set on the context."""
        code = self.context.code()
        self._end(code if isinstance(code, grpc.StatusCode) else grpc.StatusCode.OK)

    async def fail(self, error: BaseException) -> None:
        """Send what a failed handler means to the caller, count it and log it. Always raises."""
        if isinstance(error, grpc.aio.AbortError):
            # The handler called context.abort itself, and the status is sent.
            code = self.context.code()
            self._end(code if isinstance(code, grpc.StatusCode) else grpc.StatusCode.UNKNOWN)
            raise error
        if isinstance(error, GeneratorExit) or (isinstance(error, asyncio.CancelledError) and self._is_cancelled()):
            # Deadline or caller: gRPC has told the caller already, or there is nobody left to tell.
            spent = self.context.time_remaining()
            expired = spent is not None and spent <= 0.0
            self._end(grpc.StatusCode.DEADLINE_EXCEEDED if expired else grpc.StatusCode.CANCELLED)
            raise error
        if not isinstance(error, Exception | asyncio.CancelledError):
            self._end(grpc.StatusCode.INTERNAL)
            raise error  # the process is going down
        # A CancelledError that nobody sent to this call would leave its caller waiting, so it is a fault like others.
        known = _known_error(error)
        fault = None if known is not None else error
        sent = known or ServiceError(errors_pb2.ERROR_REASON_INTERNAL, INTERNAL_TEXT)
        if sent.reason == errors_pb2.ERROR_REASON_INTERNAL:
            sent.metadata.setdefault("request_id", self.request_id)
        self._end(sent.code, sent, fault)
        status = to_status(sent)
        await self.context.abort(sent.code, status.message, to_trailing_metadata(status))

    def _is_cancelled(self) -> bool:
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0

    def _end(self, code: grpc.StatusCode, sent: ServiceError | None = None, fault: BaseException | None = None) -> None:
        elapsed_s = time.perf_counter() - self.started
        self.method.owner.count_end()
        self.method.metrics.end(code, elapsed_s)
        fields: dict[str, Any] = {"code": code.name, "duration_ms": round(elapsed_s * 1000.0, 2)}
        if self.credentials is not None:
            principal = self.credentials.principal
            fields["tenant_id"], fields["user_id"] = principal.tenant_id, principal.user_id
        if self.trace is not None and self.trace.traceparent:
            fields["trace_id"] = self.trace.trace_id
            self.trace.end(code.name)
        if sent is not None:
            self.method.metrics.count_error(reason_name(sent.reason))
            fields["reason"] = reason_name(sent.reason)
        if fault is not None:
            fields |= describe_exception(fault, with_text=self.method.owner.log_exception_text)
        write = _log.error if fault is not None else _log.info
        write("call", method=self.method.path, request_id=self.request_id, **fields)


class _Method:
    """One RPC method: its handler, and what was resolved once for all its calls."""

    __slots__ = ("handler", "metrics", "owner", "path")

    def __init__(self, owner: CallInterceptor, path: str, handler: Handler) -> None:
        self.owner = owner
        self.path = path
        self.handler = handler
        self.metrics: MethodMetrics = owner.metrics.of(path, handler.request_streaming, handler.response_streaming)

    def wrap(self) -> Handler:
        """The handler with everything around it. (De)serialising happens inside, so that its errors are mapped too."""
        handler = self.handler
        if handler.request_streaming and handler.response_streaming:
            inner = handler.stream_stream
            if inspect.isasyncgenfunction(inner):
                return grpc.stream_stream_rpc_method_handler(self._generate(inner, self._read_stream))
            return self._keep_codecs(grpc.stream_stream_rpc_method_handler, self._await_plain(inner))
        if handler.response_streaming:
            inner = handler.unary_stream
            if inspect.isasyncgenfunction(inner):
                return grpc.unary_stream_rpc_method_handler(self._generate(inner, self._read_one))
            return self._keep_codecs(grpc.unary_stream_rpc_method_handler, self._await_plain(inner))
        if handler.request_streaming:
            return grpc.stream_unary_rpc_method_handler(self._await_one(handler.stream_unary, self._read_stream))
        return grpc.unary_unary_rpc_method_handler(self._await_one(handler.unary_unary, self._read_one))

    def _await_one(self, inner: Any, read: Callable[[Any], Any]) -> Any:
        """A method with one response."""
        serialize = self.handler.response_serializer or _keep

        async def handle(raw: Any, context: Context) -> bytes:
            call = _Call(self, context)
            try:
                call.admit()
                response = await call.run(inner(read(raw), context))
                # A code set on the context means: no response.
                encoded = serialize(response) if response is not None or not context.code() else b""
            except BaseException as error:  # whatever it is, the caller must not see it or wait for it
                await call.fail(error)
                raise
            self.metrics.count_sent()
            call.succeed()
            return encoded

        return handle

    def _generate(self, inner: Any, read: Callable[[Any], Any]) -> Any:
        """A method with a stream of responses, written as an async generator."""
        serialize = self.handler.response_serializer or _keep

        async def handle(raw: Any, context: Context) -> AsyncIterator[bytes]:
            call = _Call(self, context)
            responses: Any = None
            try:
                call.admit()
                responses = inner(read(raw), context)
                while True:
                    try:
                        response = await call.run(anext(responses))
                    except StopAsyncIteration:
                        break
                    encoded = serialize(response)
                    self.metrics.count_sent()
                    yield encoded
            except BaseException as error:  # whatever it is, the caller must not see it or wait for it
                if responses is not None:
                    await _close_quietly(responses)
                await call.fail(error)
                raise
            call.succeed()

        return handle

    def _await_plain(self, inner: Any) -> Any:
        """A method with a stream of responses, written with context.read and context.write."""

        async def handle(request: Any, context: Context) -> None:
            call = _Call(self, context)
            try:
                call.admit()
                await call.run(inner(request, context))
            except BaseException as error:  # whatever it is, the caller must not see it or wait for it
                await call.fail(error)
                raise
            call.succeed()

        return handle

    def _keep_codecs(self, make: Any, handle: Any) -> Handler:
        wrapped: Handler = make(handle, self.handler.request_deserializer, self.handler.response_serializer)
        return wrapped

    def _read_one(self, raw: bytes) -> Any:
        self.metrics.count_received()
        return _decode(self.handler.request_deserializer or _keep, raw)

    async def _read_stream(self, raw_messages: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        async for raw in raw_messages:
            yield self._read_one(raw)


class CallInterceptor(grpc.aio.ServerInterceptor):
    """See the module. One per server; `log_exception_text` is for debugging on one's own data."""

    def __init__(
        self,
        metrics: RpcMetrics,
        authenticator: Authenticator,
        *,
        tracer: CallTracer | None = None,
        default_deadline_s: float = 30.0,
        log_exception_text: bool = False,
    ) -> None:
        self.metrics = metrics
        self.authenticator = authenticator
        self.tracer = tracer or CallTracer()
        self.default_deadline_s = default_deadline_s
        self.log_exception_text = log_exception_text
        self.idle = asyncio.Event()
        """Set while no call is in flight."""
        self.idle.set()
        self._calls_in_flight = 0
        self._wrapped: dict[str, Handler] = {}

    def count_begin(self) -> None:
        """A call has come in."""
        self._calls_in_flight += 1
        self.idle.clear()

    def count_end(self) -> None:
        """A call has ended."""
        self._calls_in_flight -= 1
        if self._calls_in_flight == 0:
            self.idle.set()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """The wrapped handler of the called method; None where there is no such method."""
        path = handler_call_details.method
        wrapped = self._wrapped.get(path)
        if wrapped is not None:
            return wrapped
        handler = await continuation(handler_call_details)
        if handler is None or path.startswith(_INFRASTRUCTURE):
            return handler
        wrapped = self._wrapped[path] = _Method(self, path, handler).wrap()
        return wrapped


def _known_error(error: BaseException) -> ServiceError | None:
    """`error` where its text is meant for callers; None for a fault."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, grpc.RpcError):
        mapped = from_rpc_error(error)
        return None if mapped.reason == errors_pb2.ERROR_REASON_INTERNAL else mapped
    return None


def _decode(deserialize: Callable[[bytes], Any], raw: bytes) -> Any:
    try:
        return deserialize(raw)
    except DecodeError:
        raise ServiceError(
            errors_pb2.ERROR_REASON_INVALID_FIELD, "The request is not a message of this call's type."
        ) from None


async def _close_quietly(responses: Any) -> None:
    """Let the handler's `finally` blocks run now; the error that matters is the one being handled."""
    try:
        await responses.aclose()
    except BaseException as error:  # noqa: BLE001  # a second error must not hide the first
        _log.warning("handler_close_failed", error_type=type(error).__name__)


def _deadline_exceeded() -> ServiceError:
    return ServiceError(errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED, "The deadline has passed.")


def _keep(message: Any) -> Any:
    return message
