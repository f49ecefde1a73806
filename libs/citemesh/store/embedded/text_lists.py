"""Lists of texts as SQL statements take them."""

from __future__ import annotations

import json
from collections.abc import Iterable


def write_texts(texts: Iterable[str]) -> str:
    """A JSON list for `json_each`, without texts that hold a NUL: SQLite ends each text there, so that "a\\0b" would
    match "a"; no stored name has one."""
    return json.dumps([text for text in texts if "\0" not in text])
