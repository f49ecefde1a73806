"""What a check found about one citation or claim."""

from __future__ import annotations

from dataclasses import dataclass

from citemesh.v1.answer_pb2 import Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its reason, one line for people. `support` is 0 to 1, None where it was not measured."""

    verdict: Verdict.ValueType
    reason: str
    support: float | None = None
    citation_index: int | None = None
