"""Refuses to search vectors that were made by another encoder than the one at hand."""

from __future__ import annotations

import threading

from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import StoreReader, VersionFilter
from citemesh.store.encoder_match import REENCODE_REMEDY, find_difference
from citemesh.v1 import errors_pb2
from citemesh.v1.retrieval_pb2 import EncoderContract


class EncoderGuard:
    """Compares the index's encoder contract with the service's own, again whenever the index's changes."""

    def __init__(self, store: StoreReader, own: EncoderContract) -> None:
        self._store = store
        self._own = own
        self._lock = threading.Lock()
        self._compared: bytes | None = None
        self._difference: str | None = None

    @property
    def own(self) -> EncoderContract:
        """The contract of the service's encoder, canary vectors included."""
        return self._own

    def index_encoder(self) -> bytes:
        """The index's contract as last compared, which each request does first; empty before."""
        with self._lock:
            return self._compared or b""

    def find_difference(self, versions: VersionFilter | None = None) -> str | None:
        """In what the two differ as of `versions` (None: now); None where they agree, or the index holds nothing."""
        contract = self._store.encoder_contract(versions)
        if contract is None:
            return None
        serialized = contract.SerializeToString(deterministic=True)
        with self._lock:
            if serialized != self._compared:
                self._difference = find_difference(contract, self._own)
                self._compared = serialized
            return self._difference

    def refuse_mismatch(self, versions: VersionFilter | None = None) -> None:
        """Raise ENCODER_MISMATCH where the two differ as of `versions` (None: now)."""
        difference = self.find_difference(versions)
        if difference is None:
            return
        contract = self._store.encoder_contract() or EncoderContract()
        raise ServiceError(
            errors_pb2.ERROR_REASON_ENCODER_MISMATCH,
            f"The index was built with another encoder ({difference}). {REENCODE_REMEDY}",
            index_model=f"{contract.model}@{contract.revision}",
            model=f"{self._own.model}@{self._own.revision}",
        )
