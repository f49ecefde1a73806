"""Decide whether new work can be finished in time, without making work already accepted late."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

RESPONSE_RESERVE_S = 0.01
"""Kept back from each deadline for the way home."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Work with a deadline (monotonic seconds; infinite for none) and the model time it still needs."""

    deadline: float
    needed_s: float


def is_feasible(accepted: Iterable[Workload], new: Workload, now: float, worker_count: int) -> bool:
    """Whether all deadlines can be kept when the earliest is always served first.

    Exact for one worker (Liu and Layland 1973: earliest deadline first is optimal); for several it takes their joint
    speed, which pairs, being many and small, come close to.
    """
    spent_s = 0.0
    for each in sorted([*accepted, new], key=lambda workload: workload.deadline):
        spent_s += each.needed_s
        if now + spent_s / worker_count > each.deadline - RESPONSE_RESERVE_S:
            return False
    return True


class Pace:
    """Seconds of model time per token, learned from what was measured."""

    def __init__(self, initial_s_per_token: float = 150e-6, memory: float = 0.95) -> None:
        self._s_per_token = initial_s_per_token
        self._memory = memory

    @property
    def s_per_token(self) -> float:
        """The present estimate."""
        return self._s_per_token

    def observe(self, token_count: int, elapsed_s: float) -> None:
        """Take one run of the model into account."""
        if token_count > 0 and math.isfinite(elapsed_s):
            measured = elapsed_s / token_count
            self._s_per_token = self._memory * self._s_per_token + (1 - self._memory) * measured
