"""The file by which one process at a time writes a store."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Final

from citemesh.store.errors import store_unavailable

_WAIT_S: Final = 2.0
"""So long the children of a writer that was killed may hold its descriptor still."""

_PAUSE_S: Final = 0.05


def take_lock(root: Path) -> int:
    """Hold the lock of the store in `root`; close the descriptor to release it.

    Raises STORE_UNAVAILABLE where another process holds it for two seconds or the folder cannot be written.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(root / "writer.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise store_unavailable("The state directory cannot be written: check its owner and the disk.") from error
    try:
        _wait_for(descriptor)
    except OSError as error:
        os.close(descriptor)
        raise store_unavailable(
            "Another process writes this document store: stop it, or use another state directory."
        ) from error
    return descriptor


def _wait_for(descriptor: int) -> None:
    deadline = time.monotonic() + _WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_PAUSE_S)
