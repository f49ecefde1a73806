"""The database file where something is wrong with it or its disk: said so that an operator knows what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.rpc.errors import ServiceError
from citemesh.store.embedded.database import FILE_NAME, Database
from citemesh.v1 import errors_pb2


def refusal(caught: pytest.ExceptionInfo[ServiceError]) -> str:
    assert caught.value.reason == errors_pb2.ERROR_REASON_STORE_UNAVAILABLE
    return caught.value.message


def test_a_damaged_file_is_named_with_its_remedy(tmp_path: Path) -> None:
    Database(tmp_path).close()
    (tmp_path / FILE_NAME).write_bytes(b"\x00rubbish" * 4096)
    with pytest.raises(ServiceError) as caught:
        Database(tmp_path)
    assert FILE_NAME in refusal(caught)
    assert "restore a backup" in refusal(caught)


@pytest.mark.parametrize("empties", [True, False])
def test_a_lost_database_beside_originals_is_no_new_store(tmp_path: Path, empties: bool) -> None:
    Database(tmp_path).close()
    (tmp_path / "files" / "tenant").mkdir(parents=True)
    for path in tmp_path.glob(f"{FILE_NAME}*"):
        path.unlink()
    if empties:
        (tmp_path / FILE_NAME).touch()
    with pytest.raises(ServiceError) as caught:
        Database(tmp_path)
    assert "missing or empty although original files lie beside it" in refusal(caught)


def grow(database: Database) -> None:
    with database.transaction() as connection:
        connection.execute("CREATE TABLE grown (text TEXT)")
        connection.execute("INSERT INTO grown VALUES (?)", ("x" * 100_000,))


def test_a_full_disk_is_called_so(tmp_path: Path) -> None:
    database = Database(tmp_path)
    pages = database.connection().execute("PRAGMA page_count").fetchone()[0]
    database.connection().execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ServiceError) as caught:
        grow(database)
    assert "is full" in refusal(caught)
    database.close()
