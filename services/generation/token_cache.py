"""Token vectors of texts that came before: the passes of one request, and questions on one document, share most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from citemesh.caches.recently_used import RecentlyUsed
from services.generation.token_match import Matrix, TokenEncoder


class CachedTokens:
    """A TokenEncoder that keeps the vectors of the last texts, in half precision. Safe to use from several threads.

    Half precision is applied to fresh and kept vectors alike, so that an answer never depends on what came before.
    Texts are the whole key: vectors depend on nothing else, and give nothing away that their text does not.
    """

    def __init__(self, encoder: TokenEncoder, max_token_count: int) -> None:
        """Keep up to `max_token_count` vectors, of 768 bytes each for the default encoder."""
        self._encoder = encoder
        self._kept: RecentlyUsed[str, npt.NDArray[np.float16]] = RecentlyUsed(max_token_count, weigh=len)

    def encode_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """One matrix [tokens, dimensions] of unit vectors for each text."""
        found = {text: matrix for text in dict.fromkeys(texts) if (matrix := self._kept.get(text)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            fresh = [matrix.astype(np.float16) for matrix in self._encoder.encode_tokens(missing)]
            for text, matrix in zip(missing, fresh, strict=True):
                found[text] = matrix
                self._kept.put(text, matrix)
        return [found[text].astype(np.float32) for text in texts]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, uncut."""
        return self._encoder.count_tokens(texts)
