"""Models: weights fetched by package name and checked, ONNX graphs built from them, and the encoder and pair scorer.

Importing this package loads no model runtime, so that the command can name paths and verify files cheaply.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citemesh.models.encoder import Encoder
    from citemesh.models.pair_scorer import PairScorer

# onnxruntime >= 1.29 sends telemetry on Linux unless told otherwise before it is first imported. This file runs
# before any module of the package, and only modules of this package import onnxruntime.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
# Tokenising is a hundredth of a model call: more threads for it would only take cores from the calls themselves.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def load_encoder(models_dir: Path, folder: Path | None = None) -> Encoder:
    """The encoder of `models_dir`, or another by name or folder; see `citemesh.models.encoder.load_encoder`."""
    from citemesh.models.encoder import load_encoder as load

    return load(models_dir, folder)


def load_pair_scorer(models_dir: Path, path: Path | None = None) -> PairScorer:
    """The pair scorer of `models_dir`, or the cross-encoder at `path`; see `citemesh.models.pair_scorer`."""
    from citemesh.models.pair_scorer import load_pair_scorer as load

    return load(models_dir, path)
