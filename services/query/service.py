"""SPEC: how the query service is wired."""

from __future__ import annotations

import asyncio

import grpc.aio

from citemesh.config.load import load_settings
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.telemetry import names
from citemesh.v1 import query_pb2_grpc
from citemesh.v1.question_pb2 import Intent
from services.query.branches import Branches
from services.query.handler import QueryHandler
from services.query.language import load_identifier
from services.query.settings import QuerySettings


class QueryService:
    """The running service."""

    def __init__(self, handler: QueryHandler) -> None:
        self._handler = handler

    def register(self, server: grpc.aio.Server) -> None:
        """Add the handler."""
        query_pb2_grpc.add_QueryServiceServicer_to_server(self._handler, server)

    async def check(self) -> str | None:
        """Always serving: rules need nothing."""
        return None

    async def close(self) -> None:
        """Nothing to release."""


async def start(context: StartContext) -> QueryService:
    """Load settings and, where they ask for it, the language model. Raises ConfigurationError."""
    settings = load_settings(QuerySettings, context.environ)
    identify = await asyncio.to_thread(load_identifier) if settings.language_model_enabled else None
    intents = context.metrics.counter(names.INTENTS, intent=Intent.keys()[1:])
    return QueryService(QueryHandler(Branches(identify), intents))


SPEC = ServiceSpec(name="query", full_name="citemesh.v1.QueryService", needs=(), start=start)
