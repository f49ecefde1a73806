"""What a request must hold, checked before any work; every wrong field is reported at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from citemesh.rpc.errors import invalid_fields
from citemesh.v1 import query_pb2
from citemesh.v1.activation_pb2 import Pattern
from citemesh.v1.question_pb2 import Role, Turn

MAX_QUESTION_LENGTH: Final = 4_000
MAX_TURN_COUNT: Final = 50
MAX_TURN_LENGTH: Final = 20_000

Violation = tuple[str, str]


def check_understand(request: query_pb2.UnderstandRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    _raise_for([*_find_question_violations("question", request.question), *_find_history_violations(request.history)])


def check_decide_follow_up(request: query_pb2.DecideFollowUpRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    violations = list(
        _find_question_violations("parsed_question.original_question", request.parsed_question.original_question)
    )
    if Pattern.PATTERN_UNSPECIFIED in request.available_targets:
        violations.append(("available_targets", "must not hold PATTERN_UNSPECIFIED"))
    _raise_for(violations)


def _raise_for(violations: Iterable[Violation]) -> None:
    listed = list(violations)
    if listed:
        raise invalid_fields(listed)


def _find_question_violations(field: str, question: str) -> Iterator[Violation]:
    if not question.strip():
        yield field, "must not be blank"
    elif len(question) > MAX_QUESTION_LENGTH:
        yield field, f"must hold at most {MAX_QUESTION_LENGTH} characters"


def _find_history_violations(history: Iterable[Turn]) -> Iterator[Violation]:
    turns = list(history)
    if len(turns) > MAX_TURN_COUNT:
        yield "history", f"must hold at most {MAX_TURN_COUNT} turns"
    for index, turn in enumerate(turns):
        if turn.role not in (Role.ROLE_USER, Role.ROLE_ASSISTANT):
            yield f"history[{index}].role", "must be ROLE_USER or ROLE_ASSISTANT"
        if len(turn.text) > MAX_TURN_LENGTH:
            yield f"history[{index}].text", f"must hold at most {MAX_TURN_LENGTH} characters"
