"""The encoder contract as index and reader exchange it, and whether two of them agree."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from citemesh.models.contract import EncoderContract as ModelContract
from citemesh.store.contract import Vectors
from citemesh.v1.retrieval_pb2 import EncoderContract

MIN_CANARY_COSINE: Final = 0.995
"""Below it two encoders are not the same; int8 kernels of different processors stay above it."""

REENCODE_REMEDY: Final = (
    "To encode its passages anew, set CITEMESH_DOCUMENTS_REINDEX_AT_START=true and restart the documents service; "
    "or configure the index's encoder again."
)
"""What to do about an index of another encoder; the end of each message that tells of one."""


class CanaryEncoder(Protocol):
    """What this module needs of citemesh.models.encoder.Encoder."""

    @property
    def contract(self) -> ModelContract:
        """What its vectors depend on."""
        ...

    def encode_canaries(self) -> Vectors:
        """Vectors [canaries, dimensions] of the fixed texts."""
        ...


def describe_encoder(encoder: CanaryEncoder) -> EncoderContract:
    """The contract of `encoder`, with the vectors of its canary texts; takes some milliseconds."""
    contract = encoder.contract
    return EncoderContract(
        model=contract.model_id,
        revision=contract.revision,
        query_prefix=contract.query_prefix,
        passage_prefix=contract.passage_prefix,
        dimension_count=contract.dimension_count,
        normalized=contract.normalised,
        metric=contract.metric,
        canary_vectors=encoder.encode_canaries().reshape(-1).tolist(),
    )


def find_difference(index: EncoderContract, own: EncoderContract) -> str | None:
    """The first thing in which two contracts differ, for people; None where their vectors can be compared."""
    for name in ("model", "revision", "query_prefix", "passage_prefix", "dimension_count", "normalized", "metric"):
        if getattr(index, name) != getattr(own, name):
            return f"the index has {name} {getattr(index, name)!r}, this service {getattr(own, name)!r}"
    theirs = np.asarray(index.canary_vectors, dtype=np.float32)
    ours = np.asarray(own.canary_vectors, dtype=np.float32)
    if theirs.shape != ours.shape or not len(ours):
        return "the index holds no canary vectors of this width"
    theirs, ours = theirs.reshape(-1, own.dimension_count), ours.reshape(-1, own.dimension_count)
    lengths = np.linalg.norm(theirs, axis=1) * np.linalg.norm(ours, axis=1)
    cosine = float(np.min((theirs * ours).sum(axis=1) / np.maximum(lengths, 1e-12)))
    if cosine < MIN_CANARY_COSINE:
        return f"the canary texts' vectors agree to {cosine:.3f} only"
    return None
