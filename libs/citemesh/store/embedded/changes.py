"""The change log by which derived indexes follow the truth."""

from __future__ import annotations

import sqlite3
from typing import Final

from citemesh.store.visibility import TenantState

_KEPT_COUNT: Final = 1_000
_FLOOR_NAME: Final = "changes_forgotten:"


def read_state(connection: sqlite3.Connection, tenant_id: str) -> TenantState:
    """Where `tenant_id` stands now; one primary-key look-up."""
    row = connection.execute(
        "SELECT change_sequence, permission_version FROM tenants WHERE tenant_id = ?", (tenant_id,)
    ).fetchone()
    return TenantState() if row is None else TenantState(int(row[0]), int(row[1]))


def record_change(
    connection: sqlite3.Connection, tenant_id: str, version_row: int | None, *, permissions: bool = False
) -> int:
    """Note that a version changed (None: something that no index holds); return the new change sequence."""
    cursor = connection.execute("INSERT INTO changes (tenant_id, version_row) VALUES (?, ?)", (tenant_id, version_row))
    sequence = int(cursor.lastrowid or 0)
    # Who follows needs a version's last change alone: the log grows with the versions, not with the writes.
    connection.execute(
        "DELETE FROM changes WHERE tenant_id = ? AND version_row IS ? AND change_sequence < ?",
        (tenant_id, version_row, sequence),
    )
    connection.execute(
        "INSERT INTO tenants VALUES (?1, ?2, ?3) ON CONFLICT (tenant_id) DO UPDATE SET "
        "change_sequence = ?2, permission_version = permission_version + ?3",
        (tenant_id, sequence, int(permissions)),
    )
    return sequence


def read_changed_versions(connection: sqlite3.Connection, tenant_id: str, after: int, until: int) -> list[int]:
    """The version rows that changed after one sequence and not after another, ascending; some may be gone."""
    rows = connection.execute(
        "SELECT DISTINCT version_row FROM changes WHERE tenant_id = ? AND change_sequence > ? AND change_sequence <= ?"
        " AND version_row IS NOT NULL ORDER BY version_row",
        (tenant_id, after, until),
    )
    return [int(row[0]) for row in rows]


def forget_removed(connection: sqlite3.Connection, tenant_id: str, reached: int) -> int:
    """Remove the log's rows of versions that are gone and that every index on disk has passed; return how many.

    The newest 1,000 stay for indexes in memory that lag a little; those behind `read_floor` must be built anew. It
    looks at the whole log, and so only after 1,000 further changes.
    """
    floor = reached - _KEPT_COUNT
    if floor - read_floor(connection, tenant_id) < _KEPT_COUNT:
        return 0
    removed = connection.execute(
        "DELETE FROM changes WHERE tenant_id = ? AND change_sequence <= ? AND version_row IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM versions WHERE versions.version_row = changes.version_row)",
        (tenant_id, floor),
    ).rowcount
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_FLOOR_NAME + tenant_id, str(floor)))
    return removed


def read_floor(connection: sqlite3.Connection, tenant_id: str) -> int:
    """The sequence up to which removed versions are forgotten: an index that stands below it starts from nothing."""
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (_FLOOR_NAME + tenant_id,)).fetchone()
    return 0 if row is None else int(row[0])


def read_tenants(connection: sqlite3.Connection) -> list[str]:
    """Every tenant that ever stored something."""
    return [str(row[0]) for row in connection.execute("SELECT tenant_id FROM tenants ORDER BY tenant_id")]
