"""Memory: the embedded mesh after the demo's questions, and stages that load no model."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import grpc

from citemesh.v1 import dispatcher_pb2, dispatcher_pb2_grpc, query_pb2, query_pb2_grpc
from services.registry import NAMES
from tests.bench.processes import resident_mib, started
from tests.bench.report import Figure
from tests.mesh.calling import TIMEOUT_S, WRITER, as_user, demo_questions, ingest_corpus, make_request
from tests.mesh.hosting import Mesh, run_mesh

MAX_MESH_MIB: Final = 700.0
MAX_STAGE_MIB: Final = 90.0
_CALL_COUNT: Final = 200


def run() -> list[Figure]:
    """Measure one after the other; nothing else runs meanwhile."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        with run_mesh("embedded", folder / "mesh") as mesh:
            ingest_corpus(mesh)
            _ask_all(mesh)
            figures += _figures("embedded mesh after the demo's questions", mesh.processes["all"].pid, MAX_MESH_MIB)
        for stage in ("query", "dispatcher"):
            figures += _measure_stage(stage, folder)
    return figures


def _ask_all(mesh: Mesh) -> None:
    with grpc.insecure_channel(mesh.target) as channel:
        stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
        answered: dict[str, dispatcher_pb2.AnswerResponse] = {}
        for name, row in demo_questions().items():
            request = make_request(row, answered.get(row.get("follows", "")))
            answered[name] = stub.Answer(request, timeout=TIMEOUT_S, metadata=as_user(row["as"]))


def _measure_stage(stage: str, folder: Path) -> list[Figure]:
    """The stage alone; the query service has understood questions by then."""
    target = f"unix:{folder}/{stage}.sock"
    others = {f"CITEMESH_{name.upper()}_ADDRESS": f"unix:{folder}/none.sock" for name in NAMES if name != stage}
    environ = {**others, "CITEMESH_HOST_LISTEN_ADDRESS": target, "CITEMESH_STATE_DIR": str(folder / "state")}
    with started("services", stage, log=folder / "log", **environ) as process:
        if stage == "query":
            with grpc.insecure_channel(target) as channel:
                stub = query_pb2_grpc.QueryServiceStub(channel)
                for number in range(_CALL_COUNT):
                    request = query_pb2.UnderstandRequest(question=f"What is the daily allowance of trip {number}?")
                    stub.Understand(request, timeout=TIMEOUT_S, metadata=WRITER)
        return _figures(f"{stage} alone", process.pid, MAX_STAGE_MIB)


def _figures(what: str, pid: int, limit_mib: float) -> list[Figure]:
    rss, pss = resident_mib(pid)
    return [Figure(f"{what}, Rss", rss, "MiB", limit_mib), Figure(f"{what}, Pss", pss, "MiB")]
