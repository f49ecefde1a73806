"""What the tests of rerank share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from citemesh.models.paths import models_dir
from citemesh.models.stamp import built_dir


@pytest.fixture(scope="session")
def installed_models() -> Path:
    """The models directory of this machine; skips where the models were not pulled."""
    folder = models_dir(os.environ)
    if not built_dir(folder).is_dir():
        pytest.skip(f"no models in {folder}; run `citemesh models pull`")
    return folder


@pytest.fixture
def environ(installed_models: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of a host with open auth and this machine's models."""
    return {
        "CITEMESH_MODELS_DIR": str(installed_models),
        "CITEMESH_STATE_DIR": str(tmp_path / "state"),
        "CITEMESH_AUTH_MODE": "open",
    }
