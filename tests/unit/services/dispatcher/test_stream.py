"""AnswerStream: events in order, claims only when released, text as generated only where the policy allows it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import pytest

from citemesh.rpc.errors import error_reason
from citemesh.v1 import answer_pb2, dispatcher_pb2, errors_pb2, validation_pb2
from tests.unit.services.dispatcher.fake_mesh import METADATA, FakeMesh, running
from tests.unit.services.dispatcher.scripts import QUESTION, judge_all


def stream(mesh: FakeMesh, mode: answer_pb2.ReleaseMode.ValueType) -> object:
    request = dispatcher_pb2.AnswerRequest(question=QUESTION, release_mode=mode)
    return mesh.stub.AnswerStream(dispatcher_pb2.AnswerStreamRequest(request=request), timeout=5.0, metadata=METADATA)


async def collect(mesh: FakeMesh, mode: answer_pb2.ReleaseMode.ValueType) -> list[dispatcher_pb2.AnswerStreamResponse]:
    return [event async for event in stream(mesh, mode)]  # type: ignore[attr-defined]  # a stream call


async def test_events_tell_the_request_and_end_with_the_response(tmp_path: Path) -> None:
    async with running(FakeMesh(), tmp_path) as mesh:
        events = await collect(mesh, answer_pb2.RELEASE_MODE_BUFFERED)
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds[-1] == "response"
    assert kinds.count("response") == 1
    assert kinds.count("activations") == 1
    assert kinds.count("iteration") == 2
    assert "claim" not in kinds
    assert "text_delta" not in kinds
    response = events[-1].response
    assert [event.stage_report for event in events if event.HasField("stage_report")] == list(response.stage_reports)
    assert [event.iteration for event in events if event.HasField("iteration")] == list(response.history)


async def test_claims_leave_once_released_and_only_once(tmp_path: Path) -> None:
    async with running(FakeMesh(), tmp_path) as mesh:
        events = await collect(mesh, answer_pb2.RELEASE_MODE_VALIDATED_CLAIMS)
    claims = [event.claim.text for event in events if event.HasField("claim")]
    assert len(claims) == len(set(claims)) == 3
    first_claim = next(place for place, event in enumerate(events) if event.HasField("claim"))
    last_iteration = max(place for place, event in enumerate(events) if event.HasField("iteration"))
    assert first_claim < last_iteration, "the first pass's claims do not wait for the second"
    timings = events[-1].response.timings
    assert timings.first_text_duration.ToMicroseconds() <= timings.validated_answer_duration.ToMicroseconds()


async def test_no_claim_of_a_withheld_answer_leaves(tmp_path: Path) -> None:
    def judge(request: validation_pb2.ValidateRequest) -> validation_pb2.ValidateResponse:
        response = judge_all(request)
        response.decision = answer_pb2.RELEASE_DECISION_WITHHOLD
        return response

    async with running(FakeMesh(judge=judge), tmp_path) as mesh:
        events = await collect(mesh, answer_pb2.RELEASE_MODE_VALIDATED_CLAIMS)
    assert not any(event.HasField("claim") for event in events)
    assert not events[-1].response.timings.HasField("first_text_duration")


async def test_unvalidated_text_needs_the_policys_leave(tmp_path: Path) -> None:
    async with running(FakeMesh(), tmp_path) as mesh:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await collect(mesh, answer_pb2.RELEASE_MODE_UNVALIDATED)
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_RELEASE_MODE_NOT_ALLOWED


async def test_unvalidated_text_leaves_as_it_is_generated(tmp_path: Path) -> None:
    async with running(FakeMesh(), tmp_path, CITEMESH_DISPATCHER_ALLOW_UNVALIDATED="true") as mesh:
        events = await collect(mesh, answer_pb2.RELEASE_MODE_UNVALIDATED)
    assert "".join(event.text_delta for event in events)
    assert events[-1].response.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED


async def test_a_reader_who_leaves_ends_the_work(tmp_path: Path) -> None:
    async with running(FakeMesh(delays_s={"Generate": 30.0}), tmp_path) as mesh:
        call = stream(mesh, answer_pb2.RELEASE_MODE_BUFFERED)
        async for _ in call:  # type: ignore[attr-defined]  # a stream call
            if mesh.running["Generate"]:
                break
            await asyncio.sleep(0)
        call.cancel()  # type: ignore[attr-defined]  # a stream call
        for _ in range(50):
            if not +mesh.running:
                break
            await asyncio.sleep(0.02)
        assert not +mesh.running
