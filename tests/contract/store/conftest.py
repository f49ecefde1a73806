"""Both stores, one after the other, each test with documents of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citemesh.config.paths import STORE_URL_VARIABLE
from citemesh.store.contract import StoreReader, StoreWriter
from citemesh.store.open import open_reader, open_writer
from tests.contract.store.library import ENCODER
from tests.opensearch_server.indexes import own_indexes


@pytest.fixture(params=["embedded", "opensearch"])
def environ(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    if request.param == "embedded":
        yield {}
        return
    with own_indexes(request.getfixturevalue("opensearch_address")) as url:
        yield {STORE_URL_VARIABLE: url}


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
