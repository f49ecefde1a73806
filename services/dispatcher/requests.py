"""What a request must hold, checked before any work; every wrong field is reported at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.rpc.errors import ServiceError, invalid_fields
from citemesh.v1 import answer_pb2, budget_pb2, dispatcher_pb2, errors_pb2, question_pb2
from services.dispatcher.budget import MAX_ITERATIONS
from services.dispatcher.replay import find_missing

MAX_QUESTION_LENGTH: Final = 4_000
MAX_TURN_COUNT: Final = 50
MAX_TURN_LENGTH: Final = 20_000
MAX_DOCUMENT_COUNT: Final = 1_000
MAX_REQUEST_ID_LENGTH: Final = 100
DEFAULT_PIPELINE: Final = "default"

Violation = tuple[str, str]


def check_answer(
    request: dispatcher_pb2.AnswerRequest, pipelines: Collection[str], policy: dispatcher_pb2.Policy
) -> None:
    """Raise ServiceError: INVALID_FIELD with all violations, PIPELINE_NOT_FOUND or RELEASE_MODE_NOT_ALLOWED."""
    _raise_for(
        (
            *_find_question_violations(request.question),
            *_find_history_violations(request.history),
            *(_find_scope_violations(request.scope) if request.HasField("scope") else ()),
            *_find_budget_violations(request.budget),
            *_find_mode_violations(request.release_mode),
            *_find_request_id_violations(request.request_id),
            *(_find_time_violations(request.as_of_time) if request.HasField("as_of_time") else ()),
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
    _raise_for(
        (
            *_find_question_violations(request.question),
            *_find_history_violations(request.history),
            *(_find_scope_violations(request.scope) if request.HasField("scope") else ()),
            *(_find_time_violations(request.as_of_time) if request.HasField("as_of_time") else ()),
        )
    )


def check_replay(request: dispatcher_pb2.ReplayRequest) -> None:
    """Raise ServiceError RECORD_INCOMPLETE listing what the record lacks."""
    missing = find_missing(request.recorded)
    if missing:
        raise invalid_fields(
            ((f"recorded.{name}", "is needed to decide again") for name in missing),
            errors_pb2.ERROR_REASON_RECORD_INCOMPLETE,
        )


def _raise_for(violations: Iterable[Violation]) -> None:
    listed = list(violations)
    if listed:
        raise invalid_fields(listed)


def _find_question_violations(question: str) -> Iterator[Violation]:
    if not question.strip():
        yield "question", "must not be blank"
    elif len(question) > MAX_QUESTION_LENGTH:
        yield "question", f"must hold at most {MAX_QUESTION_LENGTH} characters"


def _find_history_violations(history: Iterable[question_pb2.Turn]) -> Iterator[Violation]:
    turns = list(history)
    if len(turns) > MAX_TURN_COUNT:
        yield "history", f"must hold at most {MAX_TURN_COUNT} turns"
    for index, turn in enumerate(turns):
        if turn.role not in (question_pb2.ROLE_USER, question_pb2.ROLE_ASSISTANT):
            yield f"history[{index}].role", "must be ROLE_USER or ROLE_ASSISTANT"
        if len(turn.text) > MAX_TURN_LENGTH:
            yield f"history[{index}].text", f"must hold at most {MAX_TURN_LENGTH} characters"


def _find_scope_violations(scope: question_pb2.Scope) -> Iterator[Violation]:
    kind = scope.WhichOneof("scope")
    if kind is None:
        yield "scope", "must say all_documents or documents"
    elif kind == "documents":
        ids = scope.documents.document_ids
        if not 1 <= len(ids) <= MAX_DOCUMENT_COUNT:
            yield "scope.documents.document_ids", f"must hold 1 to {MAX_DOCUMENT_COUNT}"
        for index, document_id in enumerate(ids):
            if not document_id.strip():
                yield f"scope.documents.document_ids[{index}]", "must not be blank"


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
    if len(request_id) > MAX_REQUEST_ID_LENGTH:
        yield "request_id", f"must hold at most {MAX_REQUEST_ID_LENGTH} characters"


def _find_time_violations(time: Timestamp) -> Iterator[Violation]:
    try:
        time.ToDatetime()
    except (ValueError, OverflowError):
        yield "as_of_time", "must be a time between the years 1 and 9999"
