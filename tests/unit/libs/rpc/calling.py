"""What tests of calls share: small behaviours, and how to read what came back and what was counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
from google.protobuf.wrappers_pb2 import StringValue

from citemesh.rpc.errors import read_error_info, read_status

SECRET_TEXT = "the salary of Ms Example is 12345"


async def echo(request: StringValue, _context: Any) -> StringValue:
    return request


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


async def one(value: str = "x") -> AsyncIterator[StringValue]:
    yield StringValue(value=value)


async def drain(stream: Any) -> list[Any]:
    return [each async for each in stream]


async def eventually(condition: Any, within_s: float = 3.0) -> None:
    limit = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        await asyncio.sleep(0.01)
