"""The record of one document: who may read it, and its versions; one write of it changes them together."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import Any

from citemesh.store.versions import VersionSpan, span_of
from citemesh.v1.document_pb2 import AccessPolicy, Document, Section


@dataclass
class VersionRecord:
    """One version."""

    version_key: int
    document: Document
    sections: list[Section]
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

    def spans(self) -> list[VersionSpan]:
        """When each version is in force."""
        return [
            VersionSpan(each.version_key, self.document_key, each.document.document_version, *span_of(each.document))
            for each in self.versions
        ]

    def with_access(self, version: VersionRecord, *, superseded: bool = False) -> Document:
        """A copy of a version's document, complete."""
        document = Document()
        document.CopyFrom(version.document)
        document.access.CopyFrom(self.access)
        document.superseded = superseded
        return document

    def readers(self) -> frozenset[str]:
        """Who may read it, as `reader_entries` names them; without meaning where everyone may."""
        users = {f"user:{user}" for user in self.access.only.users if user}
        return frozenset(users | {f"group:{group}" for group in self.access.only.groups if group})

    def to_source(self, change_sequence: int) -> dict[str, Any]:
        """The entry of the index."""
        return {
            "tenant_id": self.tenant_id,
            "document_id": self.document_id,
            "change_sequence": change_sequence,
            "record": {
                "document_key": self.document_key,
                "access": _encode(self.access),
                "versions": [
                    {
                        "version_key": each.version_key,
                        "document": _encode(each.document),
                        "sections": [_encode(section) for section in each.sections],
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
                [Section.FromString(b64decode(section)) for section in each["sections"]],
                each["languages"],
                each["next_passage_number"],
            )
            for each in record["versions"]
        ]
        access = AccessPolicy.FromString(b64decode(record["access"]))
        return cls(source["tenant_id"], source["document_id"], record["document_key"], access, versions)


def _encode(message: AccessPolicy | Document | Section) -> str:
    return b64encode(message.SerializeToString()).decode()


def complete_document(given: Document, document_version: int, passage_count: int) -> Document:
    """A copy of `given` with the fields that the store sets, without its access."""
    document = Document()
    document.CopyFrom(given)
    document.ClearField("access")
    document.document_version = document_version
    document.ingest_time.GetCurrentTime()
    document.passage_count = passage_count
    document.superseded = False
    document.profile.document_id = document.document_id
    document.profile.document_version = document_version
    document.profile.title = document.title
    return document
