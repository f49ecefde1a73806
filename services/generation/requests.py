"""What a request must hold, checked before any work; every wrong field is reported at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from citemesh.rpc.request_checks import (
    Violation,
    find_evidence_violations,
    find_history_violations,
    find_length_violations,
    find_parsed_question_violations,
    raise_for,
)
from citemesh.v1 import generation_pb2, question_pb2

MAX_RULES_LENGTH: Final = 20_000

_ANSWERED_NEEDS: Final = (
    question_pb2.RETRIEVAL_NEED_RETRIEVE,
    question_pb2.RETRIEVAL_NEED_SMALL_TALK,
    question_pb2.RETRIEVAL_NEED_TRANSFORM_TURN,
    # Asked back first; a caller that knows more may still have it answered.
    question_pb2.RETRIEVAL_NEED_CLARIFY,
)


def check_generate(request: generation_pb2.GenerateRequest, prefix: str = "") -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong; `prefix` stands before the name of each field."""
    raise_for((f"{prefix}{field}", what) for field, what in _find_violations(request))


def _find_violations(request: generation_pb2.GenerateRequest) -> Iterator[Violation]:
    yield from find_parsed_question_violations("parsed_question", request.parsed_question)
    if request.parsed_question.need not in _ANSWERED_NEEDS:
        yield "parsed_question.need", "must be set"
    yield from find_history_violations("history", request.history)
    yield from find_length_violations("rules", request.rules, MAX_RULES_LENGTH)
    yield from find_evidence_violations("evidence", request.evidence)
