"""`citemesh models`: the encoder and the pair scorer on this machine."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import typer

from citemesh.cli.exits import CommandError, Exit
from citemesh.cli.later import add_later
from citemesh.cli.output import Output
from citemesh.models.paths import models_dir

app = typer.Typer(no_args_is_help=True, help="The models on this machine: fetched by name, checked, built.")


@app.command("list")
def list_models() -> None:
    """List the models on this machine with their size, and where they are."""
    folder = models_dir(os.environ)
    output = Output()
    output.note(f"Models are in {folder}")
    found = sorted(folder.rglob("*.onnx")) if folder.is_dir() else []
    for path in found:
        output.result(f"{path.parent.relative_to(folder)}  {path.stat().st_size / 1e6:.1f} MB")
    if not found:
        output.note("There are none. `citemesh models pull` brings them.")


@app.command()
def pull() -> None:
    """Fetch what is missing, check it by the publisher's checksums, build the graphs. A second time is quick."""
    pulling = _load_pulling()
    folder = models_dir(os.environ)
    output = Output()
    try:
        pulling.pull(folder, output.note)
    except _model_error() as error:
        raise CommandError(str(error), Exit.UNAVAILABLE) from error
    output.note(f"The models are ready in {folder}.")


@app.command()
def verify() -> None:
    """Check every file against its checksum. Exit code 5 where something is missing or differs."""
    problems = find_problems(models_dir(os.environ))
    output = Output()
    for problem in problems:
        output.result(problem)
    if problems:
        raise typer.Exit(Exit.UNAVAILABLE)
    output.note("All checksums agree.")


add_later(app, "export-triton", "Write the models as a repository that a Triton server loads.")


def find_problems(folder: Path) -> list[str]:
    """What is wrong with the models, one sentence each. Raises CommandError where the server's packages are missing."""
    problems: list[str] = _load_pulling().verify(folder)
    return problems


def _load_pulling() -> Any:
    """citemesh.models.pull, which needs what the extra `server` installs."""
    try:
        return importlib.import_module("citemesh.models.pull")
    except ModuleNotFoundError as error:
        raise CommandError(f"Models need the package {error.name}: run pip install 'citemesh[server]'") from error


def _model_error() -> type[Exception]:
    from citemesh.models.errors import ModelError

    return ModelError
