"""The index that a writer begins with: the one in use, or, while that holds nothing, one for its own encoder."""

from __future__ import annotations

import time
from typing import Final

from citemesh.rpc.errors import ServiceError
from citemesh.store.encoder_match import find_difference, refuse_other_encoder
from citemesh.store.opensearch.bulk import refresh_index
from citemesh.store.opensearch.connection import Connection
from citemesh.store.opensearch.gate import Gate
from citemesh.store.opensearch.indexes import begin_generation, name_generation, read_generation, use_generation
from citemesh.v1 import errors_pb2
from citemesh.v1.retrieval_pb2 import EncoderContract

# Making an index takes a second or two; a start that waits longer fails, and whoever keeps services running repeats it.
_WAIT_S: Final = 30.0
_POLL_S: Final = 0.2


def settle_index(connection: Connection, gate: Gate, contract: EncoderContract) -> None:
    """Have an index in use that takes vectors of `contract`; several writers may start at once.

    Where the vectors of the one in use can stand beside them it stays, though other processors compute the canary texts
    a little differently. Raises ENCODER_MISMATCH where it holds vectors of another encoder.
    """
    deadline = time.monotonic() + _WAIT_S
    while not _takes(connection, contract):
        try:
            # Nobody else makes or removes an index meanwhile, and nobody commits to the one that is given up.
            with gate.exchanging(), gate.closed():
                if not _takes(connection, contract):
                    use_generation(connection, begin_generation(connection, contract))
        except ServiceError as error:
            if error.reason != errors_pb2.ERROR_REASON_STORE_UNAVAILABLE or time.monotonic() > deadline:
                raise
            # Another writer is at it.
            time.sleep(_POLL_S)
    # An index of an earlier release was not named yet.
    name_generation(connection)


def _takes(connection: Connection, contract: EncoderContract) -> bool:
    """Whether the index in use takes vectors of `contract`; raises ENCODER_MISMATCH where no other may replace it."""
    used = read_generation(connection)
    if used is None:
        return False
    index, recorded = used
    if recorded == contract or find_difference(recorded, contract) is None:
        return True
    # What was just written counts too.
    refresh_index(connection, index)
    if connection.run(lambda client: client.count(index=index))["count"]:
        refuse_other_encoder(recorded, contract)
    return False
