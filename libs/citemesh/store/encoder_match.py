"""The encoder contract as index and reader exchange it, and whether two of them agree."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from citemesh.models.contract import EncoderContract as ModelContract
from citemesh.rpc.errors import ServiceError
from citemesh.store.contract import Vectors
from citemesh.v1 import errors_pb2
from citemesh.v1.retrieval_pb2 import EncoderContract

MIN_CANARY_COSINE: Final = 0.995
"""Below it two encoders are not the same; int8 kernels of different processors stay above it."""

REENCODE_REMEDY: Final = (
    "To encode its passages anew, set CITEMESH_DOCUMENTS_REINDEX_AT_START=true and restart the documents service; "
    "or configure the index's encoder again."
)
"""What to do about an index of another encoder; the end of each message that tells of one."""

_COMPARED: Final = (
    "model",
    "revision",
    "query_prefix",
    "passage_prefix",
    "dimension_count",
    "normalized",
    "metric",
)


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
    for name in _COMPARED:
        if getattr(index, name) != getattr(own, name):
            return f"the index has {name} {getattr(index, name)!r}, this service {getattr(own, name)!r}"
    theirs = np.asarray(index.canary_vectors, dtype=np.float32)
    ours = np.asarray(own.canary_vectors, dtype=np.float32)
    width = max(1, own.dimension_count)
    if theirs.shape != ours.shape or not len(ours) or len(ours) % width:
        return "the index holds no canary vectors of this width"
    theirs, ours = theirs.reshape(-1, width), ours.reshape(-1, width)
    lengths = np.linalg.norm(theirs, axis=1) * np.linalg.norm(ours, axis=1)
    cosine = float(np.min((theirs * ours).sum(axis=1) / np.maximum(lengths, 1e-12)))
    if cosine < MIN_CANARY_COSINE:
        return f"the canary texts' vectors agree to {cosine:.3f} only"
    return None


def refuse_other_encoder(recorded: EncoderContract, given: EncoderContract) -> None:
    """Raise ENCODER_MISMATCH where vectors of `given` cannot stand beside those of `recorded`.

    Equal contracts pass without canary vectors too: those who made them compare nothing.
    """
    difference = None if recorded == given else find_difference(recorded, given)
    if difference is not None:
        raise ServiceError(
            errors_pb2.ERROR_REASON_ENCODER_MISMATCH,
            f"The index was built with another encoder ({difference}). {REENCODE_REMEDY}",
            index_model=f"{recorded.model}@{recorded.revision}",
            model=f"{given.model}@{given.revision}",
        )


def refuse_other_width(dimension_count: int, vector: Vectors) -> None:
    """Raise ENCODER_MISMATCH where a question's vector cannot be compared with the index's."""
    if len(vector) != dimension_count:
        raise ServiceError(
            errors_pb2.ERROR_REASON_ENCODER_MISMATCH,
            f"The question's vector is of another width than the index's. {REENCODE_REMEDY}",
        )
