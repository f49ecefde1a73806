"""What a tenant, user or group may be called."""

from __future__ import annotations

import unicodedata
from typing import Final

MAX_ID_CHARACTERS: Final = 256
_FORBIDDEN: Final = ("Cc", "Cs", "Zl", "Zp")
"""Control characters, halves of characters and line ends. A NUL ends a name early for some readers and not for others,
so that one group could pass for another."""


def is_id(value: object) -> bool:
    """Whether it is a name of 1 to 256 characters, not all blank, without control characters."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_ID_CHARACTERS:
        return False
    return not any(unicodedata.category(character) in _FORBIDDEN for character in value)
