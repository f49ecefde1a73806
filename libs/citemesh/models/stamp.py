"""The stamp of a build: which builder made which files from which weights, and whether they are still so."""

from __future__ import annotations

import json
from pathlib import Path

from citemesh.models.errors import ModelError
from citemesh.models.fetch import PULL_COMMAND
from citemesh.models.files import hash_file
from citemesh.models.manifest import MINILM, ModelSource
from citemesh.models.paths import DEFAULT_MODEL_NAME

BUILDER_VERSION = 1
"""Raised whenever the graphs or their files change, so that machines build anew and indexes notice."""

STAMP_FILE_NAME = "build.json"


def built_dir(models_dir: Path) -> Path:
    """Where this builder's version of the graphs lives; builds of other versions lie beside it."""
    return models_dir / DEFAULT_MODEL_NAME / f"build-{BUILDER_VERSION}"


def name_revision(source: ModelSource = MINILM) -> str:
    """What a vector or a logit depends on: the weights, the builder, the number format."""
    return f"{source.weights.sha256[:16]}-build{BUILDER_VERSION}-int8"


def write_stamp(folder: Path, source: ModelSource = MINILM) -> None:
    """Write build.json over every file now in `folder`."""
    files = {str(path.relative_to(folder)): hash_file(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    stamp = {"builder_version": BUILDER_VERSION, "weights_sha256": source.weights.sha256, "files": files}
    (folder / STAMP_FILE_NAME).write_text(json.dumps(stamp, indent=2) + "\n", "utf-8")


def verify_build(folder: Path, source: ModelSource = MINILM) -> None:
    """Raise ModelError naming the first file of a build that is missing, damaged or of other weights."""
    problems = find_build_problems(folder, source)
    if problems:
        raise ModelError(problems[0])


def find_build_problems(folder: Path, source: ModelSource = MINILM) -> list[str]:
    """Everything wrong with a build, one sentence each; empty when it is whole."""
    path = folder / STAMP_FILE_NAME
    if not path.is_file():
        return [f"models are not built: {path} is missing; run `{PULL_COMMAND}`"]
    try:
        stamp = json.loads(path.read_text("utf-8"))
        files: dict[str, str] = dict(stamp["files"])
        weights_sha256 = stamp["weights_sha256"]
    except (ValueError, KeyError, TypeError):
        return [f"model stamp {path} is malformed; run `{PULL_COMMAND}`"]
    if weights_sha256 != source.weights.sha256:
        return [f"models in {folder} were built from other weights; run `{PULL_COMMAND}`"]
    return [problem for name, sha256 in files.items() if (problem := _find_problem(folder / name, sha256))]


def _find_problem(path: Path, sha256: str) -> str | None:
    if not path.is_file():
        return f"model file {path} is missing; run `{PULL_COMMAND}`"
    if hash_file(path) != sha256:
        return f"model file {path} differs from what was built (its sha256 changed); run `{PULL_COMMAND}`"
    return None
