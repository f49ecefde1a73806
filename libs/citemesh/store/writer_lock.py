"""The file by which one process at a time writes a store."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from citemesh.store.errors import store_unavailable


def take_lock(root: Path) -> int:
    """Hold the lock of the store in `root`; close the descriptor to release it.

    Raises STORE_UNAVAILABLE where another process holds it or the folder cannot be written.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(root / "writer.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise store_unavailable("The state directory cannot be written: check its owner and the disk.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise store_unavailable(
            "Another process writes this document store: stop it, or use another state directory."
        ) from error
    return descriptor
