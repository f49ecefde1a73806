"""One mesh per way of hosting, with the demo's documents in it; every test of this folder runs against both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import grpc.aio
import pytest

from tests.mesh.calling import ingest_corpus
from tests.mesh.hosting import Mesh, run_mesh


@pytest.fixture(scope="session", params=["embedded", "split"])
def mesh(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mesh]:
    """The running mesh; its socket paths are short, because the kernel allows only about 100 characters."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    with run_mesh(request.param, folder) as running:
        ingest_corpus(running)
        yield running


@pytest.fixture
async def channel(mesh: Mesh) -> AsyncIterator[grpc.aio.Channel]:
    """A caller's channel to the dispatcher."""
    async with grpc.aio.insecure_channel(mesh.target) as opened:
        yield opened
