"""The two sides of a store; `environ` of each folder says which store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.open import open_reader, open_writer
from tests.contract.store.library import ENCODER


@pytest.fixture
def writer(tmp_path: Path, environ: dict[str, str]) -> Iterator[StoreWriter]:
    writer = open_writer(tmp_path / "state", environ)
    writer.set_encoder(ENCODER)
    yield writer
    writer.close()


@pytest.fixture
def reader(tmp_path: Path, environ: dict[str, str], writer: StoreWriter) -> Iterator[StoreReader]:
    reader = open_reader(tmp_path / "state", environ)
    yield reader
    reader.close()
