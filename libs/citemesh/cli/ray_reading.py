"""`citemesh ingest --engine ray`: files read on many machines, stored from this one, without a mesh.

The work is a program of the documents service, which tells line by line what became of each file.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from citemesh.cli import mesh
from citemesh.cli.connection import find_running_mesh
from citemesh.cli.exits import CommandError, Exit, exit_of_error
from citemesh.cli.options import Common
from citemesh.cli.output import Output
from citemesh.cli.progress import IngestProgress, show_progress
from citemesh.cli.running import describe_error
from citemesh.cli.sending import Described
from citemesh.cli.tally import Failure, Tally, show_tally
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import documents_pb2, errors_pb2

_MAX_LINE_BYTES: Final = 16 * 1024 * 1024
_END_TIMEOUT_S: Final = 30.0


async def read_by_ray(
    common: Common, output: Output, files: list[Described], address: str | None, at_once: int | None
) -> Tally:
    """Read files by Ray Data, at most `at_once` at a time (None: one for each core), and store them; files of known
    content are not read again.

    Raises CommandError where Ray is not installed, --target is given, a mesh runs on the store, or it cannot be opened.
    """
    if common.target:
        raise CommandError("--engine ray writes to the store itself: leave out --target, name it with --state-dir")
    if find_spec("ray") is None:
        raise CommandError("Ray is not installed here: run pip install 'citemesh[ray]'")
    if await find_running_mesh(common.state_dir) is not None:
        raise CommandError(
            "A mesh runs on this store, and the store has one writer: stop the mesh, or leave out --engine ray.",
            Exit.UNAVAILABLE,
        )
    # Workers run in folders of their own.
    files = [(path.absolute(), header) for path, header in files]
    job = {
        "files": [
            {"path": str(path), "header": base64.b64encode(header.SerializeToString()).decode()}
            for path, header in files
        ],
        "state_dir": str(common.state_dir.absolute()),
        "metadata": [list(pair) for pair in common.metadata],
        "ray_address": address,
        "at_once": at_once,
        "timeout_s": common.timeout_s,
    }
    tally = Tally()
    paths = [path for path, _ in files]
    try:
        with show_progress(output, paths) as progress:
            await _run(job, tally, progress)
    finally:
        show_tally(output, tally, paths)
    return tally


async def _run(job: Mapping[str, Any], tally: Tally, progress: IngestProgress) -> None:
    command, environ = mesh.name_bulk_ingest()
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environ,
        limit=_MAX_LINE_BYTES,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # Its stdin stays open: once that ends, the program ends too, however this command goes.
        process.stdin.write(json.dumps(job).encode() + b"\n")
        # One that ends before it has read all says why below, with its code.
        with suppress(BrokenPipeError, ConnectionResetError):
            await process.stdin.drain()
        while line := await process.stdout.readline():
            _take(json.loads(line), tally, progress)
        code = await process.wait()
    finally:
        process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _END_TIMEOUT_S)
        if process.returncode is None:
            process.kill()
    if code:
        raise CommandError(f"The bulk ingest ended early, with code {code}; its last words are above.", Exit.BUG)


def _take(event: Mapping[str, Any], tally: Tally, progress: IngestProgress) -> None:
    """Count one event of the program."""
    kind = event["event"]
    if kind == "refused":
        message, exit_code = _read_error(event)
        raise CommandError(message, exit_code)
    path = Path(event["path"])
    if kind == "begun":
        progress.begin(path)
    elif kind == "failed":
        tally.failures.append(Failure(path, *_read_error(event)))
        progress.finish(path)
    else:
        response = documents_pb2.IngestResponse.FromString(base64.b64decode(event["response"]))
        tally.responses.append((path, response))
        if kind == "known":
            progress.skip(path)
        else:
            progress.finish(path, response.document.profile.page_count, response.document.passage_count)


def _read_error(event: Mapping[str, Any]) -> tuple[str, Exit]:
    """What the program says of an error, in words, and the exit code that it is worth."""
    if event["reason"] == errors_pb2.ERROR_REASON_UNSPECIFIED:
        return event["message"], Exit.BAD_INPUT
    error = ServiceError(event["reason"], event["message"], **event["metadata"])
    return describe_error(error), exit_of_error(error)
