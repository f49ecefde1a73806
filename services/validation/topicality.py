"""Whether a claim has anything to do with the question: shared words, else the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from citemesh.v1.evidence_pb2 import Evidence, PassageKind
from services.validation.words import content_stems

Matrix = npt.NDArray[np.float32]

_RELEVANT = 0.5  # calibrated probability from which the reranker has settled it
# Rows of figures and lines of code say little that a sentence encoder understands.
_UNREADABLE = (PassageKind.PASSAGE_KIND_TABLE, PassageKind.PASSAGE_KIND_CODE)


class TextEncoder(Protocol):
    """The part of citemesh.models.Encoder that this module uses."""

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors [texts, dimensions] of questions."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors [texts, dimensions] of passages."""
        ...


def needs_encoder(claim: str, questions: Sequence[str], evidence: Sequence[Evidence], language: str) -> bool:
    """Whether words alone leave open if the claim is about one of the questions.

    The encoder reads English prose: for another language and for tables nothing is held against a claim, nor where
    the evidence was found relevant to the question.
    """
    if any(each.HasField("relevance") and each.relevance >= _RELEVANT for each in evidence):
        return False
    if language not in {"", "en", "und"} or any(each.kind in _UNREADABLE for each in evidence):
        return False
    about = " ".join([claim, *(f"{each.title} {' '.join(each.section_path)}" for each in evidence)])
    return not set(content_stems(about)) & set(content_stems(" ".join(questions)))


def measure_similarity(encoder: TextEncoder, claims: Sequence[str], questions: Sequence[str]) -> list[float]:
    """For each claim its cosine similarity to the closest question, -1 to 1; blocks while the encoder works."""
    if not claims or not questions:
        return [1.0] * len(claims)
    similarity = encoder.encode_passages(claims) @ encoder.encode_queries(questions).T
    return [float(value) for value in similarity.max(axis=1)]
