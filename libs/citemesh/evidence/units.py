"""Evidence made of candidates, and what it costs in tokens."""

from __future__ import annotations

import math
from typing import Final

from citemesh.v1 import evidence_pb2

CHARACTERS_PER_TOKEN: Final = 3.5
"""Below the mean of English WordPiece text (4 to 5), so that an estimate errs towards too many tokens."""

# The fields that a passage and evidence share are named alike in both messages.
_SHARED_FIELDS: Final = frozenset(evidence_pb2.Evidence.DESCRIPTOR.fields_by_name) & frozenset(
    evidence_pb2.Passage.DESCRIPTOR.fields_by_name
)


def measure_token_count(passage: evidence_pb2.Passage) -> int:
    """Tokens that a passage takes with the heading it belongs under; estimated from characters where not recorded."""
    return _measure_text(passage) + _estimate_token_count(passage.heading_context)


def make_evidence(candidate: evidence_pb2.Candidate, evidence_id: str) -> evidence_pb2.Evidence:
    """The candidate as evidence, its passage's text and places exactly as they are."""
    evidence = evidence_pb2.Evidence(evidence_id=evidence_id, hop_count=candidate.hop_count)
    for field, value in candidate.passage.ListFields():
        if field.name not in _SHARED_FIELDS:
            continue
        if field.is_repeated:
            getattr(evidence, field.name).extend(value)
        elif field.message_type is not None:
            getattr(evidence, field.name).CopyFrom(value)
        else:
            setattr(evidence, field.name, value)
    evidence.token_count = _measure_text(candidate.passage)
    if candidate.HasField("relevance"):
        evidence.relevance = candidate.relevance
    return evidence


def _measure_text(passage: evidence_pb2.Passage) -> int:
    return passage.token_count or _estimate_token_count(passage.text)


def _estimate_token_count(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)
