"""What a request must hold, checked before any work; every wrong field is reported at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from citemesh.rpc.request_checks import (
    MAX_TEXT_LENGTH,
    Violation,
    find_count_violations,
    find_enum_violations,
    find_evidence_violations,
    find_id_violations,
    find_length_violations,
    find_parsed_question_violations,
    find_time_violations,
    raise_for,
)
from citemesh.v1 import validation_pb2
from citemesh.v1.answer_pb2 import AnswerWithEvidence
from citemesh.v1.evidence_pb2 import Citation

MAX_CLAIM_COUNT: Final = 200
MAX_CLAIM_LENGTH: Final = 20_000
MAX_CITATION_COUNT: Final = 50
MAX_ITEM_COUNT: Final = 1_000
MAX_CHECK_COUNT: Final = 1_000
MAX_PAGE_SIZE: Final = 500
MAX_COMMENT_LENGTH: Final = 2_000

_DECIDED: Final = (validation_pb2.REVIEW_STATE_RELEASED, validation_pb2.REVIEW_STATE_REJECTED)


def check_validate(request: validation_pb2.ValidateRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    raise_for(_find_validate_violations(request))


def check_list_reviews(request: validation_pb2.ListReviewsRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    violations = list(find_enum_violations("", request))
    if not 0 <= request.page_size <= MAX_PAGE_SIZE:
        violations.append(("page_size", f"must be 0 to {MAX_PAGE_SIZE}"))
    raise_for(violations)


def check_decide_review(request: validation_pb2.DecideReviewRequest) -> None:
    """Raise ServiceError INVALID_FIELD listing what is wrong."""
    violations = list(find_length_violations("comment", request.comment, MAX_COMMENT_LENGTH))
    if not request.review_id:
        violations.append(("review_id", "must not be empty"))
    if request.state not in _DECIDED:
        violations.append(("state", "must be REVIEW_STATE_RELEASED or REVIEW_STATE_REJECTED"))
    raise_for(violations)


def _find_validate_violations(request: validation_pb2.ValidateRequest) -> Iterator[Violation]:
    yield from find_parsed_question_violations("parsed_question", request.parsed_question)
    yield from _find_answer_violations(request.answer)
    yield from find_evidence_violations("evidence", request.evidence)
    yield from find_count_violations("checks", len(request.checks), MAX_CHECK_COUNT)
    if request.HasField("as_of_time"):
        yield from find_time_violations("as_of_time", request.as_of_time)


def _find_answer_violations(answer: AnswerWithEvidence) -> Iterator[Violation]:
    yield from find_length_violations("answer.text", answer.text, MAX_TEXT_LENGTH)
    yield from find_count_violations("answer.claims", len(answer.claims), MAX_CLAIM_COUNT)
    claims = answer.claims[:MAX_CLAIM_COUNT]
    yield from find_id_violations("answer.claims", "claim_id", [claim.claim_id for claim in claims])
    for index, claim in enumerate(claims):
        yield from find_length_violations(f"answer.claims[{index}].text", claim.text, MAX_CLAIM_LENGTH)
        yield from _find_citation_violations(f"answer.claims[{index}].citations", claim.citations)
    yield from find_count_violations("answer.items", len(answer.items), MAX_ITEM_COUNT)
    for index, item in enumerate(answer.items[:MAX_ITEM_COUNT]):
        yield from _find_citation_violations(f"answer.items[{index}].citations", item.citations)


def _find_citation_violations(field: str, citations: Sequence[Citation]) -> Iterator[Violation]:
    yield from find_count_violations(field, len(citations), MAX_CITATION_COUNT)
    for index, citation in enumerate(citations[:MAX_CITATION_COUNT]):
        yield from find_length_violations(f"{field}[{index}].quote", citation.quote, MAX_TEXT_LENGTH)
