"""An answer without the claims that failed: what is left is said again from the claims alone, and validated again."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from citemesh.text.citation_marks import free_citation_marks
from citemesh.v1 import answer_pb2, evidence_pb2


def failed_verdicts(verdicts: Iterable[answer_pb2.ClaimVerdict]) -> tuple[answer_pb2.ClaimVerdict, ...]:
    """The verdicts that are not SUPPORTED."""
    return tuple(verdict for verdict in verdicts if verdict.verdict != answer_pb2.VERDICT_SUPPORTED)


def drop_claims(answer: answer_pb2.AnswerWithEvidence, claim_ids: Collection[str]) -> answer_pb2.AnswerWithEvidence:
    """The answer without these claims and the items that they alone carried; open again where they alone answered."""
    kept = [claim for claim in answer.claims if claim.claim_id not in claim_ids]
    gone = [claim for claim in answer.claims if claim.claim_id in claim_ids]
    corrected = answer_pb2.AnswerWithEvidence()
    corrected.CopyFrom(answer)
    del corrected.claims[:], corrected.items[:], corrected.unanswered_sub_questions[:]
    corrected.claims.extend(kept)
    corrected.items.extend(item for item in answer.items if not _carried_only_by(item, gone, kept))
    lost = {claim.sub_question_index for claim in gone} - {claim.sub_question_index for claim in kept}
    corrected.unanswered_sub_questions.extend(sorted(lost | set(answer.unanswered_sub_questions)))
    corrected.complete_answer_found = answer.complete_answer_found and not lost
    corrected.text = tell(kept)
    return corrected


def keep_citable(answer: answer_pb2.AnswerWithEvidence, evidence_ids: Collection[str]) -> answer_pb2.AnswerWithEvidence:
    """The answer without items and conflicts that cite other evidence than this. Claims are for validation to judge."""
    kept = answer_pb2.AnswerWithEvidence()
    kept.CopyFrom(answer)
    del kept.items[:], kept.conflicts[:]
    kept.items.extend(item for item in answer.items if _cites_only(item.citations, evidence_ids))
    kept.conflicts.extend(item for item in answer.conflicts if _cites_only(item.citations, evidence_ids))
    return kept


def _cites_only(citations: Iterable[evidence_pb2.Citation], evidence_ids: Collection[str]) -> bool:
    return all(citation.evidence_id in evidence_ids for citation in citations)


def tell(claims: Iterable[answer_pb2.Claim]) -> str:
    """Claims as text, a line each, with the numbers of its citations: all citations counted in the order of claims."""
    lines = []
    number = 0
    for claim in claims:
        markers = "".join(f"[{number + place}]" for place in range(1, len(claim.citations) + 1))
        number += len(claim.citations)
        lines.append(f"{free_citation_marks(claim.text)} {markers}".strip())
    return "\n".join(lines)


def _carried_only_by(
    item: answer_pb2.ListItem, gone: Iterable[answer_pb2.Claim], kept: Iterable[answer_pb2.Claim]
) -> bool:
    return _carries(gone, item) and not _carries(kept, item)


def _carries(claims: Iterable[answer_pb2.Claim], item: answer_pb2.ListItem) -> bool:
    return any((item.text and item.text in claim.text) or _share_words(claim, item) for claim in claims)


def _share_words(claim: answer_pb2.Claim, item: answer_pb2.ListItem) -> bool:
    return any(_overlap(one, other) for one in claim.citations for other in item.citations)


def _overlap(one: evidence_pb2.Citation, other: evidence_pb2.Citation) -> bool:
    same = one.evidence_id == other.evidence_id
    return same and one.start_offset < other.end_offset and other.start_offset < one.end_offset
