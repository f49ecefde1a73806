"""One call from begin to end: what is checked before its handler runs, and what is told when it has ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import grpc
import grpc.aio
import structlog

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
from citemesh.rpc.method_metrics import MethodMetrics
from citemesh.rpc.request_ids import REQUEST_ID_KEY, accept_request_id, set_request_id
from citemesh.telemetry.logs import describe_exception
from citemesh.telemetry.tracing import TRACEPARENT_KEY, CallTrace, CallTracer
from citemesh.v1 import errors_pb2

_log = structlog.get_logger(__name__)

# Generic in the type stubs only, hence the quotes.
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class CallsInFlight:
    """How many calls are being handled by one server."""

    def __init__(self) -> None:
        self.count = 0
        self.idle = asyncio.Event()
        """Set while there is none."""
        self.idle.set()

    def begin(self) -> None:
        """A call has come in."""
        self.count += 1
        self.idle.clear()

    def end(self) -> None:
        """A call has ended."""
        self.count -= 1
        if self.count == 0:
            self.idle.set()


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """What holds for every call of one server."""

    authenticator: Authenticator
    tracer: CallTracer = field(default_factory=CallTracer)
    default_deadline_s: float = 30.0
    """For callers that gave no deadline."""
    max_concurrent_calls: int = 0
    """More are refused; 0: no limit."""
    log_exception_text: bool = False
    """For debugging on one's own data."""
    in_flight: CallsInFlight = field(default_factory=CallsInFlight)


class HandledCall:
    """One call. Every call runs in a task, and so in a context (of variables), of its own."""

    __slots__ = (
        "_context",
        "_credentials",
        "_metrics",
        "_path",
        "_policy",
        "_request_id",
        "_started",
        "_trace",
        "timeout_s",
    )

    def __init__(self, path: str, metrics: MethodMetrics, policy: CallPolicy, context: Context) -> None:
        self._started = time.perf_counter()
        self._path = path
        self._metrics = metrics
        self._policy = policy
        self._context = context
        self._request_id = ""
        self._credentials: Credentials | None = None
        self._trace: CallTrace | None = None
        self.timeout_s: float | None = None
        """The default deadline, where the caller gave none."""
        policy.in_flight.begin()
        metrics.begin()

    def admit(self) -> None:
        """Check the deadline and the caller; make both, and the ids, known to the handler. Raises ServiceError."""
        policy = self._policy
        metadata = self._context.invocation_metadata() or ()
        request_id: str | bytes | None = None
        traceparent: str | bytes | None = None
        for key, value in metadata:
            if key == REQUEST_ID_KEY:
                request_id = value
            elif key == TRACEPARENT_KEY:
                traceparent = value
        self._request_id = accept_request_id(request_id)
        set_request_id(self._request_id)
        self._trace = policy.tracer.begin(self._path, traceparent)
        remaining = deadline.remaining_s(self._context)
        if remaining is None:
            self.timeout_s = policy.default_deadline_s
            deadline.set_default_deadline(self.timeout_s)
        elif remaining <= 0.0:
            raise _deadline_exceeded()
        if 0 < policy.max_concurrent_calls < policy.in_flight.count:
            raise ServiceError(
                errors_pb2.ERROR_REASON_OVERLOADED, "Too many calls at once: try again, later or elsewhere."
            )
        credentials = policy.authenticator.authenticate(metadata)
        forwarded = (*credentials.metadata, (REQUEST_ID_KEY, self._request_id))
        if self._trace.traceparent:
            forwarded = (*forwarded, (TRACEPARENT_KEY, self._trace.traceparent))
        self._credentials = Credentials(credentials.principal, forwarded)
        set_credentials(self._credentials)

    async def run(self, step: Awaitable[Any]) -> Any:
        """Await one step of the handler, within the default deadline where the caller gave none."""
        if self.timeout_s is None:
            return await step
        limit = asyncio.timeout(max(0.0, self._started + self.timeout_s - time.perf_counter()))
        try:
            async with limit:
                return await step
        except TimeoutError:
            if limit.expired():
                raise _deadline_exceeded() from None
            raise

    def succeed(self) -> None:
        """The handler returned: its code is OK, or what it set on the context."""
        code = self._context.code()
        self._end(code if isinstance(code, grpc.StatusCode) else grpc.StatusCode.OK)

    async def fail(self, error: BaseException) -> None:
        """Send what a failed handler means to the caller, count it and log it. Always raises."""
        if isinstance(error, grpc.aio.AbortError):
            # The handler called context.abort itself, and the status is sent.
            code = self._context.code()
            self._end(code if isinstance(code, grpc.StatusCode) else grpc.StatusCode.UNKNOWN)
            raise error
        if isinstance(error, GeneratorExit) or (isinstance(error, asyncio.CancelledError) and self._is_cancelled()):
            # Deadline or caller: gRPC has told the caller already, or there is nobody left to tell.
            spent = self._context.time_remaining()
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
            sent.message = INTERNAL_TEXT
            sent.metadata.setdefault("request_id", self._request_id)
        self._end(sent.code, sent, fault)
        status = to_status(sent)
        await self._context.abort(sent.code, status.message, to_trailing_metadata(status, sent.reason))

    def _is_cancelled(self) -> bool:
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0

    def _end(self, code: grpc.StatusCode, sent: ServiceError | None = None, fault: BaseException | None = None) -> None:
        elapsed_s = time.perf_counter() - self._started
        self._policy.in_flight.end()
        self._metrics.end(code, elapsed_s)
        fields: dict[str, Any] = {"code": code.name, "duration_ms": round(elapsed_s * 1000.0, 2)}
        if self._credentials is not None:
            principal = self._credentials.principal
            fields["tenant_id"], fields["user_id"] = principal.tenant_id, principal.user_id
        if self._trace is not None and self._trace.traceparent:
            fields["trace_id"] = self._trace.trace_id
            self._trace.end(code)
        write = _log.info
        if sent is not None:
            fields["reason"] = reason_name(sent.reason)
            self._metrics.count_error(fields["reason"])
            if sent.__cause__ is not None:
                write = _log.warning
                fields |= describe_exception(sent.__cause__, with_text=self._policy.log_exception_text)
        if fault is not None:
            write = _log.error
            fields |= describe_exception(fault, with_text=self._policy.log_exception_text)
        write("call", method=self._path, request_id=self._request_id, **fields)


def _known_error(error: BaseException) -> ServiceError | None:
    """`error` where its text is meant for callers; None for a fault."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, grpc.RpcError):
        mapped = from_rpc_error(error)
        return None if mapped.reason == errors_pb2.ERROR_REASON_INTERNAL else mapped
    return None


def _deadline_exceeded() -> ServiceError:
    return ServiceError(errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED, "The deadline has passed.")
