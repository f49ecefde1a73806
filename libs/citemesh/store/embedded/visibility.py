"""Which versions a principal may read and which are in force: computed in SQL, cached until something changes."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from citemesh.auth.principal import Principal
from citemesh.caches.recently_used import RecentlyUsed
from citemesh.rpc.errors import invalid_argument
from citemesh.store.contract import VersionFilter
from citemesh.store.embedded.changes import TenantState, read_state
from citemesh.store.embedded.database import Database
from citemesh.store.versions import VersionSpan, choose_in_force, find_boundaries
from citemesh.v1.question_pb2 import Scope

_MAX_CACHED_VIEWS = 256
_MAX_CACHED_MOMENTS = 16

# Used in every query that touches documents; :readers is a JSON list of the principal's entries.
MAY_READ = (
    "documents.tenant_id = :tenant_id AND (documents.everyone = 1 OR EXISTS (SELECT 1 FROM access_entries AS entry"
    " WHERE entry.document_row = documents.document_row AND entry.reader IN (SELECT value FROM json_each(:readers))))"
)


@dataclass
class _View:
    """Every version that one principal may read in one scope, in force or not, as of one change sequence."""

    state: TenantState
    spans: list[VersionSpan]
    boundaries: Sequence[int]
    filters: RecentlyUsed[int, VersionFilter]


class Visibility:
    """Answers `allowed_versions`. Safe to call from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._views: RecentlyUsed[tuple[str, str, str], _View] = RecentlyUsed(_MAX_CACHED_VIEWS)

    def allowed_versions(self, principal: Principal, scope: Scope | None, as_of: datetime | None) -> VersionFilter:
        """See StoreReader.allowed_versions."""
        view = self._view(principal, scope_documents(scope))
        moment = to_microseconds(as_of)
        # Between two boundaries the choice is the same, so one filter serves every moment there.
        interval = bisect_right(view.boundaries, moment)
        allowed = view.filters.get(interval)
        if allowed is None:
            keys = tuple(span.version_key for span in choose_in_force(view.spans, moment))
            allowed = _make_filter(principal.tenant_id, keys, view.state)
            view.filters.put(interval, allowed)
        return allowed

    def readable_versions(self, principal: Principal, scope: Scope | None) -> VersionFilter:
        """Every version that may be read, in force or not."""
        view = self._view(principal, scope_documents(scope))
        keys = tuple(sorted(span.version_key for span in view.spans))
        return _make_filter(principal.tenant_id, keys, view.state)

    def _view(self, principal: Principal, document_ids: tuple[str, ...] | None) -> _View:
        key = (
            principal.tenant_id,
            reader_entries(principal),
            "" if document_ids is None else json.dumps(sorted(set(document_ids))),
        )
        with self._database.snapshot() as connection:
            state = read_state(connection, principal.tenant_id)
            view = self._views.get(key)
            if view is not None and view.state == state:
                return view
            spans = _read_spans(connection, principal, document_ids)
        view = _View(state, spans, find_boundaries(spans), RecentlyUsed(_MAX_CACHED_MOMENTS))
        self._views.put(key, view)
        return view


def reader_entries(principal: Principal) -> str:
    """The entries of `access_entries` that let `principal` read, as a JSON list."""
    entries = [f"user:{principal.user_id}"] if principal.user_id else []
    return json.dumps(entries + sorted(f"group:{group}" for group in principal.groups if group))


def scope_documents(scope: Scope | None) -> tuple[str, ...] | None:
    """The document ids of `scope`; None for all. Raises INVALID_FIELD where it says neither."""
    if scope is None or scope.HasField("all_documents"):
        return None
    if not scope.HasField("documents"):
        raise invalid_argument("scope", "must name documents, or all of them")
    if not scope.documents.document_ids:
        raise invalid_argument("scope.documents.document_ids", "must not be empty; use all_documents for all")
    return tuple(scope.documents.document_ids)


def to_microseconds(moment: datetime | None) -> int:
    """Microseconds since 1970 of `moment`, or of now."""
    moment = datetime.now(UTC) if moment is None else moment
    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def _read_spans(
    connection: sqlite3.Connection, principal: Principal, document_ids: tuple[str, ...] | None
) -> list[VersionSpan]:
    narrowed = "" if document_ids is None else " AND documents.document_id IN (SELECT value FROM json_each(:ids))"
    rows = connection.execute(
        # Only fixed text is put into the statement.
        "SELECT version_row, documents.document_row, document_version, from_us, to_us"  # noqa: S608
        f" FROM documents JOIN versions USING (document_row) WHERE {MAY_READ}{narrowed}",
        {
            "tenant_id": principal.tenant_id,
            "readers": reader_entries(principal),
            "ids": json.dumps(document_ids),
        },
    )
    return [VersionSpan(*row) for row in rows]


def _make_filter(tenant_id: str, keys: tuple[int, ...], state: TenantState) -> VersionFilter:
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{tenant_id}\0{state.change_sequence}\0{state.permission_version}\0".encode())
    digest.update(",".join(map(str, keys)).encode())
    return VersionFilter(
        tenant_id=tenant_id,
        version_keys=keys,
        index_snapshot=snapshot_name(state),
        permission_version=state.permission_version,
        key=digest.hexdigest(),
    )


def snapshot_name(state: TenantState) -> str:
    """The state of a tenant's documents as callers see it."""
    return f"embedded-{state.change_sequence}"
