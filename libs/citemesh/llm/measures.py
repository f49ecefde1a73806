"""What operators see of a language model's calls; the same for every service that has an LLM branch."""

from __future__ import annotations

from typing import Final

from citemesh.telemetry import names
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import budget_pb2

_RESULTS: Final = ("ok", "invalid", "timeout", "error")


class CallMeasures:
    """Counts calls, tokens and retries. `model`: its name, empty where none is configured and nothing will be called.

    Make it in either case, so that the metrics are known (and retries are at zero) before a model is set up.
    """

    def __init__(self, metrics: MetricFactory, model: str) -> None:
        self._model = model
        models = (model,) if model else ()
        self._calls = metrics.counter(names.MODEL_CALLS, model=models, result=_RESULTS)
        self._tokens = metrics.counter(names.MODEL_TOKENS, model=models, direction=("prompt", "completion"))
        self._retries = metrics.counter(names.SCHEMA_RETRIES)

    def count_call(self, result: str, cost: budget_pb2.Cost) -> None:
        """See completion.OnCall."""
        self._calls.labels(self._model, result).inc()
        self._tokens.labels(self._model, "prompt").inc(cost.prompt_token_count)
        self._tokens.labels(self._model, "completion").inc(cost.completion_token_count)

    def count_retry(self) -> None:
        """See completion.OnRetry."""
        self._retries.inc()
