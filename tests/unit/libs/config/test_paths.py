"""Where state and sockets are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from citemesh.config.paths import make_run_dir, run_dir, socket_path, state_dir


def test_the_variable_wins_and_is_made_absolute(tmp_path: Path) -> None:
    assert state_dir({"CITEMESH_STATE_DIR": str(tmp_path)}) == tmp_path
    assert state_dir({"CITEMESH_STATE_DIR": "x"}).is_absolute()


@pytest.mark.skipif(sys.platform == "darwin", reason="the XDG variables are those of Linux")
def test_the_default_is_the_users_data_directory() -> None:
    assert state_dir({"HOME": "/home/u"}) == Path("/home/u/.local/share/citemesh")
    assert state_dir({"HOME": "/home/u", "XDG_DATA_HOME": "/data"}) == Path("/data/citemesh")
    assert state_dir({"HOME": "/home/u", "XDG_DATA_HOME": "relative"}) == Path("/home/u/.local/share/citemesh")


def test_a_socket_path_fits_the_kernels_limit_however_deep_the_state(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 90) / "state"
    path = socket_path(deep, "dispatcher")
    assert len(os.fsencode(path)) < 104
    assert path == socket_path(deep, "dispatcher")
    assert socket_path(deep) != socket_path(deep.parent)
    assert socket_path(Path("/s")) == Path("/s/run/mesh.sock")


def test_the_folder_of_sockets_is_private(tmp_path: Path) -> None:
    made = make_run_dir(tmp_path)
    assert made == run_dir(tmp_path)
    assert made.stat().st_mode & 0o777 == 0o700
    made.chmod(0o755)
    assert make_run_dir(tmp_path).stat().st_mode & 0o777 == 0o700


def test_a_folder_put_there_by_somebody_else_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "run").symlink_to(elsewhere)
    with pytest.raises(PermissionError, match="belongs to another user"):
        make_run_dir(tmp_path)
