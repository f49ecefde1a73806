"""Runs a command and turns how it ended into an exit code and, where it failed, one message on stderr."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import typer

from citemesh.cli.exits import CommandError, Exit, exit_of_error
from citemesh.cli.output import make_printable
from citemesh.rpc.errors import ServiceError, reason_name


def run(work: Coroutine[Any, Any, Exit | None]) -> None:
    """Run a command's coroutine and leave with its exit code; None is success. Errors pass through to `run_guarded`."""
    code = run_coroutine(work)
    if code:
        raise typer.Exit(code)


def run_coroutine(work: Coroutine[Any, Any, Exit | None]) -> int:
    """Run `work` to its end; its exit code."""
    return int(asyncio.run(work) or Exit.ANSWERED)


def run_guarded(work: Callable[[], Any]) -> None:
    """Run `work`; what it could not do is said on stderr and becomes the process's exit code. Bugs pass through."""
    try:
        work()
    except CommandError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except ServiceError as error:
        complain(describe_error(error))
        sys.exit(exit_of_error(error))


def describe_error(error: ServiceError) -> str:
    """A failed call in words: what was wrong, field by field where fields were, and the reason that programs read."""
    reason = reason_name(error.reason)
    if error.field_violations:
        fields = "\n".join(f"  {field}: {text}" if field else f"  {text}" for field, text in error.field_violations)
        return make_printable(f"the mesh refused the request ({reason}):\n{fields}")
    details = ", ".join(f"{key} {value}" for key, value in sorted(error.metadata.items()) if value)
    return make_printable(f"{error.message} ({reason}{': ' + details if details else ''})")


def complain(text: str) -> None:
    """One message on stderr."""
    print(f"citemesh: {text}", file=sys.stderr)
