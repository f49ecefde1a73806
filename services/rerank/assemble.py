"""Choose the evidence: whole units within the token budget, without repetition, in an order that is always the same.

Required units (what a pending reference or a listing led to) come first, then candidates as they are ordered. A unit
that does not fit is left out whole and named; smaller ones after it may still fit. Nothing is ever cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from citemesh.evidence.ids import EvidenceIds, read_evidence_number
from citemesh.evidence.units import make_evidence, measure_token_count
from citemesh.v1 import evidence_pb2, rerank_pb2


@dataclass(frozen=True)
class Limits:
    """What the evidence may take, and how relevant it must be."""

    max_token_count: int
    max_evidence_count: int
    min_relevance: float


@dataclass
class _Selection:
    """What is selected so far."""

    chosen: list[evidence_pb2.Candidate] = field(default_factory=list)
    token_count: int = 0
    hashes: set[str] = field(default_factory=set)
    texts_by_parent: dict[str, list[str]] = field(default_factory=dict)

    def holds(self, passage: evidence_pb2.Passage) -> bool:
        """Whether the same text is selected, on its own or within a unit of the same section."""
        if passage.content_hash and passage.content_hash in self.hashes:
            return True
        text = _fold(passage.text)
        return any(text in selected for selected in self.texts_by_parent.get(_name_parent(passage), ()))

    def add(self, candidate: evidence_pb2.Candidate, token_count: int) -> None:
        """Select a candidate."""
        self.chosen.append(candidate)
        self.token_count += token_count
        self.hashes.add(candidate.passage.content_hash)
        self.texts_by_parent.setdefault(_name_parent(candidate.passage), []).append(_fold(candidate.passage.text))


def assemble_context(
    candidates: Sequence[evidence_pb2.Candidate],
    limits: Limits,
    required_passage_ids: Iterable[str] = (),
    known_evidence_ids: Iterable[rerank_pb2.EvidenceId] = (),
) -> rerank_pb2.AssembleContextResponse:
    """Select evidence from `candidates`, which are best first.

    A required passage is exempt from the relevance limit alone; required ids that are not among the candidates are
    passed over. A candidate without calibrated relevance is not judged by it: first-stage scores are of another kind.
    The evidence comes in the order of its ids; passages known from earlier passes keep theirs.
    """
    required = set(required_passage_ids)
    selection = _Selection()
    dropped: list[rerank_pb2.DroppedCandidate] = []
    for candidate in sorted(candidates, key=lambda candidate: candidate.passage.passage_id not in required):
        token_count = measure_token_count(candidate.passage)
        reason = _find_drop_reason(candidate, token_count, selection, limits, required)
        if reason is None:
            selection.add(candidate, token_count)
        else:
            dropped.append(rerank_pb2.DroppedCandidate(passage_id=candidate.passage.passage_id, reason=reason))
    ids = EvidenceIds({each.passage_id: each.evidence_id for each in known_evidence_ids})
    evidence = [make_evidence(each, ids.id_of(each.passage.passage_id)) for each in selection.chosen]
    evidence.sort(key=lambda unit: read_evidence_number(unit.evidence_id) or 0)
    return rerank_pb2.AssembleContextResponse(evidence=evidence, dropped=dropped, token_count=selection.token_count)


def _find_drop_reason(
    candidate: evidence_pb2.Candidate,
    token_count: int,
    selection: _Selection,
    limits: Limits,
    required: set[str],
) -> rerank_pb2.DropReason.ValueType | None:
    is_required = candidate.passage.passage_id in required
    if not is_required and candidate.HasField("relevance") and candidate.relevance < limits.min_relevance:
        return rerank_pb2.DROP_REASON_RELEVANCE
    if selection.holds(candidate.passage):
        return rerank_pb2.DROP_REASON_DUPLICATE
    if len(selection.chosen) >= limits.max_evidence_count:
        return rerank_pb2.DROP_REASON_COUNT
    if selection.token_count + token_count > limits.max_token_count:
        return rerank_pb2.DROP_REASON_TOKEN_BUDGET
    return None


def _name_parent(passage: evidence_pb2.Passage) -> str:
    return f"{passage.document_id}\0{passage.document_version}\0{passage.parent_id}"


def _fold(text: str) -> str:
    return " ".join(text.split())
