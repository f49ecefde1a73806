"""Token vectors of texts that came before: the passes of one request, and questions on one document, share most."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np
import numpy.typing as npt

from services.generation.token_match import Matrix, TokenEncoder


class CachedTokens:
    """A TokenEncoder that keeps the vectors of the last texts, in half precision. Safe to use from several threads.

    Half precision is applied to fresh and kept vectors alike, so that an answer never depends on what came before.
    Texts are the whole key: vectors depend on nothing else, and give nothing away that their text does not.
    """

    def __init__(self, encoder: TokenEncoder, max_token_count: int) -> None:
        """Keep up to `max_token_count` vectors, of 768 bytes each for the default encoder."""
        self._encoder = encoder
        self._room = max_token_count
        self._kept: OrderedDict[str, npt.NDArray[np.float16]] = OrderedDict()
        self._lock = Lock()

    def encode_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """One matrix [tokens, dimensions] of unit vectors for each text."""
        found: dict[str, npt.NDArray[np.float16]] = {}
        with self._lock:
            for text in texts:
                if text in self._kept:
                    self._kept.move_to_end(text)
                    found[text] = self._kept[text]
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            fresh = [matrix.astype(np.float16) for matrix in self._encoder.encode_tokens(missing)]
            found.update(zip(missing, fresh, strict=True))
            self._keep(missing, fresh)
        return [found[text].astype(np.float32) for text in texts]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, uncut."""
        return self._encoder.count_tokens(texts)

    def _keep(self, texts: list[str], matrices: list[npt.NDArray[np.float16]]) -> None:
        with self._lock:
            for text, matrix in zip(texts, matrices, strict=True):
                if text not in self._kept:
                    self._kept[text] = matrix
                    self._room -= len(matrix)
            while self._room < 0 and self._kept:
                _, oldest = self._kept.popitem(last=False)
                self._room += len(oldest)
