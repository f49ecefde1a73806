"""A language model's object turned into an answer: quotes are looked up, and what is not found is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from citemesh.evidence.citing import cite
from citemesh.llm.schema import SchemaError, take
from citemesh.text.citation_marks import free_citation_marks
from citemesh.v1 import answer_pb2, evidence_pb2, generation_pb2, question_pb2
from services.generation.quotes import locate_quote

MAX_CLAIMS = 60
MAX_CLAIM_CHARACTERS = 2000
MAX_CAVEATS = 10


@dataclass(slots=True)
class Draft:
    """The model's object with its types checked; nothing in it is believed yet."""

    claims: list[DraftClaim] = field(default_factory=list)
    unanswered_parts: list[int] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    conflicts: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DraftClaim:
    """One statement with its (evidence id, quote) pairs."""

    text: str
    part: int
    is_list_item: bool
    citations: list[tuple[str, str]]


def read_draft(source: dict[str, Any]) -> Draft:
    """The object as a Draft. Raises SchemaError, in words for the model."""
    claims = [_read_claim(each) for each in take(source, "claims", list)]
    if len(claims) > MAX_CLAIMS:
        raise SchemaError(f"it has more than {MAX_CLAIMS} claims.")
    unanswered = take(source, "unanswered_parts", list, default=[])
    caveats = take(source, "caveats", list, default=[])
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in unanswered):
        raise SchemaError('"unanswered_parts" holds something that is not an integer.')
    if not all(isinstance(each, str) for each in caveats):
        raise SchemaError('"caveats" holds something that is not a string.')
    conflicts = [
        (take(_object(each), "description", str), _read_citations(_object(each)))
        for each in take(source, "conflicts", list, default=[])
    ]
    return Draft(claims, unanswered, caveats[:MAX_CAVEATS], conflicts)


def _read_claim(value: Any) -> DraftClaim:
    source = _object(value)
    text = " ".join(take(source, "text", str).split())
    if not text or len(text) > MAX_CLAIM_CHARACTERS:
        raise SchemaError(f"a claim's text is empty or longer than {MAX_CLAIM_CHARACTERS} characters.")
    return DraftClaim(
        text=text,
        part=take(source, "part", int, default=0),
        is_list_item=take(source, "is_list_item", bool, default=False),
        citations=_read_citations(source),
    )


def _read_citations(source: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = [_object(each) for each in take(source, "citations", list)]
    return [(take(each, "evidence_id", str), take(each, "quote", str)) for each in pairs]


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SchemaError("a list holds something that is not an object.")
    return value


def finish_draft(draft: Draft, request: generation_pb2.GenerateRequest) -> answer_pb2.AnswerWithEvidence:
    """The answer: claims whose quotes stand in the evidence, the parts that have none, and honest feedback."""
    evidence = {each.evidence_id: each for each in request.evidence}
    question = request.parsed_question
    part_count = max(1, len(question.sub_questions))
    answer = answer_pb2.AnswerWithEvidence(context_structured=True, language=question.language or "en")
    dropped = 0
    lines: list[str] = []
    number = 0
    for drafted in draft.claims:
        citations = find_citations(evidence, drafted.citations)
        if not citations:
            dropped += 1
            continue
        part = drafted.part if 0 <= drafted.part < part_count else 0
        claim_id = f"C{len(answer.claims) + 1}"
        answer.claims.add(claim_id=claim_id, text=drafted.text, citations=citations, sub_question_index=part)
        if drafted.is_list_item:
            answer.items.add(text=drafted.text, citations=citations)
        # Markers count citations in the order of claims, not claims.
        markers = "".join(f"[{number + place}]" for place in range(1, len(citations) + 1))
        number += len(citations)
        lines.append(f"{'- ' if drafted.is_list_item else ''}{free_citation_marks(drafted.text)} {markers}")
    answer.text = "\n".join(lines)
    answered = {claim.sub_question_index for claim in answer.claims}
    said_open = {part for part in draft.unanswered_parts if 0 <= part < part_count}
    answer.unanswered_sub_questions.extend(sorted((set(range(part_count)) - answered) | said_open))
    answer.caveats.extend(" ".join(caveat.split())[:300] for caveat in draft.caveats if caveat.strip())
    for description, pairs in draft.conflicts:
        sides = find_citations(evidence, pairs)
        if len(sides) > 1:
            answer.conflicts.add(description=" ".join(description.split())[:300], citations=sides)
    answer.complete_answer_found = bool(answer.claims) and not answer.unanswered_sub_questions and not dropped
    # Without log-probabilities there is no estimate of the model's own: the share of quotes that were true stands in.
    answer.confidence = len(answer.claims) / (len(answer.claims) + dropped) * 0.9 if answer.claims else 0.0
    _set_expected_count(answer, question, request)
    return answer


def find_citations(
    evidence: Mapping[str, evidence_pb2.Evidence], pairs: list[tuple[str, str]]
) -> list[evidence_pb2.Citation]:
    """Citations of the quotes that are found; unknown ids and quotes are left out."""
    citations = []
    for evidence_id, quote in pairs:
        source = evidence.get(evidence_id.strip().strip("[]"))
        span = locate_quote(source.text, quote) if source is not None else None
        if source is not None and span is not None:
            citations.append(cite(source, *span))
    return citations


def _set_expected_count(
    answer: answer_pb2.AnswerWithEvidence,
    question: question_pb2.ParsedQuestion,
    request: generation_pb2.GenerateRequest,
) -> None:
    if not answer.items:
        return
    if request.listing.HasField("expected_count"):
        answer.expected_count = request.listing.expected_count
    elif question.HasField("requested_count"):
        answer.expected_count = question.requested_count
    if answer.HasField("expected_count") and len(answer.items) < answer.expected_count:
        answer.complete_answer_found = False
