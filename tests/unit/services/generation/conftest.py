"""Evidence in few words, and the real encoder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from citemesh.models import load_encoder
from citemesh.models.encoder import Encoder
from citemesh.models.errors import ModelError
from citemesh.models.paths import models_dir


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of built models; `make models` makes it."""
    folder = models_dir(os.environ)
    try:
        load_encoder(folder)
    except ModelError:
        pytest.skip("the models are not built; run `make models`")
    return folder


@pytest.fixture(scope="session")
def encoder(models: Path) -> Encoder:
    return load_encoder(models)
