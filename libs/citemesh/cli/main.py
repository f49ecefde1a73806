"""The `citemesh` command: the names of all commands, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from citemesh.cli.commands import documents, evaluate, models, store
from citemesh.cli.commands.ask import ask
from citemesh.cli.commands.check import check
from citemesh.cli.commands.doctor import doctor
from citemesh.cli.commands.explain import explain
from citemesh.cli.commands.ingest import ingest
from citemesh.cli.commands.replay import replay
from citemesh.cli.commands.search import search
from citemesh.cli.commands.up import up
from citemesh.cli.later import add_later
from citemesh.cli.running import run_guarded

_EPILOG = (
    "Exit codes: 0 answered, 2 bad usage or bad input, 3 abstained or asks back, 4 withheld or not authorised, "
    "5 a service unavailable or out of time, 1 a bug."
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    epilog=_EPILOG,
    pretty_exceptions_enable=False,
    help="Answers questions over an organisation's documents, and proves each answer.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            print(f"citemesh {version('citemesh')}")
        except PackageNotFoundError:
            print("citemesh, from a checkout")
        raise typer.Exit


@app.callback()
def _read_shared(
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and end.")
    ] = False,
) -> None:
    """Options before the command's name."""


for _command in (up, ingest, ask, search, explain, replay, check, doctor):
    app.command()(_command)
app.add_typer(documents.app, name="documents")
app.add_typer(models.app, name="models")
app.add_typer(store.app, name="store")
app.command("reindex", help="The same as `store reindex`.")(store.reindex)

add_later(evaluate.app, "claims", "Verdicts against labelled claims.")
add_later(evaluate.app, "abstention", "Answering and abstaining against labelled questions.")
app.add_typer(evaluate.app, name="eval")

_pipelines = typer.Typer(no_args_is_help=True, help="The pipelines that `ask --pipeline` may name.")
add_later(_pipelines, "list", "The pipelines of the mesh.")
add_later(_pipelines, "show", "The steps of one pipeline.")
add_later(_pipelines, "validate", "Every problem of a pipeline file, each with its line.")
app.add_typer(_pipelines, name="pipelines")

_reviews = typer.Typer(no_args_is_help=True, help="Answers that were withheld.")
add_later(_reviews, "list", "The withheld answers.")
add_later(_reviews, "show", "One withheld answer with its verdicts.")
add_later(_reviews, "decide", "Release or reject a withheld answer.")
app.add_typer(_reviews, name="reviews")

add_later(app, "calibrate", "Make a calibration artefact from labelled pairs.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave the process with its exit code. `arguments`: None is the process's own."""
    run_guarded(lambda: app(args=list(arguments) if arguments is not None else None, prog_name="citemesh"))


if __name__ == "__main__":
    main()
