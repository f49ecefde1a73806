"""How much time a call has left, and how to share it out among the calls it makes.

gRPC does not pass a deadline on by itself: whoever calls on must pass `timeout=` each time.
"""

from __future__ import annotations

import math
import time
from contextvars import ContextVar
from typing import Protocol

# Set by the server interceptor where the caller gave no deadline: monotonic seconds.
_default_deadline: ContextVar[float | None] = ContextVar("citemesh_default_deadline", default=None)


class HasDeadline(Protocol):
    """The part of a servicer context that this module reads."""

    def time_remaining(self) -> float | None:
        """Seconds until the caller's deadline; None where there is none."""
        ...


def set_default_deadline(timeout_s: float) -> None:
    """Bound the running call, whose caller gave no deadline, to `timeout_s` seconds from now."""
    _default_deadline.set(time.monotonic() + timeout_s)


def remaining_s(context: HasDeadline) -> float | None:
    """Seconds left to the running call, never negative; None if it has no deadline (only outside a hosted server)."""
    remaining = context.time_remaining()
    if remaining is None or remaining > _FOREVER_S:
        deadline = _default_deadline.get()
        return None if deadline is None else max(0.0, deadline - time.monotonic())
    return max(0.0, remaining)


def share(remaining: float | None, fraction: float, reserve: float = 0.0) -> float | None:
    """The timeout, in seconds, for one step: `fraction` of what remains once `reserve` seconds are kept for later.

    None (no deadline) stays None. The result is never negative, and 0.0 means: do not start the step.
    Raises ValueError if `fraction` is outside (0, 1] or `reserve` is negative.
    """
    if not 0.0 < fraction <= 1.0:
        raise ValueError(f"fraction must be in (0, 1], got {fraction}")
    if reserve < 0.0 or math.isnan(reserve):
        raise ValueError(f"reserve must not be negative, got {reserve}")
    if remaining is None:
        return None
    return max(0.0, (remaining - reserve) * fraction)


# A caller without a deadline can look as if it had one in the far future.
_FOREVER_S = 365 * 24 * 3600.0
