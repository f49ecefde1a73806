"""The service through the host: a real server, the real pair scorer, errors as callers see them."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import pytest

from citemesh.config.load import ConfigurationError
from citemesh.models.paths import pair_scorer_dir
from citemesh.models.stamp import built_dir
from citemesh.rpc.channels import open_channel
from citemesh.rpc.errors import error_reason, read_field_violations, read_status
from citemesh.rpc.host import Host, StartError, hosted
from citemesh.v1 import errors_pb2, evidence_pb2, rerank_pb2, rerank_pb2_grpc
from services.rerank.service import SPEC

TEXTS = {
    "leave": "Employees accrue 25 days of paid annual leave per year, and may carry over five.",
    "crypto": "Customer data is encrypted at rest with AES-256 and in transit with TLS 1.3.",
    "empty": "",
}
QUESTION = "How many days of annual leave do employees get?"


@asynccontextmanager
async def calling(environ: Mapping[str, str]) -> AsyncIterator[tuple[rerank_pb2_grpc.RerankServiceAsyncStub, Host]]:
    async with hosted([SPEC], environ) as host, open_channel(host.target, environ, local=True) as channel:
        stub: rerank_pb2_grpc.RerankServiceAsyncStub = rerank_pb2_grpc.RerankServiceStub(channel)
        yield stub, host


def make_request(*queries: str) -> rerank_pb2.RerankRequest:
    passages = [rerank_pb2.PairText(passage_id=name, text=text) for name, text in TEXTS.items()]
    return rerank_pb2.RerankRequest(queries=queries, passages=passages)


async def test_rerank_and_assemble_over_grpc(environ: dict[str, str]) -> None:
    async with calling(environ) as (stub, host):
        assert host.problems == {}
        response = await stub.Rerank(make_request(QUESTION), timeout=5)
        assert [score.passage_id for score in response.scores] == ["leave", "crypto", "empty"]
        assert response.scores[0].relevance > 0.3 > 0.01 > response.scores[1].relevance
        assert (response.branch, response.cost.scored_pair_count) == ("onnxruntime", 3)
        assert response.calibration == f"{response.model}/1"
        again = await stub.Rerank(make_request(QUESTION), timeout=5)
        assert again.cost.scored_pair_count == 0
        assert again.scores == response.scores

        candidates = [
            evidence_pb2.Candidate(
                passage=evidence_pb2.Passage(passage_id=score.passage_id, text=TEXTS[score.passage_id]),
                rerank_score=score.rerank_score,
                relevance=score.relevance,
            )
            for score in response.scores
        ]
        request = rerank_pb2.AssembleContextRequest(candidates=candidates, max_token_count=500)
        context = await stub.AssembleContext(request, timeout=5)
        assert [evidence.passage_id for evidence in context.evidence] == ["leave"]
        assert {each.reason for each in context.dropped} == {rerank_pb2.DROP_REASON_RELEVANCE}
        counted = host.registry.get_sample_value("citemesh_rerank_pairs_total", {"backend": "onnxruntime"})
        assert counted == 3
        assert host.registry.get_sample_value("citemesh_rerank_abstentions_total") == 0
        assert host.registry.get_sample_value("citemesh_context_tokens_sum") == context.token_count


async def test_every_wrong_field_is_named(environ: dict[str, str]) -> None:
    async with calling(environ) as (stub, _):
        wrong = rerank_pb2.RerankRequest(queries=[" "], passages=[rerank_pb2.PairText(), rerank_pb2.PairText()])
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Rerank(wrong, timeout=5)
        assert error_reason(caught.value) == errors_pb2.ERROR_REASON_INVALID_FIELD
        status = read_status(caught.value)
        assert status is not None
        fields = [field for field, _ in read_field_violations(status)]
        assert fields == ["queries[0]", "passages[0].passage_id", "passages[1].passage_id"]

        for empty in (rerank_pb2.RerankRequest(), make_request(*"abcde")):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.Rerank(empty, timeout=5)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT

        twice = evidence_pb2.Candidate(passage=evidence_pb2.Passage(passage_id="a"))
        request = rerank_pb2.AssembleContextRequest(
            candidates=[twice, twice], max_token_count=63, max_evidence_count=101, min_relevance=1.5
        )
        request.known_evidence_ids.add(passage_id="a", evidence_id="E0")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.AssembleContext(request, timeout=5)
        status = read_status(caught.value)
        assert status is not None
        assert [field for field, _ in read_field_violations(status)] == [
            "candidates[1].passage.passage_id",
            "max_token_count",
            "max_evidence_count",
            "min_relevance",
            "known_evidence_ids[0].evidence_id",
        ]


async def test_work_that_cannot_finish_is_refused_early(environ: dict[str, str]) -> None:
    passages = [rerank_pb2.PairText(passage_id=str(place), text=f"{place} word " * 120) for place in range(200)]
    request = rerank_pb2.RerankRequest(queries=["what is the word"], passages=passages)
    environ["CITEMESH_RERANK_WORKER_COUNT"] = "1"  # 50,000 tokens take one core some 7 s
    async with calling(environ) as (stub, host):
        started = time.monotonic()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Rerank(request, timeout=3)
        assert time.monotonic() - started < 2.5
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert error_reason(caught.value) == errors_pb2.ERROR_REASON_DEADLINE_TOO_SHORT
        assert host.registry.get_sample_value("citemesh_rerank_queue_length") == 0


async def test_a_cancelled_calls_pairs_are_dropped(environ: dict[str, str]) -> None:
    passages = [rerank_pb2.PairText(passage_id=str(place), text=f"{place} word " * 120) for place in range(200)]
    async with calling(environ) as (stub, host):

        def count_waiting() -> float:
            return host.registry.get_sample_value("citemesh_rerank_queue_length") or 0.0

        call = stub.Rerank(rerank_pb2.RerankRequest(queries=["which word"], passages=passages), timeout=60)
        async with asyncio.timeout(10):
            while count_waiting() == 0:  # noqa: ASYNC110  # what is waited for happens in the server
                await asyncio.sleep(0.01)
            call.cancel()
            while count_waiting() > 0:  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.01)
        response = await stub.Rerank(make_request(QUESTION), timeout=5)
        assert response.scores[0].passage_id == "leave"


async def test_a_model_without_its_calibration_does_not_serve(
    environ: dict[str, str], installed_models: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "another-cross-encoder"
    shutil.copytree(pair_scorer_dir(built_dir(installed_models)), folder)
    (folder / "scorer.json").unlink()
    environ["CITEMESH_RERANK_PAIR_SCORER_PATH"] = str(folder)
    async with calling(environ) as (stub, host):
        assert "CITEMESH_RERANK_CALIBRATION_PATH" in host.problems["rerank"]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Rerank(make_request(QUESTION), timeout=5)
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert error_reason(caught.value) == errors_pb2.ERROR_REASON_CALIBRATION_MISMATCH


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CITEMESH_RERANK_BATCH_SIZE", "9", "CITEMESH_RERANK_BATCH_SIZE"),
        ("CITEMESH_RERANK_PAIR_SCORER_PATH", "/nowhere/model.onnx", "/nowhere/model.onnx"),
        ("CITEMESH_RERANK_CALIBRATION_PATH", "/nowhere/c.json", "/nowhere/c.json"),
        ("CITEMESH_MODELS_DIR", "/nowhere", "citemesh models pull"),
    ],
)
async def test_a_wrong_setting_stops_the_start_and_is_named(
    environ: dict[str, str], name: str, value: str, said: str
) -> None:
    environ[name] = value
    with pytest.raises((ConfigurationError, StartError), match=said.replace(".", r"\.")):
        async with hosted([SPEC], environ):
            pass


async def test_artefact_of_another_model_is_accepted_for_that_model(
    environ: dict[str, str], installed_models: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(pair_scorer_dir(built_dir(installed_models)), folder)
    (folder / "scorer.json").write_text(json.dumps({"model_id": "mine", "revision": "1"}))
    artefact = {"format_version": 1, "model_id": "mine", "model_revision": "1", "calibration_version": "a"}
    (folder / "c.json").write_text(json.dumps(artefact | {"knots": [[0.0, 0.0], [1.0, 1.0]]}))
    environ["CITEMESH_RERANK_PAIR_SCORER_PATH"] = str(folder)
    environ["CITEMESH_RERANK_CALIBRATION_PATH"] = str(folder / "c.json")
    async with calling(environ) as (stub, _):
        response = await stub.Rerank(make_request(QUESTION), timeout=5)
        assert response.calibration == "mine@1/a"
        assert response.scores[0].relevance == pytest.approx(response.scores[0].rerank_score)
