"""`citemesh ingest`: files and folders into the mesh, several at a time."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from citemesh.cli.access import read_access
from citemesh.cli.connection import connect
from citemesh.cli.exits import CommandError, Exit
from citemesh.cli.files import FileToIngest, find_files
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
from citemesh.cli.output import Output
from citemesh.cli.ray_reading import read_by_ray
from citemesh.cli.running import run
from citemesh.cli.sending import FILES_AT_ONCE, Described, send_files
from citemesh.v1 import documents_pb2

INGEST_TIMEOUT_S: Final = 300.0


class Engine(StrEnum):
    """What reads the files."""

    MESH = "mesh"
    RAY = "ray"


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
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="COUNT",
            min=1,
            max=256,
            help=f"Files that are on their way at once. Default: {FILES_AT_ONCE}; by ray, one for each core.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(
            "--engine",
            help="mesh sends the files to a mesh; ray reads them by Ray Data and stores them while no mesh runs.",
        ),
    ] = Engine.MESH,
    ray_address: Annotated[
        str | None,
        typer.Option(
            "--ray-address",
            metavar="ADDR",
            help="A Ray cluster that sees the same files. Default: a Ray of this machine alone.",
            show_default=False,
        ),
    ] = None,
    target: TargetOption = None,
    as_json: JsonOption = False,
    as_user: AsOption = None,
    timeout: TimeoutOption = INGEST_TIMEOUT_S,
    state_dir: StateDirOption = None,
) -> None:
    """Read documents into the mesh. A file that is known already is left alone. With --json: one response a line.

    An ingest that was ended is gone on with by the same command: what is in the mesh is not sent again.
    """
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
    described = [(file.path, _make_header(header, file)) for file in files]
    if engine is Engine.RAY:
        run(_read_by_ray(common, described, ray_address, jobs))
    elif ray_address is not None:
        raise CommandError("--ray-address is for --engine ray")
    else:
        run(_send(common, described, jobs or FILES_AT_ONCE))


def _read_password(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise CommandError(f"--password-file: {path}: {reason}") from None
    if not lines or not lines[0]:
        raise CommandError(f"--password-file: the first line of {path} is empty")
    return lines[0]


async def _send(common: Common, files: list[Described], jobs: int) -> Exit:
    output = Output(common.as_json)
    async with connect(common, output) as connection:
        tally = await send_files(connection, output, files, at_once=jobs)
    return tally.exit_code


async def _read_by_ray(common: Common, files: list[Described], address: str | None, jobs: int | None) -> Exit:
    tally = await read_by_ray(common, Output(common.as_json), files, address, jobs)
    return tally.exit_code


def _make_header(shared: documents_pb2.IngestHeader, file: FileToIngest) -> documents_pb2.IngestHeader:
    """The header of one file: what the options say of all, and the file's own name and id."""
    header = documents_pb2.IngestHeader()
    header.CopyFrom(shared)
    header.file_name = file.path.name
    header.document_id = file.document_id
    return header
