"""Units that failed validation in the last pass and must not come again."""

from __future__ import annotations

from collections.abc import Iterable

from citemesh.v1 import answer_pb2
from services.generation.scene import Scene


def find_excluded(
    scene: Scene, verdicts: Iterable[answer_pb2.ClaimVerdict], claims: Iterable[answer_pb2.Claim]
) -> frozenset[int]:
    """Indices of the units whose words a failed claim quoted, or said."""
    failed_ids = {verdict.claim_id for verdict in verdicts if verdict.verdict != answer_pb2.VERDICT_SUPPORTED}
    failed = [claim for claim in claims if claim.claim_id in failed_ids]
    if not failed:
        return frozenset()
    spans = {
        (citation.evidence_id, citation.start_offset, citation.end_offset)
        for claim in failed
        for citation in claim.citations
    }
    texts = {" ".join(claim.text.split()) for claim in failed}
    return frozenset(
        number
        for number, unit in enumerate(scene.units)
        if " ".join(unit.plain.split()) in texts
        or any(
            evidence_id == scene.evidence[unit.evidence_index].evidence_id and start <= unit.start and unit.end <= end
            for evidence_id, start, end in spans
        )
    )
