"""The client of a language model, against a scripted server over HTTP."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest

from citemesh.llm.completion import JsonTask, LlmClient, OnText
from citemesh.llm.endpoint import Endpoint
from citemesh.llm.schema import SchemaError, parse_object, take
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import budget_pb2, errors_pb2
from tests.unit.libs.llm.scripted_server import Reply, serve

SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


def read_number(source: dict[str, Any]) -> int:
    return int(take(source, "number", int))


TASK = JsonTask("number", [{"role": "user", "content": "A number?"}], SCHEMA, read_number)


def connect(base_url: str, **fields: Any) -> LlmClient:
    return LlmClient(Endpoint(base_url=base_url, model="m", timeout_s=fields.pop("timeout_s", 5.0), **fields))


async def test_a_good_object_comes_back_with_its_cost() -> None:
    with serve('{"number": 7}') as script:
        client = connect(script.base_url, api_key="k")
        completion = await client.complete(TASK)
        await client.close()
    assert completion.value == 7
    assert completion.cost == budget_pb2.Cost(model_call_count=1, prompt_token_count=100, completion_token_count=20)
    assert script.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA


async def test_a_broken_object_is_asked_for_again_with_what_is_wrong() -> None:
    with serve("the number is 7", '```json\n{"number": 7}\n```') as script:
        client = connect(script.base_url)
        completion = await client.complete(TASK)
        await client.close()
    assert completion.value == 7
    assert completion.cost.model_call_count == 2
    assert completion.cost.prompt_token_count == 200
    assert "no JSON object" in script.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    "reply",
    [
        Reply("nothing"),
        Reply('{"number": "7"}'),
        Reply('{"number": true}'),
        Reply('{"numb'),
        Reply("[1]"),
        Reply('{"number": 7}', finish_reason="content_filter"),
        Reply(None, refusal="I won't."),
        Reply(None),
    ],
)
async def test_attempts_are_bounded_and_then_the_output_is_invalid(reply: Reply) -> None:
    with serve(reply) as script:
        client = connect(script.base_url, max_attempt_count=3)
        with pytest.raises(ServiceError) as raised:
            await client.complete(TASK)
        await client.close()
    assert raised.value.reason == errors_pb2.ERROR_REASON_LLM_RESPONSE_INVALID
    assert raised.value.metadata["attempts"] == "3"
    assert len(script.requests) == 3


async def test_the_budget_bounds_calls_and_tokens() -> None:
    with serve("no") as script:
        client = connect(script.base_url, max_attempt_count=5, max_output_token_count=500)
        with pytest.raises(ServiceError):
            await client.complete(TASK, max_call_count=2)
        assert len(script.requests) == 2
        with pytest.raises(ServiceError):
            await client.complete(TASK, max_token_count=110)
        await client.close()
    assert len(script.requests) == 3
    assert script.requests[2]["max_tokens"] == 110


async def test_a_slow_model_is_a_timeout_at_the_deadline() -> None:
    with serve(Reply('{"number": 7}', delay_s=1.5)) as script:
        client = connect(script.base_url)
        began = time.monotonic()
        with pytest.raises(ServiceError) as raised:
            await client.complete(TASK, timeout_s=0.3)
        assert time.monotonic() - began < 1.0
        with pytest.raises(ServiceError) as spent:
            await client.complete(TASK, timeout_s=0.0)
        await client.close()
    assert raised.value.reason == spent.value.reason == errors_pb2.ERROR_REASON_LLM_TIMEOUT


@pytest.mark.parametrize("status", [401, 404, 429, 500, 503])
async def test_a_server_that_refuses_is_unavailable_and_its_text_stays_with_us(status: int) -> None:
    with serve(Reply(status=status)) as script:
        client = connect(script.base_url)
        with pytest.raises(ServiceError) as raised:
            await client.complete(TASK)
        await client.close()
    assert raised.value.reason == errors_pb2.ERROR_REASON_LLM_UNAVAILABLE
    assert "secret" not in str(raised.value)
    assert len(script.requests) == 1


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    client = connect("http://127.0.0.1:9/v1")
    with pytest.raises(ServiceError) as raised:
        await client.complete(TASK)
    await client.close()
    assert raised.value.reason == errors_pb2.ERROR_REASON_LLM_UNAVAILABLE


async def ignore(_output: str) -> None:
    """For calls whose growing output no one reads."""


@pytest.mark.parametrize("on_text", [None, ignore])
async def test_a_server_without_schemas_is_asked_for_plain_json(on_text: OnText | None) -> None:
    told: list[str] = []
    with serve(Reply(status=400), '{"number": 7}') as script:
        client = LlmClient(Endpoint(script.base_url, "m", timeout_s=5), lambda result, _cost: told.append(result))
        first = await client.complete(TASK, on_text=on_text)
        second = await client.complete(TASK, on_text=on_text)
        await client.close()
    assert first.value == second.value == 7
    assert (first.cost.model_call_count, second.cost.model_call_count) == (2, 1)
    assert told == ["error", "ok", "ok"]
    assert [request["response_format"]["type"] for request in script.requests] == [
        "json_schema",
        "json_object",
        "json_object",
    ]


async def test_a_refused_schema_spends_a_call_of_the_budget() -> None:
    with serve(Reply(status=400), "no") as script:
        client = connect(script.base_url, max_attempt_count=5)
        with pytest.raises(ServiceError) as raised:
            await client.complete(TASK, max_call_count=3)
        await client.close()
    assert raised.value.metadata["attempts"] == "3"
    assert len(script.requests) == 3


async def test_a_budget_of_one_call_makes_one() -> None:
    with serve(Reply(status=400), '{"number": 7}') as script:
        client = connect(script.base_url)
        with pytest.raises(ServiceError) as raised:
            await client.complete(TASK, max_call_count=1)
        await client.close()
    assert raised.value.reason == errors_pb2.ERROR_REASON_LLM_UNAVAILABLE
    assert len(script.requests) == 1


async def test_a_request_that_is_refused_either_way_says_nothing_about_schemas() -> None:
    with serve(Reply(status=400), Reply(status=400), '{"number": 7}') as script:
        client = connect(script.base_url)
        with pytest.raises(ServiceError):
            await client.complete(TASK)
        assert (await client.complete(TASK)).value == 7
        await client.close()
    assert script.requests[2]["response_format"]["type"] == "json_schema"


async def test_each_call_is_told() -> None:
    told: list[tuple[str, int]] = []
    with serve("no", '{"number": 7}') as script:
        endpoint = Endpoint(script.base_url, "m", timeout_s=5)
        client = LlmClient(endpoint, lambda result, cost: told.append((result, cost.prompt_token_count)))
        await client.complete(TASK)
        await client.close()
    assert told == [("invalid", 100), ("ok", 100)]


async def test_a_stream_shows_the_output_as_it_grows() -> None:
    seen: list[str] = []

    async def show(output: str) -> None:
        seen.append(output)

    with serve('{"number": 7, "more": "words"}') as script:
        client = connect(script.base_url)
        completion = await client.complete(TASK, on_text=show)
        await client.close()
    assert completion.value == 7
    assert completion.cost.prompt_token_count == 100
    assert len(seen) > 2
    assert all(after.startswith(before) for before, after in pairwise(seen))


def test_the_key_is_not_shown() -> None:
    assert "hush" not in repr(Endpoint("http://x", "m", api_key="hush"))


@pytest.mark.parametrize("text", ["", "{", "}{", "[" * 2000, '{"a": ' * 3000 + "}", "null", "\x00{}"[:1]])
def test_whatever_comes_is_an_object_or_a_schema_error(text: str) -> None:
    with pytest.raises(SchemaError):
        parse_object(text)
