"""A store on the shared server, with indexes of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citemesh.config.paths import STORE_URL_VARIABLE
from citemesh.store.contract import StoreWriter
from citemesh.store.open import open_writer
from citemesh.store.opensearch.connection import Connection, open_connection
from tests.contract.store.library import ENCODER
from tests.opensearch_server.indexes import own_indexes


@pytest.fixture
def environ(opensearch_address: str) -> Iterator[dict[str, str]]:
    with own_indexes(opensearch_address) as url:
        yield {STORE_URL_VARIABLE: url}


@pytest.fixture
def other_writer(tmp_path: Path, environ: dict[str, str], writer: StoreWriter) -> Iterator[StoreWriter]:
    """A writer of the same store on another machine."""
    other = open_writer(tmp_path / "other", environ)
    other.set_encoder(ENCODER)
    yield other
    other.close()


@pytest.fixture
def connection(environ: dict[str, str]) -> Iterator[Connection]:
    connection = open_connection(environ)
    yield connection
    connection.close()
