"""A client as the settings of a service ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citemesh.llm.measures import CallMeasures
from citemesh.llm.settings import LlmSettings
from citemesh.telemetry.metrics import MetricFactory

if TYPE_CHECKING:
    from citemesh.llm.completion import LlmClient


def connect_llm(settings: LlmSettings, metrics: MetricFactory) -> LlmClient | None:
    """The client of the configured server, its calls counted in `metrics`; None where no server is configured.

    The metrics are there in either case, so that they are known before a model is set up.
    """
    calls = CallMeasures(metrics, settings.llm_model if settings.llm_base_url else "")
    if not settings.llm_base_url:
        return None
    from citemesh.llm.completion import LlmClient  # brings in the client library, which rules alone never need
    from citemesh.llm.endpoint import Endpoint

    endpoint = Endpoint(
        base_url=settings.llm_base_url,
        model=settings.llm_model,
        api_key=settings.llm_api_key.get_secret_value(),
        timeout_s=settings.llm_timeout_ms / 1000,
        max_attempt_count=settings.llm_max_attempt_count,
        max_output_token_count=settings.llm_max_output_token_count,
    )
    return LlmClient(endpoint, calls.count_call, calls.count_retry)
