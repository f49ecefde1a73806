"""What the loop carries from pass to pass, and what its decisions read. Values only; nothing here acts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    dispatcher_pb2,
    document_pb2,
    evidence_pb2,
    history_pb2,
    question_pb2,
    rerank_pb2,
    retrieval_pb2,
    validation_pb2,
)

NO_LISTING: Final = retrieval_pb2.LISTING_SCOPE_UNSPECIFIED


@dataclass(frozen=True, slots=True)
class Case:
    """What is fixed for one request and what each of its decisions may read beside the history."""

    question: question_pb2.ParsedQuestion
    scope: document_pb2.ScopeProfile
    activations: activation_pb2.Activations
    policy: dispatcher_pb2.Policy


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a trigger proposes for the next pass: one action, in words, with what it needs."""

    trigger: history_pb2.Trigger.ValueType
    action: history_pb2.Action.ValueType
    words: str
    keywords: tuple[str, ...] = ()
    references: tuple[question_pb2.Reference, ...] = ()
    pages: tuple[answer_pb2.PageRef, ...] = ()
    questions: tuple[str, ...] = ()
    listing_scope: retrieval_pb2.ListingScope.ValueType = NO_LISTING


FIRST_PASS: Final = Proposal(history_pb2.TRIGGER_FIRST_PASS, history_pb2.ACTION_NONE, "first pass")


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the passes so far have found. Later passes add to it; an evidence id, once given, stays."""

    candidates: Mapping[str, evidence_pb2.Candidate] = field(default_factory=dict)
    """By passage id, best first."""

    scores: Mapping[str, rerank_pb2.PairScore] = field(default_factory=dict)
    """By passage id; the question does not change between passes, so a pair is scored once."""

    found_in: Mapping[str, int] = field(default_factory=dict)
    """The pass that first found a passage, by passage id."""

    evidence_ids: Mapping[str, str] = field(default_factory=dict)
    """Evidence id by passage id, over all passes."""

    rankings: tuple[retrieval_pb2.Ranking, ...] = ()
    listing: retrieval_pb2.ListItemsResponse | None = None
    evidence: tuple[evidence_pb2.Evidence, ...] = ()
    """The evidence of the last pass that assembled any."""

    chosen: tuple[str, ...] = ()
    """The passages that the last pass was about, best first: what its evidence was chosen from."""


@dataclass(frozen=True, slots=True)
class LoopState:
    """What one pass is to do. A part that is empty is not done again: what was gathered stands for it."""

    number: int
    proposal: Proposal
    patterns: frozenset[activation_pb2.Pattern.ValueType]
    keywords: tuple[str, ...]
    """What is searched with, the question's own first."""

    gathered: Gathered = field(default_factory=Gathered)
    pages: tuple[answer_pb2.PageRef, ...] = ()
    """To parse again before anything else."""

    queries: tuple[retrieval_pb2.LegQuery, ...] = ()
    references: tuple[question_pb2.Reference, ...] = ()
    listing_scope: retrieval_pb2.ListingScope.ValueType = NO_LISTING
    required_passage_ids: tuple[str, ...] = ()
    """Passages that the context must hold before all others."""

    excluded_passage_ids: tuple[str, ...] = ()
    failed_verdicts: tuple[answer_pb2.ClaimVerdict, ...] = ()
    failed_claims: tuple[answer_pb2.Claim, ...] = ()


@dataclass(slots=True)
class PassResult:
    """What one pass came to. `signals` is all of it that decisions read."""

    gathered: Gathered
    signals: history_pb2.PassSignals = field(default_factory=history_pb2.PassSignals)
    answer: answer_pb2.AnswerWithEvidence = field(default_factory=answer_pb2.AnswerWithEvidence)
    evidence: tuple[evidence_pb2.Evidence, ...] = ()
    """What was admitted by the gate and given to the generator."""

    validation: validation_pb2.ValidateResponse = field(default_factory=validation_pb2.ValidateResponse)
    """Of the answer as it now is."""

    failed_verdicts: tuple[answer_pb2.ClaimVerdict, ...] = ()
    failed_claims: tuple[answer_pb2.Claim, ...] = ()
    """The claims that were left out because of them."""
