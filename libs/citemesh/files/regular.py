"""Ordinary files told from pipes, devices and what else may stand under a name: reading those may never end."""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def measure_regular(path: Path) -> int:
    """The size of an ordinary file in bytes. Raises OSError, in words for a reader, where it is none or not there."""
    found = path.stat()
    if stat.S_ISREG(found.st_mode):
        return found.st_size
    raise OSError(errno.EINVAL, f"it is {_name_kind(found.st_mode)}, not a file", str(path))


def _name_kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"
