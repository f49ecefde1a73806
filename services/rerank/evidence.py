"""One unit of evidence: how many tokens it takes, the id it gets, and the message made of its passage."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from citemesh.v1 import evidence_pb2, rerank_pb2

_EVIDENCE_ID = re.compile(r"E([1-9][0-9]{0,5})")
CHARACTERS_PER_TOKEN = 3.5
"""Below the mean of English WordPiece text (4 to 5), so that an estimate errs towards too many tokens."""

_SHARED_FIELDS = (
    *("passage_id", "document_id", "document_version", "title", "text", "content_hash", "section_number"),
    *("parent_id", "page_first", "page_last", "kind", "label", "heading_context", "ordinal"),
)


def measure_token_count(passage: evidence_pb2.Passage) -> int:
    """Tokens that a passage takes with the heading it belongs under; estimated from characters where not recorded."""
    return _measure_text(passage) + _estimate_token_count(passage.heading_context)


def _measure_text(passage: evidence_pb2.Passage) -> int:
    return passage.token_count or _estimate_token_count(passage.text)


def _estimate_token_count(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def read_evidence_number(evidence_id: str) -> int | None:
    """5 for "E5"; None for anything else."""
    match = _EVIDENCE_ID.fullmatch(evidence_id)
    return int(match.group(1)) if match else None


def number_evidence(passage_ids: Sequence[str], known: Iterable[rerank_pb2.EvidenceId]) -> dict[str, int]:
    """A number for each passage: the one it had in an earlier pass, else the next that no passage ever had."""
    numbers = {each.passage_id: read_evidence_number(each.evidence_id) or 0 for each in known}
    highest = max(numbers.values(), default=0)
    for passage_id in passage_ids:
        if passage_id not in numbers:
            highest += 1
            numbers[passage_id] = highest
    return numbers


def make_evidence(candidate: evidence_pb2.Candidate, number: int) -> evidence_pb2.Evidence:
    """The evidence E<number> with the passage's text and places exactly as they are."""
    passage = candidate.passage
    evidence = evidence_pb2.Evidence(
        evidence_id=f"E{number}",
        section_path=passage.section_path,
        lines=passage.lines,
        references=passage.references,
        token_count=_measure_text(passage),
        hop_count=candidate.hop_count,
        **{name: getattr(passage, name) for name in _SHARED_FIELDS},
    )
    if passage.HasField("effective_from_time"):
        evidence.effective_from_time.CopyFrom(passage.effective_from_time)
    if passage.HasField("effective_to_time"):
        evidence.effective_to_time.CopyFrom(passage.effective_to_time)
    if candidate.HasField("relevance"):
        evidence.relevance = candidate.relevance
    return evidence
