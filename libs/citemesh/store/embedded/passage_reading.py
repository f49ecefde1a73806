"""Reading passages by key, id, label or section; nothing outside the filter comes back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from citemesh.store.contract import IndexCounts, Place, VersionFilter
from citemesh.store.embedded.document_reading import read_sections
from citemesh.store.embedded.text_lists import write_texts
from citemesh.store.labels import canonical_label
from citemesh.store.toc_match import descend
from citemesh.store.visibility import is_allowed
from citemesh.v1.evidence_pb2 import Passage


def read_places(
    connection: sqlite3.Connection, keys: Sequence[int], passage_ids: Sequence[str], versions: VersionFilter
) -> list[Place]:
    """See StoreReader.places."""
    rows: list[tuple[int, str, int, str]] = []
    if keys:
        rows += connection.execute(
            "SELECT passage_row, passage_id, version_row, section_id FROM passages"
            " WHERE passage_row IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )
    if passage_ids:
        rows += connection.execute(
            "SELECT passage_row, passage_id, version_row, section_id FROM passages"
            " WHERE tenant_id = ? AND passage_id IN (SELECT value FROM json_each(?))",
            (versions.tenant_id, write_texts(passage_ids)),
        )
    allowed = {row[0]: row for row in rows if is_allowed(versions, row[2])}
    documents = _read_document_ids(connection, {row[2] for row in allowed.values()})
    return [
        Place(key, passage_id, documents[version_row], section_id)
        for key, passage_id, version_row, section_id in allowed.values()
    ]


def _read_document_ids(connection: sqlite3.Connection, version_rows: Iterable[int]) -> dict[int, str]:
    rows = connection.execute(
        "SELECT version_row, document_id FROM versions JOIN documents USING (document_row)"
        " WHERE version_row IN (SELECT value FROM json_each(?))",
        (json.dumps(list(version_rows)),),
    )
    return {int(row[0]): str(row[1]) for row in rows}


def read_by_key(connection: sqlite3.Connection, keys: Sequence[int], versions: VersionFilter) -> dict[int, Passage]:
    """See StoreReader.passages_by_key."""
    rows = connection.execute(
        "SELECT passage_row, version_row, passage FROM passages WHERE passage_row IN (SELECT value FROM json_each(?))",
        (json.dumps(list(keys)),),
    )
    return {int(row[0]): Passage.FromString(row[2]) for row in rows if is_allowed(versions, row[1])}


def read_by_id(connection: sqlite3.Connection, ids: Sequence[str], versions: VersionFilter) -> dict[str, Passage]:
    """See StoreReader.passages_by_id."""
    rows = connection.execute(
        "SELECT passage_id, version_row, passage FROM passages"
        " WHERE tenant_id = ? AND passage_id IN (SELECT value FROM json_each(?))",
        (versions.tenant_id, write_texts(ids)),
    )
    return {str(row[0]): Passage.FromString(row[2]) for row in rows if is_allowed(versions, row[1])}


def find_document_version(connection: sqlite3.Connection, document_id: str, versions: VersionFilter) -> int | None:
    """The row of the document's version that is in the filter."""
    rows = connection.execute(
        "SELECT version_row FROM versions JOIN documents USING (document_row) WHERE tenant_id = ? AND document_id = ?",
        (versions.tenant_id, document_id),
    )
    return next((int(row[0]) for row in rows if is_allowed(versions, row[0])), None)


def read_document(connection: sqlite3.Connection, version_row: int) -> list[Passage]:
    """All passages of a version in order."""
    rows = connection.execute("SELECT passage FROM passages WHERE version_row = ? ORDER BY ordinal", (version_row,))
    return [Passage.FromString(row[0]) for row in rows]


def read_by_label(
    connection: sqlite3.Connection, label: str, versions: VersionFilter, document_ids: Sequence[str] | None
) -> list[Passage]:
    """The passages that are the place of `label`, or that lie in a section that bears it."""
    label = canonical_label(label)
    places: dict[int, list[str]] = {}
    labelled: list[tuple[int, Passage]] = []
    for row in connection.execute(
        "SELECT version_row, passage FROM passages WHERE tenant_id = ? AND label = ?", (versions.tenant_id, label)
    ):
        if is_allowed(versions, row[0]):
            labelled.append((int(row[0]), Passage.FromString(row[1])))
    for row in connection.execute(
        "SELECT version_row, section_id FROM section_labels JOIN sections USING (section_row)"
        " WHERE tenant_id = ? AND label = ?",
        (versions.tenant_id, label),
    ):
        if is_allowed(versions, row[0]):
            places.setdefault(int(row[0]), []).append(str(row[1]))
    for version_row, section_ids in places.items():
        labelled += [(version_row, each) for each in read_section(connection, version_row, section_ids)]
    found = {passage.passage_id: passage for _, passage in labelled}
    wanted = None if document_ids is None else set(document_ids)
    kept = [passage for passage in found.values() if wanted is None or passage.document_id in wanted]
    return sorted(kept, key=lambda passage: (passage.document_id, passage.ordinal))


def read_section(
    connection: sqlite3.Connection, version_row: int, section_ids: Iterable[str], *, with_subsections: bool = True
) -> list[Passage]:
    """The passages of sections of one version, in order."""
    wanted = set(section_ids)
    if with_subsections:
        wanted = descend(read_sections(connection, version_row), wanted)
    rows = connection.execute(
        "SELECT passage FROM passages WHERE version_row = ? AND section_id IN (SELECT value FROM json_each(?))"
        " ORDER BY ordinal",
        (version_row, write_texts(sorted(wanted))),
    )
    return [Passage.FromString(row[0]) for row in rows]


def count_reached(connection: sqlite3.Connection, versions: VersionFilter) -> IndexCounts:
    """Documents and passages that the filter reaches."""
    row = connection.execute(
        "SELECT count(*) FROM passages WHERE version_row IN (SELECT value FROM json_each(?))",
        (json.dumps(versions.version_keys),),
    ).fetchone()
    # A filter holds one version of a document at most.
    return IndexCounts(document_count=len(versions.version_keys), passage_count=int(row[0]))
