"""Another real encoder of the same width: refused by an index that is not its own, and changed to without a pause.

Two replicas of retrieval stand side by side, one for each encoder, as they do while a deployment rolls: a caller turns
to the other where one says that the index is not for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from citemesh.auth.principal import Principal, acting_as, outgoing_metadata
from citemesh.config.paths import STORE_URL_VARIABLE
from citemesh.models import load_encoder
from citemesh.models.contract import CONTRACT_FILE_NAME
from citemesh.models.paths import models_dir
from citemesh.rpc.calls import call, send_stream
from citemesh.rpc.channels import open_channel
from citemesh.rpc.errors import ServiceError, error_reason
from citemesh.rpc.host import Host, hosted
from citemesh.store.encoder_match import describe_encoder, find_difference
from citemesh.store.open import open_reader
from citemesh.v1 import activation_pb2, documents_pb2, documents_pb2_grpc, errors_pb2, retrieval_pb2, retrieval_pb2_grpc
from services.documents.encoding import text_to_encode
from services.documents.service import SPEC as DOCUMENTS
from services.retrieval.service import SPEC as RETRIEVAL
from tests.faults.second_encoder import find_second_encoder

if TYPE_CHECKING:
    # Named in the type stubs alone.
    from citemesh.v1.retrieval_pb2_grpc import RetrievalServiceAsyncStub

ANNA = Principal("default", "anna", frozenset())
SUBJECTS = ("leave", "travel", "invoices", "pensions", "parking", "laptops", "training", "safety", "visitors", "keys")
QUESTION = "Who decides about parking?"
DOCUMENT_COUNT = 30
SEARCHER_COUNT = 3
TIMEOUT_S = 30.0
"""Long: a test machine may be busy, and what is asked here is whether a search fails, not how fast it is."""


@pytest.fixture(params=["embedded", "opensearch"])
def environ(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """A store of its own, and the default encoder."""
    settings = {
        "CITEMESH_MODELS_DIR": str(models_dir(os.environ)),
        "CITEMESH_STATE_DIR": str(tmp_path / "state"),
        "CITEMESH_AUTH_MODE": "open",
        "CITEMESH_HOST_METRICS_ADDRESS": "off",
        "CITEMESH_HOST_HEALTH_INTERVAL_MS": "200",
    }
    if request.param == "opensearch":
        address = request.getfixturevalue("opensearch_address")
        settings[STORE_URL_VARIABLE] = f"{address}/change-{uuid.uuid4().hex[:12]}"
    return settings


@pytest.fixture
def second_encoder() -> dict[str, str]:
    """The settings that name bge-small-en-v1.5."""
    find_second_encoder()
    return {
        "CITEMESH_DOCUMENTS_ENCODER_PATH": "bge-small-en-v1.5",
        "CITEMESH_RETRIEVAL_ENCODER_FOLDER": "bge-small-en-v1.5",
    }


@pytest.fixture
def pretender(tmp_path: Path) -> Path:
    """bge-small under the description of the default encoder: nothing but its vectors tells them apart."""
    folder = tmp_path / "pretender"
    shutil.copytree(find_second_encoder(), folder)
    contract = load_encoder(models_dir(os.environ)).contract
    (folder / CONTRACT_FILE_NAME).write_text(json.dumps(asdict(contract)))
    return folder


async def test_another_encoder_is_refused_by_name(environ: dict[str, str], second_encoder: dict[str, str]) -> None:
    await ingest(environ, DOCUMENT_COUNT // 10)
    await assert_refused(environ | second_encoder, "BAAI/bge-small-en-v1.5")


async def test_an_encoder_that_lies_about_itself_is_refused_by_its_canaries(
    environ: dict[str, str], pretender: Path
) -> None:
    await ingest(environ, DOCUMENT_COUNT // 10)
    await assert_refused(environ | {"CITEMESH_RETRIEVAL_ENCODER_FOLDER": str(pretender)}, "canary texts")


async def test_no_search_fails_while_the_encoder_changes(
    environ: dict[str, str], second_encoder: dict[str, str]
) -> None:
    await ingest(environ, DOCUMENT_COUNT)
    changed = environ | second_encoder
    async with replica(environ, "first") as first, replica(changed, "second") as second:
        tally = Tally()
        over = asyncio.Event()
        searches = [asyncio.create_task(search_until(over, [first, second], tally)) for _ in range(SEARCHER_COUNT)]
        await tally.wait_for(answers=20)
        assert set(tally.answered_by) == {first.target}
        async with hosted([DOCUMENTS], changed | {"CITEMESH_DOCUMENTS_REINDEX_AT_START": "true"}) as host:
            assert host.problems == {}
            await tally.wait_for(answers=len(tally.answered_by) + 20)
        over.set()
        await asyncio.gather(*searches)
        assert tally.failures == []
        assert tally.answered_by[-1] == second.target
        moved = tally.answered_by.index(second.target)
        # Searches that were on their way may end in the other order, no later one does.
        assert first.target not in tally.answered_by[moved + SEARCHER_COUNT :]
        assert tally.during_change > 0
        await assert_index_is_of(changed, second)
        assert await read_health(second.target) == health_pb2.HealthCheckResponse.SERVING
        assert await read_health(first.target) == health_pb2.HealthCheckResponse.NOT_SERVING


@dataclass
class Tally:
    """What the searches came to."""

    answered_by: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def during_change(self) -> int:
        """Answers of the first replica after its first twenty: the index was being encoded anew."""
        return self.answered_by.count(self.answered_by[0]) - 20

    def note(self, answered_by: str, failure: str = "") -> None:
        """One search has ended."""
        self.answered_by.append(answered_by)
        if failure:
            self.failures.append(failure)
        self.news.set()

    async def wait_for(self, answers: int) -> None:
        """Until so many searches were answered, or one failed."""
        async with asyncio.timeout(TIMEOUT_S):
            while len(self.answered_by) < answers and not self.failures:
                self.news.clear()
                await self.news.wait()


def replica(environ: dict[str, str], name: str) -> AbstractAsyncContextManager[Host]:
    """A retrieval service on a socket of its own, over the same store."""
    folder = Path(environ["CITEMESH_STATE_DIR"]).parent
    return hosted([RETRIEVAL], environ | {"CITEMESH_HOST_LISTEN_ADDRESS": f"unix:{folder / name}.sock"})


async def ingest(environ: dict[str, str], document_count: int) -> None:
    async with hosted([DOCUMENTS], environ) as host, open_channel(host.target, environ, local=True) as channel:
        stub = documents_pb2_grpc.DocumentsServiceStub(channel)
        with acting_as(ANNA):
            for number in range(document_count):
                await send_stream(stub.Ingest, read_parts(number), timeout=TIMEOUT_S)


async def read_parts(number: int) -> AsyncIterator[documents_pb2.IngestRequest]:
    subject = SUBJECTS[number % len(SUBJECTS)]
    text = f"# Rules about {subject}, part {number}\n\nThe office of house {number} decides about {subject}. "
    text += (
        f"Questions about {subject} are answered there on working days, within {number + 2} days of their arrival.\n"
    )
    yield documents_pb2.IngestRequest(
        header=documents_pb2.IngestHeader(document_id=f"rules-{number}", file_name="rules.md")
    )
    yield documents_pb2.IngestRequest(chunk=text.encode())


def make_request(text: str = QUESTION) -> retrieval_pb2.RetrieveRequest:
    legs = (activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE)
    return retrieval_pb2.RetrieveRequest(queries=[retrieval_pb2.LegQuery(leg=leg, text=text) for leg in legs])


async def search_until(over: asyncio.Event, replicas: Sequence[Host], tally: Tally) -> None:
    """Search on and on, each time with other words."""
    async with AsyncExitStack() as channels:
        stubs = {}
        for host in replicas:
            channel = await channels.enter_async_context(open_channel(host.target, {}, local=True))
            stubs[host.target] = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        with acting_as(ANNA):
            for number in count():
                if over.is_set() or tally.failures:
                    return
                await search(stubs, f"{QUESTION} {SUBJECTS[number % len(SUBJECTS)]} {number}", tally)


async def search(stubs: Mapping[str, RetrievalServiceAsyncStub], text: str, tally: Tally) -> None:
    """Ask the replicas in their order; the first that does not refuse answers."""
    for target, stub in stubs.items():
        try:
            response = await call(stub.Retrieve, make_request(text), timeout=TIMEOUT_S)
        except ServiceError as error:
            if error.reason == errors_pb2.ERROR_REASON_ENCODER_MISMATCH:
                continue
            tally.note(target, str(error))
            return
        errors = [report.error_reason for report in response.leg_reports if report.error_reason]
        whole = not errors and len(response.candidates) > 0
        tally.note(target, "" if whole else f"{len(response.candidates)} candidates, {errors}")
        return
    tally.note("nobody", "both replicas refused")


async def assert_refused(environ: dict[str, str], word: str) -> None:
    """The retrieval service of `environ` says NOT_SERVING, and FAILED_PRECONDITION to a search, and why."""
    async with hosted([RETRIEVAL], environ) as host, open_channel(host.target, environ, local=True) as channel:
        assert word in host.problems["retrieval"]
        assert await read_health(host.target) == health_pb2.HealthCheckResponse.NOT_SERVING
        stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        with acting_as(ANNA), pytest.raises(grpc.aio.AioRpcError) as raised:
            await stub.Retrieve(make_request(), timeout=TIMEOUT_S, metadata=outgoing_metadata())
        assert raised.value.code() == grpc.StatusCode.FAILED_PRECONDITION
        assert error_reason(raised.value) == errors_pb2.ERROR_REASON_ENCODER_MISMATCH
        assert word in (raised.value.details() or "")


async def read_health(target: str) -> int:
    async with open_channel(target, {}, local=True) as channel:
        request = health_pb2.HealthCheckRequest(service=RETRIEVAL.full_name)
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(request, timeout=TIMEOUT_S)
        return int(answer.status)


async def assert_index_is_of(environ: dict[str, str], host: Host) -> None:
    """The index tells the canaries of the second encoder, and its vectors are that encoder's."""
    encoder = load_encoder(models_dir(os.environ), Path("bge-small-en-v1.5"))
    async with open_channel(host.target, environ, local=True) as channel:
        stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        with acting_as(ANNA):
            index = await call(stub.DescribeIndex, retrieval_pb2.DescribeIndexRequest(), timeout=TIMEOUT_S)
    assert find_difference(index.encoder, describe_encoder(encoder)) is None
    assert index.document_count == DOCUMENT_COUNT
    reader = open_reader(Path(environ["CITEMESH_STATE_DIR"]), environ)
    try:
        versions = reader.allowed_versions(ANNA)
        vector = encoder.encode_queries([QUESTION])[0]
        hits = reader.dense_search(vector, versions, 10)
        passages = reader.passages_by_key([hit.passage_key for hit in hits], versions)
        again = encoder.encode_passages([text_to_encode(passages[hit.passage_key]) for hit in hits]) @ vector
        assert np.corrcoef([hit.leg_score for hit in hits], again)[0, 1] > 0.999
    finally:
        reader.close()
