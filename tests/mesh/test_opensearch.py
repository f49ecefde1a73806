"""The whole mesh over an OpenSearch cluster: the demo's questions have the same answers as over the embedded store."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import grpc
import pytest

from citemesh.config.paths import STORE_URL_VARIABLE
from citemesh.v1 import dispatcher_pb2, dispatcher_pb2_grpc, retrieval_pb2, retrieval_pb2_grpc
from demo.expectations import find_surprises
from tests.mesh.calling import TIMEOUT_S, as_user, demo_questions, ingest_corpus, make_request
from tests.mesh.hosting import Mesh, run_mesh

QUESTIONS = demo_questions()


@pytest.fixture(scope="module")
def mesh(opensearch_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mesh]:
    url = f"{opensearch_address}/mesh-{uuid.uuid4().hex[:8]}"
    with run_mesh("embedded", tmp_path_factory.mktemp("os"), **{STORE_URL_VARIABLE: url}) as mesh:
        ingest_corpus(mesh)
        yield mesh


@pytest.fixture
def channel(mesh: Mesh) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(mesh.target) as opened:
        yield opened


def test_the_index_says_where_it_is(channel: grpc.Channel) -> None:
    stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
    index = stub.DescribeIndex(retrieval_pb2.DescribeIndexRequest(), timeout=TIMEOUT_S, metadata=as_user("ana:staff"))
    assert index.store == "opensearch"
    assert index.passage_count > 0


@pytest.mark.parametrize("question_id", QUESTIONS)
def test_demo_question(channel: grpc.Channel, question_id: str) -> None:
    assert find_surprises(QUESTIONS[question_id]["expect"], ask(channel, question_id)) == []


def ask(channel: grpc.Channel, question_id: str) -> dispatcher_pb2.AnswerResponse:
    row = QUESTIONS[question_id]
    earlier = ask(channel, row["follows"]) if "follows" in row else None
    stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
    return stub.Answer(make_request(row, earlier), timeout=TIMEOUT_S, metadata=as_user(row["as"]))
