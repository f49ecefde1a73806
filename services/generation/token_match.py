"""Late interaction: how well the words of a question find their like, in meaning, among the words of each unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from citemesh.text.sentences import split_sentences
from services.generation.words import is_stop_word

Matrix = npt.NDArray[np.float32]

STOP_WORD_WEIGHT = 0.25
"""Words such as "the" and "how" count, since "how long" and "how" differ, but little."""

SETTING_WEIGHT = 0.5
"""The same for a sentence that sets the scene for the one that asks."""


class TokenEncoder(Protocol):
    """What this module needs of citemesh.models.encoder.Encoder."""

    def encode_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """One matrix [tokens, dimensions] of unit vectors for each text."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, uncut."""
        ...


def weigh_tokens(encoder: TokenEncoder, question: str, language: str, token_count: int) -> Matrix:
    """A weight for each token of the question, summing to 1; the pieces of a word share its kind.

    Words of sentences that ask nothing ("We restore from a backup.") say what about, and weigh less where others ask.
    """
    weights: list[float] = []
    for sentence, factor in _weigh_sentences(question):
        words = sentence.split()
        for word, count in zip(words, encoder.count_tokens(words), strict=True):
            bare = re.sub(r"^\W+|\W+$", "", word)
            weight = STOP_WORD_WEIGHT if not bare or is_stop_word(bare, language) else 1.0
            weights += [weight * factor] * count
    weights = (weights + [STOP_WORD_WEIGHT] * token_count)[:token_count]
    array = np.array(weights, dtype=np.float32)
    return array / max(float(array.sum()), 1e-6)


def _weigh_sentences(question: str) -> list[tuple[str, float]]:
    sentences = [question[start:end] for start, end in split_sentences(question)]
    asks_somewhere = any(sentence.endswith(("?", "？")) for sentence in sentences)
    return [
        (sentence, SETTING_WEIGHT if asks_somewhere and not sentence.endswith(("?", "？")) else 1.0)
        for sentence in sentences
    ]
