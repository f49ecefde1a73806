"""Files that several processes may write at once: hashing, a lock between processes, whole-folder replacement."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def hash_file(path: Path) -> str:
    """The sha256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path` among processes and threads; it ends with the process, whatever befalls it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextmanager
def replace_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `target` in one rename if the block ends well, and vanishes if not.

    A reader sees the old folder, none (for an instant, while an old one is moved aside) or the new one whole.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        fresh = Path(scratch) / "fresh"
        fresh.mkdir()
        yield fresh
        if target.exists():
            target.rename(Path(scratch) / "old")
        shutil.move(fresh, target)
