"""The Triton backend against a server that speaks Triton's protocol and scores with the real model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import numpy as np
import pytest
from tritonclient.grpc import service_pb2, service_pb2_grpc  # type: ignore[import-untyped]  # it ships no types

from citemesh.models import load_pair_scorer
from citemesh.models.pair_scorer import PairScorer, find_pair_scorer, find_tokenizer
from citemesh.models.runtime import open_session
from citemesh.models.tokenizer import PairTokenizer, TokenizedText
from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2
from services.rerank.breaker import Breaker
from services.rerank.settings import RerankSettings
from services.rerank.triton import TritonBackend, plan_batches

PAIRS = [
    ("How much annual leave?", "Employees accrue 25 days of paid annual leave per year."),
    ("How much annual leave?", "Customer data is encrypted. " * 20),
    ("Which cipher is used?", "Customer data is encrypted at rest with AES-256."),
]


class Server(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]  # the base is untyped
    """Scores with the graph; `fault` is answered instead, `delay_s` comes first."""

    def __init__(self, models: Path) -> None:
        self._session = open_session(find_pair_scorer(models))
        self.shapes: list[tuple[int, ...]] = []
        self.fault: grpc.StatusCode | None = None
        self.fault_count = 10**9
        self.delay_s = 0.0
        self.logits: list[float] | None = None

    async def ModelInfer(self, request: Any, context: Any) -> Any:  # noqa: N802  # the RPC's name
        self.shapes.append(tuple(request.inputs[0].shape))
        await asyncio.sleep(self.delay_s)
        if self.fault is not None and self.fault_count > 0:
            self.fault_count -= 1
            await context.abort(self.fault, "fault")
        inputs = {
            each.name: np.frombuffer(raw, np.int64).reshape(tuple(each.shape))
            for each, raw in zip(request.inputs, request.raw_input_contents, strict=True)
        }
        logits = self._session.run(None, inputs)[0] if self.logits is None else np.array(self.logits, np.float32)
        response = service_pb2.ModelInferResponse(model_name=request.model_name, model_version="1")
        response.outputs.add(name="logits", datatype="FP32", shape=list(logits.shape))
        response.raw_output_contents.append(logits.astype(np.float32).tobytes())
        return response


@asynccontextmanager
async def connected(models: Path, **settings: Any) -> AsyncIterator[tuple[TritonBackend, Server]]:
    servicer, server = Server(models), grpc.aio.server()
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    scorer = load_pair_scorer(models)
    path = find_pair_scorer(models)
    tokenizer = PairTokenizer(find_tokenizer(path), scorer.card.max_token_count)
    backend = TritonBackend(scorer.card, tokenizer, RerankSettings(triton_target=f"127.0.0.1:{port}", **settings))
    try:
        yield backend, servicer
    finally:
        await backend.close()
        await server.stop(None)


async def score_locally(scorer: PairScorer) -> list[float]:
    return [float(scorer.score(question, [text])[0]) for question, text in PAIRS]


async def test_same_scores_as_in_process_in_length_buckets(installed_models: Path) -> None:
    async with connected(installed_models) as (backend, server):
        logits = await backend.score(PAIRS, time.monotonic() + 10)
        assert logits == pytest.approx(await score_locally(load_pair_scorer(installed_models)), abs=0.03)
        assert sorted(server.shapes) == [(1, 256), (2, 64)]
        assert await backend.check() is None


def test_batches_are_of_one_bucket_and_bounded() -> None:
    pairs = [TokenizedText((1,) * size, (0,) * size) for size in (10, 300, 64, 65, 20, 600)]
    assert plan_batches(pairs, 2) == [(600, [5]), (512, [1]), (128, [3]), (64, [0, 2]), (64, [4])]


async def test_a_draining_server_is_asked_once_more(installed_models: Path) -> None:
    async with connected(installed_models) as (backend, server):
        server.fault, server.fault_count = grpc.StatusCode.NOT_FOUND, 1
        assert len(await backend.score(PAIRS[:1], None)) == 1
        assert len(server.shapes) == 2


async def test_breaker_rests_a_failing_server_and_finds_it_well_again(installed_models: Path) -> None:
    async with connected(installed_models, breaker_failure_count=2, breaker_rest_ms=100) as (backend, server):
        server.fault = grpc.StatusCode.INTERNAL
        for _ in range(4):
            with pytest.raises(ServiceError) as caught:
                await backend.score(PAIRS[:1], None)
            assert caught.value.reason == errors_pb2.ERROR_REASON_MODEL_UNAVAILABLE
            assert caught.value.metadata["model"].startswith("all-MiniLM-L6-v2-maxsim@")
        assert len(server.shapes) == 2
        assert "does not score" in str(await backend.check())
        server.fault = None
        await asyncio.sleep(0.15)
        assert await backend.check() is None
        assert len(await backend.score(PAIRS, None)) == 3


async def test_slow_server_is_given_up_in_time(installed_models: Path) -> None:
    async with connected(installed_models, triton_timeout_ms=5000) as (backend, server):
        server.delay_s = 3
        started = time.monotonic()
        with pytest.raises(ServiceError) as caught:
            await backend.score(PAIRS[:1], started + 0.3)
        assert caught.value.reason == errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED
        assert time.monotonic() - started < 0.6


@pytest.mark.parametrize("logits", [[float("nan")], [0.1, 0.2]])
async def test_answers_that_make_no_sense_are_refused(installed_models: Path, logits: list[float]) -> None:
    async with connected(installed_models) as (backend, server):
        server.logits = logits
        with pytest.raises(ServiceError, match="one logit per pair"):
            await backend.score(PAIRS[:1], None)


async def test_requests_beyond_the_limit_are_refused(installed_models: Path) -> None:
    async with connected(installed_models, triton_max_in_flight_count=1) as (backend, server):
        server.delay_s = 0.3
        first = asyncio.create_task(backend.score(PAIRS[:1], None))
        while not server.shapes:  # noqa: ASYNC110  # what is waited for happens in the server
            await asyncio.sleep(0.01)
        with pytest.raises(ServiceError) as caught:
            await backend.score(PAIRS[2:], None)
        assert caught.value.reason == errors_pb2.ERROR_REASON_OVERLOADED
        assert len(await first) == 1


def test_breaker_tries_with_one_call_after_its_rest() -> None:
    now = [0.0]
    breaker = Breaker(2, 10.0, clock=lambda: now[0])
    breaker.fail()
    breaker.succeed()
    breaker.fail()
    assert breaker.allows()
    breaker.fail()
    assert not breaker.allows()
    now[0] = 10.0
    assert breaker.allows()
    assert not breaker.allows()  # the one trial is out
    breaker.abandon()
    assert breaker.allows()
    breaker.fail()  # one failed trial is enough to rest again
    assert not breaker.allows()
    now[0] = 20.0
    assert breaker.allows()
    breaker.succeed()
    assert breaker.allows()
    assert not breaker.is_open
