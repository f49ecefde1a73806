"""`citemesh ingest`: files and folders into the mesh, several at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from citemesh.cli.access import read_access
from citemesh.cli.connection import Connection, connect
from citemesh.cli.exits import CommandError, Exit, exit_of_error
from citemesh.cli.files import FileToIngest, find_files
from citemesh.cli.narration.words import count, name_value
from citemesh.cli.options import (
    AsOption,
    Common,
    JsonOption,
    StateDirOption,
    TargetOption,
    TimeoutOption,
    read_common,
    read_time,
)
from citemesh.cli.output import Output, make_printable
from citemesh.cli.running import describe_error, run
from citemesh.rpc.calls import send_stream
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import documents_pb2, documents_pb2_grpc

INGEST_TIMEOUT_S: Final = 300.0
_CHUNK_SIZE_BYTES: Final = 256 * 1024
_FILES_AT_ONCE: Final = 4


@dataclass
class Tally:
    """What an ingest has come to."""

    responses: list[documents_pb2.IngestResponse] = field(default_factory=list)
    failures: list[tuple[Path, ServiceError]] = field(default_factory=list)

    @property
    def passage_count(self) -> int:
        """Passages of all documents so far."""
        return sum(response.document.passage_count for response in self.responses)


def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files, and folders to be searched for files.", show_default=False),
    ],
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow", metavar="GROUP", help="Only this group may read them; may be repeated.", show_default=False
        ),
    ] = None,
    allow_user: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-user", metavar="USER", help="Only this user may read them; may be repeated.", show_default=False
        ),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="Everyone may read them, also where they were restricted before.")
    ] = False,
    effective_from: Annotated[
        str | None,
        typer.Option(
            "--effective-from", metavar="DATE", help="The first day on which they are in force.", show_default=False
        ),
    ] = None,
    effective_to: Annotated[
        str | None,
        typer.Option(
            "--effective-to",
            metavar="DATE",
            help="The first day on which they are no longer in force.",
            show_default=False,
        ),
    ] = None,
    document_id: Annotated[
        str,
        typer.Option(
            "--document-id",
            metavar="ID",
            help="The document's id, for a single file. Default: from its name.",
            show_default=False,
        ),
    ] = "",
    title: Annotated[
        str,
        typer.Option(
            "--title",
            metavar="TITLE",
            help="The document's title, for a single file. Default: found in the file.",
            show_default=False,
        ),
    ] = "",
    password_file: Annotated[
        Path | None,
        typer.Option(
            "--password-file",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="A file whose first line opens encrypted documents.",
            show_default=False,
        ),
    ] = None,
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = INGEST_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Read documents into the mesh. A file that is known already is left alone. With --json: one response a line."""
    common = read_common(target, as_json, as_user, timeout, state_dir)
    files = find_files(paths, document_id)
    if title and len(files) > 1:
        raise CommandError(f"--title names one document, and {len(files)} files were given")
    header = documents_pb2.IngestHeader(
        title=title,
        effective_from_time=read_time(effective_from, "--effective-from"),
        effective_to_time=read_time(effective_to, "--effective-to"),
        access=read_access(allow or (), allow_user or (), everyone),
        password=_read_password(password_file),
    )
    run(_ingest(common, files, header))


def _read_password(path: Path | None) -> str:
    if path is None:
        return ""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or not lines[0]:
        raise CommandError(f"--password-file: the first line of {path} is empty")
    return lines[0]


async def _ingest(common: Common, files: list[FileToIngest], header: documents_pb2.IngestHeader) -> Exit:
    output = Output(common.as_json)
    tally = Tally()
    async with connect(common, output) as connection:
        headers = [make_header(header, file) for file in files]
        await ingest_files(
            connection, output, [(file.path, filled) for file, filled in zip(files, headers, strict=True)], tally
        )
    show_tally(output, tally)
    return max((exit_of_error(error) for _, error in tally.failures), default=Exit.ANSWERED)


def make_header(shared: documents_pb2.IngestHeader, file: FileToIngest) -> documents_pb2.IngestHeader:
    """The header of one file: what the options say of all, and the file's own name and id."""
    header = documents_pb2.IngestHeader()
    header.CopyFrom(shared)
    header.file_name = file.path.name
    header.document_id = file.document_id
    return header


async def ingest_files(
    connection: Connection,
    output: Output,
    files: list[tuple[Path, documents_pb2.IngestHeader]],
    tally: Tally,
    *,
    at_once: int = _FILES_AT_ONCE,
) -> None:
    """Send files, some at a time, under a progress bar on stderr; what fails is noted in `tally` and stops no other."""
    room = asyncio.Semaphore(at_once)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[passages]:,} passages"),
        TextColumn("{task.fields[name]}", style="dim"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=output.narration, transient=False) as progress:
        task = progress.add_task("Reading", total=len(files), passages=0, name="")

        async def send(path: Path, header: documents_pb2.IngestHeader) -> None:
            async with room:
                progress.update(task, name=make_printable(path.name))
                await _send_file(connection, output, path, header, tally)
                progress.update(task, advance=1, passages=tally.passage_count)

        await asyncio.gather(*(send(path, header) for path, header in files))
        _clear_name(progress, task)


def _clear_name(progress: Progress, task: TaskID) -> None:
    progress.update(task, name="")


async def _send_file(
    connection: Connection, output: Output, path: Path, header: documents_pb2.IngestHeader, tally: Tally
) -> None:
    stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
    try:
        response = await send_stream(
            stub.Ingest, _make_requests(path, header), timeout=connection.timeout_s, service="documents"
        )
    except ServiceError as error:
        tally.failures.append((path, error))
        return
    tally.responses.append(response)
    output.json_line(response)
    output.result(describe_ingest(path, response))


async def _make_requests(path: Path, header: documents_pb2.IngestHeader) -> AsyncIterator[documents_pb2.IngestRequest]:
    yield documents_pb2.IngestRequest(header=header)
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK_SIZE_BYTES):
            yield documents_pb2.IngestRequest(chunk=chunk)


def describe_ingest(path: Path, response: documents_pb2.IngestResponse) -> str:
    """What became of a file, in one line, with the document's warnings below it."""
    document = response.document
    result = name_value(documents_pb2.IngestResult, response.result, "INGEST_RESULT_")
    pages = f"{count(document.profile.page_count, 'page')}, " if document.profile.page_count else ""
    line = (
        f"{path.name} → {document.document_id}, version {document.document_version} ({result}): "
        f"{pages}{count(document.passage_count, 'passage')}"
    )
    return make_printable("\n".join([line, *(f"  note: {warning}" for warning in document.warnings)]))


def show_tally(output: Output, tally: Tally) -> None:
    """The sum of an ingest, and each file that failed with its reason, on stderr."""
    known = sum(response.result == documents_pb2.INGEST_RESULT_UNCHANGED for response in tally.responses)
    note = f", {known} of them known already" if known else ""
    output.note(f"{count(len(tally.responses), 'file')} in the mesh{note}, {count(tally.passage_count, 'passage')}.")
    for path, error in tally.failures:
        output.note(f"{path} was not ingested: {describe_error(error)}")
