"""Whether the cited version is the one in force at the time asked for, with the text that was quoted."""

from __future__ import annotations

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.v1.answer_pb2 import Verdict
from citemesh.v1.evidence_pb2 import Citation, Evidence
from citemesh.v1.retrieval_pb2 import PassageCheck, PassageStatus
from services.validation.findings import Finding


def check_version(
    citation: Citation, evidence: Evidence, check: PassageCheck | None, as_of: datetime
) -> Finding | None:
    """A finding where the citation, the store's check or the effective dates speak of another version; else None."""
    name = evidence.evidence_id
    if citation.document_version and citation.document_version != evidence.document_version:
        reason = (
            f"The citation names version {citation.document_version}, {name} is version {evidence.document_version}."
        )
        return Finding(Verdict.VERDICT_WRONG_VERSION, reason)
    if check is not None and check.status == PassageStatus.PASSAGE_STATUS_NOT_IN_FORCE:
        return Finding(Verdict.VERDICT_WRONG_VERSION, f"Another version than that of {name} is in force.")
    if evidence.HasField("effective_from_time") and _read(evidence.effective_from_time) > as_of:
        return Finding(Verdict.VERDICT_WRONG_VERSION, f"{name} is not yet in force at the time asked for.")
    if evidence.HasField("effective_to_time") and _read(evidence.effective_to_time) <= as_of:
        return Finding(Verdict.VERDICT_WRONG_VERSION, f"{name} is no longer in force at the time asked for.")
    if check is not None and check.content_hash and check.content_hash != evidence.content_hash:
        return Finding(Verdict.VERDICT_QUOTE_NOT_FOUND, f"The text of {name} has changed since it was read.")
    return None


def describe_dates(evidence: Evidence) -> str:
    """The days on which the evidence comes into and goes out of force, as text that a claim may repeat."""
    days = []
    if evidence.HasField("effective_from_time"):
        days.append(_read(evidence.effective_from_time).date().isoformat())
    if evidence.HasField("effective_to_time"):
        days.append(_read(evidence.effective_to_time).date().isoformat())
    return " ".join(days)


def _read(time: Timestamp) -> datetime:
    return time.ToDatetime(tzinfo=UTC)
