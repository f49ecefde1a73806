"""Numbers in square brackets that belong to a quoted text, told apart from the answer's own citation numbers."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"(?:[Ee]\s?)?[1-9]\d{0,3}"
_LOOKS_CITED: Final = re.compile(rf"\[\s{{0,3}}({_NUMBER}(?:\s?[-–—,;]\s?{_NUMBER}){{0,15}})\s{{0,3}}\]")


def free_citation_marks(text: str) -> str:
    """`text` in which only the answer's own marks can look like citations: its "[2]" or "[E1]" read "(2)", "(E1)".

    Text of several lines is code, where round brackets would say something else: there they read "[ 2 ]".
    """
    return _LOOKS_CITED.sub(r"[ \1 ]" if "\n" in text else r"(\1)", text)
