"""What operators rely on, in both shapes: health, reflection, metrics, documented errors, draining."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from citemesh.rpc.errors import from_rpc_error
from citemesh.telemetry.names import DEFINITIONS
from citemesh.v1 import (
    dispatcher_pb2,
    dispatcher_pb2_grpc,
    documents_pb2,
    documents_pb2_grpc,
    errors_pb2,
)
from services.registry import NAMES
from tests.mesh.calling import as_user, fetch_metrics
from tests.mesh.hosting import Mesh


def full_name(name: str) -> str:
    return f"citemesh.v1.{name.capitalize()}Service"


@pytest.mark.parametrize("name", NAMES)
def test_every_service_is_serving(mesh: Mesh, name: str) -> None:
    with grpc.insecure_channel(mesh.targets[name]) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        for asked in ("", full_name(name)):
            answer = stub.Check(health_pb2.HealthCheckRequest(service=asked), timeout=5)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("name", NAMES)
def test_reflection_lists_the_service(mesh: Mesh, name: str) -> None:
    with grpc.insecure_channel(mesh.targets[name]) as channel:
        assert full_name(name) in ProtoReflectionDescriptorDatabase(channel).get_services()


async def test_metrics_count_calls_and_outcomes(mesh: Mesh, channel: grpc.aio.Channel) -> None:
    stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
    await stub.Answer(dispatcher_pb2.AnswerRequest(question="hello"), timeout=10, metadata=as_user("ana:staff"))
    pages = {
        group: await asyncio.to_thread(fetch_metrics, address) for group, address in mesh.metrics_addresses.items()
    }
    for name in NAMES:
        page = pages.get(name) or pages["all"]
        assert 'grpc_server_handled_total{grpc_code="OK"' in page
        assert f'grpc_service="{full_name(name)}"' in page
    dispatcher = pages.get("dispatcher") or pages["all"]
    lines = [x for x in dispatcher.splitlines() if x.startswith('citemesh_outcomes_total{outcome="answered"}')]
    assert lines
    assert float(lines[0].split()[-1]) >= 1


def test_every_defined_metric_is_exported(embedded_mesh: Mesh) -> None:
    """Dashboards and alerts name what telemetry/names.py defines, so each of it must come from some service."""
    page = fetch_metrics(embedded_mesh.metrics_addresses["all"])
    known = {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE ")}
    assert {definition.name for definition in DEFINITIONS} <= known


async def fail(call: grpc.aio.UnaryUnaryCall[Any, Any]) -> tuple[grpc.StatusCode, str, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    error = from_rpc_error(caught.value)
    return caught.value.code(), errors_pb2.ErrorReason.Name(error.reason).removeprefix("ERROR_REASON_"), error.message


async def test_bad_fields_are_named(channel: grpc.aio.Channel) -> None:
    stub = dispatcher_pb2_grpc.DispatcherServiceStub(channel)
    for request in (
        dispatcher_pb2.AnswerRequest(question="  "),
        dispatcher_pb2.AnswerRequest(question="x" * 4001),
        dispatcher_pb2.AnswerRequest(question="Why?", pipeline="no-such-pipeline"),
    ):
        code, reason, message = await fail(stub.Answer(request, timeout=10, metadata=as_user("ana")))
        assert (code, reason) in {
            (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"),
            (grpc.StatusCode.NOT_FOUND, "PIPELINE_NOT_FOUND"),
        }
        assert message
    empty_scope = dispatcher_pb2.AnswerRequest(question="Why?")
    empty_scope.scope.documents.SetInParent()
    assert (await fail(stub.Answer(empty_scope, timeout=10, metadata=as_user("ana"))))[1] == "INVALID_FIELD"


async def test_what_may_not_be_read_is_not_found(mesh: Mesh) -> None:
    async with grpc.aio.insecure_channel(mesh.targets["documents"]) as channel:
        stub = documents_pb2_grpc.DocumentsServiceStub(channel)
        outcomes = set()
        for document_id in ("hr-salary-bands", "no-such-document"):
            request = documents_pb2.GetRequest(document_id=document_id)
            code, reason, message = await fail(stub.Get(request, timeout=5, metadata=as_user("ana:staff")))
            outcomes.add((code, reason, message.replace(document_id, "ID")))
        assert len(outcomes) == 1
        assert {code for code, _, _ in outcomes} == {grpc.StatusCode.NOT_FOUND}
        listed = await stub.List(documents_pb2.ListRequest(), timeout=5, metadata=as_user("ana:staff"))
        assert "hr-salary-bands" not in {document.document_id for document in listed.documents}
