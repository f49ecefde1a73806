"""`citemesh doctor`: what is wrong here, and what to do about it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rich.text import Text

from citemesh.cli import mesh
from citemesh.cli.commands import models
from citemesh.cli.connection import Connection, connect, find_running_mesh
from citemesh.cli.exits import CommandError, Exit
from citemesh.cli.narration.words import count
from citemesh.cli.options import (
    DEFAULT_TIMEOUT_S,
    AsOption,
    Common,
    JsonOption,
    StateDirOption,
    TargetOption,
    TimeoutOption,
    read_common,
)
from citemesh.cli.output import Output
from citemesh.cli.running import describe_error, run
from citemesh.config.paths import STORE_URL_VARIABLE
from citemesh.models.paths import models_dir
from citemesh.rpc.calls import call
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import retrieval_pb2, retrieval_pb2_grpc

_SERVER_PACKAGES: Final = ("onnxruntime", "tantivy", "simsimd", "tokenizers", "pypdfium2", "numpy", "structlog")
_PACKAGE: Final = "citemesh.v1."
_SERVICES: Final = tuple(
    f"{_PACKAGE}{name}Service"
    for name in ("Dispatcher", "Query", "Retrieval", "Rerank", "Generation", "Validation", "Documents")
)
_NOT_SERVING: Final = health_pb2.HealthCheckResponse.NOT_SERVING
_LEAST_FREE_SIZE_BYTES: Final = 500 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `remedy` is empty where nothing is to be done."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def doctor(
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = DEFAULT_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Check this machine and its mesh; name what is wrong and what to do. Exit code 5 where something is wrong."""
    common = read_common(target, as_json, as_user, timeout, state_dir)
    run(_examine(common))


async def _examine(common: Common) -> Exit:
    output = Output(common.as_json)
    findings = [_check_python(), _check_state_dir(common.state_dir)]
    if not common.target:
        # Packages and models matter where the services run; with --target that is elsewhere.
        findings += [_check_packages(), await asyncio.to_thread(_check_models), _check_services()]
        findings += await asyncio.to_thread(_check_cluster)
    findings += await _check_mesh(common, output)
    for finding in findings:
        output.json_line(asdict(finding))
        mark = Text("ok   ", style="green") if finding.ok else Text("wrong", style="bold red")
        output.result(Text.assemble(mark, f"  {finding.name}: {finding.detail}"))
        if finding.remedy:
            output.result(Text(f"       {finding.remedy}"))
    return Exit.ANSWERED if all(finding.ok for finding in findings) else Exit.UNAVAILABLE


def _check_python() -> Finding:
    return Finding("python", ok=sys.version_info >= (3, 11), detail=sys.version.split()[0])


def _check_state_dir(folder: Path) -> Finding:
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    if not os.access(existing, os.W_OK):
        return Finding("state", ok=False, detail=f"{folder} cannot be written", remedy="Name another with --state-dir.")
    free_size_bytes = shutil.disk_usage(existing).free
    detail = f"{folder}, {free_size_bytes / 1e9:.1f} GB free"
    if free_size_bytes < _LEAST_FREE_SIZE_BYTES:
        return Finding("state", ok=False, detail=detail, remedy="Make room, or name another folder with --state-dir.")
    return Finding("state", ok=True, detail=detail)


def _check_packages() -> Finding:
    missing = [name for name in _SERVER_PACKAGES if find_spec(name) is None]
    if missing:
        remedy = "To host services here: pip install 'citemesh[server]'. To call a mesh elsewhere: --target ADDR."
        return Finding("packages", ok=False, detail=f"missing: {', '.join(missing)}", remedy=remedy)
    return Finding("packages", ok=True, detail="what the services need is installed")


def _check_models() -> Finding:
    try:
        problems = models.find_problems(models_dir(os.environ))
    except CommandError as error:
        return Finding("models", ok=False, detail=str(error))
    if problems:
        return Finding("models", ok=False, detail=problems[0], remedy="Run `citemesh models pull`.")
    return Finding("models", ok=True, detail="all checksums agree")


def _check_services() -> Finding:
    try:
        specs = mesh.load_specs()
    except CommandError as error:
        return Finding("services", ok=False, detail=str(error))
    return Finding("services", ok=True, detail=f"{count(len(specs), 'service')} can be hosted here")


def _check_cluster() -> list[Finding]:
    """The OpenSearch cluster, where the environment names one."""
    url = os.environ.get(STORE_URL_VARIABLE, "").strip()
    if not url:
        return []
    if find_spec("opensearchpy") is None:
        return [Finding("store", ok=False, detail=f"{STORE_URL_VARIABLE} is set and opensearch-py is not installed")]
    from citemesh.config.load import ConfigurationError
    from citemesh.store.opensearch.health import find_problems

    try:
        problems = find_problems(os.environ)
    except ConfigurationError as error:
        return [Finding("store", ok=False, detail=str(error))]
    except ServiceError as error:
        remedy = f"Is {STORE_URL_VARIABLE} right, and is the cluster running?"
        return [Finding("store", ok=False, detail=error.message, remedy=remedy)]
    if problems:
        return [Finding("store", ok=False, detail=each.detail, remedy=each.remedy) for each in problems]
    return [Finding("store", ok=True, detail="the indexes on OpenSearch are as this version makes them")]


async def _check_mesh(common: Common, output: Output) -> list[Finding]:
    if not common.target and await find_running_mesh(common.state_dir) is None:
        # Not a fault: commands start one for themselves.
        return [Finding("mesh", ok=True, detail="none runs here; `citemesh up` starts one")]
    async with connect(common, output, may_start=False) as connection:
        checks: list[Callable[[Connection], Awaitable[Finding]]] = [_check_health, _check_index]
        return [await check(connection) for check in checks]


async def _check_health(connection: Connection) -> Finding:
    try:
        whole = await _ask_health(connection, "")
        ailing = [name for name in _SERVICES if await _ask_health(connection, name) == _NOT_SERVING] if whole else []
    except grpc.aio.AioRpcError as error:
        detail = f"{connection.target} does not answer ({error.code().name})"
        return Finding("mesh", ok=False, detail=detail, remedy="Is the address right, and is the mesh running there?")
    if whole == _NOT_SERVING or ailing:
        named = ", ".join(name.removeprefix(_PACKAGE) for name in ailing) or "the mesh"
        remedy = "Its log says why: look for the event `health`."
        return Finding("mesh", ok=False, detail=f"{connection.target}: {named} is not serving", remedy=remedy)
    return Finding("mesh", ok=True, detail=f"{connection.target} is serving")


async def _ask_health(connection: Connection, service: str) -> int | None:
    """The status of one service, the empty name for all; None for one that is not hosted there."""
    check = health_pb2_grpc.HealthStub(connection.channel).Check  # type: ignore[attr-defined]  # its stubs omit it
    try:
        response = await check(health_pb2.HealthCheckRequest(service=service), timeout=connection.timeout_s)
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            return None
        raise
    return int(response.status)


async def _check_index(connection: Connection) -> Finding:
    stub = retrieval_pb2_grpc.RetrievalServiceStub(connection.channel)
    try:
        index = await call(
            stub.DescribeIndex, retrieval_pb2.DescribeIndexRequest(), timeout=connection.timeout_s, service="retrieval"
        )
    except ServiceError as error:
        return Finding("index", ok=False, detail=describe_error(error), remedy="See the log of the retrieval service.")
    held = f"{count(index.document_count, 'document')} and {count(index.passage_count, 'passage')} for this caller"
    return Finding("index", ok=True, detail=f"{index.store} store, {held}, encoder {index.encoder.model}")
