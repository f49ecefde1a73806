"""The service as a host starts it, over gRPC; its errors as a handler raises them."""

from __future__ import annotations

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
from citemesh.v1.question_pb2 import Intent, ParsedQuestion, Turn
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
