"""Documents, sections and passages as rows: how they are written and removed within a transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np

from citemesh.store.access import allowed_readers, check_access
from citemesh.store.completion import find_languages
from citemesh.store.contract import Vectors
from citemesh.store.embedded.quantize import quantize
from citemesh.store.labels import section_labels
from citemesh.store.toc_match import title_words
from citemesh.v1.document_pb2 import AccessPolicy, Section
from citemesh.v1.evidence_pb2 import Passage


def write_access(connection: sqlite3.Connection, document_row: int, access: AccessPolicy) -> None:
    """Replace who may read a document."""
    check_access(access)
    connection.execute(
        "UPDATE documents SET everyone = ?, access = ? WHERE document_row = ?",
        (int(access.HasField("everyone")), access.SerializeToString(), document_row),
    )
    connection.execute("DELETE FROM access_entries WHERE document_row = ?", (document_row,))
    connection.executemany(
        "INSERT INTO access_entries VALUES (?, ?)",
        [(document_row, reader) for reader in sorted(allowed_readers(access))],
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
        connection.executemany(
            "INSERT INTO section_words VALUES (?, ?, ?)",
            [(tenant_id, word, row) for word in title_words(section, language)],
        )
        connection.executemany(
            "INSERT INTO section_labels VALUES (?, ?, ?)",
            [(tenant_id, label, row) for label in sorted(section_labels(section))],
        )


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
    connection.executemany(
        "INSERT OR IGNORE INTO tenant_languages VALUES (?, ?)",
        [(tenant_id, language) for language in sorted(find_languages(passages))],
    )


def remove_passages(connection: sqlite3.Connection, passage_rows: Sequence[int]) -> None:
    """Remove passages and their vectors."""
    connection.execute(
        "DELETE FROM passages WHERE passage_row IN (SELECT value FROM json_each(?))", (json.dumps(list(passage_rows)),)
    )
