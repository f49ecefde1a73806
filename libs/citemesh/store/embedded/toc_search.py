"""Finding sections by the words of their titles or by their numbers."""

from __future__ import annotations

import json
import re
import sqlite3
from functools import lru_cache

from citemesh.store.contract import SectionHit, VersionFilter
from citemesh.store.embedded.analysis import content_words, word_forms
from citemesh.store.labels import canonical_label
from citemesh.v1.document_pb2 import Section

# A word that so many titles hold does not lead to one of them; it still counts where another word does.
_MAX_TITLES_PER_WORD = 200
_MAX_ROWS = 500
_LABEL = re.compile(
    r"(?:\b(?:sections?|sec\.|chapter|part|article|clause|appendix|annex|schedule)|§+)\s*"
    r"([0-9]+[a-z]?(?:[.-][0-9]+[a-z]?)*|[a-z]\b|[ivxlc]+\b)",
    re.IGNORECASE,
)


def search_sections(
    connection: sqlite3.Connection, text: str, versions: VersionFilter, limit: int, languages: tuple[str, ...]
) -> list[SectionHit]:
    """See StoreReader.toc_search."""
    forms = {form for word in content_words(text, languages) for form in word_forms(word, languages)}
    labels = {canonical_label(match.group()) for match in _LABEL.finditer(text)}
    named = _rows_by_label(connection, labels, versions)
    counted = _rows_by_words(connection, _leading_forms(connection, forms, versions.tenant_id), versions)
    rows = {**counted, **named}
    hits = [_rate(row, forms, languages, is_named=section_row in named) for section_row, row in rows.items()]
    hits.sort(key=lambda hit: (-hit.leg_score, hit.document_id, hit.section.section_id))
    return hits[:limit]


_Row = tuple[int, int, str, bytes]


def _leading_forms(connection: sqlite3.Connection, forms: set[str], tenant_id: str) -> set[str]:
    """The forms that few titles hold; the rarest one where all are common."""
    counts = {
        str(word): int(count)
        for word, count in connection.execute(
            "SELECT word, count(*) FROM section_words"
            " WHERE tenant_id = ? AND word IN (SELECT value FROM json_each(?)) GROUP BY word",
            (tenant_id, json.dumps(sorted(forms))),
        )
    }
    leading = {word for word, count in counts.items() if count <= _MAX_TITLES_PER_WORD}
    return leading or set(sorted(counts, key=lambda word: counts[word])[:1])


def _rows_by_words(connection: sqlite3.Connection, forms: set[str], versions: VersionFilter) -> dict[int, _Row]:
    rows = connection.execute(
        "SELECT section_row, version_row, document_id, section FROM"
        " (SELECT section_row, count(*) AS matched FROM section_words"
        "  WHERE tenant_id = :tenant_id AND word IN (SELECT value FROM json_each(:words)) GROUP BY section_row)"
        " JOIN sections USING (section_row) JOIN versions USING (version_row) JOIN documents USING (document_row)"
        " WHERE version_row IN (SELECT value FROM json_each(:versions)) ORDER BY matched DESC, section_row"
        " LIMIT :count",
        {
            "tenant_id": versions.tenant_id,
            "words": json.dumps(sorted(forms)),
            "versions": json.dumps(versions.version_keys),
            "count": _MAX_ROWS,
        },
    )
    return {int(row[0]): row for row in rows}


def _rows_by_label(connection: sqlite3.Connection, labels: set[str], versions: VersionFilter) -> dict[int, _Row]:
    if not labels:
        return {}
    rows = connection.execute(
        "SELECT section_row, version_row, document_id, section FROM section_labels"
        " JOIN sections USING (section_row) JOIN versions USING (version_row) JOIN documents USING (document_row)"
        " WHERE section_labels.tenant_id = :tenant_id AND label IN (SELECT value FROM json_each(:labels))"
        " AND version_row IN (SELECT value FROM json_each(:versions)) LIMIT :count",
        {
            "tenant_id": versions.tenant_id,
            "labels": json.dumps(sorted(labels)),
            "versions": json.dumps(versions.version_keys),
            "count": _MAX_ROWS,
        },
    )
    return {int(row[0]): row for row in rows}


def _rate(row: _Row, forms: set[str], languages: tuple[str, ...], *, is_named: bool) -> SectionHit:
    """How much of the title the question holds, and how much of the question the title holds, as one measure."""
    section = Section.FromString(row[3])
    words = _title_forms(section.title, languages)
    matched = sum(1 for word in words if not forms.isdisjoint(word))
    of_title = matched / len(words) if words else 0.0
    of_question = matched / len(forms) if forms else 0.0
    total = of_title + of_question
    measure = 2.0 * of_title * of_question / total if total else 0.0
    # A long question never fills a title, so a title that is filled counts on its own as well.
    return SectionHit(int(row[1]), str(row[2]), section, measure + 0.5 * of_title + (1.0 if is_named else 0.0))


@lru_cache(maxsize=20_000)
def _title_forms(title: str, languages: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """For each content word of a title the forms by which a question may name it."""
    return tuple(frozenset(word_forms(word, ("en", *languages))) for word in content_words(title, languages))
