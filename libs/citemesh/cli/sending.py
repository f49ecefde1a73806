"""Sends files to the mesh, several at a time, under a progress bar; one that fails stops no other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from citemesh.cli.connection import Connection
from citemesh.cli.exits import Exit, exit_of_error
from citemesh.cli.narration.words import count, name_value
from citemesh.cli.output import Output, make_printable
from citemesh.cli.running import describe_error
from citemesh.rpc.calls import send_stream
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import documents_pb2, documents_pb2_grpc

FILES_AT_ONCE: Final = 4
_CHUNK_SIZE_BYTES: Final = 256 * 1024

Described = tuple[Path, documents_pb2.IngestHeader]


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that was not ingested, why, and the exit code that this is worth."""

    path: Path
    reason: str
    exit_code: Exit


@dataclass
class Tally:
    """What an ingest has come to so far."""

    responses: list[tuple[Path, documents_pb2.IngestResponse]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    @property
    def passage_count(self) -> int:
        """Passages of all documents."""
        return sum(response.document.passage_count for _, response in self.responses)

    @property
    def known_count(self) -> int:
        """Files whose content was in the mesh before."""
        return sum(response.result == documents_pb2.INGEST_RESULT_UNCHANGED for _, response in self.responses)


async def send_files(
    connection: Connection, output: Output, files: list[Described], *, at_once: int = FILES_AT_ONCE
) -> Tally:
    """Send files, at most `at_once` at a time, and say what became of each: results on stdout, failures on stderr."""
    tally, room = Tally(), asyncio.Semaphore(at_once)
    try:
        with _make_bar(output) as bar:
            task = bar.add_task("Reading", total=len(files), passages=0, name="")

            async def send(path: Path, header: documents_pb2.IngestHeader) -> None:
                async with room:
                    bar.update(task, name=make_printable(path.name))
                    await _send_file(connection, path, header, tally)
                    bar.update(task, advance=1, passages=tally.passage_count)

            await asyncio.gather(*(send(path, header) for path, header in files))
            bar.update(task, name="")
    finally:
        # After the bar, so that neither writes over the other; and in the order of the files, also when interrupted.
        _show(output, tally, [path for path, _ in files])
    return tally


def _make_bar(output: Output) -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[passages]:,} passages"),
        TextColumn("{task.fields[name]}", style="dim"),
        TimeElapsedColumn(),
    )
    # Redirected, stdout would end up on stderr while the bar is there.
    return Progress(*columns, console=output.narration, redirect_stdout=False, redirect_stderr=False)


async def _send_file(connection: Connection, path: Path, header: documents_pb2.IngestHeader, tally: Tally) -> None:
    stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
    try:
        file = await asyncio.to_thread(path.open, "rb")
    except OSError as error:
        tally.failures.append(Failure(path, error.strerror or "it cannot be read", Exit.BAD_INPUT))
        return
    try:
        requests = _make_requests(file, header)
        response = await send_stream(stub.Ingest, requests, timeout=connection.timeout_s, service="documents")
    except ServiceError as error:
        tally.failures.append(Failure(path, describe_error(error), exit_of_error(error)))
        return
    finally:
        file.close()
    tally.responses.append((path, response))


async def _make_requests(
    file: BinaryIO, header: documents_pb2.IngestHeader
) -> AsyncIterator[documents_pb2.IngestRequest]:
    yield documents_pb2.IngestRequest(header=header)
    while chunk := await asyncio.to_thread(file.read, _CHUNK_SIZE_BYTES):
        yield documents_pb2.IngestRequest(chunk=chunk)


def _show(output: Output, tally: Tally, order: list[Path]) -> None:
    place = {path: index for index, path in enumerate(order)}
    for path, response in sorted(tally.responses, key=lambda pair: place[pair[0]]):
        output.json_line(response)
        output.result(_describe(path, response))
    note = f", {tally.known_count} of them known already" if tally.known_count else ""
    held = count(len(tally.responses), "file")
    output.note(f"{held} in the mesh{note}, {count(tally.passage_count, 'passage')}.")
    for failure in sorted(tally.failures, key=lambda failure: place[failure.path]):
        output.note(make_printable(f"{failure.path} was not ingested: {failure.reason}"))


def _describe(path: Path, response: documents_pb2.IngestResponse) -> str:
    """What became of a file, in one line, with the document's warnings below it."""
    document = response.document
    result = name_value(documents_pb2.IngestResult, response.result, "INGEST_RESULT_")
    pages = f"{count(document.profile.page_count, 'page')}, " if document.profile.page_count else ""
    line = (
        f"{path.name} → {document.document_id}, version {document.document_version} ({result}): "
        f"{pages}{count(document.passage_count, 'passage')}"
    )
    return make_printable("\n".join([line, *(f"  note: {warning}" for warning in document.warnings)]))
