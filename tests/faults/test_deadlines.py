"""A caller's deadline holds whatever stage is slow, and nothing is left running for it anywhere."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio
import pytest

from citemesh.rpc.host import Host, hosted
from citemesh.telemetry import names
from citemesh.v1 import (
    answer_pb2,
    dispatcher_pb2,
    dispatcher_pb2_grpc,
    document_pb2,
    generation_pb2,
    question_pb2,
)
from services.dispatcher.service import SPEC
from tests.unit.services.dispatcher.fake_mesh import METADATA, FakeMesh, fake_specs
from tests.unit.services.dispatcher.scripts import QUESTION, parsed, write_answer

DEADLINE_S = 2.0
TOLERANCE_S = 0.1
SLOW_S = 30.0

ANSWERED = answer_pb2.ANSWER_OUTCOME_ANSWERED
SOURCES_ONLY = answer_pb2.ANSWER_OUTCOME_SOURCES_ONLY
UNAVAILABLE = answer_pb2.ANSWER_OUTCOME_RETRIEVAL_UNAVAILABLE
ABSTAINED = answer_pb2.ANSWER_OUTCOME_ABSTAINED_INSUFFICIENT_EVIDENCE

FOLLOW_UP_PIPELINE = """\
name: with-follow-up
description: Looks a second time where that is decided.
steps:
  - {id: understand, type: query_optimizer, processor: understand, on_failure: continue}
  - {id: search, type: retriever, processor: hybrid, on_failure: stop}
  - {id: again, type: query_optimizer, processor: follow_up, on_failure: continue}
  - {id: search-again, type: retriever, processor: hybrid, on_failure: continue}
  - {id: rerank, type: context_optimizer, processor: rerank, on_failure: continue}
  - {id: answer, type: answer_generator, processor: grounded, on_failure: stop}
  - {id: validate, type: quality_gate, processor: claims, on_failure: stop}
"""


def leave_alone(_: FakeMesh) -> None:
    """The default scripts."""


def ask_for_a_list(mesh: FakeMesh) -> None:
    mesh.parse = lambda question: parsed(question, intent=question_pb2.INTENT_LISTING)


def flag_a_page(mesh: FakeMesh) -> None:
    def write(request: generation_pb2.GenerateRequest) -> answer_pb2.AnswerWithEvidence:
        answer = write_answer(request)
        answer.context_structured = False
        answer.unstructured_pages.add(document_id="manual", page_number=3)
        return answer

    mesh.write = write


def hide_the_scope(mesh: FakeMesh) -> None:
    mesh.profile = document_pb2.ScopeProfile()


@dataclass(frozen=True)
class Slow:
    """One RPC that is slow, what leads to its being called, and how the request ends all the same."""

    rpc: str
    outcome: answer_pb2.AnswerOutcome.ValueType
    prepare: Callable[[FakeMesh], None] = leave_alone
    pipeline: str = ""
    document_id: str = ""
    release_mode: answer_pb2.ReleaseMode.ValueType = answer_pb2.RELEASE_MODE_BUFFERED

    def request(self) -> dispatcher_pb2.AnswerRequest:
        request = dispatcher_pb2.AnswerRequest(
            question=QUESTION, pipeline=self.pipeline, release_mode=self.release_mode
        )
        if self.document_id:
            request.scope.documents.document_ids.append(self.document_id)
        return request


CASES = (
    Slow("Understand", ANSWERED),
    Slow("Profile", ANSWERED),
    Slow("Get", ABSTAINED, hide_the_scope, document_id="manual"),
    Slow("Retrieve", UNAVAILABLE),
    Slow("DecideFollowUp", ANSWERED, pipeline="with-follow-up"),
    Slow("FollowReferences", ANSWERED),
    Slow("ListItems", ANSWERED, ask_for_a_list),
    Slow("Rerank", ANSWERED),
    Slow("AssembleContext", ANSWERED),
    Slow("GetPassages", UNAVAILABLE),
    Slow("Generate", SOURCES_ONLY),
    Slow("GenerateStream", SOURCES_ONLY, release_mode=answer_pb2.RELEASE_MODE_UNVALIDATED),
    Slow("Validate", SOURCES_ONLY),
    Slow("Reparse", ANSWERED, flag_a_page),
)


@dataclass(frozen=True)
class Mesh:
    """The dispatcher, and the scripted stages in a host of their own: the hops are those of separate processes."""

    scripts: FakeMesh
    stub: dispatcher_pb2_grpc.DispatcherServiceAsyncStub
    hosts: tuple[Host, Host]

    async def settle(self) -> None:
        """Wait a moment for cancelled handlers to end; fail where one is left."""
        running: list[float | None] = []
        for _ in range(50):
            running = [host.registry.get_sample_value(names.CALLS_IN_FLIGHT.name) for host in self.hosts]
            if running == [0.0, 0.0]:
                assert not +self.scripts.running
                return
            await asyncio.sleep(0.02)
        pytest.fail(f"calls in flight at the dispatcher and the stages: {running}; {+self.scripts.running}")


@asynccontextmanager
async def run_scripted(scripts: FakeMesh, folder: Path) -> AsyncIterator[Mesh]:
    pipelines = folder / "pipelines"
    pipelines.mkdir()
    (pipelines / "with-follow-up.yaml").write_text(FOLLOW_UP_PIPELINE, encoding="utf-8")
    environ = {
        "CITEMESH_STATE_DIR": str(folder),
        "CITEMESH_AUTH_MODE": "open",
        "CITEMESH_HOST_METRICS_ADDRESS": "off",
        "CITEMESH_HOST_DRAIN_WAIT_MS": "0",
        "CITEMESH_DISPATCHER_PIPELINES_DIR": str(pipelines),
        "CITEMESH_DISPATCHER_ALLOW_UNVALIDATED": "true",
    }
    specs = fake_specs(scripts)
    async with hosted(specs, environ | {"CITEMESH_HOST_LISTEN_ADDRESS": f"unix:{folder}/stages.sock"}) as stages:
        addresses = {f"CITEMESH_{spec.name.upper()}_ADDRESS": stages.target for spec in specs}
        mine = {"CITEMESH_HOST_LISTEN_ADDRESS": f"unix:{folder}/dispatcher.sock"}
        async with (
            hosted([SPEC], environ | mine | addresses) as host,
            grpc.aio.insecure_channel(host.target) as channel,
        ):
            yield Mesh(scripts, dispatcher_pb2_grpc.DispatcherServiceStub(channel), (host, stages))


@pytest.fixture
async def mesh(tmp_path: Path) -> AsyncIterator[Mesh]:
    async with run_scripted(FakeMesh(), tmp_path) as running:
        yield running


async def ask(mesh: Mesh, request: dispatcher_pb2.AnswerRequest) -> dispatcher_pb2.AnswerResponse:
    return await mesh.stub.Answer(request, timeout=DEADLINE_S, metadata=METADATA)


async def ask_streaming(mesh: Mesh, request: dispatcher_pb2.AnswerRequest) -> dispatcher_pb2.AnswerResponse:
    wrapped = dispatcher_pb2.AnswerStreamRequest(request=request)
    call = mesh.stub.AnswerStream(wrapped, timeout=DEADLINE_S, metadata=METADATA)
    events = [event async for event in call]
    return events[-1].response


@pytest.mark.parametrize("slow", CASES, ids=lambda slow: slow.rpc)
async def test_the_deadline_holds_whatever_is_slow(mesh: Mesh, slow: Slow) -> None:
    slow.prepare(mesh.scripts)
    mesh.scripts.delays_s[slow.rpc] = SLOW_S
    started = time.monotonic()
    responses = await asyncio.gather(ask(mesh, slow.request()), ask_streaming(mesh, slow.request()))
    assert time.monotonic() - started < DEADLINE_S + TOLERANCE_S
    assert mesh.scripts.count[slow.rpc], "the slow RPC is on this request's way"
    if slow.rpc != "GenerateStream":  # only the first of the two releases unvalidated text; the other has all its time
        assert [response.outcome for response in responses] == [slow.outcome, slow.outcome]
    await mesh.settle()


async def test_everything_slow_is_deadline_exceeded_or_says_that_nothing_was_found(mesh: Mesh) -> None:
    mesh.scripts.delays_s |= {case.rpc: SLOW_S for case in CASES}
    started = time.monotonic()
    request = dispatcher_pb2.AnswerRequest(question=QUESTION)
    (ended,) = await asyncio.gather(ask(mesh, request), return_exceptions=True)
    assert time.monotonic() - started < DEADLINE_S + TOLERANCE_S
    if isinstance(ended, grpc.aio.AioRpcError):
        assert ended.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    else:
        assert isinstance(ended, dispatcher_pb2.AnswerResponse), ended
        assert ended.outcome == UNAVAILABLE
    await mesh.settle()


async def test_many_callers_with_a_slow_stage_all_get_their_answer_in_time(mesh: Mesh) -> None:
    mesh.scripts.delays_s["Validate"] = SLOW_S
    started = time.monotonic()
    request = dispatcher_pb2.AnswerRequest(question=QUESTION)
    responses = await asyncio.gather(*(ask(mesh, request) for _ in range(10)))
    assert time.monotonic() - started < DEADLINE_S + TOLERANCE_S
    assert {response.outcome for response in responses} == {SOURCES_ONLY}
    assert all(response.evidence for response in responses)
    await mesh.settle()
