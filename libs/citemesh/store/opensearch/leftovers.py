"""What the indexes hold by version, and what no record names: left by a writer that ended between two steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from citemesh.store.opensearch.bulk import refresh_index
from citemesh.store.opensearch.connection import Connection, read_hits
from citemesh.store.opensearch.entries import now_ms
from citemesh.store.opensearch.indexes import read_generation

_PAGE: Final = 5_000
_TERMS: Final = 10_000
_REMOVAL_TIMEOUT_S: Final = 60.0
"""A version has up to a million passages."""

ABANDONED_MS: Final = 3_600_000
"""After this time nobody is still at work on a version that no record names."""


@dataclass(frozen=True, slots=True)
class Held:
    """What an index holds of one version."""

    version_key: int
    count: int
    writer_id: str
    written_ms: int


def count_versions(connection: Connection, index: str) -> list[Held]:
    """What `index` holds now, by version."""
    refresh_index(connection, index)
    held: list[Held] = []
    after: dict[str, Any] = {}
    while True:
        sources = [{name: {"terms": {"field": name}}} for name in ("version_key", "writer_id")]
        composite = {"size": _PAGE, "sources": sources, **after}
        written = {"written_ms": {"max": {"field": "written_ms"}}}
        body = {"size": 0, "aggs": {"held": {"composite": composite, "aggs": written}}}
        answer = connection.run(lambda client: client.search(index=index, body=body))  # noqa: B023  # called at once
        read_hits(answer)
        found = answer["aggregations"]["held"]
        held += [
            Held(
                int(each["key"]["version_key"]),
                int(each["doc_count"]),
                str(each["key"]["writer_id"]),
                int(each["written_ms"]["value"]),
            )
            for each in found["buckets"]
        ]
        if "after_key" not in found:
            return held
        after = {"after": found["after_key"]}


def find_named(connection: Connection) -> set[int]:
    """The versions that a record names."""
    documents = connection.names.documents
    refresh_index(connection, documents)
    only_keys = {"_source": ["record.versions.version_key"]}
    records = connection.scan(documents, {"match_all": {}}, "document_key", only_keys)
    return {
        version["version_key"] for hit in records for version in hit["_source"].get("record", {}).get("versions", ())
    }


def find_leftovers(connection: Connection, *, writer_id: str = "", older_than_ms: int = ABANDONED_MS) -> list[Held]:
    """What no record names and nobody is at work on: of `writer_id`, or written so long ago."""
    names = connection.names
    indexes = [names.sections, *([names.passages] if read_generation(connection) else [])]
    # The indexes before the records: what is committed in between is named.
    held = [each for index in indexes for each in count_versions(connection, index)]
    named = find_named(connection)
    latest = now_ms() - older_than_ms
    return [
        each
        for each in held
        if each.version_key not in named and (each.writer_id == writer_id or each.written_ms < latest)
    ]


def remove_versions(connection: Connection, index: str, version_keys: list[int]) -> None:
    """Remove all that an index holds of versions."""
    params = {"refresh": "true", "conflicts": "proceed", "request_timeout": _REMOVAL_TIMEOUT_S}
    for start in range(0, len(version_keys), _TERMS):
        body = {"query": {"terms": {"version_key": version_keys[start : start + _TERMS]}}}
        connection.run(
            lambda client: client.delete_by_query(index=index, body=body, params=params)  # noqa: B023  # called at once
        )


def remove_leftovers(connection: Connection, writer_id: str) -> int:
    """Remove what `writer_id`, which begins anew, or anyone long ago left behind; return how many entries."""
    leftovers = find_leftovers(connection, writer_id=writer_id)
    if leftovers:
        remove_parts(connection, sorted({each.version_key for each in leftovers}))
    return sum(each.count for each in leftovers)


def remove_parts(connection: Connection, version_keys: list[int]) -> None:
    """Remove passages and sections of versions that no record names."""
    names = connection.names
    remove_versions(connection, f"{names.passages},{names.sections}", version_keys)
