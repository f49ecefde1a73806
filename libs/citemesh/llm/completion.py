"""One completion by a language model, as a value that passed its check."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import openai
import structlog

from citemesh.llm.endpoint import Endpoint
from citemesh.llm.schema import SchemaError, parse_object
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import budget_pb2, errors_pb2

Value = TypeVar("Value")
Message = dict[str, str]
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
        messages = list(task.messages)
        cost = budget_pb2.Cost()
        for _ in range(attempts):
            output = await self._call(task, messages, ends_at, max_token_count, on_text, cost)
            try:
                value = task.check(parse_object(output.text, output.finish_reason))
            except SchemaError as error:
                self._on_call("invalid", output.cost)
                _log.info("llm_output_invalid", task=task.name, finish_reason=output.finish_reason)
                messages = [*task.messages, *_ask_again(output.text, str(error))]
                on_text = None  # what was shown of a broken attempt is not shown twice
                if max_token_count is not None and _spent(cost) >= max_token_count:
                    break
                if max_call_count and cost.model_call_count >= max_call_count:
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
        ends_at: float | None,
        max_token_count: int | None,
        on_text: OnText | None,
        cost: budget_pb2.Cost,
    ) -> _Output:
        left_s = (
            self.endpoint.timeout_s if ends_at is None else min(self.endpoint.timeout_s, ends_at - time.monotonic())
        )
        if left_s < _MORE_TIME_THAN_NOTHING_S:
            raise _timeout()
        if cost.model_call_count:
            self._on_retry()
        cost.model_call_count += 1
        async with self._mapped_errors(), asyncio.timeout(left_s):
            options = self._options(task, messages, left_s, max_token_count, cost)
            output = await (self._read_stream(options, on_text, cost) if on_text else self._read_whole(options, cost))
        cost.prompt_token_count += output.cost.prompt_token_count
        cost.completion_token_count += output.cost.completion_token_count
        return output

    def _options(
        self,
        task: JsonTask[Value],
        messages: list[Message],
        left_s: float,
        max_token_count: int | None,
        cost: budget_pb2.Cost,
    ) -> dict[str, Any]:
        room = self.endpoint.max_output_token_count
        if max_token_count is not None:
            room = max(1, min(room, max_token_count - _spent(cost)))
        strict = {"type": "json_schema", "json_schema": {"name": task.name, "schema": task.schema, "strict": True}}
        return {
            "model": self.endpoint.model,
            "messages": messages,
            "temperature": self.endpoint.temperature,
            "max_tokens": room,
            "timeout": left_s,
            "response_format": strict if self._takes_schema else {"type": "json_object"},
        }

    async def _create(self, options: dict[str, Any], cost: budget_pb2.Cost) -> Any:
        """The server's response or stream; asked once more for plain JSON where it refuses a schema."""
        try:
            return await self._client.chat.completions.create(**options)
        except openai.BadRequestError:
            if options["response_format"]["type"] != "json_schema":
                raise
        # Not every server knows json_schema; the check on our side holds either way. The refused call counts too.
        self._on_call("error", budget_pb2.Cost(model_call_count=1))
        self._takes_schema = False
        cost.model_call_count += 1
        return await self._client.chat.completions.create(**{**options, "response_format": {"type": "json_object"}})

    async def _read_whole(self, options: dict[str, Any], cost: budget_pb2.Cost) -> _Output:
        response = await self._create(options, cost)
        if not response.choices:
            return _Output("", "empty", _read_usage(response.usage))
        choice = response.choices[0]
        refused = getattr(choice.message, "refusal", None)
        return _Output(
            "" if refused else choice.message.content or "",
            "refusal" if refused else choice.finish_reason or "",
            _read_usage(response.usage),
        )

    async def _read_stream(self, options: dict[str, Any], on_text: OnText, cost: budget_pb2.Cost) -> _Output:
        parts: list[str] = []
        finish_reason = ""
        usage: Any = None
        stream = await self._create({**options, "stream": True, "stream_options": {"include_usage": True}}, cost)
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
class _Output:
    text: str
    finish_reason: str
    cost: budget_pb2.Cost


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
