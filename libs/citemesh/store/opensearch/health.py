"""What is wrong with the indexes on the cluster, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from citemesh.store.opensearch.connection import open_connection
from citemesh.store.opensearch.indexes import find_drift
from citemesh.store.opensearch.leftovers import ABANDONED_MS, find_leftovers


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    detail: str
    remedy: str


def find_problems(environ: Mapping[str, str], *, older_than_ms: int = ABANDONED_MS) -> list[Problem]:
    """Indexes of another form, and entries left by writers that ended `older_than_ms` ago or before.

    Raises STORE_UNAVAILABLE where the cluster cannot be asked, ConfigurationError where the settings are wrong.
    """
    connection = open_connection(environ)
    try:
        drift = find_drift(connection)
        if drift:
            return [Problem("; ".join(drift), "Ingest under another PREFIX, or put the fields right.")]
        leftovers = find_leftovers(connection, older_than_ms=older_than_ms)
    finally:
        connection.close()
    if not leftovers:
        return []
    entries = sum(each.count for each in leftovers)
    versions = len({each.version_key for each in leftovers})
    detail = f"{entries} passages and sections of {versions} unfinished writes take room; no search finds them"
    return [Problem(detail, "Restart the documents service: it removes them at its start.")]
