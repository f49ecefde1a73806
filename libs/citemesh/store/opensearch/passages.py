"""Reading passages by key, id, label or section; nothing outside the filter comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from citemesh.store.contract import VersionFilter
from citemesh.store.opensearch import searches
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.entries import read_passage
from citemesh.store.opensearch.layout import version_of
from citemesh.store.opensearch.sections import find_labelled
from citemesh.store.visibility import is_allowed
from citemesh.v1.evidence_pb2 import Passage

Query = dict[str, Any]


def read_by_key(connection: Connection, keys: Sequence[int], versions: VersionFilter) -> dict[int, Passage]:
    """See StoreReader.passages_by_key."""
    allowed = {key for key in keys if is_allowed(versions, version_of(key))}
    if not allowed:
        return {}
    query = {"bool": {"filter": [searches.of_tenant(versions), {"terms": {"passage_key": sorted(allowed)}}]}}
    return _read(connection, query, versions)


def read_by_id(connection: Connection, passage_ids: Sequence[str], versions: VersionFilter) -> dict[int, Passage]:
    """Passages by their key."""
    if not passage_ids or versions.is_empty:
        return {}
    # Not within the versions: few passages bear these ids, and the answer is checked in any case.
    query = {"bool": {"filter": [searches.of_tenant(versions), {"terms": {"passage_id": list(passage_ids)}}]}}
    return _read(connection, query, versions)


def read_version(
    connection: Connection, version_key: int, versions: VersionFilter, section_ids: set[str] | None = None
) -> list[Passage]:
    """The passages of one version in the order of the text; of `section_ids` only (None: of all)."""
    clauses: list[Query] = [searches.of_tenant(versions), {"term": {"version_key": version_key}}]
    if section_ids is not None:
        clauses.append({"terms": {"section_id": sorted(section_ids)}})
    found = _read(connection, {"bool": {"filter": clauses}}, versions)
    return sorted(found.values(), key=lambda passage: passage.ordinal)


def read_by_label(
    connection: Connection, label: str, versions: VersionFilter, version_keys: Sequence[int] | None
) -> list[Passage]:
    """The passages that are the place of `label`, or that lie in a section that bears it, by document and place.

    `version_keys` narrows the filter.
    """
    if version_keys is not None:
        versions = replace(versions, version_keys=tuple(sorted(version_keys)))
    if versions.is_empty or not label:
        return []
    found = _read(connection, {"bool": {"filter": [{"term": {"label": label}}, *searches.within(versions)]}}, versions)
    sections = find_labelled(connection, label, versions)
    if sections:
        named = sorted({section_id for below in sections.values() for section_id in below})
        of_versions = [{"terms": {"version_key": sorted(sections)}}, {"terms": {"section_id": named}}]
        query = {"bool": {"filter": [searches.of_tenant(versions), *of_versions]}}
        for key, passage in _read(connection, query, versions).items():
            # Versions use the same ids for other sections.
            if passage.parent_id in sections[version_of(key)]:
                found[key] = passage
    return sorted(found.values(), key=lambda passage: (passage.document_id, passage.ordinal))


def _read(connection: Connection, query: Query, versions: VersionFilter) -> dict[int, Passage]:
    rows = connection.read(connection.names.passages, query, "passage_key", ("passage_key", "passage"))
    return {
        row["passage_key"]: read_passage(row) for row in rows if is_allowed(versions, version_of(row["passage_key"]))
    }
