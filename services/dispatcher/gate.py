"""The evidence gate: nothing is generated from evidence that is too thin, may not be read, or is not in force.

Two gates share the checks of access and version and differ in what "enough" means: `admit` reads calibrated relevance,
`admit_first_stage` stands in where nothing was reranked and never compares a first-stage value with a relevance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.v1 import dispatcher_pb2, evidence_pb2, history_pb2, retrieval_pb2
from services.dispatcher.record import holds_any

_MIN_ANCHOR_SHARE: Final = 0.6
"""Share of the anchor keywords that one passage must hold to be enough by its words alone."""

_MIN_AGREED_ANCHOR_SHARE: Final = 0.4
"""The same where two legs agree on the passage."""

_AGREEMENT_RANK: Final = 3
"""Two legs agree on a passage where both rank it this high."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What the gate said, and the evidence that may be used; empty unless it passes."""

    decision: history_pb2.GateDecision.ValueType
    evidence: tuple[evidence_pb2.Evidence, ...] = ()


def admit(
    evidence: Sequence[evidence_pb2.Evidence],
    checks: Iterable[retrieval_pb2.PassageCheck],
    as_of_time: Timestamp,
    policy: dispatcher_pb2.Policy,
) -> Admission:
    """Pass where the best evidence that may be read and is in force has at least the policy's relevance."""
    usable = _usable(evidence, checks, as_of_time)
    if usable.decision != history_pb2.GATE_DECISION_PASS:
        return usable
    enough = any(unit.HasField("relevance") and unit.relevance >= policy.min_relevance for unit in usable.evidence)
    return usable if enough else Admission(history_pb2.GATE_DECISION_TOO_WEAK)


def admit_first_stage(
    evidence: Sequence[evidence_pb2.Evidence],
    checks: Iterable[retrieval_pb2.PassageCheck],
    as_of_time: Timestamp,
    candidates: Mapping[str, evidence_pb2.Candidate],
    anchors: Sequence[str],
) -> Admission:
    """Pass where a passage holds most anchor keywords, or many of them and two legs agree on it.

    Stricter than `admit` on purpose: words and ranks say where to look, not that an answer stands there.
    """
    usable = _usable(evidence, checks, as_of_time)
    if usable.decision != history_pb2.GATE_DECISION_PASS:
        return usable
    found = [candidates[unit.passage_id] for unit in usable.evidence if unit.passage_id in candidates]
    enough = any(_is_enough(anchors, item) for item in found)
    return usable if enough else Admission(history_pb2.GATE_DECISION_TOO_WEAK)


def keep_current(
    evidence: Iterable[evidence_pb2.Evidence], checks: Iterable[retrieval_pb2.PassageCheck]
) -> tuple[evidence_pb2.Evidence, ...]:
    """The evidence that its check, made just now, calls readable, in force and unchanged."""
    current = {
        check.passage_id: check.content_hash for check in checks if check.status == retrieval_pb2.PASSAGE_STATUS_CURRENT
    }
    return tuple(unit for unit in evidence if current.get(unit.passage_id) == unit.content_hash)


def found_current(passage: evidence_pb2.Passage) -> retrieval_pb2.PassageCheck:
    """The check that finding the passage amounts to: a search finds only what may be read and is in force."""
    return retrieval_pb2.PassageCheck(
        passage_id=passage.passage_id,
        status=retrieval_pb2.PASSAGE_STATUS_CURRENT,
        content_hash=passage.content_hash,
    )


def _usable(
    evidence: Sequence[evidence_pb2.Evidence], checks: Iterable[retrieval_pb2.PassageCheck], as_of_time: Timestamp
) -> Admission:
    checks = tuple(checks)
    if not evidence:
        return Admission(history_pb2.GATE_DECISION_NO_EVIDENCE)
    found = {check.passage_id for check in checks if check.status in _READABLE}
    readable = [unit for unit in evidence if unit.passage_id in found]
    if not readable:
        return Admission(history_pb2.GATE_DECISION_NOT_AUTHORIZED)
    current = tuple(unit for unit in keep_current(readable, checks) if in_force(unit, as_of_time))
    if not current:
        return Admission(history_pb2.GATE_DECISION_NOT_IN_FORCE)
    return Admission(history_pb2.GATE_DECISION_PASS, current)


def in_force(unit: evidence_pb2.Evidence, as_of_time: Timestamp) -> bool:
    """Whether the evidence's own dates hold at the time asked for: from included, to excluded."""
    moment = _order(as_of_time)
    began = not unit.HasField("effective_from_time") or _order(unit.effective_from_time) <= moment
    lasts = not unit.HasField("effective_to_time") or moment < _order(unit.effective_to_time)
    return began and lasts


def _order(time: Timestamp) -> tuple[int, int]:
    return time.seconds, time.nanos


def _is_enough(anchors: Sequence[str], candidate: evidence_pb2.Candidate) -> bool:
    held = sum(1 for anchor in anchors if holds_any([anchor], candidate.passage))
    legs = {rank.leg for rank in candidate.leg_ranks if rank.rank <= _AGREEMENT_RANK}
    least = _MIN_AGREED_ANCHOR_SHARE if len(legs) > 1 else _MIN_ANCHOR_SHARE
    return held > 0 and held >= least * len(anchors)


_READABLE: Final = (retrieval_pb2.PASSAGE_STATUS_CURRENT, retrieval_pb2.PASSAGE_STATUS_NOT_IN_FORCE)
