"""What operators see of answers: outcomes, passes, stops, fallbacks and stage times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from google.protobuf.duration_pb2 import Duration
from prometheus_client import Histogram

from citemesh.telemetry import names
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import activation_pb2, answer_pb2, budget_pb2, dispatcher_pb2, errors_pb2, history_pb2
from services.dispatcher.fallback import FALLBACKS
from services.dispatcher.resolve import PATTERNS
from services.dispatcher.words import outcome_name, pattern_name, stage_name, stop_name, trigger_name

_MODES = {
    answer_pb2.RELEASE_MODE_UNSPECIFIED: "buffered",
    answer_pb2.RELEASE_MODE_BUFFERED: "buffered",
    answer_pb2.RELEASE_MODE_VALIDATED_CLAIMS: "validated_claims",
    answer_pb2.RELEASE_MODE_UNVALIDATED: "unvalidated",
}


class Measures:
    """The dispatcher's metrics; every series is there from the start, at zero."""

    def __init__(self, metrics: MetricFactory) -> None:
        modes = sorted(set(_MODES.values()))
        self._outcomes = metrics.counter(
            names.OUTCOMES, outcome=[outcome_name(value) for value in answer_pb2.AnswerOutcome.values() if value]
        )
        self._iterations = metrics.counter(
            names.ITERATIONS, trigger=[trigger_name(value) for value in history_pb2.Trigger.values() if value > 1]
        )
        self._stops = metrics.counter(
            names.STOPS, reason=[stop_name(value) for value in history_pb2.StopReason.values() if value]
        )
        self._activations = metrics.counter(names.ACTIVATIONS, pattern=[pattern_name(value) for value in PATTERNS])
        # One series for each stage from the start; the reasons of each stage come as they occur.
        self._fallbacks = metrics.counter(
            names.FALLBACKS,
            stage=[stage_name(stage) for stage in FALLBACKS],
            reason=[_short(errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED)],
        )
        self._stage_seconds = metrics.histogram(names.STAGE_DURATION_SECONDS)
        self._stage_series: dict[tuple[str, str], Histogram] = {}
        self._passes = metrics.histogram(names.ANSWER_PASSES)
        self._first_text_seconds = metrics.histogram(names.TIME_TO_FIRST_TOKEN_SECONDS, release_mode=modes)
        self._complete_seconds = metrics.histogram(names.TIME_TO_COMPLETE_ANSWER_SECONDS, release_mode=modes)
        self._validated_seconds = metrics.histogram(names.TIME_TO_VALIDATED_ANSWER_SECONDS, release_mode=modes)

    def count_stage(self, report: budget_pb2.StageReport) -> None:
        """One stage has ended."""
        stage = stage_name(report.stage)
        self._time_of(stage, report.branch or "default").observe(_seconds(report.duration))
        if report.fallback_reason or report.error_reason:
            self._fallbacks.labels(stage, _bounded(report)).inc()

    def _time_of(self, stage: str, branch: str) -> Histogram:
        """The series, looked up once: every answer asks for some ten of them."""
        found = self._stage_series.get((stage, branch))
        if found is None:
            found = self._stage_series[stage, branch] = self._stage_seconds.labels(stage, branch)
        return found

    def count_answer(self, response: dispatcher_pb2.AnswerResponse, mode: answer_pb2.ReleaseMode.ValueType) -> None:
        """One answer is ready to leave."""
        self._outcomes.labels(outcome_name(response.outcome)).inc()
        self._stops.labels(stop_name(response.stop_reason)).inc()
        self._count_activations(response.activations.activations)
        self._count_passes(response.history)
        label, timings = _MODES[mode], response.timings
        if timings.HasField("first_text_duration"):
            self._first_text_seconds.labels(label).observe(_seconds(timings.first_text_duration))
        if timings.HasField("complete_answer_duration"):
            self._complete_seconds.labels(label).observe(_seconds(timings.complete_answer_duration))
        if timings.HasField("validated_answer_duration"):
            self._validated_seconds.labels(label).observe(_seconds(timings.validated_answer_duration))

    def _count_activations(self, activations: Iterable[activation_pb2.Activation]) -> None:
        for activation in activations:
            if activation.active:
                self._activations.labels(pattern_name(activation.pattern)).inc()

    def _count_passes(self, history: Sequence[history_pb2.IterationRecord]) -> None:
        if history:
            self._passes.observe(len(history))
        for record in history[1:]:
            self._iterations.labels(trigger_name(record.trigger)).inc()


def _bounded(report: budget_pb2.StageReport) -> str:
    """A reason of few values: an ErrorReason, or "degraded" where the stage itself chose another branch."""
    known = report.error_reason in _REASONS
    return report.error_reason.lower() if known else "degraded"


def _short(reason: errors_pb2.ErrorReason.ValueType) -> str:
    return errors_pb2.ErrorReason.Name(reason).removeprefix("ERROR_REASON_").lower()


_REASONS = frozenset(_short(reason).upper() for reason in errors_pb2.ErrorReason.values())


def _seconds(duration: Duration) -> float:
    return duration.seconds + duration.nanos / 1e9
