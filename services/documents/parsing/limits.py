"""What a parser's process may use: set from inside, before it touches the file, and not to be undone by it."""

from __future__ import annotations

import ctypes
import resource
import signal
import sys
from dataclasses import dataclass
from typing import NoReturn

_NEW_USER_AND_NETWORK = 0x10000000 | 0x40000000  # CLONE_NEWUSER | CLONE_NEWNET of sched.h
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_PDEATHSIG = 1
_FORBIDDEN_EVENTS = (
    "socket.",
    "subprocess.",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "ctypes.dlopen",
    "urllib.",
    "ftplib.",
    "smtplib.",
    "http.client",
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Address space in bytes, processor seconds, and bytes that may be written."""

    memory_bytes: int
    cpu_s: int
    output_bytes: int


def apply_limits(limits: Limits) -> None:
    """Sets memory, CPU, file and core limits, and asks to die with the parent."""
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.output_bytes, limits.output_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def leave_network() -> None:
    """Moves to a network namespace without interfaces, where the system allows it to ordinary users."""
    if sys.platform == "linux":
        # Refused in many containers; `forbid_side_effects` holds there as everywhere.
        ctypes.CDLL(None, use_errno=True).unshare(_NEW_USER_AND_NETWORK)


def forbid_side_effects() -> None:
    """From now on no socket, program or native library can be opened by Python code; hooks cannot be removed."""
    sys.addaudithook(_refuse)


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if event.startswith(_FORBIDDEN_EVENTS):
        _raise(event)


def _raise(event: str) -> NoReturn:
    raise PermissionError(f"a parser may not use {event}")
