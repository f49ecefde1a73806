"""What the stub stages answer: messages of the sizes that a real question brings about, made once."""

from __future__ import annotations

import hashlib
from typing import Final

from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    budget_pb2,
    document_pb2,
    documents_pb2,
    evidence_pb2,
    generation_pb2,
    query_pb2,
    question_pb2,
    rerank_pb2,
    retrieval_pb2,
    validation_pb2,
)

QUESTION: Final = "Above what cost does a trip abroad need the approval of the head of the department?"
CANDIDATE_COUNT: Final = 50
RERANKED_COUNT: Final = 16
EVIDENCE_COUNT: Final = 8
CLAIM_COUNT: Final = 3
PASSAGE_SIZE_BYTES: Final = 1000

_SENTENCE: Final = "A trip that costs more than its limit needs the approval of the head of the department. "
_TEXTS: Final = tuple(
    (f"Rule {number}. " + _SENTENCE * 14)[:PASSAGE_SIZE_BYTES] for number in range(1, CANDIDATE_COUNT + 1)
)
_IDS: Final = tuple(f"travel-policy@2#{number}" for number in range(1, CANDIDATE_COUNT + 1))
_HASHES: Final = tuple(hashlib.sha256(text.encode()).hexdigest() for text in _TEXTS)
_LEGS: Final = (activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE)


def understand_response() -> query_pb2.UnderstandResponse:
    """A plain question of facts, with keywords and a rewrite."""
    keywords = ["trip", "cost", "approval", "head", "department"]
    parsed = question_pb2.ParsedQuestion(
        original_question=QUESTION,
        standalone_question=QUESTION,
        language="en",
        intent=question_pb2.INTENT_FACTOID,
        keywords=keywords,
        need=question_pb2.RETRIEVAL_NEED_RETRIEVE,
        need_reason="a question about what documents say",
        retrieval=question_pb2.RetrievalPlan(
            main_query=QUESTION,
            rewrites=["approval limit for the cost of a trip abroad"],
            anchor_keywords=keywords,
            mode=question_pb2.RETRIEVAL_MODE_ALL,
        ),
    )
    return query_pb2.UnderstandResponse(parsed_question=parsed, branch="rules")


def profile_response() -> documents_pb2.ProfileResponse:
    """A scope of several documents."""
    profiles = [
        document_pb2.DocumentProfile(document_id=f"document-{number}", page_count=20, language="en")
        for number in range(1, 6)
    ]
    scope = document_pb2.ScopeProfile(document_count=len(profiles), profiles=profiles, languages=["en"])
    return documents_pb2.ProfileResponse(scope_profile=scope)


def retrieve_response() -> retrieval_pb2.RetrieveResponse:
    """50 candidates of 1 kB, ranked by two legs."""
    response = retrieval_pb2.RetrieveResponse(index_snapshot="41", permission_version=7, keyword_leg_can_match=True)
    for leg in _LEGS:
        response.leg_reports.add(leg=leg)
        ranked = [retrieval_pb2.RankedPassage(passage_id=passage_id) for passage_id in _IDS]
        response.rankings.add(leg=leg, query=QUESTION, passages=ranked)
    for number, passage_id in enumerate(_IDS, start=1):
        candidate = response.candidates.add(fused_score=2 / (60 + number), keyword_score=12.0, dense_score=0.7)
        candidate.passage.CopyFrom(_passage(number - 1, passage_id))
        for leg in _LEGS:
            candidate.leg_ranks.add(leg=leg, query=QUESTION, rank=number)
    return response


class Retrieval:
    """50 candidates; none for a caller who asks for rankings alone."""

    def __init__(self) -> None:
        self._whole = retrieve_response()
        self._rankings = retrieve_response()
        self._rankings.ClearField("candidates")

    def __call__(self, request: retrieval_pb2.RetrieveRequest) -> retrieval_pb2.RetrieveResponse:
        """What Retrieve answers."""
        return self._rankings if request.rankings_only else self._whole


def passages_response(request: retrieval_pb2.GetPassagesRequest) -> retrieval_pb2.GetPassagesResponse:
    """All that is asked for is there and in force."""
    current = retrieval_pb2.PASSAGE_STATUS_CURRENT
    checks = [
        retrieval_pb2.PassageCheck(passage_id=item, status=current, content_hash=_HASHES[_IDS.index(item)])
        for item in request.passage_ids
    ]
    return retrieval_pb2.GetPassagesResponse(checks=checks)


def rerank_response() -> rerank_pb2.RerankResponse:
    """A score for each candidate that is sent."""
    scores = [
        rerank_pb2.PairScore(passage_id=passage_id, rerank_score=4.0 - number / 10, relevance=0.95 - number / 100)
        for number, passage_id in enumerate(_IDS[:RERANKED_COUNT])
    ]
    return rerank_pb2.RerankResponse(
        scores=scores, branch="onnxruntime", cost=budget_pb2.Cost(scored_pair_count=len(scores))
    )


def assemble_response() -> rerank_pb2.AssembleContextResponse:
    """The best as evidence."""
    return rerank_pb2.AssembleContextResponse(evidence=_evidence(), token_count=EVIDENCE_COUNT * 200)


def generate_response() -> generation_pb2.GenerateResponse:
    """Three claims, a citation each."""
    claims = []
    for number, unit in enumerate(_evidence()[:CLAIM_COUNT], start=1):
        quote = unit.text[: len(_SENTENCE)]
        citation = evidence_pb2.Citation(
            evidence_id=unit.evidence_id,
            quote=quote,
            end_offset=len(quote),
            content_hash=unit.content_hash,
            document_id=unit.document_id,
            document_version=unit.document_version,
            page_number=unit.page_first,
        )
        claims.append(answer_pb2.Claim(claim_id=f"C{number}", text=quote, citations=[citation]))
    answer = answer_pb2.AnswerWithEvidence(
        text="\n".join(claim.text for claim in claims),
        claims=claims,
        complete_answer_found=True,
        confidence=0.9,
        context_structured=True,
        language="en",
    )
    return generation_pb2.GenerateResponse(answer=answer, branch="extractive")


def validate_response() -> validation_pb2.ValidateResponse:
    """Every claim holds."""
    verdicts = [
        answer_pb2.ClaimVerdict(claim_id=f"C{number}", verdict=answer_pb2.VERDICT_SUPPORTED, support=1.0)
        for number in range(1, CLAIM_COUNT + 1)
    ]
    return validation_pb2.ValidateResponse(
        verdicts=verdicts, decision=answer_pb2.RELEASE_DECISION_RELEASE, complete=True, branch="deterministic"
    )


def _passage(place: int, passage_id: str) -> evidence_pb2.Passage:
    return evidence_pb2.Passage(
        passage_id=passage_id,
        document_id="travel-policy",
        document_version=2,
        text=_TEXTS[place],
        content_hash=_HASHES[place],
        title="Travel policy",
        section_path=["Travel", "Approval"],
        page_first=place + 1,
        page_last=place + 1,
        kind=evidence_pb2.PASSAGE_KIND_TEXT,
        token_count=200,
    )


def _evidence() -> list[evidence_pb2.Evidence]:
    return [
        evidence_pb2.Evidence(
            evidence_id=f"E{place + 1}",
            passage_id=_IDS[place],
            document_id="travel-policy",
            document_version=2,
            title="Travel policy",
            text=_TEXTS[place],
            content_hash=_HASHES[place],
            section_path=["Travel", "Approval"],
            page_first=place + 1,
            page_last=place + 1,
            kind=evidence_pb2.PASSAGE_KIND_TEXT,
            token_count=200,
            relevance=0.95 - place / 100,
        )
        for place in range(EVIDENCE_COUNT)
    ]
