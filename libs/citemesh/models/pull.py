"""Bring models to this machine: fetch, check, build. `python -m citemesh.models.pull [NAME...]`.

Without a name, the default ones; a name is that of a published encoder (bge-small-en-v1.5).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from citemesh.models.build import build
from citemesh.models.errors import ModelError
from citemesh.models.fetch import Progress, fetch, find_problems
from citemesh.models.fetch_published import fetch_published, find_published_problems
from citemesh.models.paths import models_dir, source_dir
from citemesh.models.published import PUBLISHED, published_dir
from citemesh.models.stamp import built_dir, find_build_problems


def pull(models_dir: Path, progress: Progress) -> Path:
    """Fetch and build what is not there yet of the default models, and return the folder of built graphs.

    Works without a network once the files are there, or where a whole build is. Raises ModelError.
    """
    if not find_default_problems(models_dir):
        progress("models: present, checksums agree")
        return built_dir(models_dir)
    fetch(models_dir, progress)
    return build(models_dir, progress)


def pull_published(models_dir: Path, name: str, progress: Progress) -> Path:
    """Fetch the published encoder `name` and return its folder. Raises ModelError, for an unknown name too."""
    if name not in PUBLISHED:
        raise ModelError(f"there is no published encoder {name!r}: they are {', '.join(PUBLISHED)}")
    return fetch_published(models_dir, PUBLISHED[name], progress)


def verify(models_dir: Path) -> list[str]:
    """Everything wrong with the models of this machine, one sentence each; empty when all checksums agree.

    Published encoders are asked for only where they are; each of their problems names the command that mends it.
    """
    problems = find_default_problems(models_dir)
    for encoder in PUBLISHED.values():
        if published_dir(models_dir, encoder).exists():
            problems += find_published_problems(models_dir, encoder)
    return problems


def find_default_problems(models_dir: Path) -> list[str]:
    """What `pull` would mend, one sentence each.

    An image may carry the build alone: the publisher's files are asked for only where some of them are.
    """
    problems = find_build_problems(built_dir(models_dir))
    if problems or source_dir(models_dir).exists():
        problems += find_problems(source_dir(models_dir))
    return problems


def main(names: Sequence[str]) -> int:
    """Pull into the configured folder, narrating on stderr; 0 when the models are ready."""

    def narrate(line: str) -> None:
        sys.stderr.write(line + "\n")

    folder = models_dir(os.environ)
    try:
        if not names:
            pull(folder, narrate)
        for name in names:
            pull_published(folder, name, narrate)
    except ModelError as error:
        narrate(str(error))
        return 1
    narrate(f"models are in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
