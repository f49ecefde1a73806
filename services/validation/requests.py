"""What a request must hold, checked before any work; every wrong field is reported at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from citemesh.rpc.errors import invalid_fields
from citemesh.v1 import validation_pb2

MAX_CLAIM_COUNT: Final = 200
MAX_EVIDENCE_COUNT: Final = 200
MAX_PAGE_SIZE: Final = 500
MAX_COMMENT_LENGTH: Final = 2_000

Violation = tuple[str, str]
_DECIDED: Final = (validation_pb2.REVIEW_STATE_RELEASED, validation_pb2.REVIEW_STATE_REJECTED)


def check_validate(request: validation_pb2.ValidateRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    _raise_for(_find_validate_violations(request))


def check_list_reviews(request: validation_pb2.ListReviewsRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    if not 0 <= request.page_size <= MAX_PAGE_SIZE:
        _raise_for([("page_size", f"must be 0 to {MAX_PAGE_SIZE}")])


def check_decide_review(request: validation_pb2.DecideReviewRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    violations = []
    if not request.review_id:
        violations.append(("review_id", "must not be empty"))
    if request.state not in _DECIDED:
        violations.append(("state", "must be REVIEW_STATE_RELEASED or REVIEW_STATE_REJECTED"))
    if len(request.comment) > MAX_COMMENT_LENGTH:
        violations.append(("comment", f"must hold at most {MAX_COMMENT_LENGTH} characters"))
    _raise_for(violations)


def _find_validate_violations(request: validation_pb2.ValidateRequest) -> Iterator[Violation]:
    if not request.parsed_question.original_question.strip():
        yield "parsed_question.original_question", "must not be blank"
    if len(request.answer.claims) > MAX_CLAIM_COUNT:
        yield "answer.claims", f"must hold at most {MAX_CLAIM_COUNT}"
    if len(request.evidence) > MAX_EVIDENCE_COUNT:
        yield "evidence", f"must hold at most {MAX_EVIDENCE_COUNT}"
    yield from _find_id_violations("answer.claims", "claim_id", [claim.claim_id for claim in request.answer.claims])
    yield from _find_id_violations("evidence", "evidence_id", [each.evidence_id for each in request.evidence])


def _find_id_violations(field: str, name: str, ids: Iterable[str]) -> Iterator[Violation]:
    seen: set[str] = set()
    for index, value in enumerate(ids):
        if not value:
            yield f"{field}[{index}].{name}", "must not be empty"
        elif value in seen:
            yield f"{field}[{index}].{name}", "must be unique"
        seen.add(value)


def _raise_for(violations: Iterable[Violation]) -> None:
    listed = list(violations)
    if listed:
        raise invalid_fields(listed)
