"""Metrics: every series is there from the start, and each answer moves the ones it should."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import CollectorRegistry

from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import answer_pb2, budget_pb2, dispatcher_pb2
from services.dispatcher.measures import Measures
from tests.unit.services.dispatcher.fake_mesh import METADATA, FakeMesh, running
from tests.unit.services.dispatcher.scripts import QUESTION


def test_series_are_there_from_the_start() -> None:
    registry = CollectorRegistry()
    Measures(MetricFactory(registry))
    assert registry.get_sample_value("citemesh_outcomes_total", {"outcome": "withheld_for_review"}) == 0
    assert registry.get_sample_value("citemesh_iterations_total", {"trigger": "pending_references"}) == 0
    assert registry.get_sample_value("citemesh_stops_total", {"reason": "drift"}) == 0
    assert registry.get_sample_value("citemesh_activations_total", {"pattern": "dense"}) == 0


async def test_an_answer_is_counted(tmp_path: Path) -> None:
    async with running(FakeMesh(), tmp_path) as mesh:
        request = dispatcher_pb2.AnswerRequest(question=QUESTION)
        response = await mesh.stub.Answer(request, timeout=5.0, metadata=METADATA)
    registry = CollectorRegistry()
    measures = Measures(MetricFactory(registry))
    measures.count_answer(response, answer_pb2.RELEASE_MODE_UNSPECIFIED)
    assert registry.get_sample_value("citemesh_outcomes_total", {"outcome": "answered"}) == 1
    assert registry.get_sample_value("citemesh_iterations_total", {"trigger": "pending_references"}) == 1
    assert registry.get_sample_value("citemesh_stops_total", {"reason": "satisfied"}) == 1
    assert registry.get_sample_value("citemesh_answer_passes_sum") == 2
    labels = {"release_mode": "buffered"}
    assert registry.get_sample_value("citemesh_time_to_validated_answer_seconds_count", labels) == 1


def test_reasons_of_fallbacks_are_few() -> None:
    registry = CollectorRegistry()
    measures = Measures(MetricFactory(registry))
    stage = budget_pb2.STAGE_RERANK
    measures.count_stage(budget_pb2.StageReport(stage=stage, error_reason="OVERLOADED", fallback_reason="OVERLOADED"))
    measures.count_stage(budget_pb2.StageReport(stage=stage, fallback_reason="dense: whatever a stage writes"))
    assert registry.get_sample_value("citemesh_fallbacks_total", {"stage": "rerank", "reason": "overloaded"}) == 1
    assert registry.get_sample_value("citemesh_fallbacks_total", {"stage": "rerank", "reason": "degraded"}) == 1
