"""Deletes a document: its record first, which readers learn of, then all that belonged to its versions."""

from __future__ import annotations

from citemesh.store.files import OriginalFiles
from citemesh.store.opensearch.commits import Commits
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.gate import Gate
from citemesh.store.opensearch.indexes import read_generation
from citemesh.store.opensearch.leftovers import remove_parts
from citemesh.store.opensearch.records import DocumentRecord


class Removals:
    """One writer's way to delete. One document at a time.

    The record stays, without versions. Until it is done it names what is left, so that a later try ends what an earlier
    one began: it tells readers who were not told, and removes the rest.
    """

    def __init__(self, connection: Connection, commits: Commits, gate: Gate, files: OriginalFiles) -> None:
        self._connection = connection
        self._commits = commits
        self._gate = gate
        self._files = files

    def run(self, tenant_id: str, document_id: str) -> int:
        """See StoreWriter.delete. Raises STORE_UNAVAILABLE while all vectors are exchanged."""
        record, condition = self._commits.find(tenant_id, document_id)
        if record is None or not (record.is_there or record.removed):
            return 0
        self._gate.enter(None)
        try:
            if record.is_there:
                record.remove_versions()
                self._commits.commit(record, condition, permissions=True)
            if read_generation(self._connection) is not None:
                remove_parts(self._connection, [each.version_key for each in record.removed])
            self._remove_files(tenant_id, {each.content_hash for each in record.removed})
            self._commits.forget_removed(tenant_id, document_id)
        finally:
            self._gate.leave()
        return len(record.removed)

    def _remove_files(self, tenant_id: str, hashes: set[str]) -> None:
        query = {"term": {"tenant_id": tenant_id}}
        for hit in self._connection.scan(self._connection.names.documents, query, "document_key", {}):
            record = DocumentRecord.from_source(hit["_source"])
            hashes = hashes - {each.document.content_hash for each in record.versions}
        self._files.remove(tenant_id, hashes)
