"""The id by which one request is found in the logs and traces of every stage."""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar

REQUEST_ID_KEY = "x-request-id"
MAX_REQUEST_ID_CHARACTERS = 100

_ALLOWED = re.compile(rf"[A-Za-z0-9._:-]{{1,{MAX_REQUEST_ID_CHARACTERS}}}")

_current: ContextVar[str] = ContextVar("citemesh_request_id", default="")


def accept_request_id(given: str | bytes | None) -> str:
    """`given` if it is fit for logs (letters, digits and "._:-"), else a new id of 16 hex digits."""
    if isinstance(given, str) and _ALLOWED.fullmatch(given):
        return given
    return secrets.token_hex(8)


def set_request_id(request_id: str) -> None:
    """Make `request_id` the running call's; its log lines carry it."""
    _current.set(request_id)


def current_request_id() -> str:
    """The running call's id; empty outside a call."""
    return _current.get()
