"""Slow and failing stages: the deadline holds, the fallback of the table is taken, nothing unchecked is shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from citemesh.rpc.errors import error_reason
from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    budget_pb2,
    dispatcher_pb2,
    errors_pb2,
    generation_pb2,
    history_pb2,
    question_pb2,
    retrieval_pb2,
    validation_pb2,
)
from services.dispatcher.budget import STAGE_SHARES
from tests.unit.services.dispatcher.fake_mesh import METADATA, FakeMesh, running
from tests.unit.services.dispatcher.scripts import QUESTION, parsed, write_answer

ANSWERED = answer_pb2.ANSWER_OUTCOME_ANSWERED
ABSTAINED = answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE
SOURCES_ONLY = answer_pb2.ANSWER_OUTCOME_SOURCES_ONLY
UNAVAILABLE = answer_pb2.ANSWER_OUTCOME_RETRIEVAL_UNAVAILABLE

DOWN = errors_pb2.ERROR_REASON_UPSTREAM_UNAVAILABLE


@pytest.fixture
async def mesh(tmp_path: Path) -> AsyncIterator[FakeMesh]:
    async with running(FakeMesh(), tmp_path) as mesh:
        yield mesh


@pytest.fixture
async def wary_mesh(tmp_path: Path) -> AsyncIterator[FakeMesh]:
    """Its gate goes by nothing that was read before."""
    async with running(FakeMesh(), tmp_path, CITEMESH_DISPATCHER_MAX_CHECK_AGE_S="0") as mesh:
        yield mesh


async def ask(mesh: FakeMesh, *, timeout: float = 5.0) -> dispatcher_pb2.AnswerResponse:
    request = dispatcher_pb2.AnswerRequest(question=QUESTION)
    response: dispatcher_pb2.AnswerResponse = await mesh.stub.Answer(request, timeout=timeout, metadata=METADATA)
    replayed = await mesh.stub.Replay(dispatcher_pb2.ReplayRequest(recorded=response), metadata=METADATA)
    assert replayed.agrees, replayed.differences
    return response


async def settle(mesh: FakeMesh) -> None:
    """Give cancelled handlers a moment to end, then see that none is left."""
    for _ in range(20):
        if not +mesh.running:
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"left running: {+mesh.running}")


@pytest.mark.parametrize(
    ("slow", "outcome"),
    [
        ("Understand", ANSWERED),
        ("Profile", ANSWERED),
        ("Retrieve", UNAVAILABLE),
        ("FollowReferences", ANSWERED),
        ("Rerank", ANSWERED),
        ("AssembleContext", ANSWERED),
        ("GetPassages", UNAVAILABLE),
        ("Generate", SOURCES_ONLY),
        ("Validate", SOURCES_ONLY),
    ],
)
async def test_the_deadline_holds_whatever_stage_is_slow(
    mesh: FakeMesh, slow: str, outcome: answer_pb2.AnswerOutcome.ValueType
) -> None:
    mesh.delays_s[slow] = 30.0
    started = time.monotonic()
    response = await ask(mesh, timeout=2.0)
    assert time.monotonic() - started < 2.1
    assert response.outcome == outcome
    await settle(mesh)


async def test_a_slow_second_pass_leaves_the_first_answer(mesh: FakeMesh) -> None:
    mesh.delays_s["Generate:2"] = 30.0
    response = await ask(mesh, timeout=1.0)
    assert response.outcome == ANSWERED
    assert response.stop_reason in (history_pb2.STOP_REASON_STAGE_FAILED, history_pb2.STOP_REASON_DEADLINE_SPENT)
    assert len(response.history) == 2
    await settle(mesh)


@pytest.fixture
def greedy_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages that may take more time than there is, so that only the guard around the whole request is left."""
    for stage in STAGE_SHARES:
        monkeypatch.setitem(STAGE_SHARES, stage, 5.0)


@pytest.mark.usefixtures("greedy_stages")
async def test_the_guard_brings_back_the_sources_so_far(mesh: FakeMesh) -> None:
    mesh.delays_s["Generate"] = 30.0
    started = time.monotonic()
    response = await ask(mesh, timeout=1.0)
    assert time.monotonic() - started < 1.1
    assert response.outcome == SOURCES_ONLY
    assert (response.stop_reason, response.exhausted) == (history_pb2.STOP_REASON_DEADLINE_SPENT, True)
    assert {unit.passage_id for unit in response.evidence} >= {"p1", "p2"}
    assert response.history[-1].result_summary.endswith("generate failed")
    await settle(mesh)


@pytest.mark.usefixtures("greedy_stages")
async def test_the_guard_brings_back_the_best_answer_so_far(mesh: FakeMesh) -> None:
    mesh.delays_s["Generate:2"] = 30.0
    response = await ask(mesh, timeout=1.0)
    assert response.outcome == ANSWERED
    assert (response.stop_reason, response.exhausted) == (history_pb2.STOP_REASON_DEADLINE_SPENT, True)
    assert [record.trigger for record in response.history] == [
        history_pb2.TRIGGER_FIRST_PASS,
        history_pb2.TRIGGER_PENDING_REFERENCES,
    ]
    await settle(mesh)


@pytest.mark.usefixtures("greedy_stages")
@pytest.mark.parametrize("slow", ["Understand", "Profile", "Retrieve", "GetPassages"])
async def test_nothing_in_time_is_deadline_exceeded(mesh: FakeMesh, slow: str) -> None:
    mesh.delays_s[slow] = 30.0
    started = time.monotonic()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await mesh.stub.Answer(dispatcher_pb2.AnswerRequest(question=QUESTION), timeout=0.5, metadata=METADATA)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert time.monotonic() - started < 0.6
    await settle(mesh)


@pytest.mark.parametrize(
    ("failing", "stage", "branch", "outcome"),
    [
        ("Understand", budget_pb2.STAGE_UNDERSTAND, "original_question", ANSWERED),
        ("Profile", budget_pb2.STAGE_PROFILE, "unknown_scope", ANSWERED),
        ("Retrieve", budget_pb2.STAGE_RETRIEVE, "", UNAVAILABLE),
        ("FollowReferences", budget_pb2.STAGE_FOLLOW_REFERENCES, "without_references", ANSWERED),
        ("Rerank", budget_pb2.STAGE_RERANK, "first_stage", ANSWERED),
        ("AssembleContext", budget_pb2.STAGE_ASSEMBLE, "fused_order", ANSWERED),
        ("GetPassages", budget_pb2.STAGE_RECHECK, "", UNAVAILABLE),
        ("Generate", budget_pb2.STAGE_GENERATE, "", SOURCES_ONLY),
        ("Validate", budget_pb2.STAGE_VALIDATE, "", SOURCES_ONLY),
    ],
)
async def test_a_failing_stage_takes_the_branch_of_the_table(
    mesh: FakeMesh,
    failing: str,
    stage: budget_pb2.Stage.ValueType,
    branch: str,
    outcome: answer_pb2.AnswerOutcome.ValueType,
) -> None:
    mesh.failures[failing] = DOWN
    response = await ask(mesh)
    assert response.outcome == outcome
    report = next(item for item in response.stage_reports if item.stage == stage)
    assert report.branch == branch
    assert report.error_reason == "UPSTREAM_UNAVAILABLE"
    if outcome != ANSWERED:
        assert not response.answer.claims
        assert not response.answer.text


async def test_without_rerank_weak_words_abstain(mesh: FakeMesh) -> None:
    mesh.failures["Rerank"] = DOWN
    mesh.passages = (mesh.passages[2],)
    plan = question_pb2.RetrievalPlan(main_query=QUESTION, anchor_keywords=["alarm", "device", "wait"])
    mesh.parse = lambda question: parsed(question, retrieval=plan)
    response = await ask(mesh)
    assert response.outcome == ABSTAINED
    assert not mesh.requests("Generate")


async def test_one_failed_leg_leaves_the_other(mesh: FakeMesh) -> None:
    mesh.failed_legs[activation_pb2.PATTERN_KEYWORD] = "STORE_UNAVAILABLE"
    response = await ask(mesh)
    assert response.outcome == ANSWERED
    legs = {query.leg for request in mesh.requests("Retrieve") for query in request.queries}
    assert activation_pb2.PATTERN_DENSE in legs, "the rules had left it off; the failure brought it in"


async def test_both_failed_legs_are_no_statement_about_the_documents(mesh: FakeMesh) -> None:
    mesh.failed_legs = dict.fromkeys(
        (activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE), "MODEL_UNAVAILABLE"
    )
    response = await ask(mesh)
    assert response.outcome == UNAVAILABLE
    assert response.stop_reason == history_pb2.STOP_REASON_STAGE_FAILED
    assert "says nothing about what the documents hold" in response.message


async def test_what_the_pass_has_just_found_needs_no_check_before_it_is_shown(mesh: FakeMesh) -> None:
    response = await ask(mesh)
    names = [name for name, _ in mesh.calls]
    assert "GetPassages" not in names[: names.index("Generate")]
    shown = {unit.passage_id for unit in response.evidence}
    assert shown == set(mesh.requests("GetPassages")[-1].passage_ids)


async def test_a_search_that_took_long_is_checked_again_by_the_gate(mesh: FakeMesh) -> None:
    mesh.delays_s["Rerank"] = 1.1
    await ask(mesh)
    names = [name for name, _ in mesh.calls]
    assert "GetPassages" in names[: names.index("Generate")]


async def test_what_was_revoked_is_neither_cited_nor_shown(wary_mesh: FakeMesh) -> None:
    wary_mesh.hidden = {"p1", "p2", "p3", "p4"}
    response = await ask(wary_mesh)
    assert response.outcome == ABSTAINED
    assert not response.evidence
    assert not wary_mesh.requests("Generate")
    assert response.history[0].signals.gate == history_pb2.GATE_DECISION_NOT_AUTHORIZED


async def test_what_may_be_assembled_is_checked_meanwhile(wary_mesh: FakeMesh) -> None:
    wary_mesh.delays_s["AssembleContext"] = 0.2
    await ask(wary_mesh)
    names = [name for name, _ in wary_mesh.calls]
    first = names.index("Rerank") + 1
    assert set(names[first : first + 2]) == {"AssembleContext", "GetPassages"}
    sent = [candidate.passage.passage_id for candidate in wary_mesh.requests("AssembleContext")[0].candidates]
    assert list(wary_mesh.requests("GetPassages")[0].passage_ids) == sent


async def test_a_check_that_failed_meanwhile_is_made_again_by_the_gate(wary_mesh: FakeMesh) -> None:
    wary_mesh.failures["GetPassages:1"] = errors_pb2.ERROR_REASON_INTERNAL
    response = await ask(wary_mesh)
    assert response.outcome == ANSWERED
    assert wary_mesh.count["GetPassages"] > 2


async def test_what_is_revoked_while_the_answer_is_written_is_judged_as_it_stands_then(mesh: FakeMesh) -> None:
    judged = []

    def write(request: generation_pb2.GenerateRequest) -> answer_pb2.AnswerWithEvidence:
        mesh.hidden = {"p1"}
        return write_answer(request)

    def judge(request: validation_pb2.ValidateRequest) -> validation_pb2.ValidateResponse:
        judged.append({check.passage_id: check.status for check in request.checks})
        hidden = judged[-1]["p1"] == retrieval_pb2.PASSAGE_STATUS_NOT_FOUND
        decision = answer_pb2.RELEASE_DECISION_WITHHOLD if hidden else answer_pb2.RELEASE_DECISION_RELEASE
        return validation_pb2.ValidateResponse(decision=decision, complete=not hidden)

    mesh.write, mesh.judge = write, judge
    request = dispatcher_pb2.AnswerRequest(question=QUESTION, budget=budget_pb2.Budget(max_iterations=1))
    response = await mesh.stub.Answer(request, timeout=5.0, metadata=METADATA)
    assert judged[0]["p1"] == retrieval_pb2.PASSAGE_STATUS_CURRENT
    assert judged[1]["p1"] == retrieval_pb2.PASSAGE_STATUS_NOT_FOUND
    assert response.outcome == answer_pb2.ANSWER_OUTCOME_WITHHELD_FOR_REVIEW
    assert not response.answer.claims


async def test_the_early_look_brings_rankings_that_stand_in_for_a_failed_search(mesh: FakeMesh) -> None:
    mesh.failures["Retrieve:2"] = errors_pb2.ERROR_REASON_INTERNAL
    response = await ask(mesh)
    assert response.outcome == ANSWERED
    early, failed, stand_in = mesh.requests("Retrieve")[:3]
    assert (early.rankings_only, failed.rankings_only, stand_in.rankings_only) == (True, False, False)
    assert not stand_in.queries
    assert stand_in.prior_rankings[0].query == QUESTION


async def test_what_is_superseded_is_not_cited_as_in_force(wary_mesh: FakeMesh) -> None:
    wary_mesh.superseded = {"p1", "p2", "p3", "p4"}
    response = await ask(wary_mesh)
    assert response.outcome == ABSTAINED
    assert response.history[0].signals.gate == history_pb2.GATE_DECISION_NOT_IN_FORCE


async def test_sources_are_checked_again_before_they_stand_for_an_answer(mesh: FakeMesh) -> None:
    mesh.failures["Generate"] = errors_pb2.ERROR_REASON_LLM_TIMEOUT
    mesh.failures["GetPassages"] = DOWN
    response = await ask(mesh)
    assert response.outcome == UNAVAILABLE
    assert not response.evidence


async def test_expired_credentials_are_the_callers_to_hear_of(mesh: FakeMesh) -> None:
    mesh.failures["Rerank"] = errors_pb2.ERROR_REASON_TOKEN_EXPIRED
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await mesh.stub.Answer(dispatcher_pb2.AnswerRequest(question=QUESTION), timeout=2.0, metadata=METADATA)
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_TOKEN_EXPIRED


@pytest.mark.parametrize("rpc", ["Understand", "Profile", "Retrieve"])
async def test_expired_credentials_in_the_opening(mesh: FakeMesh, rpc: str) -> None:
    mesh.failures[rpc] = errors_pb2.ERROR_REASON_TOKEN_EXPIRED
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await mesh.stub.Answer(dispatcher_pb2.AnswerRequest(question=QUESTION), timeout=2.0, metadata=METADATA)
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_TOKEN_EXPIRED


async def test_a_caller_who_hangs_up_leaves_no_handler_running(mesh: FakeMesh) -> None:
    mesh.delays_s["Generate"] = 30.0
    call = mesh.stub.Answer(dispatcher_pb2.AnswerRequest(question=QUESTION), timeout=20.0, metadata=METADATA)
    for _ in range(200):
        if mesh.running["Generate"]:
            break
        await asyncio.sleep(0.02)
    call.cancel()
    await settle(mesh)


async def test_the_callers_credentials_go_with_every_call(tmp_path: Path) -> None:
    async with running(FakeMesh(), tmp_path, CITEMESH_AUTH_ALLOW_ANONYMOUS="false") as mesh:
        response = await ask(mesh)
    assert response.outcome == ANSWERED
