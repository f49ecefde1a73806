"""SPEC: how the query service is wired."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc.aio

from citemesh.config.load import load_settings
from citemesh.llm.connect import connect_llm
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.telemetry import names
from citemesh.v1 import query_pb2_grpc
from citemesh.v1.question_pb2 import Intent
from services.query.branches import Branches
from services.query.handler import QueryHandler
from services.query.language import load_identifier
from services.query.settings import QuerySettings

if TYPE_CHECKING:
    from citemesh.llm.completion import LlmClient


class QueryService:
    """The running service."""

    def __init__(self, handler: QueryHandler, llm: LlmClient | None) -> None:
        self._handler = handler
        self._llm = llm

    def register(self, server: grpc.aio.Server) -> None:
        """Add the handler."""
        query_pb2_grpc.add_QueryServiceServicer_to_server(self._handler, server)

    async def check(self) -> str | None:
        """Always serving: rules need nothing, and they stand in for a model that is away."""
        return None

    async def close(self) -> None:
        """Close the connections to the language model's server."""
        if self._llm is not None:
            await self._llm.close()


async def start(context: StartContext) -> QueryService:
    """Load settings and the models that they ask for. Raises ConfigurationError."""
    settings = load_settings(QuerySettings, context.environ)
    identify = await asyncio.to_thread(load_identifier) if settings.language_model_enabled else None
    llm = connect_llm(settings, context.metrics)
    intents = context.metrics.counter(names.INTENTS, intent=Intent.keys()[1:])
    branches = Branches(identify, llm, settings.llm_timeout_ms / 1000)
    return QueryService(QueryHandler(branches, intents), llm)


SPEC = ServiceSpec(name="query", full_name="citemesh.v1.QueryService", needs=(), start=start)
