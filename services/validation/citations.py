"""Whether a citation exists: its evidence, its quote at its offsets, and the text unchanged since it was quoted."""

from __future__ import annotations

from citemesh.text.hashes import hash_text
from citemesh.v1.answer_pb2 import Verdict
from citemesh.v1.evidence_pb2 import Citation, Evidence
from services.validation.findings import Finding


def check_citation(citation: Citation, evidence: Evidence | None) -> Finding | None:
    """What is wrong with a citation of `evidence` (None: no evidence has its id); None where nothing is."""
    if evidence is None:
        return Finding(Verdict.VERDICT_CITATION_UNKNOWN, f"No evidence is called {citation.evidence_id or 'nothing'}.")
    if citation.document_id and citation.document_id != evidence.document_id:
        reason = f"{citation.evidence_id} belongs to another document than the citation names."
        return Finding(Verdict.VERDICT_CITATION_UNKNOWN, reason)
    return _check_text(citation, evidence) or _check_quote(citation, evidence)


def _check_text(citation: Citation, evidence: Evidence) -> Finding | None:
    actual = hash_text(evidence.text)
    if evidence.content_hash != actual or citation.content_hash != actual:
        reason = f"The text of {citation.evidence_id} is not the one that was quoted: its hash differs."
        return Finding(Verdict.VERDICT_QUOTE_NOT_FOUND, reason)
    return None


def _check_quote(citation: Citation, evidence: Evidence) -> Finding | None:
    start, end = citation.start_offset, citation.end_offset
    inside = 0 <= start < end <= len(evidence.text)
    if inside and citation.quote.strip() and evidence.text[start:end] == citation.quote:
        return None
    reason = f"The quote is not in {citation.evidence_id} at characters {start} to {end}."
    return Finding(Verdict.VERDICT_QUOTE_NOT_FOUND, reason)
