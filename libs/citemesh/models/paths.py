"""Where models live on disk."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

MODELS_DIR_VARIABLE = "CITEMESH_MODELS_DIR"
DEFAULT_MODEL_NAME = "all-minilm-l6-v2"
MODEL_FILE_NAME = "model.onnx"


def models_dir(environ: Mapping[str, str]) -> Path:
    """The folder of models: CITEMESH_MODELS_DIR, or `citemesh/models` in the user's cache directory."""
    named = environ.get(MODELS_DIR_VARIABLE, "").strip()
    if named:
        return Path(named).expanduser()
    return _user_cache_dir(environ) / "citemesh" / "models"


def _user_cache_dir(environ: Mapping[str, str]) -> Path:
    named = environ.get("XDG_CACHE_HOME", "").strip()
    if named:
        return Path(named)
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def source_dir(models_dir: Path) -> Path:
    """The publisher's files of the default model, as fetched."""
    return models_dir / DEFAULT_MODEL_NAME / "source"


def encoder_dir(built: Path) -> Path:
    """The encoder's folder within a build: model.onnx, tokenizer.json, encoder.json."""
    return built / "encoder"


def pair_scorer_dir(built: Path) -> Path:
    """The pair scorer's folder within a build: model.onnx, tokenizer.json, scorer.json."""
    return built / "pair_scorer"
