"""Builds everything anew that a store derives from its documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from citemesh.store.contract import EncodePassages, Vectors
from citemesh.store.embedded.database import Database
from citemesh.store.embedded.encoder_facts import read_encoder
from citemesh.store.embedded.open import open_writer
from citemesh.store.encoder_match import find_difference
from citemesh.v1.evidence_pb2 import Passage
from citemesh.v1.retrieval_pb2 import EncoderContract

Progress = Callable[[str, int, int], None]


def reindex(
    state_dir: Path, contract: EncoderContract, encode: EncodePassages, progress: Progress, *, always_encode: bool
) -> int:
    """Build the keyword indexes anew, and all vectors where they are another encoder's or `always_encode`.

    Returns how many passages were encoded. `progress` is called with what is done, how much of it and of how much (0:
    not known). A call that is killed is gone on with by the next one. Raises STORE_UNAVAILABLE where a mesh holds the
    store.
    """
    progress("keyword index", 0, 0)
    writer = open_writer(state_dir, rebuild=True)
    try:
        progress("keyword index", 1, 1)
        recorded, total = _read_facts(state_dir)
        if recorded is None or not (always_encode or find_difference(recorded, contract)):
            return 0
        done = 0

        def encode_counted(passages: Sequence[Passage]) -> Vectors:
            nonlocal done
            vectors = encode(passages)
            done += len(passages)
            progress("vectors", done, max(done, total))
            return vectors

        progress("vectors", 0, total)
        writer.replace_vectors(contract, encode_counted)
        return done
    finally:
        writer.close()


def _read_facts(state_dir: Path) -> tuple[EncoderContract | None, int]:
    """The encoder of the stored vectors, and how many passages there are."""
    database = Database(state_dir / "store")
    try:
        with database.snapshot() as connection:
            count = connection.execute("SELECT count(*) FROM passages").fetchone()[0]
            return read_encoder(connection), int(count)
    finally:
        database.close()
