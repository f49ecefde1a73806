"""Documents, sections and passages as rows: how they are written and removed within a transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.rpc.errors import invalid_argument
from citemesh.store.contract import Vectors
from citemesh.store.embedded.analysis import stem_words
from citemesh.store.embedded.quantize import quantize
from citemesh.store.labels import canonical_label, section_labels
from citemesh.v1.document_pb2 import AccessPolicy, Document, Section
from citemesh.v1.evidence_pb2 import Passage

EVERYONE = AccessPolicy()
EVERYONE.everyone.SetInParent()


def write_access(connection: sqlite3.Connection, document_row: int, access: AccessPolicy) -> None:
    """Replace who may read a document."""
    if access.WhichOneof("access") is None:
        raise invalid_argument("access", "must say everyone, or name who; an empty set reaches nobody")
    connection.execute(
        "UPDATE documents SET everyone = ?, access = ? WHERE document_row = ?",
        (int(access.HasField("everyone")), access.SerializeToString(), document_row),
    )
    connection.execute("DELETE FROM access_entries WHERE document_row = ?", (document_row,))
    readers = {f"user:{user}" for user in access.only.users if user}
    readers.update(f"group:{group}" for group in access.only.groups if group)
    connection.executemany(
        "INSERT INTO access_entries VALUES (?, ?)", [(document_row, reader) for reader in sorted(readers)]
    )


def write_sections(
    connection: sqlite3.Connection, tenant_id: str, version_row: int, sections: Sequence[Section], language: str
) -> None:
    """Add the sections of a new version, with the words and labels by which they are found."""
    for position, section in enumerate(sections):
        cursor = connection.execute(
            "INSERT INTO sections (version_row, position, section_id, section) VALUES (?, ?, ?, ?)",
            (version_row, position, section.section_id, section.SerializeToString()),
        )
        row = cursor.lastrowid
        words = {*stem_words(section.title, language), *stem_words(section.title, "en")}
        connection.executemany(
            "INSERT INTO section_words VALUES (?, ?, ?)", [(tenant_id, word, row) for word in sorted(words)]
        )
        connection.executemany(
            "INSERT INTO section_labels VALUES (?, ?, ?)",
            [(tenant_id, label, row) for label in sorted(section_labels(section))],
        )


def complete_passages(passages: Sequence[Passage], document: Document, first_number: int) -> list[Passage]:
    """Copies of `passages` with the fields that the store sets; ordinals and ids count from `first_number`."""
    completed = []
    for number, passage in enumerate(passages, first_number):
        copy = Passage()
        copy.CopyFrom(passage)
        copy.passage_id = f"{document.document_id}@{document.document_version}#{number}"
        copy.document_id = document.document_id
        copy.document_version = document.document_version
        copy.ordinal = number
        copy.title = document.title
        copy.label = canonical_label(passage.label) if passage.label else ""
        _copy_time(document, copy, "effective_from_time")
        _copy_time(document, copy, "effective_to_time")
        completed.append(copy)
    return completed


def _copy_time(document: Document, passage: Passage, name: str) -> None:
    passage.ClearField(name)  # type: ignore[arg-type]  # the stub wants a literal name
    if document.HasField(name):  # type: ignore[arg-type]  # as above
        time: Timestamp = getattr(passage, name)
        time.CopyFrom(getattr(document, name))


def write_passages(
    connection: sqlite3.Connection, tenant_id: str, version_row: int, passages: Sequence[Passage], vectors: Vectors
) -> None:
    """Add passages, complete with ids, and their vectors."""
    if not len(passages):
        return
    contiguous = np.ascontiguousarray(vectors, dtype=np.float32)
    codes = quantize(contiguous)
    for passage, vector, code in zip(passages, contiguous, codes, strict=True):
        cursor = connection.execute(
            "INSERT INTO passages (version_row, tenant_id, passage_id, ordinal, label, section_id, passage)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                version_row,
                tenant_id,
                passage.passage_id,
                passage.ordinal,
                passage.label,
                passage.parent_id,
                passage.SerializeToString(),
            ),
        )
        connection.execute("INSERT INTO vectors VALUES (?, ?, ?)", (cursor.lastrowid, vector.tobytes(), code.tobytes()))


def write_languages(connection: sqlite3.Connection, tenant_id: str, passages: Sequence[Passage]) -> None:
    """Note which languages the tenant's passages are in, so that questions are stemmed for each."""
    languages = sorted({passage.language for passage in passages if passage.language not in ("", "und")})
    connection.executemany(
        "INSERT OR IGNORE INTO tenant_languages VALUES (?, ?)", [(tenant_id, language) for language in languages]
    )


def remove_passages(connection: sqlite3.Connection, passage_rows: Sequence[int]) -> None:
    """Remove passages and their vectors."""
    connection.execute(
        "DELETE FROM passages WHERE passage_row IN (SELECT value FROM json_each(?))", (json.dumps(list(passage_rows)),)
    )
