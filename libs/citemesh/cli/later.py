"""Forms of the command that are named already and come with a later step: each says so, in its help and when called."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from citemesh.cli.exits import CommandError

LATER = "comes with a later step"

_ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": ["--help"]}


def add_later(app: typer.Typer, name: str, purpose: str) -> None:
    """Add a form to `app` that is listed with its purpose and, when called, ends as bad usage."""

    def say_later(arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGS]...")] = None) -> NoReturn:
        raise CommandError(f"`{name}` {LATER}")

    app.command(name, help=f"{purpose} ({LATER})", context_settings=_ANYTHING)(say_later)
