"""The passages and sections of a version: written before a record names them, removed when none does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from citemesh.rpc.errors import ServiceError, invalid_argument
from citemesh.store.contract import Vectors
from citemesh.store.opensearch.bulk import write_entries
from citemesh.store.opensearch.commits import Commits, Condition
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.entries import Owner, make_passages, make_sections, now_ms
from citemesh.store.opensearch.gate import Gate
from citemesh.store.opensearch.layout import MAX_PASSAGES
from citemesh.store.opensearch.leftovers import remove_parts
from citemesh.store.opensearch.records import DocumentRecord, VersionRecord
from citemesh.v1.document_pb2 import Section
from citemesh.v1.evidence_pb2 import Passage


class Parts:
    """One writer's way to write versions. One version at a time."""

    def __init__(self, connection: Connection, commits: Commits, writer_id: str) -> None:
        self._connection = connection
        self._commits = commits
        self._writer_id = writer_id
        self.gate = Gate(connection, writer_id)

    def write(
        self,
        index: str,
        tenant_id: str,
        version: VersionRecord,
        *,
        sections: Sequence[Section],
        passages: Sequence[Passage],
        vectors: Iterable[Vectors],
    ) -> None:
        """Write sections, and passages to `index`, for searches to find them. Raises INVALID_FIELD for too many."""
        if max(len(passages), len(sections)) > MAX_PASSAGES:
            raise invalid_argument("document", f"has more than {MAX_PASSAGES} passages or sections")
        owner = Owner(tenant_id, version.version_key, self._writer_id, now_ms())
        language = version.document.profile.language
        entries = make_sections(self._connection.names.sections, owner, sections, language)
        entries += make_passages(index, owner, enumerate(passages), vectors)
        write_entries(self._connection, entries, refresh=True)

    def commit(
        self,
        index: str,
        record: DocumentRecord,
        version: VersionRecord,
        condition: Condition | None,
        *,
        permissions: bool = False,
    ) -> None:
        """Write the record that names what was written to `index`. Raises where `index` is given up meanwhile."""
        try:
            self.gate.enter(index)
        except BaseException:  # nothing will ever name the parts; raised again
            with suppress(ServiceError):
                remove_parts(self._connection, [version.version_key])
            raise
        try:
            self._commits.commit(record, condition, permissions=permissions)
        finally:
            self.gate.leave()
