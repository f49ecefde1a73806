"""What the scripted services know and do where a test says nothing else: four passages, and answers that quote them."""

from __future__ import annotations

import hashlib
from typing import Any

from citemesh.v1 import answer_pb2, evidence_pb2, generation_pb2, question_pb2, validation_pb2

QUESTION = "Which alarms does the device raise, and how long does each wait?"


def passage(
    passage_id: str, text: str, *, page: int, label: str = "", refers_to: str = "", section: str = "Alarms"
) -> evidence_pb2.Passage:
    """A passage of the one document; `refers_to` is the label of a place that its text names."""
    references = []
    if refers_to:
        references.append(question_pb2.Reference(label=refers_to, surface=refers_to.title()))
    return evidence_pb2.Passage(
        passage_id=passage_id,
        document_id="manual",
        document_version=1,
        text=text,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        title="Manual",
        section_path=[section],
        page_first=page,
        page_last=page,
        kind=evidence_pb2.PASSAGE_KIND_TEXT,
        token_count=len(text.split()) * 2,
        label=label,
        references=references,
    )


PASSAGES = (
    passage("p1", "The device raises three kinds of alarm. Their delays are in Table 4.", page=3, refers_to="table 4"),
    passage("p2", "Door alarm, excursion alarm and supply alarm are the alarms.", page=3),
    passage("p3", "The device is white and weighs two kilograms.", page=1, section="Housing"),
    passage("p4", "Table 4. Excursion 15 min. Door 3 min. Supply 10 min.", page=9, label="table 4"),
)


def parsed(question: str, **changes: Any) -> question_pb2.ParsedQuestion:
    """A question as understood: its own words as anchors."""
    values: dict[str, Any] = {
        "original_question": question,
        "standalone_question": question,
        "language": "en",
        "intent": question_pb2.INTENT_FACTOID,
        "keywords": ["alarm", "device"],
        "need": question_pb2.RETRIEVAL_NEED_RETRIEVE,
        "retrieval": question_pb2.RetrievalPlan(main_query=question, anchor_keywords=["alarm", "device"]),
    }
    return question_pb2.ParsedQuestion(**{**values, **changes})


def claim(claim_id: str, unit: evidence_pb2.Evidence) -> answer_pb2.Claim:
    """A claim that quotes the first sentence of the evidence."""
    quote = unit.text.split(". ")[0].rstrip(".")
    return answer_pb2.Claim(
        claim_id=claim_id,
        text=quote,
        citations=[
            evidence_pb2.Citation(
                evidence_id=unit.evidence_id,
                quote=quote,
                end_offset=len(quote),
                content_hash=unit.content_hash,
                document_id=unit.document_id,
                document_version=unit.document_version,
                page_number=unit.page_first,
            )
        ],
    )


def write_answer(request: generation_pb2.GenerateRequest) -> answer_pb2.AnswerWithEvidence:
    """Quote each piece of evidence that is relevant; miss what it refers to and does not hold."""
    held = {unit.label for unit in request.evidence if unit.label}
    units = [unit for unit in request.evidence if not unit.HasField("relevance") or unit.relevance > 0.5]
    claims = [claim(f"C{number}", unit) for number, unit in enumerate(units, start=1)]
    pending = [ref for unit in request.evidence for ref in unit.references if ref.label not in held]
    return answer_pb2.AnswerWithEvidence(
        text="\n".join(item.text for item in claims),
        claims=claims,
        complete_answer_found=bool(claims) and not pending,
        confidence=0.9 if claims and not pending else 0.6,
        context_structured=True,
        pending_references=pending,
        language="en",
    )


def judge_all(request: validation_pb2.ValidateRequest) -> validation_pb2.ValidateResponse:
    """Support every claim."""
    verdicts = [
        answer_pb2.ClaimVerdict(claim_id=item.claim_id, verdict=answer_pb2.VERDICT_SUPPORTED, support=1.0)
        for item in request.answer.claims
    ]
    return validation_pb2.ValidateResponse(
        verdicts=verdicts, decision=answer_pb2.RELEASE_DECISION_RELEASE, complete=True, branch="deterministic"
    )
