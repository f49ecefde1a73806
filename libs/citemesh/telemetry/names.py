"""Every metric that citemesh exports: name, kind, labels, help. Dashboards and alerts name nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class MetricKind(Enum):
    """What a metric measures."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """One metric. Buckets are upper bounds in the metric's unit, for histograms only."""

    name: str
    kind: MetricKind
    documentation: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


_C, _G, _H = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM

DURATION_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
COUNT_BUCKETS: Final = (0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)

# The gRPC family, with the Go ecosystem's label values (grpc_type: unary, client_stream, server_stream, bidi_stream).
_GRPC_LABELS: Final = ("grpc_type", "grpc_service", "grpc_method")
GRPC_STARTED: Final = MetricDefinition("grpc_server_started_total", _C, "Calls that began.", _GRPC_LABELS)
GRPC_HANDLED: Final = MetricDefinition(
    "grpc_server_handled_total", _C, "Calls that ended, by gRPC code.", (*_GRPC_LABELS, "grpc_code")
)
GRPC_HANDLING_SECONDS: Final = MetricDefinition(
    "grpc_server_handling_seconds", _H, "Time from a call's begin to its end.", _GRPC_LABELS, DURATION_BUCKETS_S
)
GRPC_MSG_RECEIVED: Final = MetricDefinition(
    "grpc_server_msg_received_total", _C, "Request messages read.", _GRPC_LABELS
)
GRPC_MSG_SENT: Final = MetricDefinition("grpc_server_msg_sent_total", _C, "Response messages sent.", _GRPC_LABELS)

# The process.
CALLS_IN_FLIGHT: Final = MetricDefinition("citemesh_calls_in_flight", _G, "Calls being handled now.")
SERVICE_SERVING: Final = MetricDefinition(
    "citemesh_service_serving", _G, "1 where the service's health is SERVING, else 0.", ("service",)
)
SERVICE_ERRORS: Final = MetricDefinition(
    "citemesh_errors_total", _C, "Calls that ended with an ErrorReason.", ("service", "reason")
)

# An answer, as the dispatcher sees it.
STAGE_DURATION_SECONDS: Final = MetricDefinition(
    "citemesh_stage_duration_seconds",
    _H,
    "Time in a stage of one pass, by the branch used.",
    ("stage", "branch"),
    DURATION_BUCKETS_S,
)
OUTCOMES: Final = MetricDefinition("citemesh_outcomes_total", _C, "Answers, by outcome.", ("outcome",))
ITERATIONS: Final = MetricDefinition(
    "citemesh_iterations_total", _C, "Passes after the first, by trigger.", ("trigger",)
)
STOPS: Final = MetricDefinition("citemesh_stops_total", _C, "Loops that ended, by reason.", ("reason",))
FALLBACKS: Final = MetricDefinition("citemesh_fallbacks_total", _C, "Fallbacks taken.", ("stage", "reason"))
ACTIVATIONS: Final = MetricDefinition("citemesh_activations_total", _C, "Patterns switched on.", ("pattern",))
ANSWER_PASSES: Final = MetricDefinition("citemesh_answer_passes", _H, "Passes per answer.", (), (1.0, 2.0, 3.0, 4.0))
TIME_TO_FIRST_TOKEN_SECONDS: Final = MetricDefinition(
    "citemesh_time_to_first_token_seconds",
    _H,
    "Time to the first piece of text released.",
    ("release_mode",),
    DURATION_BUCKETS_S,
)
TIME_TO_COMPLETE_ANSWER_SECONDS: Final = MetricDefinition(
    "citemesh_time_to_complete_answer_seconds", _H, "Time to the whole text.", ("release_mode",), DURATION_BUCKETS_S
)
TIME_TO_VALIDATED_ANSWER_SECONDS: Final = MetricDefinition(
    "citemesh_time_to_validated_answer_seconds",
    _H,
    "Time to the validated answer.",
    ("release_mode",),
    DURATION_BUCKETS_S,
)

# Query.
INTENTS: Final = MetricDefinition("citemesh_intents_total", _C, "Questions understood, by intent.", ("intent",))

# Retrieval.
LEG_DURATION_SECONDS: Final = MetricDefinition(
    "citemesh_retrieval_leg_duration_seconds", _H, "Time in a retrieval leg.", ("leg",), DURATION_BUCKETS_S
)
LEG_FAILURES: Final = MetricDefinition(
    "citemesh_retrieval_leg_failures_total", _C, "Retrieval legs that failed.", ("leg",)
)
CANDIDATES: Final = MetricDefinition(
    "citemesh_retrieval_candidates",
    _H,
    "Candidates per retrieval, by leg (fused: after fusion).",
    ("leg",),
    COUNT_BUCKETS,
)
CACHE_REQUESTS: Final = MetricDefinition(
    "citemesh_cache_requests_total", _C, "Cache look-ups (result: hit or miss).", ("cache", "result")
)

# Rerank.
RERANK_PAIRS: Final = MetricDefinition(
    "citemesh_rerank_pairs_total", _C, "Question-passage pairs scored.", ("backend",)
)
RERANK_QUEUE_LENGTH: Final = MetricDefinition("citemesh_rerank_queue_length", _G, "Pairs waiting to be scored.")
RERANK_ABSTENTIONS: Final = MetricDefinition(
    "citemesh_rerank_abstentions_total", _C, "Rerankings in which no candidate reached the threshold."
)
CONTEXT_TOKENS: Final = MetricDefinition(
    "citemesh_context_tokens",
    _H,
    "Tokens of assembled context.",
    (),
    (64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0),
)

# Generation and any language model.
MODEL_CALLS: Final = MetricDefinition(
    "citemesh_model_calls_total", _C, "Calls to a model (result: ok, invalid, timeout or error).", ("model", "result")
)
MODEL_TOKENS: Final = MetricDefinition(
    "citemesh_model_tokens_total", _C, "Tokens sent to and got from language models.", ("model", "direction")
)
SCHEMA_RETRIES: Final = MetricDefinition("citemesh_schema_retries_total", _C, "Answers asked for again: schema broken.")

# Validation.
VERDICTS: Final = MetricDefinition("citemesh_verdicts_total", _C, "Claims judged, by verdict.", ("verdict",))
RELEASES: Final = MetricDefinition("citemesh_release_decisions_total", _C, "Release decisions.", ("decision",))
REVIEWS_OPEN: Final = MetricDefinition("citemesh_reviews_open", _G, "Withheld answers that wait for a person.")

# Documents.
INGESTED_DOCUMENTS: Final = MetricDefinition(
    "citemesh_ingested_documents_total", _C, "Documents taken in (result: ok or an ErrorReason).", ("result",)
)
INGEST_DURATION_SECONDS: Final = MetricDefinition(
    "citemesh_ingest_duration_seconds",
    _H,
    "Time to take in one document.",
    ("media_type",),
    (*DURATION_BUCKETS_S, 60.0, 120.0),
)
INDEXED_PASSAGES: Final = MetricDefinition("citemesh_indexed_passages_total", _C, "Passages indexed.")

DEFINITIONS: Final[tuple[MetricDefinition, ...]] = tuple(
    value for value in dict(globals()).values() if isinstance(value, MetricDefinition)
)
