"""What an action changes before the next pass: state in, next state out. Each row does one thing and nothing else.

The original question and its keywords stay in scope in every pass: additions come after them and are the first to go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from citemesh.v1 import activation_pb2, answer_pb2, evidence_pb2, history_pb2, retrieval_pb2
from services.dispatcher.candidates import add_candidates
from services.dispatcher.queries import (
    early_queries,
    first_queries,
    keyword_queries,
    named_references,
    part_queries,
)
from services.dispatcher.record import holds_any
from services.dispatcher.state import FIRST_PASS, NO_LISTING, Case, Gathered, LoopState, PassResult, Proposal
from services.dispatcher.words import active_patterns, fold

Step = Callable[[Case, LoopState, Proposal, PassResult], LoopState]

PassageCounter = Callable[[str], int]
"""How many of the passages found so far hold a keyword."""

_UNKNOWN_WORD: Final = 1_000_000
"""A word that no passage holds cannot find one: it is pruned first."""


def open_state(case: Case, early: retrieval_pb2.RetrieveResponse | None) -> LoopState:
    """The state of the first pass: everything that the activations ask for, with what the early look has found."""
    patterns = active_patterns(case.activations)
    searched = early_queries(case.question.original_question) if early is not None else ()
    listing = activation_pb2.PATTERN_LISTING_AGGREGATION in patterns
    return LoopState(
        number=1,
        proposal=FIRST_PASS,
        patterns=patterns,
        keywords=own_keywords(case),
        gathered=_gather_early(early),
        queries=first_queries(case.question, patterns, searched),
        references=(named_references(case.question) if activation_pb2.PATTERN_TWO_HOP_REFERENCES in patterns else ()),
        listing_scope=retrieval_pb2.LISTING_SCOPE_SECTION if listing else NO_LISTING,
    )


def _gather_early(early: retrieval_pb2.RetrieveResponse | None) -> Gathered:
    if early is None:
        return Gathered()
    return replace(add_candidates(Gathered(), early.candidates, 1), rankings=tuple(early.rankings))


def adjust(case: Case, state: LoopState, proposal: Proposal, result: PassResult) -> LoopState:
    """The state of the next pass, in which the proposal's action is done and all that was found is kept."""
    carried = replace(
        state,
        number=state.number + 1,
        proposal=proposal,
        gathered=result.gathered,
        pages=(),
        queries=(),
        references=(),
        listing_scope=NO_LISTING,
        required_passage_ids=cited_passage_ids(result.answer, result.evidence),
        failed_verdicts=result.failed_verdicts,
        failed_claims=result.failed_claims,
    )
    return _STEPS[proposal.action](case, carried, proposal, result)


def expand_keywords(
    originals: Sequence[str],
    earlier: Sequence[str],
    discovered: Sequence[str],
    holders: PassageCounter,
    max_keywords: int,
) -> tuple[str, ...]:
    """Originals first, then the most informative additions, at most `max_keywords` in all (or all the originals).

    An addition is the more informative the fewer of the passages found so far hold it, as long as any does. Originals
    are never pruned; of equals, what was added earlier stays.
    """
    kept = _distinct(originals)
    known = {fold(keyword) for keyword in kept}
    additions = [keyword for keyword in _distinct([*earlier, *discovered]) if fold(keyword) not in known]
    room = max(0, max_keywords - len(kept))
    best = sorted(additions, key=lambda keyword: holders(keyword) or _UNKNOWN_WORD)[:room]
    return (*kept, *(keyword for keyword in additions if keyword in best))


def count_passages(candidates: Iterable[evidence_pb2.Candidate]) -> PassageCounter:
    """The counter over these candidates."""
    passages = [candidate.passage for candidate in candidates]
    return lambda keyword: sum(1 for passage in passages if holds_any([keyword], passage))


def cited_passage_ids(
    answer: answer_pb2.AnswerWithEvidence, evidence: Iterable[evidence_pb2.Evidence]
) -> tuple[str, ...]:
    """The passages that the answer cites: the next pass keeps them in its context."""
    cited = {citation.evidence_id for claim in answer.claims for citation in claim.citations}
    return tuple(unit.passage_id for unit in evidence if unit.evidence_id in cited)


def _reparse_pages(case: Case, state: LoopState, proposal: Proposal, _: PassResult) -> LoopState:
    """The pages' passages will be new ones, so those of now are forgotten and everything is searched again."""
    return replace(
        state,
        patterns=state.patterns | {activation_pb2.PATTERN_ADAPTIVE_PARSING},
        pages=proposal.pages,
        queries=first_queries(case.question, state.patterns),
        gathered=replace(forget_pages(state.gathered, proposal.pages), rankings=()),
        required_passage_ids=(),
    )


def _expand_keywords(case: Case, state: LoopState, proposal: Proposal, _: PassResult) -> LoopState:
    originals = own_keywords(case)
    counter = count_passages(state.gathered.candidates.values())
    earlier = [keyword for keyword in state.keywords if keyword not in originals]
    keywords = expand_keywords(originals, earlier, proposal.keywords, counter, case.policy.max_keywords)
    return replace(state, keywords=keywords, queries=keyword_queries(case.question, keywords, state.patterns))


def _follow_references(_: Case, state: LoopState, proposal: Proposal, __: PassResult) -> LoopState:
    patterns = state.patterns | {activation_pb2.PATTERN_TWO_HOP_REFERENCES}
    return replace(state, patterns=patterns, references=proposal.references)


def _move_listing(_: Case, state: LoopState, proposal: Proposal, __: PassResult) -> LoopState:
    patterns = state.patterns | {activation_pb2.PATTERN_LISTING_AGGREGATION}
    return replace(state, patterns=patterns, listing_scope=proposal.listing_scope)


def _retrieve_parts(_: Case, state: LoopState, proposal: Proposal, __: PassResult) -> LoopState:
    patterns = state.patterns | {activation_pb2.PATTERN_DENSE}
    return replace(state, patterns=patterns, queries=part_queries(proposal.questions))


def _retrieve_again(case: Case, state: LoopState, _: Proposal, result: PassResult) -> LoopState:
    failed_ids = {citation.evidence_id for claim in result.failed_claims for citation in claim.citations}
    failed = {unit.passage_id for unit in result.evidence if unit.evidence_id in failed_ids}
    excluded = (*state.excluded_passage_ids, *sorted(failed - set(state.excluded_passage_ids)))
    return replace(
        state,
        queries=first_queries(case.question, state.patterns),
        gathered=forget_passages(state.gathered, failed),
        excluded_passage_ids=excluded,
        required_passage_ids=tuple(item for item in state.required_passage_ids if item not in failed),
    )


def _correct_answer(_: Case, state: LoopState, __: Proposal, ___: PassResult) -> LoopState:
    """Nothing is searched: the generator sees its failed claims beside the same evidence."""
    return state


_STEPS: Final[dict[history_pb2.Action.ValueType, Step]] = {
    history_pb2.ACTION_REPARSE_PAGES: _reparse_pages,
    history_pb2.ACTION_EXPAND_KEYWORDS: _expand_keywords,
    history_pb2.ACTION_FOLLOW_REFERENCES: _follow_references,
    history_pb2.ACTION_WIDEN_LISTING: _move_listing,
    history_pb2.ACTION_NARROW_LISTING: _move_listing,
    history_pb2.ACTION_RETRIEVE_SUB_QUESTIONS: _retrieve_parts,
    history_pb2.ACTION_RETRIEVE_AGAIN: _retrieve_again,
    history_pb2.ACTION_CORRECT_ANSWER: _correct_answer,
}


def own_keywords(case: Case) -> tuple[str, ...]:
    """The keywords of the question itself: its anchors, or its content words where it names none."""
    anchors = _distinct(case.question.retrieval.anchor_keywords)
    return anchors or _distinct(case.question.keywords)[: case.policy.max_keywords]


def forget_pages(gathered: Gathered, pages: Iterable[answer_pb2.PageRef]) -> Gathered:
    """What was gathered, without the passages that touch these pages."""
    places = {(page.document_id, page.page_number) for page in pages}
    touched = {
        passage_id
        for passage_id, candidate in gathered.candidates.items()
        if any(
            (candidate.passage.document_id, number) in places
            for number in range(candidate.passage.page_first, candidate.passage.page_last + 1)
        )
    }
    return forget_passages(gathered, touched)


def forget_passages(gathered: Gathered, passage_ids: Iterable[str]) -> Gathered:
    """What was gathered, without these passages. Their evidence ids stay taken."""
    gone = set(passage_ids)
    return replace(
        gathered,
        candidates={key: value for key, value in gathered.candidates.items() if key not in gone},
        evidence=tuple(unit for unit in gathered.evidence if unit.passage_id not in gone),
        chosen=tuple(item for item in gathered.chosen if item not in gone),
        listing=None if gathered.listing and gone & _listed(gathered) else gathered.listing,
    )


def _listed(gathered: Gathered) -> set[str]:
    return {item.passage_id for item in gathered.listing.items} if gathered.listing else set()


def _distinct(keywords: Iterable[str]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for keyword in keywords:
        if fold(keyword):
            first.setdefault(fold(keyword), keyword)
    return tuple(first.values())
