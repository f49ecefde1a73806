"""The one server interceptor: deadline, principal, metrics, log line and error mapping, fused.

One instead of five because each link of a chain costs every call; the order inside is fixed: count the call, check
its deadline, decode, verify the caller, run the handler, map what went wrong, count and log the end.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import grpc
import grpc.aio
import structlog
from google.protobuf.message import DecodeError

from citemesh.rpc.errors import ServiceError
from citemesh.rpc.handled_call import CallPolicy, Context, HandledCall
from citemesh.rpc.method_metrics import MethodMetrics, RpcMetrics
from citemesh.v1 import errors_pb2

_log = structlog.get_logger(__name__)

_INFRASTRUCTURE = "/grpc."  # health and reflection: open to probes, and counted by nobody

# Generic in the type stubs only, hence the quotes.
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class _Method:
    """One RPC method: its handler, and what was resolved once for all its calls."""

    __slots__ = ("handler", "metrics", "path", "policy")

    def __init__(self, path: str, handler: Handler, metrics: MethodMetrics, policy: CallPolicy) -> None:
        self.path = path
        self.handler = handler
        self.metrics = metrics
        self.policy = policy

    def wrap(self) -> Handler:
        """The handler with everything around it. (De)serialising happens inside, so that its errors are mapped too."""
        handler = self.handler
        if handler.response_streaming:
            if handler.request_streaming or not inspect.isasyncgenfunction(handler.unary_stream):
                raise TypeError(f"{self.path} must take one message and be an async generator, as all streams here are")
            return grpc.unary_stream_rpc_method_handler(self._generate(handler.unary_stream))
        if handler.request_streaming:
            return grpc.stream_unary_rpc_method_handler(self._await_one(handler.stream_unary, self._read_stream))
        return grpc.unary_unary_rpc_method_handler(self._await_one(handler.unary_unary, self._read_one))

    def _await_one(self, inner: Any, read: Callable[[Any], Any]) -> Any:
        """A method with one response."""
        serialize = self.handler.response_serializer or _keep

        async def handle(raw: Any, context: Context) -> bytes:
            call = HandledCall(self.path, self.metrics, self.policy, context)
            try:
                call.admit()
                if call.timeout_s is None:
                    response = await inner(read(raw), context)
                else:
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

    def _generate(self, inner: Any) -> Any:
        """A method with a stream of responses, written as an async generator."""
        serialize = self.handler.response_serializer or _keep

        async def handle(raw: Any, context: Context) -> AsyncIterator[bytes]:
            call = HandledCall(self.path, self.metrics, self.policy, context)
            responses: Any = None
            try:
                call.admit()
                responses = inner(self._read_one(raw), context)
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

    def _read_one(self, raw: bytes) -> Any:
        self.metrics.count_received()
        return _decode(self.handler.request_deserializer or _keep, raw)

    async def _read_stream(self, raw_messages: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        async for raw in raw_messages:
            yield self._read_one(raw)


class CallInterceptor(grpc.aio.ServerInterceptor):
    """See the module. One per server."""

    def __init__(self, metrics: RpcMetrics, policy: CallPolicy) -> None:
        self._metrics = metrics
        self._policy = policy
        self._wrapped: dict[str, Handler] = {}
        metrics.in_flight.set_function(lambda: policy.in_flight.count)

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
        method_metrics = self._metrics.of(path, handler.request_streaming, handler.response_streaming)
        wrapped = self._wrapped[path] = _Method(path, handler, method_metrics, self._policy).wrap()
        return wrapped


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


def _keep(message: Any) -> Any:
    return message
