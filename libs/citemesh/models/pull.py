"""Bring the default models to this machine: fetch, check, build. `python -m citemesh.models.pull`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from citemesh.models.build import build
from citemesh.models.errors import ModelError
from citemesh.models.fetch import Progress, fetch, find_problems
from citemesh.models.paths import models_dir, source_dir
from citemesh.models.stamp import built_dir, find_build_problems


def pull(models_dir: Path, progress: Progress) -> Path:
    """Fetch and build what is not there yet, and return the folder of built graphs.

    Works without a network once the files are there, or where a whole build is. Raises ModelError.
    """
    if not verify(models_dir):
        progress("models: present, checksums agree")
        return built_dir(models_dir)
    fetch(models_dir, progress)
    return build(models_dir, progress)


def verify(models_dir: Path) -> list[str]:
    """Everything wrong with the models of this machine, one sentence each; empty when all checksums agree.

    An image may carry the build alone: the publisher's files are asked for only where some of them are.
    """
    problems = find_build_problems(built_dir(models_dir))
    if problems or source_dir(models_dir).exists():
        problems += find_problems(source_dir(models_dir))
    return problems


def main() -> int:
    """Pull into the configured folder, narrating on stderr; 0 when the models are ready."""

    def narrate(line: str) -> None:
        sys.stderr.write(line + "\n")

    folder = models_dir(os.environ)
    try:
        pull(folder, narrate)
    except ModelError as error:
        narrate(str(error))
        return 1
    narrate(f"models are in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
