"""The line of dashes between a table's titles and its rows: "|---|:---:|" or "----- -----"."""

from __future__ import annotations

import re
from typing import Final

# Every repeat is possessive: a run of dashes has one reading, so a line that is none is told in one pass.
_DASH_LINE: Final = re.compile(r"\s*+\|?+(?:\s*+:?+-{2,}+:?+\s*+\|?+)++\s*+")


def is_dash_line(line: str) -> bool:
    """Whether `line` is dashes, two or more to a cell, with pipes, colons and white space alone."""
    return _DASH_LINE.fullmatch(line) is not None
