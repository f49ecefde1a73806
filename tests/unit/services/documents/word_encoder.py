"""An encoder for tests that needs no model: vectors by hashed words."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from citemesh.models.contract import EncoderContract


class WordTokenizer:
    """Counts words and marks as tokens."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]


class WordEncoder:
    """Vectors by hashed words: texts that share words are near each other; no model is needed."""

    def __init__(self, revision: str = "1") -> None:
        self.tokenizer = WordTokenizer()
        self.contract = EncoderContract(
            model_id="words",
            revision=revision,
            query_prefix="",
            passage_prefix="",
            dimension_count=32,
            pooling="mean",
            normalised=True,
            metric="cosine",
            max_token_count=256,
        )

    def encode_passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors = np.full((len(texts), 32), 1e-3, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                vectors[row, zlib.crc32(word.encode()) % 32] += 1
        unit: npt.NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def encode_canaries(self) -> npt.NDArray[np.float32]:
        return self.encode_passages(["one canary", "two canaries", self.contract.revision])
