"""What a request must hold, checked before any work; every wrong field is reported at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from citemesh.rpc.errors import ServiceError, invalid_fields
from citemesh.rpc.request_checks import (
    Violation,
    find_enum_violations,
    find_history_violations,
    find_length_violations,
    find_question_violations,
    find_scope_violations,
    find_time_violations,
    raise_for,
)
from citemesh.v1 import answer_pb2, budget_pb2, dispatcher_pb2, errors_pb2
from services.dispatcher.budget import MAX_ITERATIONS
from services.dispatcher.replay import find_missing

MAX_REQUEST_ID_LENGTH: Final = 100
DEFAULT_PIPELINE: Final = "default"


def check_answer(
    request: dispatcher_pb2.AnswerRequest, pipelines: Collection[str], policy: dispatcher_pb2.Policy
) -> None:
    """Raise ServiceError: INVALID_FIELD with all violations, PIPELINE_NOT_FOUND or RELEASE_MODE_NOT_ALLOWED."""
    raise_for(
        (
            *find_question_violations("question", request.question),
            *find_history_violations("history", request.history),
            *(find_scope_violations("scope", request.scope) if request.HasField("scope") else ()),
            *_find_budget_violations(request.budget),
            *_find_mode_violations(request.release_mode),
            *_find_request_id_violations(request.request_id),
            *(find_time_violations("as_of_time", request.as_of_time) if request.HasField("as_of_time") else ()),
        )
    )
    pipeline = request.pipeline or DEFAULT_PIPELINE
    if pipeline not in pipelines:
        raise ServiceError(
            errors_pb2.ERROR_REASON_PIPELINE_NOT_FOUND,
            f"There is no such pipeline: ask for one of {', '.join(sorted(pipelines))}.",
            pipeline=pipeline[:100],
        )
    if request.release_mode == answer_pb2.RELEASE_MODE_UNVALIDATED and not policy.allow_unvalidated:
        raise ServiceError(
            errors_pb2.ERROR_REASON_RELEASE_MODE_NOT_ALLOWED,
            "Text may not leave here before it is validated: ask for VALIDATED_CLAIMS.",
            release_mode="UNVALIDATED",
        )


def check_explain(request: dispatcher_pb2.ExplainRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    raise_for(
        (
            *find_question_violations("question", request.question),
            *find_history_violations("history", request.history),
            *(find_scope_violations("scope", request.scope) if request.HasField("scope") else ()),
            *(find_time_violations("as_of_time", request.as_of_time) if request.HasField("as_of_time") else ()),
        )
    )


def check_replay(request: dispatcher_pb2.ReplayRequest) -> None:
    """Raise ServiceError: INVALID_FIELD for unknown names, RECORD_INCOMPLETE listing what the record lacks."""
    raise_for(find_enum_violations("recorded", request.recorded))
    missing = find_missing(request.recorded)
    if missing:
        raise invalid_fields(
            ((f"recorded.{name}", "is needed to decide again") for name in missing),
            errors_pb2.ERROR_REASON_RECORD_INCOMPLETE,
        )


def _find_budget_violations(budget: budget_pb2.Budget) -> Iterator[Violation]:
    if budget.HasField("max_iterations") and not 1 <= budget.max_iterations <= MAX_ITERATIONS:
        yield "budget.max_iterations", f"must be 1 to {MAX_ITERATIONS}"
    for name in ("max_model_calls", "max_model_token_count"):
        if getattr(budget, name) < 0:
            yield f"budget.{name}", "must not be negative"


def _find_mode_violations(mode: answer_pb2.ReleaseMode.ValueType) -> Iterator[Violation]:
    if mode not in answer_pb2.ReleaseMode.values():
        yield "release_mode", "is not known"


def _find_request_id_violations(request_id: str) -> Iterator[Violation]:
    yield from find_length_violations("request_id", request_id, MAX_REQUEST_ID_LENGTH)
