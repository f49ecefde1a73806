"""The demo's questions, asked of the whole mesh: outcome, words, citations, history, replay."""

from __future__ import annotations

from typing import Any

import grpc.aio
import pytest

from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    dispatcher_pb2,
    dispatcher_pb2_grpc,
    history_pb2,
)
from demo.expectations import find_surprises
from tests.mesh.calling import TIMEOUT_S, as_user, demo_questions, make_request

QUESTIONS = demo_questions()


async def ask(channel: grpc.aio.Channel, row: dict[str, Any]) -> dispatcher_pb2.AnswerResponse:
    stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
    earlier = await ask(channel, QUESTIONS[row["follows"]]) if "follows" in row else None
    return await stub.Answer(make_request(row, earlier), timeout=TIMEOUT_S, metadata=as_user(row["as"]))


@pytest.mark.parametrize("question_id", QUESTIONS)
async def test_demo_question(channel: grpc.aio.Channel, question_id: str) -> None:
    row = QUESTIONS[question_id]
    response = await ask(channel, row)
    assert find_surprises(row["expect"], response) == []
    check_invariants(response)


def check_invariants(response: dispatcher_pb2.AnswerResponse) -> None:
    """What holds for every answer, whatever was asked."""
    assert len(response.activations.activations) == 7
    assert response.request_id
    assert response.stop_reason != history_pb2.STOP_REASON_UNSPECIFIED
    evidence = {e.evidence_id: e for e in response.evidence}
    for claim in response.answer.claims:
        assert claim.citations, "a claim without citation was released"
        for citation in claim.citations:
            source = evidence[citation.evidence_id]
            assert source.text[citation.start_offset : citation.end_offset] == citation.quote
            assert source.content_hash == citation.content_hash
    for number, record in enumerate(response.history, 1):
        assert record.iteration_number == number
        assert record.result_summary
    assert all(report.HasField("duration") for report in response.stage_reports)


async def test_a_pending_reference_is_followed_by_a_pass_of_its_own(channel: grpc.aio.Channel) -> None:
    response = await ask(channel, QUESTIONS["alarm-kinds"])
    triggers = [record.trigger for record in response.history]
    assert triggers[0] == history_pb2.TRIGGER_FIRST_PASS
    assert history_pb2.TRIGGER_PENDING_REFERENCES in triggers
    followed = response.history[triggers.index(history_pb2.TRIGGER_PENDING_REFERENCES)]
    assert followed.action == history_pb2.ACTION_FOLLOW_REFERENCES
    assert set(followed.candidate_ids_after) - set(followed.candidate_ids_before)


async def test_a_recorded_answer_replays_and_an_edited_one_does_not(channel: grpc.aio.Channel) -> None:
    stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
    response = await ask(channel, QUESTIONS["alarm-kinds"])
    metadata = as_user("ana:staff")
    replayed = await stub.Replay(dispatcher_pb2.ReplayRequest(recorded=response), timeout=5, metadata=metadata)
    assert replayed.agrees, replayed
    assert replayed.decision_count >= 8
    dense = response.activations.activations[activation_pb2.PATTERN_DENSE - 1]
    dense.active = not dense.active
    edited = await stub.Replay(dispatcher_pb2.ReplayRequest(recorded=response), timeout=5, metadata=metadata)
    assert not edited.agrees
    assert any("dense" in difference.path for difference in edited.differences)


async def test_explain_calls_no_model_and_agrees_with_answer(channel: grpc.aio.Channel) -> None:
    stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
    row = QUESTIONS["alarm-kinds"]
    answer = await ask(channel, row)
    asked = make_request(row)
    scope = asked.scope if asked.HasField("scope") else None
    request = dispatcher_pb2.ExplainRequest(question=asked.question, scope=scope)
    explained = await stub.Explain(request, timeout=5, metadata=as_user(row["as"]))
    assert explained.activations == answer.activations


async def test_a_stream_ends_with_the_whole_response(channel: grpc.aio.Channel) -> None:
    stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
    row = QUESTIONS["meal-allowance"]
    request = make_request(row)
    request.release_mode = answer_pb2.RELEASE_MODE_VALIDATED_CLAIMS
    call = stub.AnswerStream(
        dispatcher_pb2.AnswerStreamRequest(request=request), timeout=TIMEOUT_S, metadata=as_user(row["as"])
    )
    events = [event async for event in call]
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds[-1] == "response"
    assert {"stage_report", "activations", "iteration", "claim"} <= set(kinds)
    streamed = [event.claim.text for event in events if event.WhichOneof("event") == "claim"]
    assert streamed == [claim.text for claim in events[-1].response.answer.claims]


async def test_the_same_question_gives_the_same_decisions(channel: grpc.aio.Channel) -> None:
    first, second = [await ask(channel, QUESTIONS["alarm-kinds"]) for _ in range(2)]
    assert first.activations == second.activations
    assert [r.trigger for r in first.history] == [r.trigger for r in second.history]
    assert first.answer.text == second.answer.text


async def test_a_named_table_is_searched_in_the_one_document_in_scope_and_else_asked_back(
    channel: grpc.aio.Channel,
) -> None:
    question = "What does Table 1 show?"
    scoped = await ask(channel, {"question": question, "as": "ana:staff", "document_ids": ["cx-200-manual"]})
    assert scoped.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    assert any(unit.label == "table 1" for unit in scoped.evidence)
    unscoped = await ask(channel, {"question": question, "as": "ana:staff"})
    assert unscoped.outcome == answer_pb2.ANSWER_OUTCOME_CLARIFICATION_NEEDED
