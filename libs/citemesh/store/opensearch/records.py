"""The record of one document: who may read it, and its versions; one write of it changes them together."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import Any

from citemesh.store.document_lists import StoredDocument
from citemesh.store.versions import VersionSpan, span_of
from citemesh.v1.document_pb2 import AccessPolicy, Document


@dataclass
class VersionRecord:
    """One version; its sections and passages are entries of their own indexes."""

    version_key: int
    document: Document
    languages: list[str]
    next_passage_number: int


@dataclass(frozen=True, slots=True)
class RemovedVersion:
    """A version that is gone for readers, and may have left parts and a file."""

    version_key: int
    content_hash: str


@dataclass
class DocumentRecord:
    """One document; without versions once it is deleted."""

    tenant_id: str
    document_id: str
    document_key: int
    access: AccessPolicy
    versions: list[VersionRecord] = field(default_factory=list)
    removed: list[RemovedVersion] = field(default_factory=list)
    """Of a deleted document, until nothing is left of them."""
    change_sequence: int = 0
    is_told: bool = False
    """Whether the tenant's state was written after it, by which readers learn of it."""

    @property
    def is_there(self) -> bool:
        """Whether some reader may still find the document."""
        return bool(self.versions) or not self.is_told

    def remove_versions(self) -> None:
        """Let it have no versions any more."""
        self.removed += [RemovedVersion(each.version_key, each.document.content_hash) for each in self.versions]
        self.versions = []

    def stored(self) -> list[StoredDocument]:
        """The versions, newest first."""
        newest_first = sorted(self.versions, key=lambda each: -each.document.document_version)
        return [self.stored_version(each) for each in newest_first]

    def stored_version(self, version: VersionRecord) -> StoredDocument:
        """One of them."""
        start, end = span_of(version.document)
        span = VersionSpan(version.version_key, self.document_key, version.document.document_version, start, end)
        return StoredDocument(span, version.document, self.access)

    def to_source(self) -> dict[str, Any]:
        """The entry of the index."""
        return {
            "tenant_id": self.tenant_id,
            "document_id": self.document_id,
            "document_key": self.document_key,
            "change_sequence": self.change_sequence,
            "record": {
                "access": _encode(self.access),
                "versions": [
                    {
                        "version_key": each.version_key,
                        "document": _encode(each.document),
                        "languages": each.languages,
                        "next_passage_number": each.next_passage_number,
                    }
                    for each in self.versions
                ],
                "removed": [[each.version_key, each.content_hash] for each in self.removed],
                "is_told": self.is_told,
            },
        }

    @classmethod
    def from_source(cls, source: dict[str, Any]) -> DocumentRecord:
        """The record of an entry."""
        record = source["record"]
        versions = [
            VersionRecord(
                each["version_key"],
                Document.FromString(b64decode(each["document"])),
                each["languages"],
                each["next_passage_number"],
            )
            for each in record["versions"]
        ]
        access = AccessPolicy.FromString(b64decode(record["access"]))
        return cls(
            source["tenant_id"],
            source["document_id"],
            source["document_key"],
            access,
            versions,
            [RemovedVersion(key, content_hash) for key, content_hash in record.get("removed", ())],
            source["change_sequence"],
            # One of an earlier release does not say.
            record.get("is_told", True),
        )


def _encode(message: AccessPolicy | Document) -> str:
    return b64encode(message.SerializeToString()).decode()
