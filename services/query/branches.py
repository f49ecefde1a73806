"""Which branch understands: the rules, or a configured language model with the rules behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from citemesh.llm.allowance import find_shortage, read_max_call_count, read_max_token_count
from citemesh.rpc.deadline import HasDeadline, remaining_s, share
from citemesh.rpc.errors import ServiceError, reason_name
from citemesh.v1 import budget_pb2, errors_pb2, query_pb2
from services.query import model_followup, model_understand
from services.query.followup import decide_follow_up
from services.query.language import Identify
from services.query.understand import understand

if TYPE_CHECKING:
    from citemesh.llm.completion import Completion, JsonTask

Value = TypeVar("Value")

RULES: Final = "rules"
LLM: Final = "llm"

# About 2 ms of the rules' work; more, up to the longest history, would hold up every other call of the process.
_MOST_CHARACTERS_AT_ONCE: Final = 250

_RESERVE_S: Final = 0.02  # for the rules' own work and the way back
_ANSWERED_BY_RULES: Final = frozenset(
    {
        errors_pb2.ERROR_REASON_LLM_TIMEOUT,
        errors_pb2.ERROR_REASON_LLM_UNAVAILABLE,
        errors_pb2.ERROR_REASON_LLM_RESPONSE_INVALID,
    }
)


@dataclass(frozen=True, slots=True)
class _Attempt(Generic[Value]):
    """The model's value, or None with why; and what was spent either way."""

    value: Value | None
    fallback_reason: str
    cost: budget_pb2.Cost


class Llm(Protocol):
    """The part of citemesh.llm.completion.LlmClient that is used here."""

    async def complete(
        self,
        task: JsonTask[Value],
        *,
        timeout_s: float | None = None,
        max_call_count: int | None = None,
        max_token_count: int | None = None,
    ) -> Completion[Value]:
        """The model's object, checked."""
        ...


class Branches:
    """The rules always run; a language model's reading is put on top where one is configured and can be paid for."""

    def __init__(self, identify: Identify | None = None, llm: Llm | None = None, llm_timeout_s: float = 3.0) -> None:
        self._identify = identify
        self._llm = llm
        self._llm_timeout_s = llm_timeout_s

    async def understand(
        self, request: query_pb2.UnderstandRequest, context: HasDeadline
    ) -> query_pb2.UnderstandResponse:
        """Parse the question of a checked request."""
        if _measure_length(request) <= _MOST_CHARACTERS_AT_ONCE:
            parsed = understand(request.question, request.history, self._identify)
        else:
            parsed = await asyncio.to_thread(understand, request.question, request.history, self._identify)
        response = query_pb2.UnderstandResponse(parsed_question=parsed, branch=RULES)
        if self._llm is None or request.rules_only:
            return response
        ask = partial(self._ask_to_understand, self._llm, request)
        attempt = await self._try(ask, request.budget, context)
        response.fallback_reason = attempt.fallback_reason
        response.cost.CopyFrom(attempt.cost)
        if attempt.value is not None:
            response.parsed_question.CopyFrom(model_understand.apply_draft(parsed, attempt.value))
            response.branch = LLM
        return response

    async def decide_follow_up(
        self, request: query_pb2.DecideFollowUpRequest, context: HasDeadline
    ) -> query_pb2.DecideFollowUpResponse:
        """Decide on a second retrieval for a checked request."""
        decision = await asyncio.to_thread(
            decide_follow_up, request.parsed_question, request.candidates, request.available_targets
        )
        response = query_pb2.DecideFollowUpResponse(decision=decision, branch=RULES)
        if self._llm is None:
            return response
        ask = partial(self._ask_to_decide, self._llm, request)
        attempt = await self._try(ask, request.budget, context)
        response.fallback_reason = attempt.fallback_reason
        response.cost.CopyFrom(attempt.cost)
        if attempt.value is not None:
            response.decision.CopyFrom(attempt.value)
            response.branch = LLM
        return response

    async def _ask_to_understand(
        self, llm: Llm, request: query_pb2.UnderstandRequest, timeout_s: float
    ) -> Completion[model_understand.Draft]:
        from citemesh.llm.completion import JsonTask  # brings in the client library, which rules alone never need

        messages = model_understand.write_messages(request.question, request.history)
        task = JsonTask(model_understand.TASK_NAME, messages, model_understand.SCHEMA, model_understand.read_draft)
        return await llm.complete(task, timeout_s=timeout_s, **_limits(request.budget))

    async def _ask_to_decide(
        self, llm: Llm, request: query_pb2.DecideFollowUpRequest, timeout_s: float
    ) -> Completion[query_pb2.FollowUpDecision]:
        from citemesh.llm.completion import JsonTask  # as above

        available = list(request.available_targets)
        messages = model_followup.write_messages(request.parsed_question, request.candidates, available)
        schema = model_followup.write_schema(available)
        task = JsonTask(
            model_followup.TASK_NAME, messages, schema, partial(model_followup.read_decision, available=available)
        )
        return await llm.complete(task, timeout_s=timeout_s, **_limits(request.budget))

    async def _try(
        self,
        ask: Callable[[float], Awaitable[Completion[Value]]],
        budget: budget_pb2.Budget,
        context: HasDeadline,
    ) -> _Attempt[Value]:
        shortage = find_shortage(budget)
        left = share(remaining_s(context), 0.8, _RESERVE_S)
        if left is not None and left <= 0.0:
            shortage = shortage or "no time is left for a model call"
        if shortage:
            return _Attempt(None, shortage, budget_pb2.Cost())
        try:
            completion = await ask(self._llm_timeout_s if left is None else min(left, self._llm_timeout_s))
        except ServiceError as error:
            if error.reason not in _ANSWERED_BY_RULES:
                raise
            calls = int(error.metadata.get("attempts", "1"))
            return _Attempt(None, reason_name(error.reason), budget_pb2.Cost(model_call_count=calls))
        return _Attempt(completion.value, "", completion.cost)


def _measure_length(request: query_pb2.UnderstandRequest) -> int:
    return len(request.question) + sum(len(turn.text) for turn in request.history)


def _limits(budget: budget_pb2.Budget) -> dict[str, int | None]:
    return {
        "max_call_count": read_max_call_count(budget),
        "max_token_count": read_max_token_count(budget),
    }
