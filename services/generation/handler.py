"""RPC in, one domain call, RPC out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import grpc.aio

from citemesh.rpc.deadline import remaining_s
from citemesh.v1 import generation_pb2, generation_pb2_grpc
from services.generation.generator import Generator
from services.generation.requests import check_generate

Context = grpc.aio.ServicerContext[Any, Any]
Event = generation_pb2.GenerateStreamResponse


class GenerationHandler(generation_pb2_grpc.GenerationServiceServicer):
    """citemesh.v1.GenerationService."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    async def Generate(  # noqa: N802  # the RPC's name
        self, request: generation_pb2.GenerateRequest, context: Context
    ) -> generation_pb2.GenerateResponse:
        """The whole answer."""
        check_generate(request)
        return await self._generator.generate(request, remaining_s(context))

    async def GenerateStream(  # noqa: N802  # the RPC's name
        self, request: generation_pb2.GenerateStreamRequest, context: Context
    ) -> AsyncIterator[Event]:
        """Text as the model writes it, then each claim, then the whole response."""
        check_generate(request.request, prefix="request.")
        # Without a bound, so that the end mark can be put when nobody reads any more; the model's output is bounded.
        deltas: asyncio.Queue[str | None] = asyncio.Queue()
        working = asyncio.create_task(self._run(request.request, remaining_s(context), deltas))
        try:
            while (delta := await deltas.get()) is not None:
                yield Event(text_delta=delta)
            response = await working
        finally:
            # A caller that went away leaves no model call running.
            working.cancel()
            with suppress(asyncio.CancelledError, Exception):  # its error, if any, was raised above
                await working
        for claim in response.answer.claims:
            yield Event(claim=claim)
        yield Event(response=response)

    async def _run(
        self, request: generation_pb2.GenerateRequest, left_s: float | None, deltas: asyncio.Queue[str | None]
    ) -> generation_pb2.GenerateResponse:
        try:
            return await self._generator.generate(request, left_s, deltas.put)
        finally:
            deltas.put_nowait(None)
