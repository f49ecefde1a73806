"""Sends files to the mesh, several at a time, under a progress bar; one that fails stops no other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from citemesh.cli.connection import Connection
from citemesh.cli.exits import Exit, exit_of_error
from citemesh.cli.known import compare, describe_replaced, read_versions
from citemesh.cli.output import Output
from citemesh.cli.progress import IngestProgress, show_progress
from citemesh.cli.running import describe_error
from citemesh.cli.tally import Failure, Tally, show_tally
from citemesh.files.regular import measure_regular
from citemesh.rpc.calls import send_stream
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import documents_pb2, documents_pb2_grpc, errors_pb2

FILES_AT_ONCE: Final = max(4, 2 * (os.cpu_count() or 1))
"""Enough that every core of a mesh on this machine has a file, while others are on their way."""

_CHUNK_SIZE_BYTES: Final = 256 * 1024
_OVERLOAD_PAUSES_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 8.0)

_Answer = TypeVar("_Answer")

Described = tuple[Path, documents_pb2.IngestHeader]


async def send_files(
    connection: Connection, output: Output, files: list[Described], *, at_once: int = FILES_AT_ONCE
) -> Tally:
    """Send files, at most `at_once` at a time, and say what became of each.

    What the mesh holds already is not sent again, so that an ingest that was ended is gone on with by calling it again.
    Where the mesh has gone away, the files that are left are not tried.
    """
    sending = _Sending(connection, at_once)
    paths = [path for path, _ in files]
    try:
        with show_progress(output, paths) as progress:
            waiting = iter(files)
            await asyncio.gather(*(sending.take_all(waiting, progress) for _ in range(min(at_once, len(files)))))
    finally:
        # After the bar, so that neither writes over the other; and in the order of the files, also when interrupted.
        show_tally(output, sending.tally, paths)
    return sending.tally


class _Sending:
    """Files on their way to one mesh."""

    def __init__(self, connection: Connection, at_once: int) -> None:
        self.tally = Tally()
        self._connection = connection
        self._at_once = at_once
        self._unreached_count = 0

    async def take_all(self, waiting: Iterator[Described], progress: IngestProgress) -> None:
        """Send one file after the other, until there is none left or the mesh is gone."""
        for path, header in waiting:
            progress.begin(path)
            try:
                # Also before anything is opened: opening a pipe may wait for ever.
                await asyncio.to_thread(measure_regular, path)
                versions = await _wait_out_overload(partial(read_versions, self._connection, header))
                known = await asyncio.to_thread(compare, versions, path, header)
                response = known
                if response is None:
                    response = await _wait_out_overload(partial(self._send, path, header))
            except OSError as error:
                self._fail(path, error.strerror or "it cannot be read", Exit.BAD_INPUT)
                progress.finish(path)
            except ServiceError as error:
                self._fail(path, describe_error(error), exit_of_error(error))
                progress.finish(path)
                self._unreached_count += error.reason == errors_pb2.ERROR_REASON_UPSTREAM_UNAVAILABLE
                if self._unreached_count >= 2 * self._at_once:
                    return
            else:
                self.tally.responses.append((path, response))
                if response.result == documents_pb2.INGEST_RESULT_NEW_VERSION:
                    self.tally.add_note(describe_replaced(versions, path, header, response.document))
                self._unreached_count = 0
                if known is not None:
                    progress.skip(path)
                else:
                    progress.finish(path, response.document.profile.page_count, response.document.passage_count)

    async def _send(self, path: Path, header: documents_pb2.IngestHeader) -> documents_pb2.IngestResponse:
        stub = documents_pb2_grpc.DocumentsServiceStub(self._connection.channel)
        file = await asyncio.to_thread(path.open, "rb")
        failures: list[OSError] = []
        try:
            # Before the call: a file that cannot be read at all makes none.
            first = await asyncio.to_thread(file.read, _CHUNK_SIZE_BYTES)
            requests = _make_requests(first, file, header, failures)
            return await send_stream(stub.Ingest, requests, timeout=self._connection.timeout_s, service="documents")
        except (asyncio.CancelledError, ServiceError):
            # gRPC cancels a call whose requests fail, and does not say why.
            if failures:
                raise failures[0] from None
            raise
        finally:
            file.close()

    def _fail(self, path: Path, reason: str, exit_code: Exit) -> None:
        self.tally.failures.append(Failure(path, reason, exit_code))


async def _wait_out_overload(call: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """What a call gives; one that an overloaded mesh refuses is made again a little later."""
    for pause_s in _OVERLOAD_PAUSES_S:
        try:
            return await call()
        except ServiceError as error:
            if error.reason != errors_pb2.ERROR_REASON_OVERLOADED:
                raise
        await asyncio.sleep(pause_s)
    return await call()


async def _make_requests(
    first: bytes, file: BinaryIO, header: documents_pb2.IngestHeader, failures: list[OSError]
) -> AsyncIterator[documents_pb2.IngestRequest]:
    """The header and the file's pieces; what keeps the file from being read on is added to `failures` and raised."""
    yield documents_pb2.IngestRequest(header=header)
    chunk = first
    try:
        while chunk:
            yield documents_pb2.IngestRequest(chunk=chunk)
            chunk = await asyncio.to_thread(file.read, _CHUNK_SIZE_BYTES)
    except OSError as error:
        failures.append(error)
        raise
