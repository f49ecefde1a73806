"""Replaces all vectors of a store by those of another encoder: built beside the old ones, switched at once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

import numpy as np

from citemesh.store.contract import EncodePassages
from citemesh.store.embedded.database import Database
from citemesh.store.embedded.encoder_facts import write_encoder
from citemesh.store.embedded.quantize import quantize
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.retrieval_pb2 import EncoderContract

_NEXT_CONTRACT: Final = "next_encoder_contract"
_PASSAGES_PER_ENCODING: Final = 256
_CREATE: Final = """
CREATE TABLE IF NOT EXISTS next_vectors (
    passage_row INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE,
    vector BLOB NOT NULL,
    code BLOB NOT NULL
)
"""


def replace_all_vectors(database: Database, contract: EncoderContract, encode: EncodePassages) -> int:
    """See StoreWriter.replace_vectors. What is encoded survives a kill: a second call with the same encoder goes on."""
    with database.transaction() as connection:
        _begin(connection, contract)
    while rows := _find_missing(database, _PASSAGES_PER_ENCODING):
        _encode(database, rows, encode)
    with database.transaction() as connection:
        # Passages that came since the last look, under the old contract: few, so readers wait for nothing long.
        rest = _read_missing(connection, -1)
        _write(connection, rest, encode)
        count = int(connection.execute("SELECT count(*) FROM next_vectors").fetchone()[0])
        connection.execute("DROP TABLE vectors")
        connection.execute("ALTER TABLE next_vectors RENAME TO vectors")
        connection.execute("DELETE FROM facts WHERE name = ?", (_NEXT_CONTRACT,))
        write_encoder(connection, contract)
    return count


def _begin(connection: sqlite3.Connection, contract: EncoderContract) -> None:
    """Keep what an earlier call with the same encoder has done, and nothing of another's."""
    given = contract.SerializeToString(deterministic=True)
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (_NEXT_CONTRACT,)).fetchone()
    if row is None or row[0] != given:
        connection.execute("DROP TABLE IF EXISTS next_vectors")
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_NEXT_CONTRACT, given))
    connection.execute(_CREATE)


def _find_missing(database: Database, limit: int) -> list[tuple[int, bytes]]:
    with database.snapshot() as connection:
        return _read_missing(connection, limit)


def _read_missing(connection: sqlite3.Connection, limit: int) -> list[tuple[int, bytes]]:
    """Passages without a new vector, oldest first; a negative `limit` is none."""
    return connection.execute(
        "SELECT passage_row, passage FROM passages"
        " WHERE passage_row > (SELECT coalesce(max(passage_row), 0) FROM next_vectors)"
        " ORDER BY passage_row LIMIT ?",
        (limit,),
    ).fetchall()


def _encode(database: Database, rows: Sequence[tuple[int, bytes]], encode: EncodePassages) -> None:
    # Outside the transaction: writers do not wait while a batch is encoded.
    vectors = _run(rows, encode)
    with database.transaction() as connection:
        current = connection.execute(
            "SELECT passage_row FROM passages WHERE passage_row IN (SELECT value FROM json_each(?))",
            (json.dumps([row for row, _, _ in vectors]),),
        )
        kept = {row[0] for row in current}
        connection.executemany(
            "INSERT INTO next_vectors VALUES (?, ?, ?)", [each for each in vectors if each[0] in kept]
        )


def _write(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes]], encode: EncodePassages) -> None:
    if rows:
        connection.executemany("INSERT INTO next_vectors VALUES (?, ?, ?)", _run(rows, encode))


def _run(rows: Sequence[tuple[int, bytes]], encode: EncodePassages) -> list[tuple[int, bytes, bytes]]:
    vectors = np.ascontiguousarray(encode([Passage.FromString(data) for _, data in rows]), dtype=np.float32)
    codes = quantize(vectors)
    return [
        (row, vector.tobytes(), code.tobytes()) for (row, _), vector, code in zip(rows, vectors, codes, strict=True)
    ]
