"""The documents service for tests: its real store, parsers and handler; only the encoder is a small one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from prometheus_client import CollectorRegistry

from citemesh.auth.principal import Principal, acting_as
from citemesh.rpc.errors import ServiceError, reason_name
from citemesh.rpc.spec import StartContext
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import documents_pb2 as pb
from citemesh.v1.document_pb2 import AccessPolicy, AllowedPrincipals, Everyone
from services.documents import service as service_module
from tests.unit.services.documents.word_encoder import WordEncoder

ADA = Principal("acme", "ada", frozenset({"staff"}))
BO = Principal("acme", "bo", frozenset({"hr"}))
STRANGER = Principal("other", "ada", frozenset({"staff", "hr"}))
EVERYONE = AccessPolicy(everyone=Everyone())
NEW_YEAR = Timestamp(seconds=1_767_225_600)
ONLY_HR = AccessPolicy(only=AllowedPrincipals(groups=["hr"]))
RULES = "# Rules\n\n## 1 Lamp\n\nThe lamp burns all night.\n"


class Unhurried:
    """A call without a deadline."""

    def time_remaining(self) -> float | None:
        return None


@dataclass
class Mesh:
    """The running service, called through its handler."""

    service: service_module.DocumentsService
    registry: CollectorRegistry
    state_dir: Path

    @property
    def handler(self) -> Any:
        return self.service._handler

    async def ingest(
        self, content: bytes | str, file_name: str = "rules.md", principal: Principal = ADA, **header: Any
    ) -> pb.IngestResponse:
        data = content.encode() if isinstance(content, str) else content
        with acting_as(principal):
            stored: pb.IngestResponse = await self.handler.Ingest(pieces(data, file_name, **header), Unhurried())
        return stored

    async def call(self, method: str, request: object, principal: Principal = ADA) -> Any:
        with acting_as(principal):
            return await getattr(self.handler, method)(request, Unhurried())

    def ingested(self, result: str) -> float:
        return self.registry.get_sample_value("citemesh_ingested_documents_total", {"result": result}) or 0.0


async def pieces(data: bytes, file_name: str, size: int = 1000, **header: Any) -> AsyncIterator[pb.IngestRequest]:
    yield pb.IngestRequest(header=pb.IngestHeader(file_name=file_name, **header))
    for start in range(0, len(data), size):
        yield pb.IngestRequest(chunk=data[start : start + size])


async def start(monkeypatch: pytest.MonkeyPatch, state_dir: Path, revision: str = "1", **environ: str) -> Mesh:
    monkeypatch.setattr(service_module, "load_encoder", lambda *_: WordEncoder(revision))
    registry = CollectorRegistry()
    context = StartContext(
        environ={"CITEMESH_DOCUMENTS_PARSE_WALL_S": "60", "CITEMESH_DOCUMENTS_PARSE_CPU_S": "20", **environ},
        state_dir=state_dir,
        registry=registry,
        metrics=MetricFactory(registry),
        open_channel=lambda name: pytest.fail(f"documents calls nobody, and called {name}"),
    )
    return Mesh(await service_module.start(context), registry, state_dir)


async def reason_of(awaited: Awaitable[object]) -> str:
    with pytest.raises(ServiceError) as refused:
        await awaited
    return reason_name(refused.value.reason)
