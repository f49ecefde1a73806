"""`citemesh store`: copies of the embedded store, and its indexes built anew."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from citemesh.cli import mesh
from citemesh.cli.exits import CommandError
from citemesh.cli.narration.words import count
from citemesh.cli.options import JsonOption, StateDirOption, find_state_dir
from citemesh.cli.output import Output
from citemesh.config.paths import STATE_DIR_VARIABLE, STORE_URL_VARIABLE

app = typer.Typer(no_args_is_help=True, help="The embedded store: backup, restore, rebuilding its indexes.")

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", show_default=False)]


@app.command()
def backup(folder: FolderArgument, as_json: JsonOption = False, state_dir: StateDirOption = None) -> None:
    """Copy the store into the new folder DIR, checked by checksum. A running mesh goes on; nothing is overwritten.

    The copy is one state of the store. Withheld answers (validation/) are not part of it.
    """
    output = Output(as_json)
    backups = _load("citemesh.store.embedded.backup")
    with _bar(output) as show, _explained(backups):
        size = backups.back_up(find_state_dir(state_dir), folder.expanduser().absolute(), show)
    _tell(output, size, f"The backup is in {folder}")


@app.command()
def restore(folder: FolderArgument, as_json: JsonOption = False, state_dir: StateDirOption = None) -> None:
    """Put the backup in DIR into a state directory that has no store; every file is checked first.

    Stop the mesh before. Its indexes are built when it is started next.
    """
    output = Output(as_json)
    backups = _load("citemesh.store.embedded.backup")
    target = find_state_dir(state_dir)
    with _bar(output) as show, _explained(backups):
        size = backups.restore(folder.expanduser().absolute(), target, show)
    _tell(output, size, f"The store is in {target}")


@app.command()
def reindex(
    encode_all: Annotated[
        bool,
        typer.Option("--encode", help="Encode every passage anew. Done anyway where the encoder is another one."),
    ] = False,
    as_json: JsonOption = False,
    state_dir: StateDirOption = None,
) -> None:
    """Build the indexes anew from the documents; where the encoder was changed, all vectors too.

    The store has one writer: stop the mesh before, a running one makes this end at once. One that is killed on the way
    is gone on with by calling it again.
    """
    output = Output(as_json)
    state = find_state_dir(state_dir)
    if not (state / "store").is_dir():
        raise CommandError(f"There is no document store in {state}.")
    reindexing = _load("citemesh.store.embedded.reindex")
    with _bar(output) as show:
        contract, encode = _open_encoder(state)
        encoded = reindexing.reindex(state, contract, encode, show, always_encode=encode_all)
    output.json_line({"encodedPassageCount": encoded})
    vectors = f", {count(encoded, 'passage')} encoded anew" if encoded else "; the vectors are of this encoder already"
    output.result(f"The indexes are built anew{vectors}.")


def _open_encoder(state: Path) -> tuple[Any, Any]:
    """The contract of the configured encoder, and how it encodes passages."""
    mesh.load_specs(("documents",))
    encoding = importlib.import_module("services.documents.encoding")
    from citemesh.config.load import ConfigurationError
    from citemesh.models.errors import ModelError

    try:
        contract, encoder = encoding.open_passage_encoder({**os.environ, STATE_DIR_VARIABLE: str(state)})
    except (ConfigurationError, ModelError) as error:
        raise CommandError(str(error)) from error
    return contract, encoder.encode_blocking


def _load(name: str) -> Any:
    """A module of the embedded store, which needs what the extra `server` installs; not where the store is another."""
    if os.environ.get(STORE_URL_VARIABLE, "").strip():
        raise CommandError(
            f"{STORE_URL_VARIABLE} says that the store is on OpenSearch: use the cluster's snapshots. To work on the"
            " embedded store, unset it."
        )
    try:
        # Lines of the log go to stderr: stdout is for the result alone.
        importlib.import_module("citemesh.telemetry.logs").configure_logging(level="error")
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise CommandError(f"The store needs the package {error.name}: run pip install 'citemesh[server]'") from error


@contextmanager
def _explained(backups: Any) -> Iterator[None]:
    try:
        yield
    except backups.BackupError as error:
        raise CommandError(str(error)) from error


@contextmanager
def _bar(output: Output) -> Iterator[Any]:
    """A progress bar on stderr for what is going on; called with its name, what is done and what there is."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=output.narration, redirect_stdout=False, redirect_stderr=False) as progress:

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=None)
            # Without a total the bar only says that something goes on.
            progress.update(tasks[name], completed=done, total=total or None)

        yield show


def _tell(output: Output, size: Any, where: str) -> None:
    output.json_line(asdict(size))
    held = ", ".join(
        [count(size.document_count, "document"), count(size.passage_count, "passage"), count(size.file_count, "file")]
    )
    output.result(f"{where}: {held}, {size.size_bytes / 1e6:,.1f} MB, all checksums agree.")
