"""A circuit breaker: after failures in a row, leave a server alone for a while, then let one call try it."""

from __future__ import annotations

import time
from collections.abc import Callable


class Breaker:
    """Closed while calls succeed. `clock` gives monotonic seconds. Used from one event loop; not for threads."""

    def __init__(self, failure_count: int, rest_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = failure_count
        self._rest_s = rest_s
        self._clock = clock
        self._failures = 0
        self._opened_at: float | None = None
        self._is_trying = False

    @property
    def is_open(self) -> bool:
        """Whether the server is being left alone, or is being tried by one call."""
        return self._opened_at is not None

    def allows(self) -> bool:
        """Whether a call may be made now; when the rest is over, yes to the first who asks."""
        if self._opened_at is None:
            return True
        if self._is_trying or self._clock() - self._opened_at < self._rest_s:
            return False
        self._is_trying = True
        return True

    def succeed(self) -> None:
        """A call that was allowed went well."""
        self._failures, self._opened_at, self._is_trying = 0, None, False

    def fail(self) -> None:
        """A call that was allowed showed the server at fault."""
        self._failures += 1
        if self._is_trying or self._failures >= self._limit:
            self._opened_at, self._is_trying = self._clock(), False

    def abandon(self) -> None:
        """A call that was allowed ended without telling anything about the server; another may try."""
        self._is_trying = False
