"""Dispatch: a whole answer over stub stages, against six bare hops that carry the same bytes, interleaved in one run.

The stub stages are a bare server in a process of their own; the dispatcher is the real one in its process, with its
budget, history, metrics and log. What the stages do costs nothing, so what is left is dispatching.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import grpc.aio
import uvloop
from google.protobuf import descriptor_pool
from google.protobuf.message_factory import GetMessageClass

from citemesh.auth.principal import Principal, open_metadata
from citemesh.rpc.request_ids import REQUEST_ID_KEY
from citemesh.v1 import answer_pb2, dispatcher_pb2, dispatcher_pb2_grpc
from services.dispatcher.service import SPEC
from tests.bench.canned import QUESTION
from tests.bench.memory import MAX_STAGE_MIB
from tests.bench.processes import cpu_s, resident_mib, started
from tests.bench.report import Figure, p50
from tests.bench.stub_stages import LAST_REQUEST

Hop = Callable[[], Awaitable[Any]]

MAX_RATIO: Final = 1.35
HOPS: Final = (
    ("QueryService", "Understand"),
    ("RetrievalService", "Retrieve"),
    ("RerankService", "Rerank"),
    ("RerankService", "AssembleContext"),
    ("GenerationService", "Generate"),
    ("ValidationService", "Validate"),
)
OTHER_CALLS: Final = (("DocumentsService", "Profile"), ("RetrievalService", "GetPassages"))
"""What a question brings about besides: the profile, and the check of the passages that are cited."""

EARLY: Final = "the early Retrieve"

_CALLER: Final = Principal("default", "ana", frozenset({"staff"}))
_METADATA: Final = (*open_metadata(_CALLER), (REQUEST_ID_KEY, "0123456789abcdef"))
"""The caller's credentials and the request's id, which every hop carries."""

_WARM_UP_COUNT: Final = 50
_ROUND_COUNT: Final = 400
_TIMEOUT_S: Final = 10.0


def run() -> list[Figure]:
    """Start both processes and measure."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        stages = f"unix:{folder}/stages.sock"
        door = f"unix:{folder}/dispatcher.sock"
        environ = {f"CITEMESH_{need.upper()}_ADDRESS": stages for need in SPEC.needs}
        environ |= {"CITEMESH_HOST_LISTEN_ADDRESS": door, "CITEMESH_STATE_DIR": str(folder)}
        log = folder / "log"
        with (
            started("tests.bench.stub_stages", stages, "bare", log=log),
            started("services", "dispatcher", log=log, **environ) as dispatcher,
        ):
            return uvloop.run(_measure(stages, door, dispatcher.pid))


async def _measure(stages: str, door: str, pid: int) -> list[Figure]:
    async with grpc.aio.insecure_channel(stages) as bare, grpc.aio.insecure_channel(door) as channel:
        ask = _make_ask(channel)
        inside: list[float] = []
        for _ in range(_WARM_UP_COUNT):
            response = await ask()
            assert response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED, response
            assert len(response.history) == 1
        hops = {method: await _make_hop(bare, service, method) for service, method in HOPS + OTHER_CALLS}
        hops[EARLY] = await _make_hop(bare, "RetrievalService", "Retrieve", rankings_only=True)
        whole: list[float] = []
        in_order: list[float] = []
        apart: dict[str, list[float]] = {method: [] for _, method in HOPS}
        cpu_before = cpu_s(pid)
        for _ in range(_ROUND_COUNT):
            seconds, response = await _time(ask)
            whole.append(seconds)
            inside.append(response.timings.total_duration.ToMicroseconds() / 1e6)
            for method, seconds_apart in apart.items():
                seconds_apart.append((await _time(hops[method]))[0])
            in_order.append((await _time(partial(_call_in_order, hops)))[0])
        cpu_ms = (cpu_s(pid) - cpu_before) / _ROUND_COUNT * 1e3
    hops_s = sum(p50(values) for values in apart.values())
    details = {"rounds": _ROUND_COUNT, "hops_ms": {name: round(p50(values) * 1e3, 3) for name, values in apart.items()}}
    return [
        Figure("dispatch / six bare hops", p50(inside) / hops_s, "x", MAX_RATIO, details),
        Figure("the caller's Answer / six bare hops", p50(whole) / hops_s, "x"),
        Figure("dispatch / its own nine calls, bare", p50(inside) / p50(in_order), "x"),
        Figure("its own nine calls, bare / six bare hops", p50(in_order) / hops_s, "x"),
        Figure("dispatch, p50", p50(inside) * 1e3, "ms"),
        Figure("the caller's Answer, p50", p50(whole) * 1e3, "ms"),
        Figure("six bare hops, sum of p50", hops_s * 1e3, "ms"),
        Figure("dispatcher's processor time per answer", cpu_ms, "ms"),
        Figure("dispatcher after these answers, Rss", resident_mib(pid)[0], "MiB", MAX_STAGE_MIB),
    ]


def _make_ask(channel: grpc.aio.Channel) -> Callable[[], Awaitable[dispatcher_pb2.AnswerResponse]]:
    stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)

    async def ask() -> dispatcher_pb2.AnswerResponse:
        request = dispatcher_pb2.AnswerRequest(question=QUESTION)
        return await stub.Answer(request, timeout=_TIMEOUT_S, metadata=_METADATA)

    return ask


async def _make_hop(channel: grpc.aio.Channel, service: str, method: str, **changes: Any) -> Hop:
    """A call of this RPC with the request that the dispatcher has just sent, `changes` made to its fields."""
    ask_for_last: Any = channel.unary_unary(LAST_REQUEST)  # bytes in, bytes out
    sent: bytes = await ask_for_last(method.encode(), timeout=_TIMEOUT_S)
    descriptor = descriptor_pool.Default().FindServiceByName(f"citemesh.v1.{service}").methods_by_name[method]
    request_type = GetMessageClass(descriptor.input_type)
    request = request_type.FromString(sent)
    for name, value in changes.items():
        setattr(request, name, value)
    call = channel.unary_unary(
        f"/citemesh.v1.{service}/{method}",
        request_serializer=request_type.SerializeToString,
        response_deserializer=GetMessageClass(descriptor.output_type).FromString,
    )

    async def hop() -> Any:
        return await call(request, timeout=_TIMEOUT_S, metadata=_METADATA)

    return hop


async def _call_in_order(hops: Mapping[str, Hop]) -> None:
    """The calls of one pass as the dispatcher makes them, side by side where it does so."""
    await asyncio.gather(hops["Understand"](), hops["Profile"](), hops[EARLY]())
    await hops["Retrieve"]()
    await hops["Rerank"]()
    await hops["AssembleContext"]()
    await hops["Generate"]()
    await asyncio.gather(hops["Validate"](), hops["GetPassages"]())


async def _time(work: Callable[[], Awaitable[Any]]) -> tuple[float, Any]:
    started_at = time.perf_counter()
    result = await work()
    return time.perf_counter() - started_at, result
