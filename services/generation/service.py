"""SPEC: how the generation service is wired."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import grpc.aio
import numpy as np
import numpy.typing as npt

from citemesh.config.load import ConfigurationError, load_settings
from citemesh.llm.completion import LlmClient
from citemesh.llm.endpoint import Endpoint
from citemesh.llm.measures import CallMeasures
from citemesh.models import load_encoder
from citemesh.models.encoder import Encoder
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


class EncoderTokens:
    """The encoder of citemesh.models in the shape that unit matching needs."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def encode_tokens(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """One matrix of unit vectors for each text."""
        return self._encoder.encode_tokens(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, uncut."""
        return self._encoder.tokenizer.count_tokens(texts)


async def start(context: StartContext) -> GenerationService:
    """Load settings and the encoder. Raises ConfigurationError naming the variable or file to see to."""
    settings = load_settings(GenerationSettings, context.environ)
    try:
        encoder = await asyncio.to_thread(load_encoder, models_dir(context.environ))
    except ModelError as error:
        raise ConfigurationError(str(error)) from error
    calls = CallMeasures(context.metrics, settings.llm_model if settings.llm_base_url else "")
    llm = make_llm(settings, calls) if settings.llm_base_url else None
    tokens = CachedTokens(EncoderTokens(encoder), settings.cached_token_count)
    generator = Generator(tokens, settings, llm)
    return GenerationService(GenerationHandler(generator), llm)


def make_llm(settings: GenerationSettings, calls: CallMeasures) -> LlmClient:
    """The client of the configured server; `calls` counts what is asked of it."""
    endpoint = Endpoint(
        base_url=settings.llm_base_url,
        model=settings.llm_model,
        api_key=settings.llm_api_key.get_secret_value(),
        timeout_s=settings.llm_timeout_ms / 1000,
        max_attempt_count=settings.llm_max_attempt_count,
        max_output_token_count=settings.llm_max_output_token_count,
    )
    return LlmClient(endpoint, calls.count_call, calls.count_retry)


SPEC = ServiceSpec(name="generation", full_name="citemesh.v1.GenerationService", needs=(), start=start)
