"""Where a mesh keeps its state on this machine, and the socket by which others find it."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

STATE_DIR_VARIABLE = "CITEMESH_STATE_DIR"
STORE_URL_VARIABLE = "CITEMESH_STORE_URL"
"""`http://HOST:9200/PREFIX`: the cluster, and what its indexes' names begin with (absent: citemesh).

Empty: the embedded store."""

# The kernel's limit for the path of a Unix socket is 108 bytes with the closing zero (104 on macOS).
_MAX_SOCKET_PATH_SIZE_BYTES = 100


def state_dir(environ: Mapping[str, str]) -> Path:
    """CITEMESH_STATE_DIR, or `citemesh` in the user's data directory of this platform. It may not exist yet."""
    configured = environ.get(STATE_DIR_VARIABLE, "").strip()
    return Path(configured).expanduser().absolute() if configured else _user_data_dir(environ) / "citemesh"


def run_dir(state: Path) -> Path:
    """The folder of the sockets of the mesh whose state is in `state`; `make_run_dir` makes it, for its owner only."""
    directory = state / "run"
    # The longest socket name is the seven services' longest name with its ending.
    if len(os.fsencode(directory)) + len("/documents-12345.sock") <= _MAX_SOCKET_PATH_SIZE_BYTES:
        return directory
    digest = hashlib.sha256(os.fsencode(state.absolute())).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"citemesh-{os.getuid()}-{digest}"


def make_run_dir(state: Path) -> Path:
    """Make `run_dir(state)`, private to this user. Raises PermissionError if it belongs to somebody else."""
    directory = run_dir(state)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if directory.lstat().st_uid != os.getuid() or directory.is_symlink():
        raise PermissionError(f"{directory} belongs to another user: remove it, or set {STATE_DIR_VARIABLE} elsewhere")
    directory.chmod(0o700)
    return directory


def socket_path(state: Path, name: str = "mesh") -> Path:
    """The Unix socket of the running mesh (or of the one service `name`) whose state is in `state`."""
    return run_dir(state) / f"{name}.sock"


def _user_data_dir(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    configured = environ.get("XDG_DATA_HOME", "")
    return Path(configured) if configured.startswith("/") else home / ".local" / "share"
