from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.store.writer_lock import take_lock


def test_what_a_dying_process_holds_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    held = take_lock(tmp_path)
    timer = threading.Timer(0.4, os.close, [held])
    timer.start()
    started = time.monotonic()
    os.close(take_lock(tmp_path))
    assert time.monotonic() - started >= 0.3
    timer.join()


def test_what_another_process_holds_on_is_refused(tmp_path: Path) -> None:
    held = take_lock(tmp_path)
    with pytest.raises(ServiceError, match="Another process writes"):
        take_lock(tmp_path)
    os.close(held)
