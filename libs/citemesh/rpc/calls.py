"""Calling another service: a deadline on every call, the caller's credentials with it, errors as ServiceError."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import grpc
import grpc.aio

from citemesh.auth.principal import outgoing_metadata
from citemesh.rpc.errors import ServiceError, from_rpc_error
from citemesh.v1 import errors_pb2

Request = TypeVar("Request")
Response = TypeVar("Response")


async def call(
    method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
    request: Request,
    *,
    timeout: float | None,
    service: str = "",
) -> Response:
    """Send `request` and return the response: `await call(stub.Rerank, request, timeout=0.5, service="rerank")`.

    `timeout` is in seconds: take it from deadline.share. A timeout of 0 is refused without a call.
    Raises ServiceError with the peer's reason, or with what its bare code means.
    """
    _refuse_spent(timeout, service)
    pending = method(request, timeout=timeout, metadata=outgoing_metadata())
    try:
        return await pending
    except grpc.RpcError as error:
        raise from_rpc_error(error, service) from error
    except BaseException:  # this task was cancelled, say: left unfinished, the call would live on at the server
        pending.cancel()
        raise


async def send_stream(
    method: grpc.aio.StreamUnaryMultiCallable[Request, Response],
    requests: AsyncIterator[Request],
    *,
    timeout: float | None,
    service: str = "",
) -> Response:
    """Send a stream of requests and return the one response. Otherwise as `call`."""
    _refuse_spent(timeout, service)
    pending = method(requests, timeout=timeout, metadata=outgoing_metadata())
    try:
        return await pending
    except grpc.RpcError as error:
        raise from_rpc_error(error, service) from error
    finally:
        pending.cancel()


@asynccontextmanager
async def open_stream(
    method: grpc.aio.UnaryStreamMultiCallable[Request, Response],
    request: Request,
    *,
    timeout: float | None,
    service: str = "",
) -> AsyncIterator[AsyncIterator[Response]]:
    """Send `request` and read a stream of responses: `async with open_stream(...) as responses: async for ...`.

    Leaving the block, however early, cancels the call, so that no handler is left running. Raises as `call` does.
    """
    _refuse_spent(timeout, service)
    pending = method(request, timeout=timeout, metadata=outgoing_metadata())
    try:
        yield pending.__aiter__()
    except grpc.RpcError as error:
        raise from_rpc_error(error, service) from error
    finally:
        pending.cancel()


def _refuse_spent(timeout: float | None, service: str) -> None:
    if timeout is not None and timeout <= 0.0:
        raise ServiceError(
            errors_pb2.ERROR_REASON_DEADLINE_TOO_SHORT,
            f"No time is left to call the {service or 'service'}.",
            service=service,
        )
