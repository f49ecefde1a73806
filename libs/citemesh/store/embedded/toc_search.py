"""Finding sections by the words of their titles or by their numbers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Set

from citemesh.store.contract import SectionHit, VersionFilter
from citemesh.store.embedded.text_lists import write_texts
from citemesh.store.toc_match import FoundSection, read_toc_question
from citemesh.v1.document_pb2 import Section

# A word that so many titles hold does not lead to one of them; it still counts where another word does.
_MAX_TITLES_PER_WORD = 200
_MAX_ROWS = 500


def search_sections(
    connection: sqlite3.Connection, text: str, versions: VersionFilter, limit: int, languages: tuple[str, ...]
) -> list[SectionHit]:
    """See StoreReader.toc_search."""
    question = read_toc_question(text, languages)
    named = _rows_by_label(connection, question.labels, versions)
    leading = _leading_forms(connection, question.forms, versions.tenant_id)
    rows = {**_rows_by_words(connection, leading, versions), **named}
    found = (
        FoundSection(int(row[1]), str(row[2]), Section.FromString(row[3]), is_named=section_row in named)
        for section_row, row in rows.items()
    )
    return question.rank(found, limit)


_Row = tuple[int, int, str, bytes]


def _leading_forms(connection: sqlite3.Connection, forms: Set[str], tenant_id: str) -> Set[str]:
    """The forms that few titles hold; the rarest one where all are common."""
    counts = {
        str(word): int(count)
        for word, count in connection.execute(
            "SELECT word, count(*) FROM section_words"
            " WHERE tenant_id = ? AND word IN (SELECT value FROM json_each(?)) GROUP BY word",
            (tenant_id, write_texts(sorted(forms))),
        )
    }
    leading = {word for word, count in counts.items() if count <= _MAX_TITLES_PER_WORD}
    return leading or set(sorted(counts, key=lambda word: counts[word])[:1])


def _rows_by_words(connection: sqlite3.Connection, forms: Set[str], versions: VersionFilter) -> dict[int, _Row]:
    rows = connection.execute(
        "SELECT section_row, version_row, document_id, section FROM"
        " (SELECT section_row, count(*) AS matched FROM section_words"
        "  WHERE tenant_id = :tenant_id AND word IN (SELECT value FROM json_each(:words)) GROUP BY section_row)"
        " JOIN sections USING (section_row) JOIN versions USING (version_row) JOIN documents USING (document_row)"
        " WHERE version_row IN (SELECT value FROM json_each(:versions)) ORDER BY matched DESC, section_row"
        " LIMIT :count",
        {
            "tenant_id": versions.tenant_id,
            "words": write_texts(sorted(forms)),
            "versions": json.dumps(versions.version_keys),
            "count": _MAX_ROWS,
        },
    )
    return {int(row[0]): row for row in rows}


def _rows_by_label(connection: sqlite3.Connection, labels: Set[str], versions: VersionFilter) -> dict[int, _Row]:
    if not labels:
        return {}
    rows = connection.execute(
        "SELECT section_row, version_row, document_id, section FROM section_labels"
        " JOIN sections USING (section_row) JOIN versions USING (version_row) JOIN documents USING (document_row)"
        " WHERE section_labels.tenant_id = :tenant_id AND label IN (SELECT value FROM json_each(:labels))"
        " AND version_row IN (SELECT value FROM json_each(:versions)) LIMIT :count",
        {
            "tenant_id": versions.tenant_id,
            "labels": write_texts(sorted(labels)),
            "versions": json.dumps(versions.version_keys),
            "count": _MAX_ROWS,
        },
    )
    return {int(row[0]): row for row in rows}
