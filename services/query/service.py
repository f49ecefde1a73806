"""SPEC: how the query service is wired."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc.aio

from citemesh.config.load import load_settings
from citemesh.llm.measures import CallMeasures
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
    calls = CallMeasures(context.metrics, settings.llm_model if settings.llm_base_url else "")
    llm = make_llm(settings, calls) if settings.llm_base_url else None
    intents = context.metrics.counter(names.INTENTS, intent=Intent.keys()[1:])
    branches = Branches(identify, llm, settings.llm_timeout_ms / 1000)
    return QueryService(QueryHandler(branches, intents), llm)


def make_llm(settings: QuerySettings, calls: CallMeasures) -> LlmClient:
    """The client of the configured server; `calls` counts what is asked of it."""
    from citemesh.llm.completion import LlmClient  # brings in the client library, which rules alone never need
    from citemesh.llm.endpoint import Endpoint

    endpoint = Endpoint(
        base_url=settings.llm_base_url,
        model=settings.llm_model,
        api_key=settings.llm_api_key.get_secret_value(),
        timeout_s=settings.llm_timeout_ms / 1000,
        max_attempt_count=settings.llm_max_attempt_count,
        max_output_token_count=settings.llm_max_output_token_count,
    )
    return LlmClient(endpoint, calls.count_call, calls.count_retry)


SPEC = ServiceSpec(name="query", full_name="citemesh.v1.QueryService", needs=(), start=start)
