"""Both stores, one after the other, each test with documents of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from citemesh.config.paths import STORE_URL_VARIABLE
from tests.opensearch_server.indexes import own_indexes


@pytest.fixture(params=["embedded", "opensearch"])
def environ(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    if request.param == "embedded":
        yield {}
        return
    with own_indexes(request.getfixturevalue("opensearch_address")) as url:
        yield {STORE_URL_VARIABLE: url}
