"""A scripted mesh behind the real host: it answers with what it was asked."""

# ruff: noqa: N802 - the methods have the names of the contract

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from citemesh.auth import current_principal
from citemesh.rpc.errors import ServiceError, invalid_argument
from citemesh.rpc.host import Host, hosted
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.v1 import (
    dispatcher_pb2,
    dispatcher_pb2_grpc,
    documents_pb2,
    documents_pb2_grpc,
    errors_pb2,
    retrieval_pb2,
    retrieval_pb2_grpc,
)


class Mesh(
    dispatcher_pb2_grpc.DispatcherServiceServicer,
    documents_pb2_grpc.DocumentsServiceServicer,
    retrieval_pb2_grpc.RetrievalServiceServicer,
):
    """All three services; remembers the last request and the caller."""

    def __init__(self) -> None:
        self.request: Any = None
        self.caller: Any = None
        self.content = b""
        self.running_streams = 0
        self.access: Any = None

    def note(self, request: Any) -> None:
        self.request, self.caller = request, current_principal()

    async def Answer(self, request: Any, _context: Any) -> Any:
        self.note(request)
        if request.question == "slow":
            await asyncio.sleep(30)
        if not request.question:
            raise invalid_argument("question", "must not be empty")
        response = dispatcher_pb2.AnswerResponse(request_id=request.request_id)
        response.answer.text = f"about {request.question}"
        return response

    async def AnswerStream(self, request: Any, context: Any) -> AsyncIterator[Any]:
        self.note(request.request)
        self.running_streams += 1
        try:
            yield dispatcher_pb2.AnswerStreamResponse(text_delta="a")
            if request.request.question == "forever":
                await asyncio.sleep(60)
            if request.request.question == "broken":
                raise ServiceError(errors_pb2.ERROR_REASON_RETRIEVAL_UNAVAILABLE, "All legs failed.")
            yield dispatcher_pb2.AnswerStreamResponse(response=await self.Answer(request.request, context))
        finally:
            self.running_streams -= 1

    async def Explain(self, request: Any, _context: Any) -> Any:
        self.note(request)
        return dispatcher_pb2.ExplainResponse()

    async def Replay(self, request: Any, _context: Any) -> Any:
        self.note(request)
        return dispatcher_pb2.ReplayResponse(agrees=True, decision_count=7)

    async def ListPipelines(self, request: Any, _context: Any) -> Any:
        self.note(request)
        return dispatcher_pb2.ListPipelinesResponse(pipelines=[dispatcher_pb2.Pipeline(name="default")])

    async def Retrieve(self, request: Any, _context: Any) -> Any:
        self.note(request)
        return retrieval_pb2.RetrieveResponse(index_snapshot="s")

    async def Ingest(self, requests: Any, _context: Any) -> Any:
        pieces = []
        async for request in requests:
            if request.WhichOneof("part") == "header":
                self.note(request.header)
            else:
                pieces.append(request.chunk)
        self.content = b"".join(pieces)
        response = documents_pb2.IngestResponse(result=documents_pb2.INGEST_RESULT_CREATED)
        response.document.document_id = self.request.document_id or self.request.file_name
        return response

    async def List(self, request: Any, _context: Any) -> Any:
        self.note(request)
        start = int(request.page_token or "0")
        response = documents_pb2.ListResponse(next_page_token=str(start + 2) if start < 4 else "")
        for number in (start, start + 1):
            response.documents.add(document_id=f"d{number}")
        return response

    async def Get(self, request: Any, _context: Any) -> Any:
        self.note(request)
        raise ServiceError(
            errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND, "No such document.", document_id=request.document_id
        )

    async def Profile(self, request: Any, _context: Any) -> Any:
        self.note(request)
        response = documents_pb2.ProfileResponse()
        response.scope_profile.document_count = 3
        return response

    async def Delete(self, request: Any, _context: Any) -> Any:
        self.note(request)
        return documents_pb2.DeleteResponse(version_count=2)

    async def SetAccess(self, request: Any, _context: Any) -> Any:
        self.note(request)
        return documents_pb2.SetAccessResponse(permission_version=5)

    async def RenderPage(self, request: Any, _context: Any) -> Any:
        self.note(request)
        return documents_pb2.RenderPageResponse(png=b"png")

    async def Reparse(self, request: Any, context: Any) -> Any:
        raise AssertionError("no client calls it")

    DescribeIndex = FollowReferences = GetPassages = ListItems = Reparse


class Part:
    """One of the mesh's services, as a host wants it."""

    def __init__(self, add: Any, mesh: Mesh) -> None:
        self._add, self._mesh = add, mesh

    def register(self, server: grpc.aio.Server) -> None:
        self._add(self._mesh, server)

    async def check(self) -> str | None:
        return None

    async def close(self) -> None:
        return None


def specs_of(mesh: Mesh) -> list[ServiceSpec]:
    """SPECs of the three services."""
    adders = {
        "dispatcher": dispatcher_pb2_grpc.add_DispatcherServiceServicer_to_server,
        "documents": documents_pb2_grpc.add_DocumentsServiceServicer_to_server,
        "retrieval": retrieval_pb2_grpc.add_RetrievalServiceServicer_to_server,
    }

    def spec_of(name: str, add: Any) -> ServiceSpec:
        async def start(_context: StartContext) -> Part:
            return Part(add, mesh)

        return ServiceSpec(name, f"citemesh.v1.{name.title()}Service", (), start)

    return [spec_of(name, add) for name, add in adders.items()]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "CITEMESH_STATE_DIR": str(tmp_path / "s"),
        "CITEMESH_AUTH_MODE": "open",
        "CITEMESH_HOST_METRICS_ADDRESS": "off",
        "CITEMESH_HOST_DRAIN_WAIT_MS": "0",
        "CITEMESH_HOST_DRAIN_GRACE_MS": "500",
    }


@pytest.fixture
def mesh() -> Mesh:
    return Mesh()


@pytest.fixture
async def host(mesh: Mesh, environ: dict[str, str]) -> AsyncIterator[Host]:
    async with hosted(specs_of(mesh), environ) as running:
        yield running
