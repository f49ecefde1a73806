"""What the store remembers of the encoder that its vectors come from."""

from __future__ import annotations

import sqlite3

from citemesh.v1.retrieval_pb2 import EncoderContract

_CONTRACT = "encoder_contract"
_GENERATION = "encoder_generation"


def read_encoder(connection: sqlite3.Connection) -> EncoderContract | None:
    """The recorded contract; None where none is."""
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (_CONTRACT,)).fetchone()
    return None if row is None else EncoderContract.FromString(row[0])


def read_generation(connection: sqlite3.Connection) -> int:
    """Rises each time all vectors are replaced."""
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (_GENERATION,)).fetchone()
    return 0 if row is None else int(row[0])


def write_encoder(connection: sqlite3.Connection, contract: EncoderContract) -> None:
    """Record `contract` and begin a new generation of vectors."""
    generation = read_generation(connection) + 1
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_CONTRACT, contract.SerializeToString()))
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_GENERATION, generation))
