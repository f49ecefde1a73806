"""Which version of each document is in force at a moment; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ALWAYS = -(2**62)
"""Stands for an absent start, in microseconds."""

OPEN = 2**62
"""Stands for an absent end, in microseconds."""


@dataclass(frozen=True, slots=True)
class VersionSpan:
    """One version and the time it is in force, in microseconds since 1970 (ALWAYS and OPEN where absent)."""

    version_key: int
    document_key: int
    document_version: int
    from_us: int
    to_us: int


def choose_in_force(spans: Iterable[VersionSpan], at_us: int) -> list[VersionSpan]:
    """The versions in force at `at_us`, at most one for each document, by version_key.

    Of the versions that have started, the latest start counts, then the highest version; it supersedes the others even
    after its own end.
    """
    latest: dict[int, VersionSpan] = {}
    for span in spans:
        if span.from_us > at_us:
            continue
        best = latest.get(span.document_key)
        if best is None or (span.from_us, span.document_version) > (best.from_us, best.document_version):
            latest[span.document_key] = span
    return sorted((span for span in latest.values() if span.to_us > at_us), key=lambda span: span.version_key)


def find_boundaries(spans: Iterable[VersionSpan]) -> Sequence[int]:
    """The moments at which the choice may change, ascending: between two of them it is constant."""
    moments = {moment for span in spans for moment in (span.from_us, span.to_us)}
    return sorted(moments - {ALWAYS, OPEN})
