"""Both clients against a real server; one set of expectations, `ask` for both."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import jwt
import pytest

from citemesh.auth import Principal
from citemesh.client import Access, AsyncClient, CitemeshError, Client
from citemesh.rpc.host import hosted
from citemesh.v1 import answer_pb2, dispatcher_pb2, documents_pb2, question_pb2

Call = Callable[..., Awaitable[Any]]


@pytest.fixture(params=["blocking", "asyncio"])
async def call(request: pytest.FixtureRequest, host: Any, environ: dict[str, str]) -> AsyncIterator[Call]:
    """`await call("ask", "question")` on either client; an iterator comes back as a list."""
    principal = Principal("acme", "ann", frozenset({"hr"}))
    if request.param == "blocking":
        with Client(principal=principal, environ=environ) as client:

            def run(name: str, *args: Any, **options: Any) -> Any:
                result = getattr(client, name)(*args, **options)
                return list(result) if name == "list_documents" else result

            async def call_blocking(name: str, *args: Any, **options: Any) -> Any:
                return await asyncio.to_thread(run, name, *args, **options)

            yield call_blocking
    else:
        async with AsyncClient(host.target, principal=principal, environ=environ) as asynchronous:

            async def call_async(name: str, *args: Any, **options: Any) -> Any:
                result = getattr(asynchronous, name)(*args, **options)
                return [each async for each in result] if name == "list_documents" else await result

            yield call_async


async def test_a_question_with_everything(call: Call, mesh: Any) -> None:
    turn = question_pb2.Turn(role=question_pb2.ROLE_USER, text="before")
    response = await call(
        "ask",
        "leave",
        history=[turn],
        document_ids=["a", "b"],
        as_of=datetime.date(2025, 1, 31),
        release_mode=answer_pb2.RELEASE_MODE_BUFFERED,
        pipeline="p",
        max_iterations=2,
        request_id="r1",
    )
    assert response.answer.text == "about leave"
    asked = mesh.request
    assert list(asked.scope.documents.document_ids) == ["a", "b"]
    assert asked.as_of_time.ToDatetime() == datetime.datetime(2025, 1, 31)
    assert (asked.pipeline, asked.budget.max_iterations, asked.history[0].text) == ("p", 2, "before")
    assert mesh.caller == Principal("acme", "ann", frozenset({"hr"}))


async def test_what_is_left_out_stays_absent(call: Call, mesh: Any) -> None:
    await call("ask", "leave")
    for field in ("scope", "as_of_time", "budget"):
        assert not mesh.request.HasField(field)


async def test_the_other_calls(call: Call, mesh: Any) -> None:
    await call("explain", "leave", document_ids="a")
    assert list(mesh.request.scope.documents.document_ids) == ["a"]
    assert (await call("replay", dispatcher_pb2.AnswerResponse())).agrees
    assert [pipeline.name for pipeline in await call("list_pipelines")] == ["default"]
    assert (await call("search", "leave", max_candidates=5)).index_snapshot == "s"
    assert [query.text for query in mesh.request.queries] == ["leave"] * 3
    assert [document.document_id for document in await call("list_documents")] == [f"d{n}" for n in range(6)]
    assert (await call("profile")).document_count == 3
    assert await call("delete_document", "a") == 2
    assert await call("set_access", "a", Access.only(groups=["hr"])) == 5
    assert list(mesh.request.access.only.groups) == ["hr"]
    assert await call("render_page", "a", 3, quotes=["x"]) == b"png"


async def test_files_go_up_in_pieces(call: Call, mesh: Any, tmp_path: Path) -> None:
    path = tmp_path / "handbook.md"
    path.write_bytes(bytes(range(256)) * 3000)
    response = await call(
        "ingest",
        path,
        access=Access.everyone(),
        effective_from=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    )
    assert response.result == documents_pb2.INGEST_RESULT_CREATED
    assert mesh.content == path.read_bytes()
    assert mesh.request.file_name == "handbook.md"
    assert mesh.request.access.WhichOneof("access") == "everyone"
    assert not mesh.request.HasField("effective_to_time")
    await call("ingest", b"text", file_name="x.txt", document_id="x")
    assert (mesh.content, mesh.request.document_id) == (b"text", "x")
    assert not mesh.request.HasField("access")
    await call("ingest", b"", file_name="empty.txt")
    assert mesh.content == b""


async def test_errors_say_what_and_why(call: Call) -> None:
    with pytest.raises(CitemeshError) as caught:
        await call("get_document", "nowhere")
    error = caught.value
    assert (error.reason, error.message, error.code) == (
        "DOCUMENT_NOT_FOUND",
        "No such document.",
        grpc.StatusCode.NOT_FOUND,
    )
    assert error.metadata == {"document_id": "nowhere"}
    assert not error.is_retryable
    with pytest.raises(CitemeshError) as caught:
        await call("ask", "")
    assert caught.value.field_violations == [("question", "must not be empty")]


async def test_a_deadline_is_kept(call: Call) -> None:
    started = time.monotonic()
    with pytest.raises(CitemeshError) as caught:
        await call("ask", "slow", timeout_s=0.3)
    assert caught.value.reason == "DEADLINE_EXCEEDED"
    assert time.monotonic() - started < 1.0


async def test_senseless_values_are_refused_before_any_call(call: Call, mesh: Any, tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [{"document_ids": []}, {"as_of": datetime.datetime(2025, 1, 1)}, {"timeout_s": 0}]
    for options in wrong:
        with pytest.raises(ValueError):
            await call("ask", "x", **options)
    with pytest.raises(ValueError, match="file_name"):
        await call("ingest", b"text")
    with pytest.raises(FileNotFoundError):
        await call("ingest", tmp_path / "nowhere.pdf")
    assert mesh.request is None


async def eventually(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 3
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        await asyncio.sleep(0.01)


async def test_blocking_streams_give_events_and_end_with_their_block(
    host: Any, mesh: Any, environ: dict[str, str]
) -> None:
    def run() -> None:
        with Client(host.target, environ=environ) as client:
            with client.ask_stream("leave") as events:
                kinds = [event.WhichOneof("event") for event in events]
            assert kinds == ["text_delta", "response"]
            with client.ask_stream("forever") as events:
                for event in events:
                    assert event.text_delta == "a"
                    break
            with pytest.raises(CitemeshError) as caught, client.ask_stream("broken") as events:
                list(events)
            assert caught.value.reason == "RETRIEVAL_UNAVAILABLE"

    await asyncio.to_thread(run)
    await eventually(lambda: mesh.running_streams == 0)


async def test_asyncio_streams_give_events_and_end_with_their_block(
    host: Any, mesh: Any, environ: dict[str, str]
) -> None:
    async with AsyncClient(host.target, environ=environ) as client:
        async with client.ask_stream("leave") as events:
            kinds = [event.WhichOneof("event") async for event in events]
        assert kinds == ["text_delta", "response"]
        async with client.ask_stream("forever") as events:
            async for event in events:
                assert event.text_delta == "a"
                break
        await eventually(lambda: mesh.running_streams == 0)
        async with client.ask_stream("broken") as events:
            with pytest.raises(CitemeshError) as caught:
                [event async for event in events]
        assert caught.value.reason == "RETRIEVAL_UNAVAILABLE"


async def test_a_cancelled_task_cancels_its_call(host: Any, environ: dict[str, str]) -> None:
    async with AsyncClient(host.target, environ=environ) as client:
        task = asyncio.create_task(client.ask("slow"))

        def in_flight() -> float:
            return float(host.registry.get_sample_value("citemesh_calls_in_flight"))

        await eventually(lambda: in_flight() == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await eventually(lambda: in_flight() == 0)


async def test_tokens_are_sent_and_asked_for_anew(mesh: Any, environ: dict[str, str]) -> None:
    from .conftest import specs_of

    secret = "s" * 40
    environ = {**environ, "CITEMESH_AUTH_MODE": "jwt", "CITEMESH_AUTH_SECRET": secret}
    given = []

    def fresh() -> str:
        given.append(1)
        return jwt.encode({"tenant": "t", "sub": f"u{len(given)}", "exp": time.time() + 60}, secret)

    async with hosted(specs_of(mesh), environ) as host, AsyncClient(host.target, token=fresh) as client:
        await client.ask("x")
        assert mesh.caller.user_id == "u1"
        await client.ask("x")
        assert mesh.caller.user_id == "u2"
        async with AsyncClient(host.target, token="rubbish") as other:
            with pytest.raises(CitemeshError) as caught:
                await other.ask("x")
            assert caught.value.reason == "UNAUTHENTICATED"


async def test_nobody_there_is_said_plainly(tmp_path: Path) -> None:
    async with AsyncClient(environ={"CITEMESH_STATE_DIR": str(tmp_path)}) as client:
        with pytest.raises(CitemeshError) as caught:
            await client.ask("x", timeout_s=2)
    assert caught.value.reason == "UPSTREAM_UNAVAILABLE"
    assert caught.value.is_retryable


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        Client("x", token="t", principal=Principal("t", "u", frozenset()))
    with pytest.raises(ValueError, match="positive"):
        Client("x", timeout_s=0)
