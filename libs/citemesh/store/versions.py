"""Which version of each document is in force at a moment, and which one a file repeats; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from citemesh.v1.document_pb2 import Document
from citemesh.v1.documents_pb2 import IngestHeader

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


def span_of(dated: Document | IngestHeader) -> tuple[int, int]:
    """The effective times in microseconds, ALWAYS and OPEN where absent."""
    start = dated.effective_from_time.ToMicroseconds() if dated.HasField("effective_from_time") else ALWAYS
    end = dated.effective_to_time.ToMicroseconds() if dated.HasField("effective_to_time") else OPEN
    return start, end


def find_same(
    versions: Iterable[Document], given: Document | IngestHeader, content_hash: str, title: str
) -> Document | None:
    """The stored version that a file with the dates of `given` repeats; None where it makes a new version.

    Of the versions that start with it only the last stored counts, as in `choose_in_force`: content that was corrected
    since and comes again is a new correction, while a later start changes nothing about an earlier one. The last must
    have the same content, end and, where one is given, title.
    """
    start, end = span_of(given)
    together = (version for version in versions if span_of(version)[0] == start)
    last = max(together, key=lambda version: version.document_version, default=None)
    if last is None or last.content_hash != content_hash or span_of(last)[1] != end:
        return None
    return last if not title or title == last.title else None


def find_boundaries(spans: Iterable[VersionSpan]) -> Sequence[int]:
    """The moments at which the choice may change, ascending: between two of them it is constant."""
    moments = {moment for span in spans for moment in (span.from_us, span.to_us)}
    return sorted(moments - {ALWAYS, OPEN})


def to_microseconds(moment: datetime | None) -> int:
    """Microseconds since 1970 of `moment`, or of now."""
    moment = datetime.now(UTC) if moment is None else moment
    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
