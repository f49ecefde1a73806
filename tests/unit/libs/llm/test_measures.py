"""What operators see of model calls."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from citemesh.llm.completion import LlmClient
from citemesh.llm.endpoint import Endpoint
from citemesh.llm.measures import CallMeasures
from citemesh.rpc.errors import ServiceError
from citemesh.telemetry.metrics import MetricFactory
from tests.unit.libs.llm.scripted_server import Reply, serve
from tests.unit.libs.llm.test_completion import TASK

RETRIES = "citemesh_schema_retries_total"
CALLS = "citemesh_model_calls_total"


async def ask(registry: CollectorRegistry, *replies: str) -> None:
    measures = CallMeasures(MetricFactory(registry), "m")
    with serve(*(Reply(each) for each in replies)) as script:
        endpoint = Endpoint(script.base_url, "m", timeout_s=5, max_attempt_count=2)
        client = LlmClient(endpoint, measures.count_call, measures.count_retry)
        try:
            await client.complete(TASK)
        finally:
            await client.close()


async def test_a_broken_output_is_one_retry() -> None:
    registry = CollectorRegistry()
    await ask(registry, "no", '{"number": 7}')
    assert registry.get_sample_value(RETRIES) == 1
    assert registry.get_sample_value(CALLS, {"model": "m", "result": "invalid"}) == 1
    assert registry.get_sample_value(CALLS, {"model": "m", "result": "ok"}) == 1
    assert registry.get_sample_value("citemesh_model_tokens_total", {"model": "m", "direction": "prompt"}) == 200


async def test_giving_up_is_no_retry() -> None:
    registry = CollectorRegistry()
    with pytest.raises(ServiceError):
        await ask(registry, "no")
    assert registry.get_sample_value(RETRIES) == 1
    assert registry.get_sample_value(CALLS, {"model": "m", "result": "invalid"}) == 2


def test_two_services_of_one_process_share_the_metrics_also_without_a_model() -> None:
    registry = CollectorRegistry()
    factory = MetricFactory(registry)
    CallMeasures(factory, "")
    CallMeasures(factory, "")
    assert registry.get_sample_value(RETRIES) == 0
    assert not [s for m in registry.collect() for s in m.samples if s.name == CALLS]
