"""Recorded answers decide the same again; every edit of a decision or of what it read is named."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import pytest

from citemesh.rpc.errors import error_reason, read_field_violations, read_status
from citemesh.v1 import answer_pb2, dispatcher_pb2, errors_pb2, history_pb2, question_pb2
from services.dispatcher.replay import find_missing, replay
from tests.unit.services.dispatcher.fake_mesh import METADATA, FakeMesh, running
from tests.unit.services.dispatcher.scripts import QUESTION

Edit = Callable[[dispatcher_pb2.AnswerResponse], None]


@pytest.fixture
async def mesh(tmp_path: Path) -> AsyncIterator[FakeMesh]:
    async with running(FakeMesh(), tmp_path) as mesh:
        yield mesh


@pytest.fixture
async def recorded(mesh: FakeMesh) -> dispatcher_pb2.AnswerResponse:
    """An answer of two passes, the second by a pending reference."""
    request = dispatcher_pb2.AnswerRequest(question=QUESTION)
    response: dispatcher_pb2.AnswerResponse = await mesh.stub.Answer(request, timeout=5.0, metadata=METADATA)
    assert len(response.history) == 2
    return response


def edit_activation(response: dispatcher_pb2.AnswerResponse) -> None:
    response.activations.activations[2].active = True


def edit_rule(response: dispatcher_pb2.AnswerResponse) -> None:
    response.activations.activations[0].rule_id = "toc.usable"


def drop_activation(response: dispatcher_pb2.AnswerResponse) -> None:
    del response.activations.activations[6]


def edit_scope(response: dispatcher_pb2.AnswerResponse) -> None:
    response.scope_profile.usable_toc_count = 1


def edit_question(response: dispatcher_pb2.AnswerResponse) -> None:
    response.parsed_question.intent = question_pb2.INTENT_LISTING


def edit_match(response: dispatcher_pb2.AnswerResponse) -> None:
    response.keyword_leg_can_match = False


def edit_trigger(response: dispatcher_pb2.AnswerResponse) -> None:
    response.history[1].trigger = history_pb2.TRIGGER_DISCOVERED_VOCABULARY


def edit_action_words(response: dispatcher_pb2.AnswerResponse) -> None:
    response.history[1].action_taken = "follow Table 5"


def edit_confidence(response: dispatcher_pb2.AnswerResponse) -> None:
    response.history[1].confidence_after = 0.99


def edit_summary(response: dispatcher_pb2.AnswerResponse) -> None:
    response.history[0].result_summary = "all was well"


def edit_signal(response: dispatcher_pb2.AnswerResponse) -> None:
    del response.history[0].signals.pending_references[:]


def edit_last_signal(response: dispatcher_pb2.AnswerResponse) -> None:
    response.history[1].signals.complete_answer_found = False


def drop_pass(response: dispatcher_pb2.AnswerResponse) -> None:
    del response.history[1]


def add_pass(response: dispatcher_pb2.AnswerResponse) -> None:
    response.history.append(response.history[1])


def edit_stop(response: dispatcher_pb2.AnswerResponse) -> None:
    response.stop_reason = history_pb2.STOP_REASON_DRIFT


def edit_exhausted(response: dispatcher_pb2.AnswerResponse) -> None:
    response.exhausted = True


def edit_outcome(response: dispatcher_pb2.AnswerResponse) -> None:
    response.outcome = answer_pb2.ANSWER_OUTCOME_WITHHELD_FOR_REVIEW


def edit_verdicts(response: dispatcher_pb2.AnswerResponse) -> None:
    response.history[1].signals.release_decision = answer_pb2.RELEASE_DECISION_WITHHOLD


EDITS = [
    (edit_activation, "activations.dense"),
    (edit_rule, "activations.toc"),
    (drop_activation, "activations.iterative_feedback"),
    (edit_scope, "activations.toc"),
    (edit_question, "activations.listing_aggregation"),
    (edit_match, "activations.dense"),
    (edit_trigger, "history[1].trigger"),
    (edit_action_words, "history[1].action_taken"),
    (edit_confidence, "history[1].confidence_after"),
    (edit_summary, "history[0].result_summary"),
    (edit_signal, "history[1].trigger"),
    (edit_last_signal, "stop_reason"),
    (drop_pass, "stop_reason"),
    (add_pass, "history[2]"),
    (edit_stop, "stop_reason"),
    (edit_exhausted, "exhausted"),
    (edit_outcome, "outcome"),
    (edit_verdicts, "stop_reason"),
]


async def test_a_recorded_answer_decides_the_same(mesh: FakeMesh, recorded: dispatcher_pb2.AnswerResponse) -> None:
    replayed = await mesh.stub.Replay(dispatcher_pb2.ReplayRequest(recorded=recorded), metadata=METADATA)
    assert replayed.agrees
    assert not replayed.differences
    assert replayed.decision_count > 30


async def test_an_edited_record_is_named(recorded: dispatcher_pb2.AnswerResponse) -> None:
    for edit, path in EDITS:
        edited = dispatcher_pb2.AnswerResponse()
        edited.CopyFrom(recorded)
        edit(edited)
        result = replay(edited)
        paths = [difference.path for difference in result.differences]
        assert not result.agrees, edit.__name__
        assert path in paths, (edit.__name__, paths)
        assert all(item.recorded != item.replayed for item in result.differences)


async def test_a_record_of_no_pass_replays_too(mesh: FakeMesh) -> None:
    mesh.profile.Clear()
    request = dispatcher_pb2.AnswerRequest(question=QUESTION)
    response = await mesh.stub.Answer(request, timeout=5.0, metadata=METADATA)
    assert replay(response).agrees
    response.outcome = answer_pb2.ANSWER_OUTCOME_ANSWERED
    assert [item.path for item in replay(response).differences] == ["outcome"]


@pytest.mark.parametrize("field", ["parsed_question", "scope_profile", "policy", "activations", "history"])
async def test_an_incomplete_record_is_refused(
    mesh: FakeMesh, recorded: dispatcher_pb2.AnswerResponse, field: str
) -> None:
    recorded.ClearField(field)  # type: ignore[arg-type]  # one of its fields
    assert find_missing(recorded) == [field]
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await mesh.stub.Replay(dispatcher_pb2.ReplayRequest(recorded=recorded), metadata=METADATA)
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_RECORD_INCOMPLETE
    status = read_status(caught.value)
    assert status is not None
    assert [path for path, _ in read_field_violations(status)] == [f"recorded.{field}"]


async def test_a_record_with_names_that_nobody_knows_is_refused(
    mesh: FakeMesh, recorded: dispatcher_pb2.AnswerResponse
) -> None:
    recorded.history[0].signals.gate = 99  # type: ignore[assignment]  # what a forged record may hold
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await mesh.stub.Replay(dispatcher_pb2.ReplayRequest(recorded=recorded), metadata=METADATA)
    assert error_reason(caught.value) == errors_pb2.ERROR_REASON_INVALID_FIELD
    status = read_status(caught.value)
    assert status is not None
    assert [path for path, _ in read_field_violations(status)] == ["recorded.history[0].signals.gate"]
