"""The verdict on each claim: the checks in order of weight, and the encoder asked once for what words leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from citemesh.v1.answer_pb2 import Claim, ClaimVerdict, Verdict
from citemesh.v1.evidence_pb2 import Citation, Evidence, PassageKind
from citemesh.v1.question_pb2 import ParsedQuestion
from citemesh.v1.retrieval_pb2 import PassageCheck
from services.validation.access import check_access
from services.validation.agreement import Disagreement, find_disagreement
from services.validation.citations import check_citation
from services.validation.findings import Finding
from services.validation.labels import Place, mask_labels
from services.validation.settings import ValidationSettings
from services.validation.support import (
    Matrix,
    TokenEncoder,
    discount,
    is_carried,
    is_quoted,
    measure_coverage,
    measure_support,
)
from services.validation.table_head import find_table_head
from services.validation.topicality import TextEncoder, measure_similarity, needs_encoder
from services.validation.versions import check_version, describe_dates
from services.validation.words import strip_markers

_APART = "\n\n"  # between the texts of different evidence: a labelled row ends there


class Encoder(TokenEncoder, TextEncoder, Protocol):
    """What validation asks of citemesh.models.Encoder."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The evidence by id, how its passages stand now by passage id, and the time whose rules apply."""

    evidence: Mapping[str, Evidence]
    checks: Mapping[str, PassageCheck]
    as_of: datetime

    def check(self, citation: Citation) -> Finding | None:
        """What is wrong with a citation apart from what it says; None where nothing is."""
        evidence = self.evidence.get(citation.evidence_id)
        if evidence is None:
            return check_citation(citation, None)
        passage = self.checks.get(evidence.passage_id)
        return (
            check_access(evidence, passage)
            or check_version(citation, evidence, passage, self.as_of)
            or check_citation(citation, evidence)
        )


@dataclass(slots=True)
class _Open:
    """A claim whose citations are sound, to be judged by what they say."""

    claim: Claim
    quotes: list[str]
    evidence: list[Evidence]
    abouts: list[str]
    coverages: list[float] = field(default_factory=list)
    disagreements: list[Disagreement | None] = field(default_factory=list)
    off_topic_open: bool = False

    @property
    def is_quoted(self) -> bool:
        return any(is_quoted(self.claim.text, quote) for quote in self.quotes)


def judge_claims(
    claims: Sequence[Claim],
    question: ParsedQuestion,
    sources: Sources,
    settings: ValidationSettings,
    encoder: Encoder | None,
) -> list[ClaimVerdict]:
    """One verdict for each claim, in order; blocks while the encoder works (nothing to do for claims that are
    quotes)."""
    found: dict[int, Finding] = {}
    pending: dict[int, _Open] = {}
    questions = _questions(question)
    for position, claim in enumerate(claims):
        fault = _find_fault(claim, sources)
        if fault is not None:
            found[position] = fault
        else:
            pending[position] = _open(claim, questions, question.language, sources)
    off_topic = _find_off_topic(pending, questions, settings, encoder)
    vectors = _encode(pending, off_topic, encoder)
    for position, each in pending.items():
        found[position] = off_topic.get(position) or _judge(each, vectors, settings)
    return [_write(claims[position], found[position]) for position in range(len(claims))]


def _questions(question: ParsedQuestion) -> list[str]:
    texts = [question.standalone_question or question.original_question, *question.sub_questions]
    return [text for text in dict.fromkeys(texts) if text.strip()]


def _find_fault(claim: Claim, sources: Sources) -> Finding | None:
    """The first unsound citation, access before the rest, or that there is none."""
    if not claim.citations:
        return Finding(Verdict.VERDICT_CITATION_MISSING, "The claim cites nothing.")
    faults = [
        Finding(fault.verdict, fault.reason, None, index)
        for index, citation in enumerate(claim.citations)
        if (fault := sources.check(citation)) is not None
    ]
    denied = [fault for fault in faults if fault.verdict == Verdict.VERDICT_NOT_AUTHORIZED]
    return next(iter(denied or faults), None)


def _open(claim: Claim, questions: Sequence[str], language: str, sources: Sources) -> _Open:
    evidence = [sources.evidence[citation.evidence_id] for citation in claim.citations]
    quotes = [citation.quote for citation in claim.citations]
    abouts = [_describe(each, citation) for each, citation in zip(evidence, claim.citations, strict=True)]
    opened = _Open(claim, quotes, evidence, abouts)
    opened.off_topic_open = needs_encoder(claim.text, questions, evidence, language)
    if opened.is_quoted:
        return opened
    for quote, place, dates in _read_places(opened):
        text = strip_markers(claim.text)
        opened.coverages.append(measure_coverage(mask_labels(text), f"{quote}\n{place.about}"))
        opened.disagreements.append(find_disagreement(text, quote, place, dates))
    return opened


def _read_places(opened: _Open) -> list[tuple[str, Place, str]]:
    """(quote, place, dates) of each citation, and of all together where there are several: a claim may need all."""
    dates = [describe_dates(each) for each in opened.evidence]
    places = [Place(each.text, about) for each, about in zip(opened.evidence, opened.abouts, strict=True)]
    readings = list(zip(opened.quotes, places, dates, strict=True))
    if len(readings) > 1:
        together = Place(_APART.join(place.text for place in places), _APART.join(opened.abouts))
        readings.append((_APART.join(opened.quotes), together, " ".join(dates)))
    return readings


def _describe(evidence: Evidence, citation: Citation) -> str:
    number = f"section {evidence.section_number}" if evidence.section_number else ""
    is_table = evidence.kind == PassageKind.PASSAGE_KIND_TABLE
    head = find_table_head(evidence.text, citation.start_offset, is_table=is_table)
    parts = [evidence.label, number, *evidence.section_path, evidence.title, evidence.heading_context, head]
    return "\n".join(part for part in parts if part)


def _find_off_topic(
    pending: Mapping[int, _Open], questions: Sequence[str], settings: ValidationSettings, encoder: Encoder | None
) -> dict[int, Finding]:
    asked = {position: each for position, each in pending.items() if each.off_topic_open}
    if encoder is None or not asked or not questions:
        return {}
    similarities = measure_similarity(encoder, [each.claim.text for each in asked.values()], questions[:4])
    return {
        position: Finding(Verdict.VERDICT_UNSUPPORTED, "The claim has nothing to do with the question.")
        for position, similarity in zip(asked, similarities, strict=True)
        if similarity < settings.min_question_similarity
    }


def _encode(
    pending: Mapping[int, _Open], off_topic: Mapping[int, Finding], encoder: Encoder | None
) -> dict[str, Matrix]:
    """Token vectors of the claims and quotes that words alone do not settle; each text once."""
    texts: dict[str, None] = {}
    for position, each in pending.items():
        if position in off_topic or each.is_quoted or any(map(is_carried, each.coverages)):
            continue
        texts.update(dict.fromkeys([each.claim.text, *_readings(each)]))
    if encoder is None or not texts:
        return {}
    return dict(zip(texts, encoder.encode_tokens(list(texts)), strict=True))


def _readings(each: _Open) -> list[str]:
    return [*each.quotes, _APART.join(each.quotes)] if len(each.quotes) > 1 else each.quotes


def _judge(each: _Open, vectors: Mapping[str, Matrix], settings: ValidationSettings) -> Finding:
    """The best over the citations, one by one and together."""
    if each.is_quoted:
        index = next(index for index, quote in enumerate(each.quotes) if is_quoted(each.claim.text, quote))
        return Finding(Verdict.VERDICT_SUPPORTED, "The cited words are the claim.", 1.0, index)
    findings = []
    for index, quote in enumerate(_readings(each)):
        disagreement = each.disagreements[index]
        support = measure_support(each.coverages[index], vectors.get(each.claim.text), vectors.get(quote))
        support = discount(support, disagreement, settings.max_disagreeing_support)
        citation_index = index if index < len(each.quotes) else None
        if disagreement is not None:
            findings.append(Finding(disagreement.verdict, disagreement.reason, support, citation_index))
        elif support >= settings.min_support:
            findings.append(
                Finding(Verdict.VERDICT_SUPPORTED, "The cited words carry the claim.", support, citation_index)
            )
        else:
            reason = "The cited words do not carry the claim."
            findings.append(Finding(Verdict.VERDICT_UNSUPPORTED, reason, support, citation_index))
    return max(findings, key=lambda finding: (finding.verdict == Verdict.VERDICT_SUPPORTED, finding.support or 0.0))


def _write(claim: Claim, finding: Finding) -> ClaimVerdict:
    return ClaimVerdict(
        claim_id=claim.claim_id,
        verdict=finding.verdict,
        support=finding.support,
        reason=finding.reason,
        citation_index=finding.citation_index,
    )
