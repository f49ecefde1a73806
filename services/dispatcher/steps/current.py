"""The pass that runs now: what the steps share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from citemesh.v1 import budget_pb2, evidence_pb2, query_pb2, question_pb2, retrieval_pb2
from services.dispatcher.budget import left_after
from services.dispatcher.candidates import add_candidates
from services.dispatcher.settings import DispatcherSettings
from services.dispatcher.stages import Stages
from services.dispatcher.state import Case, LoopState, PassResult

Settings = Mapping[str, Any]
"""A step's settings, as the pipeline gives them."""


class GateClosedError(Exception):
    """The gate let nothing through: the pass ends without an answer, and its signals say why."""


@dataclass(slots=True)
class CurrentPass:
    """One pass on its way. `result` is readable at any time, so that a deadline in the middle finds what there is."""

    stages: Stages
    case: Case
    settings: DispatcherSettings
    state: LoopState
    turns: Sequence[question_pb2.Turn] = ()
    emit_text: Callable[[str], None] | None = None
    result: PassResult = field(init=False)
    started: float = field(init=False)
    follow_up: query_pb2.FollowUpDecision | None = None
    found: set[str] = field(default_factory=set)
    """Passages that this pass itself has read from the store, whoever found them before."""

    required: tuple[str, ...] = ()
    """Passages that this pass led to and that the context must hold."""

    memory: tuple[question_pb2.Turn, ...] = ()
    """The turns that a memory step lets the generator see."""

    checks: Sequence[retrieval_pb2.PassageCheck] | None = None
    """What the gate goes by: how the passages stood that the evidence is from. None: not read yet, or in vain."""

    assembled: bool = False
    answered: bool = False
    validated: bool = False

    def __post_init__(self) -> None:
        self.result = PassResult(gathered=self.state.gathered)
        self.started = self.stages.clock()

    @property
    def standalone_question(self) -> str:
        """The question, complete in itself."""
        return self.case.question.standalone_question or self.case.question.original_question

    @property
    def context_limits(self) -> tuple[int, int]:
        """Tokens and units that the evidence may take."""
        return self.settings.max_context_token_count, self.settings.max_evidence_count

    def gather(self, candidates: Sequence[evidence_pb2.Candidate]) -> None:
        """Add what a step has found."""
        self.found.update(candidate.passage.passage_id for candidate in candidates)
        self.result.gathered = add_candidates(self.result.gathered, candidates, self.state.number)

    def keep_evidence(self, evidence: Sequence[evidence_pb2.Evidence]) -> None:
        """Make `evidence` that of the pass; the ids it brings stay with their passages from now on."""
        ids = {**self.result.gathered.evidence_ids, **{unit.passage_id: unit.evidence_id for unit in evidence}}
        self.result.gathered = replace(self.result.gathered, evidence=tuple(evidence), evidence_ids=ids)
        self.assembled = True

    def listed_passage_ids(self) -> list[str]:
        """The passages of the listing: its announcement, then its items."""
        listing = self.result.gathered.listing
        if listing is None:
            return []
        ids = (listing.announcement_passage_id, *(item.passage_id for item in listing.items))
        return [passage_id for passage_id in dict.fromkeys(ids) if passage_id]

    def budget_left(self) -> budget_pb2.Budget:
        """What the request may still spend, this pass counted as used."""
        return left_after(self.case.policy, self.stages.cost(), self.state.number)
