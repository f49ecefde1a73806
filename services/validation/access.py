"""Whether the caller may (still) read what a citation shows, by the check of the passage made just before."""

from __future__ import annotations

from citemesh.v1.answer_pb2 import Verdict
from citemesh.v1.evidence_pb2 import Evidence
from citemesh.v1.retrieval_pb2 import PassageCheck, PassageStatus
from services.validation.findings import Finding

_READABLE = (PassageStatus.PASSAGE_STATUS_CURRENT, PassageStatus.PASSAGE_STATUS_NOT_IN_FORCE)


def check_access(evidence: Evidence, check: PassageCheck | None) -> Finding | None:
    """A finding unless the passage was checked and may be read: what was not checked is not shown."""
    if check is None:
        reason = f"Access to {evidence.evidence_id} was not confirmed."
        return Finding(Verdict.VERDICT_NOT_AUTHORIZED, reason)
    if check.status not in _READABLE:
        return Finding(Verdict.VERDICT_NOT_AUTHORIZED, f"{evidence.evidence_id} is not there for this caller.")
    return None
