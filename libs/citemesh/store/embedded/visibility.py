"""Which versions a principal may read, asked of the database."""

from __future__ import annotations

import sqlite3

from citemesh.auth.principal import Principal
from citemesh.store.access import reader_entries, scope_documents
from citemesh.store.embedded.changes import read_state
from citemesh.store.embedded.database import Database
from citemesh.store.embedded.text_lists import write_texts
from citemesh.store.versions import VersionSpan
from citemesh.store.visibility import View, Views
from citemesh.v1.question_pb2 import Scope

STORE_NAME = "embedded"

# Used in every query that touches documents; :readers is a JSON list of the principal's entries.
MAY_READ = (
    "documents.tenant_id = :tenant_id AND (documents.everyone = 1 OR EXISTS (SELECT 1 FROM access_entries AS entry"
    " WHERE entry.document_row = documents.document_row AND entry.reader IN (SELECT value FROM json_each(:readers))))"
)


class Visibility:
    """The views of one reader. Safe to call from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._views = Views(STORE_NAME)

    def view(self, principal: Principal, scope: Scope | None) -> View:
        """What `principal` may read in `scope` now."""
        document_ids = scope_documents(scope)
        with self._database.snapshot() as connection:
            state = read_state(connection, principal.tenant_id)
            return self._views.get(
                principal, document_ids, state, lambda: _read_spans(connection, principal, document_ids)
            )


def list_readers(principal: Principal) -> str:
    """The entries of `access_entries` that let `principal` read, as a JSON list."""
    return write_texts(sorted(reader_entries(principal)))


def _read_spans(
    connection: sqlite3.Connection, principal: Principal, document_ids: frozenset[str] | None
) -> list[VersionSpan]:
    narrowed = "" if document_ids is None else " AND documents.document_id IN (SELECT value FROM json_each(:ids))"
    rows = connection.execute(
        # Only fixed text is put into the statement.
        "SELECT version_row, documents.document_row, document_version, from_us, to_us"  # noqa: S608
        f" FROM documents JOIN versions USING (document_row) WHERE {MAY_READ}{narrowed}",
        {
            "tenant_id": principal.tenant_id,
            "readers": list_readers(principal),
            "ids": write_texts(sorted(document_ids or ())),
        },
    )
    return [VersionSpan(*row) for row in rows]
