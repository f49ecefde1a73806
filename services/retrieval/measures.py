"""What operators see of searches: time, failures and finds of each leg, and what the caches saved."""

from __future__ import annotations

from typing import Final

from citemesh.telemetry import names
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import activation_pb2
from citemesh.v1.activation_pb2 import Pattern

LEGS: Final = (activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE, activation_pb2.PATTERN_TOC)
RANKINGS: Final = "rankings"
VECTORS: Final = "vectors"
_FUSED: Final = "fused"


class Measures:
    """The retrieval service's metrics; every series is there from the start, at zero. Safe to use from any thread."""

    def __init__(self, metrics: MetricFactory) -> None:
        legs = [leg_name(leg) for leg in LEGS]
        self._leg_seconds = metrics.histogram(names.LEG_DURATION_SECONDS, leg=legs)
        self._leg_failures = metrics.counter(names.LEG_FAILURES, leg=legs)
        self._candidates = metrics.histogram(names.CANDIDATES, leg=[*legs, _FUSED])
        self._look_ups = metrics.counter(names.CACHE_REQUESTS, cache=(RANKINGS, VECTORS), result=("hit", "miss"))

    def count_leg(self, leg: Pattern.ValueType, duration_s: float, passage_count: int) -> None:
        """One leg has answered all of its queries, with so many different passages."""
        self._leg_seconds.labels(leg_name(leg)).observe(duration_s)
        self._candidates.labels(leg_name(leg)).observe(passage_count)

    def count_failed_leg(self, leg: Pattern.ValueType, duration_s: float) -> None:
        """One leg failed, or was too late; what it would have found is not known."""
        self._leg_seconds.labels(leg_name(leg)).observe(duration_s)
        self._leg_failures.labels(leg_name(leg)).inc()

    def count_fused(self, candidate_count: int) -> None:
        """One retrieval returns so many candidates."""
        self._candidates.labels(_FUSED).observe(candidate_count)

    def count_look_up(self, cache: str, *, hit: bool) -> None:
        """A cache (RANKINGS or VECTORS) was asked."""
        self._look_ups.labels(cache, "hit" if hit else "miss").inc()


def leg_name(leg: Pattern.ValueType) -> str:
    """A leg as a label's value: "keyword"."""
    return Pattern.Name(leg).removeprefix("PATTERN_").lower()
