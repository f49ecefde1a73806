"""The service as a host starts it, over gRPC; its errors as a handler raises them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import Mock

import grpc.aio
import pytest
from prometheus_client import CollectorRegistry

from citemesh.rpc.errors import ServiceError
from citemesh.rpc.spec import StartContext
from citemesh.telemetry import names
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import errors_pb2, query_pb2, query_pb2_grpc
from citemesh.v1.activation_pb2 import Pattern
from citemesh.v1.question_pb2 import Intent, ParsedQuestion, Role, Turn
from services.query.requests import check_decide_follow_up, check_understand
from services.query.service import SPEC


@pytest.fixture
async def stub(tmp_path: Path) -> AsyncIterator[tuple[query_pb2_grpc.QueryServiceAsyncStub, CollectorRegistry]]:
    registry = CollectorRegistry()
    context = StartContext(
        environ={}, state_dir=tmp_path, registry=registry, metrics=MetricFactory(registry), open_channel=Mock()
    )
    service = await SPEC.start(context)
    assert await service.check() is None
    server = grpc.aio.server()
    service.register(server)
    server.add_insecure_port(f"unix:{tmp_path}/q.sock")
    await server.start()
    async with grpc.aio.insecure_channel(f"unix:{tmp_path}/q.sock") as channel:
        yield query_pb2_grpc.QueryServiceStub(channel), registry
    await server.stop(None)
    await service.close()


async def test_it_understands_and_counts(
    stub: tuple[query_pb2_grpc.QueryServiceAsyncStub, CollectorRegistry],
) -> None:
    service, registry = stub
    response = await service.Understand(query_pb2.UnderstandRequest(question="Who approves travel?"), timeout=5)
    assert response.branch == "rules"
    assert not response.fallback_reason
    assert response.parsed_question.intent == Intent.INTENT_FACTOID
    assert registry.get_sample_value(names.INTENTS.name, {"intent": "INTENT_FACTOID"}) == 1
    assert registry.get_sample_value(names.INTENTS.name, {"intent": "INTENT_LISTING"}) == 0


HOSTILE_QUESTIONS = [
    "What is " + "\t" * 3980 + "?",
    "Compare " + " " * 3980 + "and b?",
    "`" * 3990,
    "e.g. " * 780,
    "." * 4000,
    "…" * 4000,
    "1," * 1900,
    "the " * 980,
    "where show results " * 200,
    "both a and in b " * 240,
    "all the that " * 300 + "?",
    "what is a and what of b " * 160 + "?",
    "in a and in b " * 280 + "?",
    "A or B: " + "which " * 600 + "?",
]


@pytest.mark.parametrize("question", HOSTILE_QUESTIONS, ids=lambda question: repr(question[:12]))
async def test_no_question_holds_up_the_process(
    stub: tuple[query_pb2_grpc.QueryServiceAsyncStub, CollectorRegistry], question: str
) -> None:
    service, _ = stub
    asked = query_pb2.UnderstandRequest(question=question)
    leaning = query_pb2.UnderstandRequest(
        question="and how many of it?",
        history=[
            Turn(role=Role.ROLE_USER, text="What is leave?"),
            Turn(role=Role.ROLE_ASSISTANT, text=(question * 6)[:20_000]),
        ],
    )
    for request in (asked, leaning):
        start = time.process_time()
        response = await service.Understand(request, timeout=20)
        assert time.process_time() - start < 1
        assert response.parsed_question.original_question == request.question


@pytest.mark.parametrize("character", ["\n", "\t", " ", "1", "a", "-", "(", "`"])
async def test_no_turn_holds_up_the_process(
    stub: tuple[query_pb2_grpc.QueryServiceAsyncStub, CollectorRegistry], character: str
) -> None:
    service, _ = stub
    for role in (Role.ROLE_USER, Role.ROLE_ASSISTANT):
        turns = [Turn(role=Role.ROLE_USER, text="What is leave?"), Turn(role=role, text=character * 20_000)]
        start = time.process_time()
        await service.Understand(
            query_pb2.UnderstandRequest(question="and the second one of it?", history=turns), timeout=20
        )
        assert time.process_time() - start < 1


async def test_white_space_says_nothing(
    stub: tuple[query_pb2_grpc.QueryServiceAsyncStub, CollectorRegistry],
) -> None:
    service, _ = stub
    spread = query_pb2.UnderstandRequest(question="What  is\tthe   fee for a\u00a0 permit?")
    response = await service.Understand(spread, timeout=5)
    assert response.parsed_question.original_question == spread.question
    assert response.parsed_question.standalone_question == "What is the fee for a permit?"


async def test_it_decides_on_a_follow_up(
    stub: tuple[query_pb2_grpc.QueryServiceAsyncStub, CollectorRegistry],
) -> None:
    service, _ = stub
    request = query_pb2.DecideFollowUpRequest(
        parsed_question=ParsedQuestion(original_question="Who approves travel?"),
        available_targets=[Pattern.PATTERN_KEYWORD],
    )
    response = await service.DecideFollowUp(request, timeout=5)
    assert response.branch == "rules"
    assert response.decision.query


def test_every_wrong_field_of_a_question_is_named() -> None:
    request = query_pb2.UnderstandRequest(question=" ", history=[Turn(text="x" * 20_001)] * 51)
    with pytest.raises(ServiceError) as raised:
        check_understand(request)
    fields = {field for field, _ in raised.value.field_violations}
    assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
    assert {"question", "history", "history[0].role", "history[0].text"} <= fields
    with pytest.raises(ServiceError):
        check_understand(query_pb2.UnderstandRequest(question="x" * 4001))
    with pytest.raises(ServiceError):
        check_decide_follow_up(query_pb2.DecideFollowUpRequest(available_targets=[Pattern.PATTERN_UNSPECIFIED]))
