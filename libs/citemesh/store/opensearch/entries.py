"""Passages and sections as entries of their indexes, and back."""

from __future__ import annotations

import time
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from citemesh.store.analysis import analyse_passage
from citemesh.store.contract import Vectors
from citemesh.store.labels import section_labels
from citemesh.store.opensearch.bulk import Entry
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.layout import part_key
from citemesh.store.toc_match import title_words
from citemesh.v1.document_pb2 import Section
from citemesh.v1.evidence_pb2 import Passage

OWNER_FIELDS = ("tenant_id", "version_key", "writer_id", "written_ms")


@dataclass(frozen=True, slots=True)
class Owner:
    """The version that entries belong to, and who wrote them when."""

    tenant_id: str
    version_key: int
    writer_id: str
    written_ms: int

    def to_source(self) -> dict[str, Any]:
        """The fields that every entry of the version has."""
        return {
            "tenant_id": self.tenant_id,
            "version_key": self.version_key,
            "writer_id": self.writer_id,
            "written_ms": self.written_ms,
        }

    @classmethod
    def from_columns(cls, row: dict[str, Any]) -> Owner:
        """The owner that an entry's columns name."""
        return cls(*(row[name] for name in OWNER_FIELDS))


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def make_passages(
    index: str, owner: Owner, passages: Iterable[tuple[int, Passage]], vectors: Iterable[Vectors]
) -> list[Entry]:
    """Entries of numbered passages of one version, their words analysed as every store analyses them."""
    entries = []
    for (number, passage), vector in zip(passages, vectors, strict=True):
        exact = np.ascontiguousarray(vector, dtype=np.float32)
        key = part_key(owner.version_key, number)
        source = {
            **owner.to_source(),
            "passage_key": key,
            "passage_id": passage.passage_id,
            "ordinal": passage.ordinal,
            "label": passage.label,
            "section_id": passage.parent_id,
            **analyse_passage(passage),
            "passage": b64encode(passage.SerializeToString()).decode(),
            "vector_bytes": b64encode(exact.tobytes()).decode(),
            "vector": exact.tolist(),
        }
        entries.append(Entry(index, key, source))
    return entries


def make_sections(index: str, owner: Owner, sections: Sequence[Section], language: str) -> list[Entry]:
    """Entries of the sections of one version, in the order of the text."""
    return [
        Entry(
            index,
            part_key(owner.version_key, number),
            {
                **owner.to_source(),
                "section_key": part_key(owner.version_key, number),
                "section_id": section.section_id,
                "words": title_words(section, language),
                "labels": sorted(section_labels(section)),
                "section": b64encode(section.SerializeToString()).decode(),
            },
        )
        for number, section in enumerate(sections)
    ]


def read_passage(row: dict[str, Any]) -> Passage:
    """The passage of an entry's columns."""
    return Passage.FromString(read_passage_bytes(row))


def read_passage_bytes(row: dict[str, Any]) -> bytes:
    """The same, serialized."""
    return _decode(row["passage"])


def read_vector(row: dict[str, Any]) -> Vectors:
    """The vector of an entry's columns."""
    return np.frombuffer(_decode(row["vector_bytes"]), dtype=np.float32)


def read_section(row: dict[str, Any]) -> Section:
    """The section of an entry's columns."""
    return Section.FromString(_decode(row["section"]))


def _decode(column: str) -> bytes:
    # Columns come in the alphabet for addresses, without the padding that the decoder wants.
    return urlsafe_b64decode(column + "==")


def read_version_passages(connection: Connection, version_key: int) -> list[tuple[Passage, Vectors]]:
    """All passages of a version in the order of the text, with their vectors."""
    query = {"term": {"version_key": version_key}}
    rows = connection.read(connection.names.passages, query, "passage_key", ("passage", "vector_bytes"))
    found = [(read_passage(row), read_vector(row)) for row in rows]
    return sorted(found, key=lambda pair: pair[0].ordinal)


def read_version_sections(connection: Connection, version_keys: Sequence[int]) -> dict[int, list[Section]]:
    """The sections of versions in the order of the text; every version has its list."""
    found: dict[int, list[Section]] = {key: [] for key in version_keys}
    query = {"terms": {"version_key": list(version_keys)}}
    for row in connection.read(connection.names.sections, query, "section_key", ("version_key", "section")):
        found[row["version_key"]].append(read_section(row))
    return found
