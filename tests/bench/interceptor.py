"""The fused interceptor: a hop to a server with it, against the same hop to a bare server, in turns of one run."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

import grpc.aio
import uvloop

from citemesh.auth.principal import Principal, open_metadata
from citemesh.v1 import query_pb2, query_pb2_grpc, question_pb2
from tests.bench.canned import QUESTION
from tests.bench.processes import cpu_s, started
from tests.bench.report import Figure, p50

_KINDS: Final = ("bare", "intercepted")
_ROUND_COUNT: Final = 20
_BATCH_SIZE: Final = 200
_TIMEOUT_S: Final = 10.0


def run() -> list[Figure]:
    """Start both servers and measure."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        targets = {kind: f"unix:{folder}/{kind}.sock" for kind in _KINDS}
        settings = {"CITEMESH_STATE_DIR": str(folder)}
        with (
            started("tests.bench.stub_stages", targets["bare"], "bare", log=folder / "log") as bare,
            started(
                "tests.bench.stub_stages", targets["intercepted"], "intercepted", log=folder / "log", **settings
            ) as intercepted,
        ):
            return uvloop.run(_measure(targets, {"bare": bare.pid, "intercepted": intercepted.pid}))


async def _measure(targets: dict[str, str], pids: dict[str, int]) -> list[Figure]:
    metadata = open_metadata(Principal("default", "ana", frozenset({"staff"})))
    turns = [question_pb2.Turn(role=question_pb2.ROLE_USER, text=QUESTION * 11) for _ in range(2)]
    request = query_pb2.UnderstandRequest(question=QUESTION, history=turns)
    wall: dict[str, list[float]] = {kind: [] for kind in _KINDS}
    cpu = dict.fromkeys(_KINDS, 0.0)
    channels = {kind: grpc.aio.insecure_channel(target) for kind, target in targets.items()}
    stubs = {kind: query_pb2_grpc.QueryServiceStub(channel) for kind, channel in channels.items()}
    try:
        for number in range(_ROUND_COUNT + 1):
            for kind in _KINDS:
                before = cpu_s(pids[kind])
                for _ in range(_BATCH_SIZE):
                    begun = time.perf_counter()
                    await stubs[kind].Understand(request, timeout=_TIMEOUT_S, metadata=metadata)
                    wall[kind].append(time.perf_counter() - begun)
                if number == 0:  # warming up
                    wall[kind].clear()
                else:
                    cpu[kind] += cpu_s(pids[kind]) - before
    finally:
        for channel in channels.values():
            await channel.close()
    call_count = _ROUND_COUNT * _BATCH_SIZE
    details = {"calls": call_count, "request_bytes": request.ByteSize()}
    ratio = p50(wall["intercepted"]) / p50(wall["bare"])
    return [
        Figure("hop with interceptor / bare, wall p50", ratio, "x", None, details),
        Figure("server with interceptor / bare, processor time", cpu["intercepted"] / cpu["bare"], "x"),
        *(Figure(f"{kind} hop, p50", p50(wall[kind]) * 1e3, "ms") for kind in _KINDS),
        *(Figure(f"{kind} server, processor time per call", cpu[kind] / call_count * 1e3, "ms") for kind in _KINDS),
    ]
