"""One mesh per way of hosting, with the demo's documents in it; every test of this folder runs against both."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc.aio
import pytest

from tests.mesh.hosting import Mesh


@pytest.fixture(scope="session", params=["embedded", "split"])
def mesh(request: pytest.FixtureRequest) -> Mesh:
    """The running mesh; its socket paths are short, because the kernel allows only about 100 characters."""
    running: Mesh = request.getfixturevalue(f"{request.param}_mesh")
    return running


@pytest.fixture
async def channel(mesh: Mesh) -> AsyncIterator[grpc.aio.Channel]:
    """A caller's channel to the dispatcher."""
    async with grpc.aio.insecure_channel(mesh.target) as opened:
        yield opened
