"""What the store remembers of the encoder that its vectors come from."""

from __future__ import annotations

import sqlite3

from citemesh.rpc.errors import ServiceError
from citemesh.store.encoder_match import REENCODE_REMEDY
from citemesh.v1 import errors_pb2
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


def refuse_other_encoder(recorded: EncoderContract, given: EncoderContract) -> None:
    """Raise ENCODER_MISMATCH where vectors of `given` cannot stand beside those of `recorded`; canaries aside."""
    if identity(recorded) != identity(given):
        raise ServiceError(
            errors_pb2.ERROR_REASON_ENCODER_MISMATCH,
            f"The index was built with another encoder. {REENCODE_REMEDY}",
            index_model=f"{recorded.model}@{recorded.revision}",
            model=f"{given.model}@{given.revision}",
        )


def identity(contract: EncoderContract) -> tuple[str, str, str, str, int, bool, str]:
    """Everything in a contract that must be equal; canary vectors are compared by closeness, elsewhere."""
    return (
        contract.model,
        contract.revision,
        contract.query_prefix,
        contract.passage_prefix,
        contract.dimension_count,
        contract.normalized,
        contract.metric,
    )
