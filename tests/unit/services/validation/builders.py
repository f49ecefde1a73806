"""Requests for the tests, sound unless a test makes one unsound."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from citemesh.v1.answer_pb2 import AnswerWithEvidence, Claim
from citemesh.v1.evidence_pb2 import Citation, Evidence
from citemesh.v1.question_pb2 import ParsedQuestion
from citemesh.v1.retrieval_pb2 import PassageCheck, PassageStatus
from citemesh.v1.validation_pb2 import ValidateRequest

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def evidence(text: str, number: int = 1, **fields: object) -> Evidence:
    made = Evidence(
        evidence_id=f"E{number}",
        passage_id=f"p{number}",
        document_id="d1",
        document_version=1,
        title="Handbook",
        text=text,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
    )
    made.MergeFrom(Evidence(**fields))  # type: ignore[arg-type]  # the fields of a message
    return made


def cite(source: Evidence, quote: str | None = None) -> Citation:
    words = source.text if quote is None else quote
    start = source.text.index(words)
    return Citation(
        evidence_id=source.evidence_id,
        quote=words,
        start_offset=start,
        end_offset=start + len(words),
        content_hash=source.content_hash,
        document_id=source.document_id,
        document_version=source.document_version,
    )


def check(source: Evidence, status: PassageStatus.ValueType = PassageStatus.PASSAGE_STATUS_CURRENT) -> PassageCheck:
    return PassageCheck(passage_id=source.passage_id, status=status, content_hash=source.content_hash)


def claim(text: str, *citations: Citation, number: int = 1, part: int = 0) -> Claim:
    return Claim(claim_id=f"C{number}", text=text, citations=citations, sub_question_index=part)


def request(question: str, claims: list[Claim], sources: list[Evidence], *, complete: bool = True) -> ValidateRequest:
    return ValidateRequest(
        parsed_question=ParsedQuestion(original_question=question, standalone_question=question, language="en"),
        answer=AnswerWithEvidence(
            text=" ".join(each.text for each in claims), claims=claims, complete_answer_found=complete
        ),
        evidence=sources,
        checks=[check(source) for source in sources],
    )
