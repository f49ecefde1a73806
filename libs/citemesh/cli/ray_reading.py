"""`citemesh ingest --engine ray`: files read on many machines, stored from this one, without a mesh."""

from __future__ import annotations

import asyncio
import importlib
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from citemesh.cli import mesh
from citemesh.cli.connection import find_running_mesh
from citemesh.cli.exits import CommandError, Exit, exit_of_error
from citemesh.cli.options import Common
from citemesh.cli.output import Output
from citemesh.cli.progress import IngestProgress, show_progress
from citemesh.cli.running import describe_error
from citemesh.cli.sending import Described
from citemesh.cli.tally import Failure, Tally, show_tally
from citemesh.config.paths import STATE_DIR_VARIABLE
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import documents_pb2


async def read_by_ray(common: Common, output: Output, files: list[Described], address: str | None) -> Tally:
    """Read files by Ray Data and store them; files of known content are not read again.

    Raises CommandError where Ray is not installed, --target is given, or a mesh runs on the store.
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
    mesh.load_specs(("documents",))
    run = await asyncio.to_thread(_Run, common)
    # Workers run in folders of their own.
    files = [(path.absolute(), header) for path, header in files]
    paths = [path for path, _ in files]
    try:
        with show_progress(output, paths) as progress:
            await run.read(files, address, progress)
    finally:
        await asyncio.to_thread(run.close)
        show_tally(output, run.tally, paths)
    return run.tally


class _Run:
    """The store, open, and what has become of the files so far."""

    def __init__(self, common: Common) -> None:
        # Loaded here: other commands need none of it. The user who can write the store's files is believed.
        opening: Any = importlib.import_module("citemesh.store.open")
        logs: Any = importlib.import_module("citemesh.telemetry.logs")
        logs.configure_logging(level=os.environ.get("CITEMESH_LOG_LEVEL") or "error", request_id=lambda: None)
        authenticate: Any = importlib.import_module("citemesh.auth.authenticate")
        self._bulk: Any = importlib.import_module("services.documents.bulk")
        self._environ = {**os.environ, STATE_DIR_VARIABLE: str(common.state_dir), "CITEMESH_AUTH_MODE": "open"}
        credentials = authenticate.make_authenticator(self._environ).authenticate(common.metadata)
        self._principal = credentials.principal
        self._writer = opening.open_writer(common.state_dir)
        self._reader = opening.open_reader(common.state_dir)
        self._store = self._bulk.BulkStore(self._environ, self._reader, self._writer)
        self.tally = Tally()

    async def read(self, files: list[Described], address: str | None, progress: IngestProgress) -> None:
        """Read and store all files."""
        headers = dict(files)
        new = [(path, header) for path, header in files if not await self._is_known(path, header, progress)]
        if not new:
            return
        results = self._bulk.read_files(new, self._environ, address)
        try:
            while (result := await asyncio.to_thread(next, results, None)) is not None:
                progress.begin(result.path)
                await self._put(result, headers[result.path], progress)
        finally:
            await asyncio.to_thread(results.close)

    async def _is_known(self, path: Path, header: documents_pb2.IngestHeader, progress: IngestProgress) -> bool:
        try:
            known = await asyncio.to_thread(self._store.find_known, self._principal, path, header)
        except (OSError, ServiceError):
            return False  # said when it is its turn
        if known is None:
            return False
        response = documents_pb2.IngestResponse(document=known, result=documents_pb2.INGEST_RESULT_UNCHANGED)
        self.tally.responses.append((path, response))
        progress.skip(path)
        return True

    async def _put(self, result: Any, header: documents_pb2.IngestHeader, progress: IngestProgress) -> None:
        path: Path = result.path
        try:
            stored = await self._store.put(self._principal, result, header)
        except OSError as error:
            self.tally.failures.append(Failure(path, error.strerror or "it cannot be read", Exit.BAD_INPUT))
            progress.finish(path)
        except ServiceError as error:
            self.tally.failures.append(Failure(path, describe_error(error), exit_of_error(error)))
            progress.finish(path)
        else:
            response = documents_pb2.IngestResponse(document=stored.document, result=stored.result)
            self.tally.responses.append((path, response))
            progress.finish(path, stored.document.profile.page_count, stored.document.passage_count)

    def close(self) -> None:
        """Let go of the store."""
        self._reader.close()
        self._writer.close()
