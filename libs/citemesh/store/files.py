"""The original files, kept under the hash of their content."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

FOLDER_NAME: Final = "files"


class OriginalFiles:
    """Files below `root`, one folder per tenant. Failures of the disk are OSError."""

    def __init__(self, root: Path) -> None:
        self._root = root / FOLDER_NAME

    def path(self, tenant_id: str, content_hash: str) -> Path:
        """Where the file with `content_hash` is kept, or would be."""
        folder = hashlib.sha256(tenant_id.encode()).hexdigest()[:32]
        # The hash comes from a request's document: only its digest may become part of a path.
        name = hashlib.sha256(content_hash.encode()).hexdigest()
        return self._root / folder / name[:2] / name

    def keep(self, tenant_id: str, content_hash: str, source: Path) -> None:
        """Copy `source`, on disk when this returns; nothing where the same content is kept already."""
        target = self.path(tenant_id, content_hash)
        if target.is_file():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".part-", delete=False) as part:
            try:
                with source.open("rb") as original:
                    shutil.copyfileobj(original, part)
                part.flush()
                os.fsync(part.fileno())
                Path(part.name).replace(target)
            except BaseException:  # no end may leave half a file; raised again
                Path(part.name).unlink(missing_ok=True)
                raise
        _sync_folder(target.parent)

    def remove(self, tenant_id: str, content_hashes: Iterable[str]) -> None:
        """Remove files that no version refers to any more."""
        for content_hash in content_hashes:
            self.path(tenant_id, content_hash).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the new name in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
