"""One completion by a language model, as a value that passed its check."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import openai
import structlog

from citemesh.llm.endpoint import Endpoint
from citemesh.llm.schema import SchemaError, parse_object
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import budget_pb2, errors_pb2

Value = TypeVar("Value")
Message = dict[str, str]
Create = Callable[[dict[str, Any]], Awaitable[Any]]
Check = Callable[[dict[str, Any]], Value]
"""Turns the model's object into a value; raises SchemaError, in words that the model can act on."""
OnText = Callable[[str], Awaitable[None]]
"""Receives the raw output as it grows: each time all of it so far."""
OnCall = Callable[[str, budget_pb2.Cost], None]
"""Told of each call: "ok", "invalid", "timeout" or "error", and what it cost."""
OnRetry = Callable[[], None]
"""Told each time that the model is asked again because its output broke the schema."""

_log = structlog.get_logger(__name__)

_MORE_TIME_THAN_NOTHING_S = 0.05


@dataclass(frozen=True, slots=True)
class Completion(Generic[Value]):
    """What came back, and what all attempts cost together."""

    value: Value
    cost: budget_pb2.Cost


@dataclass(frozen=True, slots=True)
class JsonTask(Generic[Value]):
    """What is asked of the model."""

    name: str
    """The schema's name: letters, figures and underscores."""
    messages: Sequence[Message]
    schema: dict[str, Any]
    check: Check[Value]


class LlmClient:
    """Calls one endpoint. Safe to use from many tasks of one event loop; close it at the end."""

    def __init__(
        self,
        endpoint: Endpoint,
        on_call: OnCall = lambda _result, _cost: None,
        on_retry: OnRetry = lambda: None,
    ) -> None:
        self.endpoint = endpoint
        self._on_call = on_call
        self._on_retry = on_retry
        # Retries are ours: the library's own would spend calls that no budget knows of.
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.base_url, api_key=endpoint.api_key or "none", max_retries=0, timeout=endpoint.timeout_s
        )
        self._takes_schema = True

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(
        self,
        task: JsonTask[Value],
        *,
        timeout_s: float | None = None,
        max_call_count: int | None = None,
        max_token_count: int | None = None,
        on_text: OnText | None = None,
    ) -> Completion[Value]:
        """The model's object, checked; asked again, with what was wrong, where it does not pass.

        `timeout_s` bounds all attempts together. `max_call_count` and `max_token_count` are the request's budget.
        Raises ServiceError: LLM_TIMEOUT, LLM_UNAVAILABLE, or LLM_RESPONSE_INVALID when no attempt passed or the model
        refused. Texts of the server or the model never stand in the error.
        """
        attempts = min(self.endpoint.max_attempt_count, max_call_count or self.endpoint.max_attempt_count)
        ends_at = None if timeout_s is None else time.monotonic() + timeout_s
        limits = _Limits(ends_at, max_call_count, max_token_count)
        messages = list(task.messages)
        cost = budget_pb2.Cost()
        for _ in range(attempts):
            output = await self._call(task, messages, limits, on_text, cost)
            try:
                value = task.check(parse_object(output.text, output.finish_reason))
            except SchemaError as error:
                self._on_call("invalid", output.cost)
                _log.info("llm_output_invalid", task=task.name, finish_reason=output.finish_reason)
                messages = [*task.messages, *_ask_again(output.text, str(error))]
                on_text = None  # what was shown of a broken attempt is not shown twice
                if limits.are_spent(cost):
                    break
                continue
            self._on_call("ok", output.cost)
            return Completion(value, cost)
        raise ServiceError(
            errors_pb2.ERROR_REASON_LLM_RESPONSE_INVALID,
            "The language model's output did not fit its schema.",
            attempts=cost.model_call_count,
        )

    async def _call(
        self,
        task: JsonTask[Value],
        messages: list[Message],
        limits: _Limits,
        on_text: OnText | None,
        cost: budget_pb2.Cost,
    ) -> _Output:
        left_s = self.endpoint.timeout_s
        if limits.ends_at is not None:
            left_s = min(left_s, limits.ends_at - time.monotonic())
        if left_s < _MORE_TIME_THAN_NOTHING_S:
            raise _timeout()
        if cost.model_call_count:
            self._on_retry()
        cost.model_call_count += 1
        async with self._mapped_errors(), asyncio.timeout(left_s):
            options = self._options(task, messages, left_s, limits, cost)
            create = partial(self._create, limits=limits, cost=cost)
            output = await (_read_stream(create, options, on_text) if on_text else _read_whole(create, options))
        cost.prompt_token_count += output.cost.prompt_token_count
        cost.completion_token_count += output.cost.completion_token_count
        return output

    def _options(
        self,
        task: JsonTask[Value],
        messages: list[Message],
        left_s: float,
        limits: _Limits,
        cost: budget_pb2.Cost,
    ) -> dict[str, Any]:
        room = self.endpoint.max_output_token_count
        if limits.max_token_count is not None:
            room = max(1, min(room, limits.max_token_count - _spent(cost)))
        strict = {"type": "json_schema", "json_schema": {"name": task.name, "schema": task.schema, "strict": True}}
        return {
            "model": self.endpoint.model,
            "messages": messages,
            "temperature": 0.0,
            "max_tokens": room,
            "timeout": left_s,
            "response_format": strict if self._takes_schema else {"type": "json_object"},
        }

    async def _create(self, options: dict[str, Any], limits: _Limits, cost: budget_pb2.Cost) -> Any:
        """The server's response or stream; asked once more for plain JSON where it refuses a schema."""
        try:
            return await self._client.chat.completions.create(**options)
        except openai.BadRequestError:
            if options["response_format"]["type"] != "json_schema" or limits.are_spent(cost):
                raise
        # Not every server knows json_schema; the check on our side holds either way. The refused call counts too.
        self._on_call("error", budget_pb2.Cost(model_call_count=1))
        cost.model_call_count += 1
        plain = await self._client.chat.completions.create(**{**options, "response_format": {"type": "json_object"}})
        self._takes_schema = False  # it was the schema, not the request, that was refused
        return plain

    @asynccontextmanager
    async def _mapped_errors(self) -> AsyncIterator[None]:
        spent = budget_pb2.Cost(model_call_count=1)
        try:
            yield
        except (TimeoutError, openai.APITimeoutError) as error:
            self._on_call("timeout", spent)
            raise _timeout() from error
        except openai.OpenAIError as error:
            self._on_call("error", spent)
            status = getattr(error, "status_code", None)
            _log.warning("llm_call_failed", error=type(error).__name__, status=status)
            raise ServiceError(
                errors_pb2.ERROR_REASON_LLM_UNAVAILABLE, "The language model's server refused or cannot be reached."
            ) from error


@dataclass(frozen=True, slots=True)
class _Limits:
    """What all attempts together may take; None: no limit."""

    ends_at: float | None
    """By time.monotonic()."""
    max_call_count: int | None
    max_token_count: int | None

    def are_spent(self, cost: budget_pb2.Cost) -> bool:
        """Whether no further call may be made."""
        if self.max_token_count is not None and _spent(cost) >= self.max_token_count:
            return True
        return self.max_call_count is not None and cost.model_call_count >= self.max_call_count


@dataclass(frozen=True, slots=True)
class _Output:
    text: str
    finish_reason: str
    cost: budget_pb2.Cost


async def _read_whole(create: Create, options: dict[str, Any]) -> _Output:
    response = await create(options)
    if not response.choices:
        return _Output("", "empty", _read_usage(response.usage))
    choice = response.choices[0]
    refused = getattr(choice.message, "refusal", None)
    return _Output(
        "" if refused else choice.message.content or "",
        "refusal" if refused else choice.finish_reason or "",
        _read_usage(response.usage),
    )


async def _read_stream(create: Create, options: dict[str, Any], on_text: OnText) -> _Output:
    parts: list[str] = []
    finish_reason = ""
    usage: Any = None
    stream = await create({**options, "stream": True, "stream_options": {"include_usage": True}})
    try:
        async for chunk in stream:
            usage = chunk.usage or usage
            if not chunk.choices:
                continue
            finish_reason = chunk.choices[0].finish_reason or finish_reason
            if chunk.choices[0].delta.content:
                parts.append(chunk.choices[0].delta.content)
                await on_text("".join(parts))
    finally:
        await stream.close()
    return _Output("".join(parts), finish_reason, _read_usage(usage))


def _timeout() -> ServiceError:
    return ServiceError(errors_pb2.ERROR_REASON_LLM_TIMEOUT, "The language model did not answer in time.")


def _ask_again(output: str, problem: str) -> list[Message]:
    return [
        {"role": "assistant", "content": output[:4000] or "(nothing)"},
        {
            "role": "user",
            "content": f"That output cannot be used: {problem} Reply with the corrected JSON object only.",
        },
    ]


def _read_usage(usage: Any) -> budget_pb2.Cost:
    return budget_pb2.Cost(
        model_call_count=1,
        prompt_token_count=int(getattr(usage, "prompt_tokens", 0) or 0),
        completion_token_count=int(getattr(usage, "completion_tokens", 0) or 0),
    )


def _spent(cost: budget_pb2.Cost) -> int:
    return cost.prompt_token_count + cost.completion_token_count
