"""`python -m demo`: the demonstration. FILES and ASK, as arguments or variables, run it over files of your own."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from citemesh.cli.exits import CommandError
from citemesh.cli.running import run_coroutine, run_guarded
from demo.show import STATE_DIR, show_bundled, show_files


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> None:
    """Run the demonstration. Exit code 0: as expected, 1: an answer differs from what its question expects."""
    parser = argparse.ArgumentParser(prog="python -m demo", description="Ask the bundled documents, or your own.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="your own files or folders (or FILES=...)")
    parser.add_argument("--ask", default=environ.get("ASK", ""), metavar="QUESTION", help="your question (or ASK=...)")
    parser.add_argument(
        "--state-dir", type=Path, default=STATE_DIR, metavar="DIR", help="where its mesh keeps its state"
    )
    options = parser.parse_args(arguments)
    paths = options.files or [Path(name).expanduser() for name in shlex.split(environ.get("FILES", ""))]
    state, question = options.state_dir.absolute(), options.ask.strip()
    if not paths:
        sys.exit(run_coroutine(show_bundled(state / "bundled", only=question)))
    if not question:
        raise CommandError('Say what to ask of your files: make demo FILES="a.pdf" ASK="..."')
    sys.exit(run_coroutine(show_files(state / "own", paths, question)))


if __name__ == "__main__":
    run_guarded(lambda: main(sys.argv[1:], os.environ))
