"""Which branch answers: a direct reply, the language model, or extraction."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from citemesh.llm.allowance import find_shortage, read_max_call_count, read_max_token_count
from citemesh.llm.completion import JsonTask, LlmClient
from citemesh.v1 import generation_pb2, question_pb2
from services.generation.direct import answer_directly
from services.generation.extractive import answer_from_evidence
from services.generation.live_text import DeltaCutter, read_live_text
from services.generation.llm_answer import finish_draft, read_draft
from services.generation.llm_prompt import SCHEMA, write_messages
from services.generation.settings import GenerationSettings
from services.generation.token_match import TokenEncoder

OnDelta = Callable[[str], Awaitable[None]]

DIRECT_NEEDS = (
    question_pb2.RETRIEVAL_NEED_SMALL_TALK,
    question_pb2.RETRIEVAL_NEED_TRANSFORM_TURN,
)
# A part of the time left stays for the way back.
_RESERVE_S = 0.05


class Generator:
    """Answers requests; one per process."""

    def __init__(self, encoder: TokenEncoder, settings: GenerationSettings, llm: LlmClient | None = None) -> None:
        self._encoder = encoder
        self._settings = settings
        self._llm = llm

    async def generate(
        self,
        request: generation_pb2.GenerateRequest,
        remaining_s: float | None = None,
        on_delta: OnDelta | None = None,
    ) -> generation_pb2.GenerateResponse:
        """A provisional answer. Raises ServiceError with an LLM reason where the configured model fails."""
        if request.parsed_question.need in DIRECT_NEEDS:
            answer = answer_directly(request.parsed_question, list(request.history))
            return generation_pb2.GenerateResponse(answer=answer, branch="direct")
        if self._llm is not None:
            shortage = find_shortage(request.budget)
            if not shortage:
                return await self._ask_model(self._llm, request, remaining_s, on_delta)
            response = await self._extract(request)
            response.fallback_reason = shortage
            return response
        return await self._extract(request)

    async def _extract(self, request: generation_pb2.GenerateRequest) -> generation_pb2.GenerateResponse:
        answer = await asyncio.to_thread(answer_from_evidence, request, self._encoder, self._settings)
        return generation_pb2.GenerateResponse(answer=answer, branch="extractive")

    async def _ask_model(
        self,
        llm: LlmClient,
        request: generation_pb2.GenerateRequest,
        remaining_s: float | None,
        on_delta: OnDelta | None,
    ) -> generation_pb2.GenerateResponse:
        cutter = DeltaCutter()

        async def show(output: str, *, is_last: bool = False) -> None:
            delta = cutter.cut(read_live_text(output), is_last=is_last)
            if delta and on_delta is not None:
                await on_delta(delta)

        completion = await llm.complete(
            JsonTask("answer_with_evidence", write_messages(request), SCHEMA, read_draft),
            timeout_s=None if remaining_s is None else max(0.0, remaining_s - _RESERVE_S),
            max_call_count=read_max_call_count(request.budget),
            max_token_count=read_max_token_count(request.budget),
            on_text=show if on_delta is not None else None,
        )
        answer = finish_draft(completion.value, request)
        return generation_pb2.GenerateResponse(answer=answer, branch="llm", cost=completion.cost)
