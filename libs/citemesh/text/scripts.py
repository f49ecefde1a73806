"""Scripts that are written without spaces between words, or whose spaces do not part stems."""

from __future__ import annotations

import re
from typing import Final

UNSPACED: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f"
"""Kana, Han, Hangul and Thai, for use inside the brackets of a regular expression."""

_UNSPACED: Final = re.compile(f"[{UNSPACED}]")


def is_unspaced(text: str) -> bool:
    """Whether any character of `text` belongs to such a script."""
    return _UNSPACED.search(text) is not None
