"""What a request must hold, checked before any work; every wrong field is reported at once."""

from __future__ import annotations

from collections.abc import Iterator

from citemesh.rpc.request_checks import (
    Violation,
    find_history_violations,
    find_parsed_question_violations,
    find_question_violations,
    raise_for,
)
from citemesh.v1 import query_pb2
from citemesh.v1.activation_pb2 import Pattern


def check_understand(request: query_pb2.UnderstandRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    raise_for(
        (
            *find_question_violations("question", request.question),
            *find_history_violations("history", request.history),
        )
    )


def check_decide_follow_up(request: query_pb2.DecideFollowUpRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    raise_for(_find_follow_up_violations(request))


def _find_follow_up_violations(request: query_pb2.DecideFollowUpRequest) -> Iterator[Violation]:
    yield from find_parsed_question_violations("parsed_question", request.parsed_question)
    if Pattern.PATTERN_UNSPECIFIED in request.available_targets:
        yield "available_targets", "must not hold PATTERN_UNSPECIFIED"
