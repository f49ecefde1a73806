"""Fixtures of the retrieval service's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.services.retrieval.library import Library


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    state_dir = tmp_path / "state"
    state_dir.mkdir()
    library = Library(state_dir)
    yield library
    library.close()
