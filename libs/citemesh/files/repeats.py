"""Whether a file repeats what is stored: the same content, dates, title and readers; and from when on it counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from citemesh.store.versions import find_same, span_of, to_microseconds
from citemesh.v1.document_pb2 import AccessPolicy, Document
from citemesh.v1.documents_pb2 import IngestHeader


def changes_access(header: IngestHeader, stored: Document) -> bool:
    """Whether the header names other readers than the stored version has; none named leaves them as they are."""
    return header.HasField("access") and _readers(header.access) != _readers(stored.access)


def find_repeated(versions: Sequence[Document], header: IngestHeader, content_hash: str) -> Document | None:
    """The stored version that a file repeats in everything, so that nothing is left to do; None where something is."""
    same = find_stored(versions, header, content_hash)
    return None if same is None or changes_access(header, same) else same


def find_stored(versions: Sequence[Document], header: IngestHeader, content_hash: str) -> Document | None:
    """The stored version that a file repeats, whoever may read it; None where it makes a new version.

    A file without a start repeats what is in force now, where that has one: see `takes_effect_now`.
    """
    if not takes_effect_now(versions, header):
        return find_same(versions, header, content_hash, header.title)
    now_us = to_microseconds(None)
    begun = (version for version in versions if span_of(version)[0] <= now_us)
    current = max(begun, key=lambda version: (span_of(version)[0], version.document_version))
    ends_us = span_of(current)[1]
    keeps_end = ends_us == span_of(header)[1] if header.HasField("effective_to_time") else ends_us > now_us
    keeps_title = not header.title or header.title == current.title
    return current if current.content_hash == content_hash and keeps_end and keeps_title else None


def takes_effect_now(versions: Iterable[Document], header: IngestHeader) -> bool:
    """Whether a new version without a start begins at its ingest: where a stored one has begun on a date.

    Taken as valid since ever, it would begin before that one and never be in force. Where no version has begun on a
    date, the one stored later corrects the earlier.
    """
    if header.HasField("effective_from_time"):
        return False
    now_us = to_microseconds(None)
    return any(version.HasField("effective_from_time") and span_of(version)[0] <= now_us for version in versions)


def _readers(access: AccessPolicy) -> tuple[bool, frozenset[str], frozenset[str]]:
    return access.HasField("everyone"), frozenset(access.only.users), frozenset(access.only.groups)
