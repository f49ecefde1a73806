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


@dataclass
class DocumentRecord:
    """One document; without versions once it is deleted."""

    tenant_id: str
    document_id: str
    document_key: int
    access: AccessPolicy
    versions: list[VersionRecord] = field(default_factory=list)

    def stored(self) -> list[StoredDocument]:
        """The versions, newest first."""
        newest_first = sorted(self.versions, key=lambda each: -each.document.document_version)
        return [self.stored_version(each) for each in newest_first]

    def stored_version(self, version: VersionRecord) -> StoredDocument:
        """One of them."""
        start, end = span_of(version.document)
        span = VersionSpan(version.version_key, self.document_key, version.document.document_version, start, end)
        return StoredDocument(span, version.document, self.access)

    def to_source(self, change_sequence: int) -> dict[str, Any]:
        """The entry of the index."""
        return {
            "tenant_id": self.tenant_id,
            "document_id": self.document_id,
            "document_key": self.document_key,
            "change_sequence": change_sequence,
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
        return cls(source["tenant_id"], source["document_id"], source["document_key"], access, versions)


def _encode(message: AccessPolicy | Document) -> str:
    return b64encode(message.SerializeToString()).decode()
