"""Candidates over the passes: merged, ordered, made into evidence where the assembler cannot, traced for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from citemesh.evidence.ids import EvidenceIds
from citemesh.evidence.units import make_evidence, measure_token_count
from citemesh.v1 import dispatcher_pb2, evidence_pb2
from services.dispatcher.state import Gathered

_RRF_K: Final = 60
"""The usual constant of reciprocal rank fusion (Cormack, Clarke, Buettcher, SIGIR 2009)."""

_MAX_TRACES: Final = 50
_BEST_TRACES: Final = 10
"""So many are traced in any case; of the others only what was scored or selected."""


def add_candidates(gathered: Gathered, found: Iterable[evidence_pb2.Candidate], number: int) -> Gathered:
    """`gathered` with what pass `number` found. Of a passage found again, ranks add up and the shortest way counts."""
    candidates = dict(gathered.candidates)
    found_in = dict(gathered.found_in)
    for candidate in found:
        passage_id = candidate.passage.passage_id
        known = candidates.get(passage_id)
        candidates[passage_id] = candidate if known is None else _merge(known, candidate)
        found_in.setdefault(passage_id, number)
    return replace(gathered, candidates=candidates, found_in=found_in)


def _merge(known: evidence_pb2.Candidate, again: evidence_pb2.Candidate) -> evidence_pb2.Candidate:
    merged = evidence_pb2.Candidate()
    merged.CopyFrom(known)
    for name in ("keyword_score", "dense_score", "fused_score"):
        if again.HasField(name):
            setattr(merged, name, getattr(again, name))
    seen = {(rank.leg, rank.query) for rank in known.leg_ranks}
    merged.leg_ranks.extend(rank for rank in again.leg_ranks if (rank.leg, rank.query) not in seen)
    if again.hop_count > 0 and not known.HasField("reached_by"):
        merged.reached_by.CopyFrom(again.reached_by)
    return merged


def order_candidates(gathered: Gathered) -> Gathered:
    """Best first, by the ranks of fusion and of reranking together.

    Ranks, because a fused value and a relevance are of two kinds. What was not scored is ordered by fusion alone.
    """
    candidates, scores = gathered.candidates, gathered.scores
    by_fusion = _ranks(candidates, lambda item: candidates[item].fused_score)
    by_score = _ranks((item for item in candidates if item in scores), lambda item: scores[item].rerank_score)

    def weight(passage_id: str) -> float:
        reranked = 1 / (_RRF_K + by_score[passage_id]) if passage_id in by_score else 0.0
        return 1 / (_RRF_K + by_fusion[passage_id]) + reranked

    ordered = sorted(candidates, key=weight, reverse=True)
    return replace(gathered, candidates={item: candidates[item] for item in ordered})


def _ranks(passage_ids: Iterable[str], value: Callable[[str], float]) -> dict[str, int]:
    """Ranks by passage id, from 1 for the largest value."""
    return {item: rank for rank, item in enumerate(sorted(passage_ids, key=value, reverse=True), start=1)}


def with_scores(gathered: Gathered, passage_ids: Iterable[str]) -> list[evidence_pb2.Candidate]:
    """Copies of these candidates that carry their scores: for stages that see nothing else of what was gathered."""
    scored = []
    for passage_id in passage_ids:
        candidate = evidence_pb2.Candidate()
        candidate.CopyFrom(gathered.candidates[passage_id])
        score = gathered.scores.get(passage_id)
        if score is not None:
            candidate.rerank_score, candidate.relevance = score.rerank_score, score.relevance
        scored.append(candidate)
    return scored


def pair_text(passage: evidence_pb2.Passage) -> str:
    """The passage's side of a pair: where it stands, then what it says."""
    place = " > ".join((passage.title, *passage.section_path))
    return "\n".join(part for part in (place, passage.heading_context, passage.text) if part)


def assemble_plainly(
    gathered: Gathered, max_token_count: int, max_evidence_count: int
) -> tuple[evidence_pb2.Evidence, ...]:
    """Evidence without the assembler: what the pass is about (or all there is), in order, whole, while tokens last."""
    ids = EvidenceIds(gathered.evidence_ids)
    evidence: list[evidence_pb2.Evidence] = []
    left = max_token_count
    for candidate in with_scores(gathered, gathered.chosen or gathered.candidates):
        passage_id = candidate.passage.passage_id
        size = measure_token_count(candidate.passage)
        if size <= left and len(evidence) < max_evidence_count:
            left -= size
            evidence.append(make_evidence(candidate, ids.id_of(passage_id)))
    return tuple(evidence)


def trace_candidates(gathered: Gathered) -> list[dispatcher_pb2.CandidateTrace]:
    """Where the best candidates came from, and all that were scored or selected, without their texts; best first."""
    selected = {unit.passage_id: unit.evidence_id for unit in gathered.evidence}
    traced = [
        item
        for place, item in enumerate(gathered.candidates)
        if place < _BEST_TRACES or item in gathered.scores or item in selected
    ]
    return [_trace(gathered, item, selected) for item in traced[:_MAX_TRACES]]


def _trace(gathered: Gathered, passage_id: str, selected: Mapping[str, str]) -> dispatcher_pb2.CandidateTrace:
    candidate = gathered.candidates[passage_id]
    passage = candidate.passage
    score = gathered.scores.get(passage_id)
    return dispatcher_pb2.CandidateTrace(
        passage_id=passage_id,
        document_id=passage.document_id,
        title=passage.title,
        section_path=passage.section_path,
        page_first=passage.page_first,
        leg_ranks=candidate.leg_ranks,
        fused_score=candidate.fused_score if candidate.HasField("fused_score") else None,
        relevance=None if score is None else score.relevance,
        first_iteration_number=gathered.found_in.get(passage_id, 0),
        hop_count=candidate.hop_count,
        evidence_id=selected.get(passage_id, ""),
    )
