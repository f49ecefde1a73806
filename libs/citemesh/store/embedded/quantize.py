"""Vectors as bytes: eight bits a value, each vector scaled by its own largest value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int8]


def quantize(vectors: npt.NDArray[np.float32]) -> Codes:
    """int8 codes [n, dimensions] of `vectors`; the scale is lost, so compare codes by cosine alone."""
    largest = np.maximum(np.abs(vectors).max(axis=-1, keepdims=True), np.float32(1e-12))
    codes: Codes = np.rint(vectors / largest * np.float32(127.0)).astype(np.int8)
    return codes
