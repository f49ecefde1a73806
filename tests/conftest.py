"""What every test may ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from tests.mesh.hosting import Mesh

# A check of the same tree says the same twice; `make fuzz` searches with examples that nobody has seen.
hypothesis.settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
hypothesis.settings.register_profile("searching", print_blob=True, deadline=None)
hypothesis.settings.load_profile(os.environ.get("CITEMESH_TEST_EXAMPLES", "repeatable"))

REPO = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real documents and evaluation sets beside the checkout; they are never part of it (licences)."""
    path = REPO.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip("the evaluation data is not beside this checkout (../shared/data)")
    return path


@pytest.fixture(scope="session")
def embedded_mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mesh]:
    """The seven services in one process, with the demo's documents; shared by all tests that need a real mesh."""
    yield from _run_mesh("embedded", tmp_path_factory)


@pytest.fixture(scope="session")
def split_mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mesh]:
    """The same in seven processes. A test that ends one starts it again."""
    yield from _run_mesh("split", tmp_path_factory)


@pytest.fixture(scope="session")
def opensearch_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running OpenSearch server, one for all tests; CITEMESH_TEST_OPENSEARCH_URL names one that runs already."""
    from tests.opensearch_server.install import CannotInstallError
    from tests.opensearch_server.server import running_server
    from tests.servers import miss

    given = os.environ.get("CITEMESH_TEST_OPENSEARCH_URL")
    if given:
        yield given
        return
    try:
        with running_server(tmp_path_factory.mktemp("opensearch")) as started:
            yield started
    except CannotInstallError as error:
        miss(str(error))


def _run_mesh(hosting: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mesh]:
    # Imported here: most tests start no process.
    from tests.mesh.calling import ingest_corpus
    from tests.mesh.hosting import run_mesh

    with run_mesh(hosting, tmp_path_factory.mktemp(hosting)) as mesh:
        ingest_corpus(mesh)
        yield mesh
