"""How a record of a document becomes the state of its tenant: one conditional write after the other."""

from __future__ import annotations

from typing import Any, Final

from citemesh.store.errors import document_not_found, store_unavailable
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.layout import record_id, tenant_key
from citemesh.store.opensearch.records import DocumentRecord
from citemesh.store.visibility import TenantState

_ATTEMPTS: Final = 8
_NUMBERS: Final = "numbers"

Condition = dict[str, Any]


class Commits:
    """Records as they are found and written. Safe to use from several threads and processes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._names = connection.names

    def find(self, tenant_id: str, document_id: str) -> tuple[DocumentRecord | None, Condition | None]:
        """A document's record and the condition to write it again; a deleted document has no versions."""
        found = self._connection.get(self._names.documents, record_id(tenant_id, document_id))
        return (None, None) if found is None else (DocumentRecord.from_source(found[0]), found[1])

    def find_known(self, tenant_id: str, document_id: str) -> tuple[DocumentRecord, Condition | None]:
        """The same for a document that some reader may find. Raises DOCUMENT_NOT_FOUND."""
        record, condition = self.find(tenant_id, document_id)
        if record is None or not record.is_there:
            raise document_not_found(document_id)
        return record, condition

    def commit(self, record: DocumentRecord, condition: Condition | None, *, permissions: bool = False) -> TenantState:
        """Write a record and the tenant's new state; readers look for records above the state that they know.

        Where this ends in between, the record says that readers were not told of it: commit it again. Raises
        STORE_UNAVAILABLE where another writer changed the record: then nothing was written.
        """
        record.is_told = False
        key = record_id(record.tenant_id, record.document_id)
        state_key = tenant_key(record.tenant_id)
        for _ in range(_ATTEMPTS):
            found = self._connection.get(self._names.state, state_key)
            old, state_condition = (TenantState(), None) if found is None else (TenantState(**found[0]), found[1])
            new = TenantState(old.change_sequence + 1, old.permission_version + int(permissions))
            record.change_sequence = new.change_sequence
            condition = self._connection.put(self._names.documents, key, record.to_source(), condition, refresh=True)
            if condition is None:
                raise store_unavailable("Another writer changed the document meanwhile: try again.")
            source = {"change_sequence": new.change_sequence, "permission_version": new.permission_version}
            if self._connection.put(self._names.state, state_key, source, state_condition, refresh=False):
                record.is_told = True
                # Where another writer changed the record since, it is that one's to say.
                self._connection.put(self._names.documents, key, record.to_source(), condition, refresh=False)
                return new
            # Another writer took this place: the record must stand above it, or readers pass it by. Where that writer
            # changed this very record, the condition no longer holds.
        raise store_unavailable("Too many writers change this tenant's documents at once.")

    def forget_removed(self, tenant_id: str, document_id: str) -> None:
        """Say that nothing is left of a deleted document's versions."""
        record, condition = self.find(tenant_id, document_id)
        # What readers were not told of is committed again, by what is left.
        if record is not None and record.is_told and not record.versions:
            record.removed = []
            key = record_id(tenant_id, document_id)
            self._connection.put(self._names.documents, key, record.to_source(), condition, refresh=False)

    def take_numbers(self, wanted: int) -> int:
        """The first of `wanted` numbers that no document and no version had before."""
        while True:
            found = self._connection.get(self._names.state, _NUMBERS)
            taken = 0 if found is None else int(found[0]["change_sequence"])
            source = {"change_sequence": taken + wanted}
            condition = None if found is None else found[1]
            if self._connection.put(self._names.state, _NUMBERS, source, condition, refresh=False):
                return taken + 1
