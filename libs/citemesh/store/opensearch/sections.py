"""Searching the sections of the versions of a filter: by words of their titles, by number, by label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from citemesh.store.contract import SectionHit, VersionFilter
from citemesh.store.opensearch import searches
from citemesh.store.opensearch.connection import MAX_READ, Connection, columns, read_columns, read_hits
from citemesh.store.opensearch.entries import read_section, read_version_sections
from citemesh.store.toc_match import FoundSection, TocQuestion, descend

# Of these the question's own measure takes the best; the cluster's order puts titles with rare words first.
_MAX_FOUND: Final = 200
_FIELDS: Final = ("section_key", "version_key", "section")


def search_sections(
    connection: Connection, question: TocQuestion, versions: VersionFilter, document_ids: dict[int, str], limit: int
) -> list[SectionHit]:
    """See StoreReader.toc_search; `document_ids` names the documents of the filter's versions."""
    asked = [("labels", sorted(question.labels)), ("words", sorted(question.forms))]
    asked = [(field, values) for field, values in asked if values]
    if not asked:
        return []
    lines: list[dict[str, Any]] = []
    for field, values in asked:
        inner = searches.filtered(searches.any_of(field, values), versions)
        body = {"size": _MAX_FOUND, "track_total_hits": False, "query": inner, **columns(_FIELDS)}
        lines += [{}, body]
    answer = connection.run(lambda client: client.msearch(index=connection.names.sections, body=lines))
    found: dict[int, FoundSection] = {}
    for (field, _), part in zip(asked, answer["responses"], strict=True):
        for row in map(read_columns, read_hits(part)):
            key, version_key = row["section_key"], row["version_key"]
            if version_key in document_ids and key not in found:
                is_named = field == "labels"
                found[key] = FoundSection(version_key, document_ids[version_key], read_section(row), is_named)
    return question.rank(found.values(), limit)


def find_labelled(connection: Connection, label: str, versions: VersionFilter) -> dict[int, set[str]]:
    """For each version the sections that bear `label`, with all that is below them."""
    query = {"bool": {"filter": [{"term": {"labels": label}}, *searches.within(versions)]}}
    bearing: dict[int, set[str]] = {}
    for row in connection.read(connection.names.sections, query, "section_key", ("version_key", "section_id")):
        bearing.setdefault(row["version_key"], set()).add(row["section_id"])
    below: dict[int, set[str]] = {}
    for keys in _parts(list(bearing), MAX_READ):
        for version_key, sections in read_version_sections(connection, keys).items():
            below[version_key] = descend(sections, bearing[version_key])
    return below


def _parts(keys: Sequence[int], size: int) -> list[Sequence[int]]:
    return [keys[start : start + size] for start in range(0, len(keys), size)]
