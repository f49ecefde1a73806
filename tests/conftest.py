"""What every test may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real documents and evaluation sets beside the checkout; they are never part of it (licences)."""
    path = REPO.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip("the evaluation data is not beside this checkout (../shared/data)")
    return path
