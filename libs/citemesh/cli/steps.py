"""Bars on stderr for work in steps: what is being done, how much of it, the time, and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from citemesh.cli.output import Output


@contextmanager
def show_steps(output: Output) -> Iterator[Callable[[str, int, int], None]]:
    """Gives `show(what, done, total)`; each new `what` gets a bar of its own, which without a total (0) only says that
    something goes on. Shows nothing where nobody looks."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    # Redirected, stdout would end up on stderr while the bar is there.
    with Progress(
        *columns,
        console=output.narration,
        disable=not output.narration.is_terminal,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as progress:

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=None)
            progress.update(tasks[what], completed=done, total=total or None)

        yield show
