"""Questions and turns as the rules read them: white space single, endless turns cut.

Rules are patterns, and a pattern holds up every other call of the process while it runs: no caller's text may make one
take long. What the caller sent stays as it is in `original_question` and in the request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from citemesh.v1.question_pb2 import Turn

# Characters. What a follow-up leans on stands at the beginning of a turn (its topic, its options) or at its end.
_READ_AT_START: Final = 4_000
_READ_AT_END: Final = 2_000

_SPACE: Final = re.compile(r"\s++")


def single_space(text: str) -> str:
    """`text` with each run of white space as one space, or as one line break where it holds one."""
    return _SPACE.sub(lambda found: "\n" if "\n" in found.group() else " ", text)


def read_turns(history: Iterable[Turn]) -> list[Turn]:
    """The turns with single white space, each at most its first 4,000 and last 2,000 characters, cut between words."""
    return [Turn(role=turn.role, text=_shorten(single_space(turn.text))) for turn in history]


def _shorten(text: str) -> str:
    if len(text) <= _READ_AT_START + _READ_AT_END:
        return text
    head, tail = text[:_READ_AT_START], text[-_READ_AT_END:]
    last, first = max(head.rfind(" "), head.rfind("\n")), _SPACE.search(tail)
    head = head[:last] if last > 0 else head
    return f"{head}\n{tail[first.end() :] if first is not None else tail}"
