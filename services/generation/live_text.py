"""The words of claims in a JSON object that is still being written, so that they can be shown as they come."""

from __future__ import annotations

import json
import re

_TEXT_FIELD = re.compile(r'"text"\s*:\s*"((?:[^"\\]++|\\.)*+)("?)', re.DOTALL)
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$")


def read_live_text(output: str) -> str:
    """What the "text" fields of the unfinished `output` say so far, a line each. It only ever grows."""
    lines = []
    for match in _TEXT_FIELD.finditer(output):
        raw = match.group(1)
        if not match.group(2):
            raw = _HALF_ESCAPE.sub("", raw)
        lines.append(_decode(raw))
    return "\n".join(lines)


def _decode(raw: str) -> str:
    try:
        return str(json.loads(f'"{raw}"', strict=False))
    except json.JSONDecodeError:
        return ""


class DeltaCutter:
    """Cuts a growing text into deltas of some size, since a message per token costs more than the token."""

    def __init__(self, min_characters: int = 32) -> None:
        self._min_characters = min_characters
        self._sent = ""

    def cut(self, text: str, *, is_last: bool = False) -> str:
        """What is new in `text`; nothing until there is enough of it, or where it does not go on from what was sent."""
        if not text.startswith(self._sent):
            return ""
        new = text[len(self._sent) :]
        if not new or (len(new) < self._min_characters and not is_last):
            return ""
        self._sent = text
        return new
