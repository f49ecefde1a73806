"""A compound question over a real paper: the list from one section, then the tables that it is shown in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import grpc.aio
import pytest

from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    dispatcher_pb2,
    dispatcher_pb2_grpc,
    documents_pb2,
    documents_pb2_grpc,
    history_pb2,
)
from tests.mesh.calling import TIMEOUT_S, WRITER, as_user
from tests.mesh.hosting import Mesh

QUESTION = "What regularization techniques does the Transformer paper use, and where do they show the impact on BLEU?"
ACTIVE = {
    activation_pb2.PATTERN_TOC,
    activation_pb2.PATTERN_KEYWORD,
    activation_pb2.PATTERN_TWO_HOP_REFERENCES,
    activation_pb2.PATTERN_LISTING_AGGREGATION,
    activation_pb2.PATTERN_ITERATIVE_FEEDBACK,
}
FILES = {
    "1706.03762v7": ACTIVE,
    "1706.03762v7_no_outline": ACTIVE - {activation_pb2.PATTERN_TOC},
    "1706.03762v5_resaved": ACTIVE,
}


def read_parts(path: Path) -> Iterator[documents_pb2.IngestRequest]:
    yield documents_pb2.IngestRequest(header=documents_pb2.IngestHeader(document_id=path.stem, file_name=path.name))
    content = path.read_bytes()
    for start in range(0, len(content), 1 << 20):
        yield documents_pb2.IngestRequest(chunk=content[start : start + (1 << 20)])


@pytest.mark.parametrize("name", FILES)
async def test_the_techniques_and_the_table(
    mesh: Mesh, channel: grpc.aio.Channel, shared_data: Path, name: str
) -> None:
    async with grpc.aio.insecure_channel(mesh.targets["documents"]) as to_documents:
        documents = documents_pb2_grpc.DocumentsServiceStub(to_documents)
        path = shared_data / "pdfs" / "attention" / f"{name}.pdf"
        await documents.Ingest(read_parts(path), timeout=60.0, metadata=WRITER)
    stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
    request = dispatcher_pb2.AnswerRequest(question=QUESTION)
    request.scope.documents.document_ids.append(name)
    response = await stub.Answer(request, timeout=TIMEOUT_S, metadata=as_user("ana:staff"))

    assert response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    assert {a.pattern for a in response.activations.activations if a.active} == FILES[name]
    pages = {c.page_number for claim in response.answer.claims for c in claim.citations}
    assert {7, 8, 9} <= pages
    assert len(response.answer.items) == response.answer.expected_count == 3

    triggers = [record.trigger for record in response.history]
    assert triggers[0] == history_pb2.TRIGGER_FIRST_PASS
    followed = response.history[triggers.index(history_pb2.TRIGGER_PENDING_REFERENCES)]
    joined = set(followed.candidate_ids_after) - set(followed.candidate_ids_before)
    on_page_9 = {e.passage_id for e in response.evidence if e.page_first == 9 and e.label == "table 3"}
    assert on_page_9 & joined
    for claim in response.answer.claims:
        words = claim.text.lower()
        assert not ("label smoothing" in words and "(e)" in words)

    replayed = await stub.Replay(
        dispatcher_pb2.ReplayRequest(recorded=response), timeout=5, metadata=as_user("ana:staff")
    )
    assert replayed.agrees
    response.history[1].trigger = history_pb2.TRIGGER_FAILED_VALIDATION
    edited = await stub.Replay(
        dispatcher_pb2.ReplayRequest(recorded=response), timeout=5, metadata=as_user("ana:staff")
    )
    assert [difference.path for difference in edited.differences if "trigger" in difference.path]
