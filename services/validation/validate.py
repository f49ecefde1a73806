"""An answer validated: verdicts, completeness and the decision, from the request alone."""

from __future__ import annotations

from datetime import datetime

from citemesh.v1 import validation_pb2
from citemesh.v1.answer_pb2 import ReleaseDecision, Verdict
from services.validation.completeness import measure_completeness
from services.validation.decision import decide_release
from services.validation.settings import ValidationSettings
from services.validation.verdicts import Encoder, Sources, judge_claims


def validate(
    request: validation_pb2.ValidateRequest, now: datetime, settings: ValidationSettings, encoder: Encoder | None
) -> validation_pb2.ValidateResponse:
    """The response without its review, branch and cost. Blocks while the encoder works, if it is needed at all."""
    sources = Sources(
        evidence={evidence.evidence_id: evidence for evidence in request.evidence},
        checks={check.passage_id: check for check in request.checks},
        as_of=request.as_of_time.ToDatetime(tzinfo=now.tzinfo) if request.HasField("as_of_time") else now,
    )
    answer = request.answer
    verdicts = judge_claims(answer.claims, request.parsed_question, sources, settings, encoder)
    supported = {each.claim_id: each.verdict == Verdict.VERDICT_SUPPORTED for each in verdicts}
    cited_items = [
        bool(item.citations) and all(sources.check(citation) is None for citation in item.citations)
        for item in answer.items
    ]
    completeness = measure_completeness(request.parsed_question, answer, supported, cited_items)
    decision, reason = decide_release(
        [each.verdict for each in verdicts], claims_completeness=answer.complete_answer_found
    )
    if decision == ReleaseDecision.RELEASE_DECISION_RELEASE and completeness.reason:
        reason = f"{reason} {completeness.reason}"
    return validation_pb2.ValidateResponse(
        verdicts=verdicts,
        decision=decision,
        decision_reason=reason,
        complete=completeness.complete,
        uncovered_sub_questions=completeness.uncovered_sub_questions,
    )
