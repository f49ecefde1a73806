"""Processes of the split mesh that die or hang: answers degrade as the fallback table says, a restart mends them."""

from __future__ import annotations

import asyncio
import signal
import time

import grpc
import grpc.aio
import pytest

from citemesh.auth.principal import Principal, open_metadata
from citemesh.telemetry import names
from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    budget_pb2,
    dispatcher_pb2,
    dispatcher_pb2_grpc,
    documents_pb2,
    documents_pb2_grpc,
    retrieval_pb2,
    retrieval_pb2_grpc,
)
from tests.mesh.calling import TIMEOUT_S, as_user, demo_questions, fetch_metrics, make_request
from tests.mesh.hosting import Mesh

ANSWERED = answer_pb2.ANSWER_OUTCOME_ANSWERED
CORRECTED = answer_pb2.ANSWER_OUTCOME_ANSWERED_WITH_CORRECTIONS
ABSTAINED = answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE
SOURCES_ONLY = answer_pb2.ANSWER_OUTCOME_SOURCES_ONLY
UNAVAILABLE = answer_pb2.ANSWER_OUTCOME_RETRIEVAL_UNAVAILABLE

ROW = demo_questions()["meal-allowance"]
RECOVERY_S = 10.0
"""Time in which callers find a restarted process again: reconnects wait a second at most."""

STRANGER = open_metadata(Principal("faults", "ben", frozenset()))
"""Of another tenant, so that what these tests store is in nobody's way."""


async def ask(mesh: Mesh, timeout: float = TIMEOUT_S) -> dispatcher_pb2.AnswerResponse:
    async with grpc.aio.insecure_channel(mesh.target) as channel:
        stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
        return await stub.Answer(make_request(ROW), timeout=timeout, metadata=as_user(ROW["as"]))


async def ask_until_whole(mesh: Mesh) -> dispatcher_pb2.AnswerResponse:
    """Ask until no stage reports a fallback any more."""
    ends_at = time.monotonic() + RECOVERY_S
    while True:
        response = await ask(mesh)
        failed = [report for report in response.stage_reports if report.error_reason]
        if not failed or time.monotonic() > ends_at:
            assert not failed
            return response
        await asyncio.sleep(0.2)


@pytest.mark.parametrize(
    ("killed", "stage", "branch", "outcomes"),
    [
        ("query", budget_pb2.STAGE_UNDERSTAND, "original_question", {ANSWERED, CORRECTED, ABSTAINED}),
        ("documents", budget_pb2.STAGE_PROFILE, "unknown_scope", {ANSWERED, CORRECTED, ABSTAINED}),
        ("retrieval", budget_pb2.STAGE_RETRIEVE, "", {UNAVAILABLE}),
        ("rerank", budget_pb2.STAGE_RERANK, "first_stage", {ANSWERED, CORRECTED, ABSTAINED}),
        ("generation", budget_pb2.STAGE_GENERATE, "", {SOURCES_ONLY}),
        ("validation", budget_pb2.STAGE_VALIDATE, "", {SOURCES_ONLY}),
    ],
)
async def test_a_killed_stage_degrades_the_answer_and_its_restart_mends_it(
    split_mesh: Mesh,
    killed: str,
    stage: budget_pb2.Stage.ValueType,
    branch: str,
    outcomes: set[answer_pb2.AnswerOutcome.ValueType],
) -> None:
    split_mesh.kill(killed)
    try:
        response = await ask(split_mesh)
    finally:
        await asyncio.to_thread(split_mesh.start, killed)
    assert response.outcome in outcomes
    report = next(item for item in response.stage_reports if item.stage == stage)
    assert (report.branch, report.error_reason) == (branch, "UPSTREAM_UNAVAILABLE")
    if response.outcome == SOURCES_ONLY:
        assert response.evidence, "the passages stand in for the answer"
    if response.outcome in (SOURCES_ONLY, UNAVAILABLE):
        assert not response.answer.text
        assert response.message
    mended = await ask_until_whole(split_mesh)
    assert mended.outcome in (ANSWERED, CORRECTED)


@pytest.mark.parametrize("hung", ["query", "rerank", "validation"])
async def test_a_hung_stage_costs_no_more_than_the_deadline(split_mesh: Mesh, hung: str) -> None:
    process = split_mesh.processes[hung]
    process.send_signal(signal.SIGSTOP)
    try:
        started = time.monotonic()
        (ended,) = await asyncio.gather(ask(split_mesh, timeout=2.0), return_exceptions=True)
        assert time.monotonic() - started < 2.1
        if isinstance(ended, grpc.aio.AioRpcError):
            assert ended.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        else:
            assert isinstance(ended, dispatcher_pb2.AnswerResponse), ended
            assert ended.outcome in (ANSWERED, CORRECTED, ABSTAINED, SOURCES_ONLY)
    finally:
        process.send_signal(signal.SIGCONT)
    assert (await ask_until_whole(split_mesh)).outcome in (ANSWERED, CORRECTED)
    assert await find_busy(split_mesh) == {}


async def test_what_was_acknowledged_survives_the_death_of_documents(split_mesh: Mesh) -> None:
    ids = [f"note-{number}" for number in range(12)]
    acknowledged: set[str] = set()
    enough = asyncio.Event()
    async with grpc.aio.insecure_channel(split_mesh.targets["documents"]) as channel:
        stub = documents_pb2_grpc.DocumentsServiceStub(channel)

        async def store(document_id: str) -> None:
            text = f"# {document_id}\n\nThe valve of {document_id} opens at {len(document_id)} bar.\n"
            header = documents_pb2.IngestHeader(document_id=document_id, file_name=f"{document_id}.md")
            parts = (
                documents_pb2.IngestRequest(header=header),
                documents_pb2.IngestRequest(chunk=text.encode()),
            )
            await stub.Ingest(iter(parts), timeout=60, metadata=STRANGER)
            acknowledged.add(document_id)
            if len(acknowledged) >= len(ids) // 3:
                enough.set()

        tasks = [asyncio.create_task(store(document_id)) for document_id in ids]
        await enough.wait()
        split_mesh.kill("documents")
        survivors = set(acknowledged)
        await asyncio.gather(*tasks, return_exceptions=True)
    assert survivors != set(ids), "the process died in the middle of its work"
    await asyncio.to_thread(split_mesh.start, "documents")
    assert survivors <= await list_ids(split_mesh)
    assert survivors <= await search_ids(split_mesh, "valve opens bar"), "the index has caught up too"


async def find_busy(mesh: Mesh) -> dict[str, float]:
    """The services that still handle a call, a moment after the last answer, with the number of calls."""
    busy: dict[str, float] = {}
    for _ in range(50):
        busy = {}
        for name, address in mesh.metrics_addresses.items():
            page = await asyncio.to_thread(fetch_metrics, address)
            line = next(x for x in page.splitlines() if x.startswith(f"{names.CALLS_IN_FLIGHT.name} "))
            if (count := float(line.split()[-1])) > 0:
                busy[name] = count
        if not busy:
            break
        await asyncio.sleep(0.1)
    return busy


async def list_ids(mesh: Mesh) -> set[str]:
    async with grpc.aio.insecure_channel(mesh.targets["documents"]) as channel:
        stub = documents_pb2_grpc.DocumentsServiceStub(channel)
        listed = await stub.List(documents_pb2.ListRequest(page_size=100), timeout=10, metadata=STRANGER)
        return {document.document_id for document in listed.documents}


async def search_ids(mesh: Mesh, words: str) -> set[str]:
    async with grpc.aio.insecure_channel(mesh.targets["retrieval"]) as channel:
        stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        queries = [retrieval_pb2.LegQuery(leg=activation_pb2.PATTERN_KEYWORD, text=words)]
        request = retrieval_pb2.RetrieveRequest(queries=queries, max_candidates=50)
        found = await stub.Retrieve(request, timeout=10, metadata=STRANGER)
        return {candidate.passage.document_id for candidate in found.candidates}
