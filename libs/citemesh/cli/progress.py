"""How far an ingest is: files, pages, passages, passages a second and the time left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from citemesh.cli.output import Output, make_printable


class IngestProgress:
    """Counts what an ingest has done. The time left goes by bytes, of files that were read and not of known ones."""

    def __init__(self, bar: Progress, sizes: dict[Path, int]) -> None:
        self._bar = bar
        self._sizes = sizes
        self._left_size_bytes = sum(sizes.values())
        self._read_size_bytes = 0
        self._page_count = self._passage_count = 0
        self._began = time.monotonic()
        self._task = bar.add_task("Reading", total=len(sizes), pages=0, passages=0, rate=0.0, left="", name="")

    def begin(self, path: Path) -> None:
        """A file is being read."""
        self._bar.update(self._task, name=make_printable(path.name))

    def skip(self, path: Path) -> None:
        """A file was known: it says nothing about how long the others take."""
        self._left_size_bytes -= self._sizes[path]
        self._bar.update(self._task, advance=1)

    def finish(self, path: Path, page_count: int = 0, passage_count: int = 0) -> None:
        """A file was read, or could not be."""
        self._left_size_bytes -= self._sizes[path]
        self._read_size_bytes += self._sizes[path]
        self._page_count += page_count
        self._passage_count += passage_count
        elapsed_s = time.monotonic() - self._began
        left_s = elapsed_s * self._left_size_bytes / max(self._read_size_bytes, 1)
        self._bar.update(
            self._task,
            advance=1,
            pages=self._page_count,
            passages=self._passage_count,
            rate=self._passage_count / max(elapsed_s, 0.001),
            left=f"{timedelta(seconds=round(left_s))} left",
        )

    def end(self) -> None:
        """No file is being read any more."""
        self._bar.update(self._task, name="", left="")


@contextmanager
def show_progress(output: Output, paths: list[Path]) -> Iterator[IngestProgress]:
    """A bar on stderr for the reading of the files at `paths`."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("files, {task.fields[pages]:,} pages, {task.fields[passages]:,} passages"),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[name]}", style="dim"),
    )
    # Redirected, stdout would end up on stderr while the bar is there.
    with Progress(*columns, console=output.narration, redirect_stdout=False, redirect_stderr=False) as bar:
        progress = IngestProgress(bar, {path: _measure(path) for path in paths})
        yield progress
        progress.end()


def _measure(path: Path) -> int:
    """The file's size in bytes; 0 where it cannot be read, which is said when it is its turn."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
