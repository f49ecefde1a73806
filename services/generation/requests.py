"""What a request must hold."""

from __future__ import annotations

from citemesh.rpc.errors import invalid_fields
from citemesh.v1 import generation_pb2, question_pb2

MAX_EVIDENCE_COUNT = 200
MAX_EVIDENCE_CHARACTERS = 100_000
MAX_QUESTION_CHARACTERS = 4000
MAX_RULES_CHARACTERS = 20_000

_ANSWERED_NEEDS = (
    question_pb2.RETRIEVAL_NEED_RETRIEVE,
    question_pb2.RETRIEVAL_NEED_SMALL_TALK,
    question_pb2.RETRIEVAL_NEED_TRANSFORM_TURN,
    # Asked back first; a caller that knows more may still have it answered.
    question_pb2.RETRIEVAL_NEED_CLARIFY,
)


def check_generate(request: generation_pb2.GenerateRequest, prefix: str = "") -> None:
    """Raises ServiceError INVALID_FIELD that names every wrong field."""
    violations: list[tuple[str, str]] = []
    question = request.parsed_question
    if not question.original_question.strip():
        violations.append((f"{prefix}parsed_question.original_question", "must not be empty"))
    if len(question.original_question) > MAX_QUESTION_CHARACTERS:
        violations.append(
            (f"{prefix}parsed_question.original_question", f"must be at most {MAX_QUESTION_CHARACTERS} characters")
        )
    if question.need not in _ANSWERED_NEEDS:
        violations.append((f"{prefix}parsed_question.need", "must be set"))
    if len(request.rules) > MAX_RULES_CHARACTERS:
        violations.append((f"{prefix}rules", f"must be at most {MAX_RULES_CHARACTERS} characters"))
    violations += _check_evidence(request, prefix)
    if violations:
        raise invalid_fields(violations)


def _check_evidence(request: generation_pb2.GenerateRequest, prefix: str) -> list[tuple[str, str]]:
    violations: list[tuple[str, str]] = []
    if len(request.evidence) > MAX_EVIDENCE_COUNT:
        return [(f"{prefix}evidence", f"must be at most {MAX_EVIDENCE_COUNT}")]
    seen: set[str] = set()
    for number, evidence in enumerate(request.evidence):
        field = f"{prefix}evidence[{number}]"
        if not evidence.evidence_id:
            violations.append((f"{field}.evidence_id", "must not be empty"))
        elif evidence.evidence_id in seen:
            violations.append((f"{field}.evidence_id", "must be unique"))
        seen.add(evidence.evidence_id)
        if len(evidence.text) > MAX_EVIDENCE_CHARACTERS:
            violations.append((f"{field}.text", f"must be at most {MAX_EVIDENCE_CHARACTERS} characters"))
    return violations
