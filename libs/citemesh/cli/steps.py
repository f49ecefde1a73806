"""Bars on stderr for the steps of a measurement: what is being done, how much of it, and the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from citemesh.cli.output import Output


@contextmanager
def show_steps(output: Output) -> Iterator[Callable[[str, int, int], None]]:
    """Gives `show(what, done, total)`; each new `what` gets a bar of its own. Shows nothing where nobody looks."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=output.narration, disable=not output.narration.is_terminal) as progress:

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield show
