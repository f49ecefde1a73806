"""Late interaction: how well the words of a question find their like, in meaning, among the words of each unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from services.generation.words import is_stop_word

Matrix = npt.NDArray[np.float32]

STOP_WORD_WEIGHT = 0.25
"""Words such as "the" and "how" count, since "how long" and "how" differ, but little."""


class TokenEncoder(Protocol):
    """What this module needs of citemesh.models.encoder.Encoder."""

    def encode_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """One matrix [tokens, dimensions] of unit vectors for each text."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, uncut."""
        ...


def match_tokens(encoder: TokenEncoder, question: str, units: Sequence[str], language: str) -> Matrix:
    """MaxSim of the question with each unit, -1 to 1: [units].

    For each token of the question the largest cosine with any token of the unit, averaged with stop words and
    punctuation weighted down (Khattab and Zaharia, ColBERT, 2020, with weights).
    """
    if not units:
        return np.zeros(0, dtype=np.float32)
    vectors = encoder.encode_tokens([question, *units])
    asked, weights = vectors[0], weigh_tokens(encoder, question, language, len(vectors[0]))
    found = [float(weights @ (asked @ unit.T).max(axis=1)) if len(unit) else 0.0 for unit in vectors[1:]]
    return np.array(found, dtype=np.float32)


def weigh_tokens(encoder: TokenEncoder, question: str, language: str, token_count: int) -> Matrix:
    """A weight for each token of the question, summing to 1; the pieces of a word share its kind."""
    words = question.split()
    weights: list[float] = []
    for word, count in zip(words, encoder.count_tokens(words), strict=True):
        bare = re.sub(r"^\W+|\W+$", "", word)
        weights += [STOP_WORD_WEIGHT if not bare or is_stop_word(bare, language) else 1.0] * count
    weights = (weights + [STOP_WORD_WEIGHT] * token_count)[:token_count]
    array = np.array(weights, dtype=np.float32)
    return array / max(float(array.sum()), 1e-6)
