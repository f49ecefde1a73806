"""Ids of evidence: "E1" to "En", the same for the same passage for as long as one request lasts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_EVIDENCE_ID: Final = re.compile(r"E([1-9][0-9]{0,5})")


def read_evidence_number(evidence_id: str) -> int | None:
    """5 for "E5"; None for anything else."""
    match = _EVIDENCE_ID.fullmatch(evidence_id)
    return int(match.group(1)) if match else None


class EvidenceIds:
    """Gives out ids: a passage keeps the one it has, a new one gets the next that no passage ever had."""

    def __init__(self, known: Mapping[str, str]) -> None:
        """`known`: evidence id by passage id, from earlier passes."""
        self._known = dict(known)
        self._last = max((read_evidence_number(each) or 0 for each in known.values()), default=0)

    def id_of(self, passage_id: str) -> str:
        """The passage's id, new or known."""
        if passage_id not in self._known:
            self._last += 1
            self._known[passage_id] = f"E{self._last}"
        return self._known[passage_id]
