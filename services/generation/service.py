"""SPEC: how the generation service is wired."""

from __future__ import annotations

import asyncio

import grpc.aio

from citemesh.config.load import ConfigurationError, load_settings
from citemesh.llm.completion import LlmClient
from citemesh.llm.connect import connect_llm
from citemesh.models import load_encoder
from citemesh.models.errors import ModelError
from citemesh.models.paths import models_dir
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.v1 import generation_pb2_grpc
from services.generation.generator import Generator
from services.generation.handler import GenerationHandler
from services.generation.settings import GenerationSettings
from services.generation.token_cache import CachedTokens


class GenerationService:
    """The running service."""

    def __init__(self, handler: GenerationHandler, llm: LlmClient | None) -> None:
        self._handler = handler
        self._llm = llm

    def register(self, server: grpc.aio.Server) -> None:
        """Add the handler."""
        generation_pb2_grpc.add_GenerationServiceServicer_to_server(self._handler, server)

    async def check(self) -> str | None:
        """Serving once started: the encoder is loaded, and a model that is away is told call by call."""
        return None

    async def close(self) -> None:
        """Close the connections to the language model's server."""
        if self._llm is not None:
            await self._llm.close()


async def start(context: StartContext) -> GenerationService:
    """Load settings and the encoder. Raises ConfigurationError naming the variable or file to see to."""
    settings = load_settings(GenerationSettings, context.environ)
    try:
        encoder = await asyncio.to_thread(load_encoder, models_dir(context.environ))
    except ModelError as error:
        raise ConfigurationError(str(error)) from error
    llm = connect_llm(settings, context.metrics)
    generator = Generator(CachedTokens(encoder, settings.cached_token_count), settings, llm)
    return GenerationService(GenerationHandler(generator), llm)


SPEC = ServiceSpec(name="generation", full_name="citemesh.v1.GenerationService", needs=(), start=start)
