"""The service as a host starts it, over gRPC."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeAlias
from unittest.mock import Mock

import grpc.aio
import pytest
from prometheus_client import CollectorRegistry

from citemesh.config.load import ConfigurationError
from citemesh.rpc.errors import ServiceError
from citemesh.rpc.spec import StartContext
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import errors_pb2, generation_pb2, generation_pb2_grpc, question_pb2
from services.generation.requests import check_generate
from services.generation.service import SPEC
from tests.unit.services.generation.builders import make_evidence, make_question, make_request

Stub: TypeAlias = "generation_pb2_grpc.GenerationServiceAsyncStub"


def make_context(models: Path, state_dir: Path, **environ: str) -> StartContext:
    registry = CollectorRegistry()
    return StartContext(
        environ={"CITEMESH_MODELS_DIR": str(models), **environ},
        state_dir=state_dir,
        registry=registry,
        metrics=MetricFactory(registry),
        open_channel=Mock(),
    )


@pytest.fixture
async def stub(models: Path, tmp_path: Path) -> AsyncIterator[Stub]:
    service = await SPEC.start(make_context(models, tmp_path))
    assert await service.check() is None
    server = grpc.aio.server()
    service.register(server)
    server.add_insecure_port(f"unix:{tmp_path}/g.sock")
    await server.start()
    async with grpc.aio.insecure_channel(f"unix:{tmp_path}/g.sock") as channel:
        yield generation_pb2_grpc.GenerationServiceStub(channel)
    await server.stop(None)
    await service.close()


async def test_it_answers_from_evidence(stub: Stub) -> None:
    request = make_request("When does unused leave expire?", "Unused leave expires on 31 March.")
    response = await stub.Generate(request, timeout=10)
    assert response.branch == "extractive"
    assert "31 March" in response.answer.claims[0].text


async def test_a_stream_brings_the_claims_and_then_the_response(stub: Stub) -> None:
    request = make_request("When does unused leave expire?", "Unused leave expires on 31 March.")
    call = stub.GenerateStream(generation_pb2.GenerateStreamRequest(request=request), timeout=10)
    events = [event async for event in call]
    assert [event.WhichOneof("event") for event in events] == ["claim", "response"]
    assert events[-1].response.answer.claims[0] == events[0].claim


def test_every_wrong_field_is_named() -> None:
    request = make_request(
        make_question(" ", need=question_pb2.RETRIEVAL_NEED_UNSPECIFIED), make_evidence("a"), make_evidence("b")
    )
    with pytest.raises(ServiceError) as raised:
        check_generate(request, "request.")
    assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
    assert {field for field, _ in raised.value.field_violations} == {
        "request.parsed_question.original_question",
        "request.parsed_question.need",
        "request.evidence[1].evidence_id",
    }


async def test_a_server_without_a_model_name_stops_the_start(models: Path, tmp_path: Path) -> None:
    context = make_context(models, tmp_path, CITEMESH_GENERATION_LLM_BASE_URL="http://localhost:1/v1")
    with pytest.raises(ConfigurationError, match="llm_model"):
        await SPEC.start(context)


async def test_missing_models_stop_the_start_and_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="models pull"):
        await SPEC.start(make_context(tmp_path / "none", tmp_path))
