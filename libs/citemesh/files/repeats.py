"""Whether a file repeats what is stored: the same content, dates, title and readers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from citemesh.store.versions import find_same
from citemesh.v1.document_pb2 import AccessPolicy, Document
from citemesh.v1.documents_pb2 import IngestHeader


def hash_file(path: Path) -> str:
    """The file's sha256, lower-case hex. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def changes_access(header: IngestHeader, stored: Document) -> bool:
    """Whether the header names other readers than the stored version has; none named leaves them as they are."""
    return header.HasField("access") and _readers(header.access) != _readers(stored.access)


def find_repeated(versions: Iterable[Document], header: IngestHeader, content_hash: str) -> Document | None:
    """The stored version that a file repeats in everything, so that nothing is left to do; None where something is."""
    same = find_same(versions, header, content_hash, header.title)
    return None if same is None or changes_access(header, same) else same


def _readers(access: AccessPolicy) -> tuple[bool, frozenset[str], frozenset[str]]:
    return access.HasField("everyone"), frozenset(access.only.users), frozenset(access.only.groups)
