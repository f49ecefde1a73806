"""Indexes of one test on the shared server, gone when it ends."""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

_TIMEOUT_S = 30.0


@contextmanager
def own_indexes(address: str) -> Iterator[str]:
    """The URL of a store that nobody else uses; its indexes and templates are removed at the end."""
    prefix = f"test-{uuid.uuid4().hex[:12]}"
    try:
        yield f"{address}/{prefix}"
    finally:
        _call(address, "DELETE", f"{prefix}-*")
        found = json.loads(_call(address, "GET", f"_index_template/{prefix}-*?ignore_unavailable=true") or "{}")
        for template in found.get("index_templates", ()):
            _call(address, "DELETE", f"_index_template/{template['name']}")


def _call(address: str, method: str, path: str) -> str:
    request = urllib.request.Request(f"{address}/{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError:
        # A test that made none of them.
        return ""
