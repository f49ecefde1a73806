"""The steps that search: legs in parallel, then places named by references, then listings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Final

from citemesh.v1 import activation_pb2, history_pb2, query_pb2, question_pb2, retrieval_pb2
from services.dispatcher.candidates import with_scores
from services.dispatcher.queries import swap_legs
from services.dispatcher.stages import StageError
from services.dispatcher.state import NO_LISTING
from services.dispatcher.steps.current import CurrentPass, Settings

LEGS: Final = frozenset((activation_pb2.PATTERN_TOC, activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE))

_MAX_LISTING_ANCHORS: Final = 10
_MAX_REFERENCE_SOURCES: Final = 10
_MAX_FOLLOW_UP_CANDIDATES: Final = 10


async def reparse_pages(run: CurrentPass) -> None:
    """An action of the loop, not a step: parse the flagged pages again. Where that fails they stay as they were."""
    pages = sorted(run.state.pages, key=lambda page: (page.document_id, page.page_number))
    for document_id, group in groupby(pages, key=lambda page: page.document_id):
        try:
            await run.stages.reparse(document_id, [page.page_number for page in group])
        except StageError:
            return


async def decide_follow_up(run: CurrentPass, _: Settings) -> None:
    """Whether the retrievers after this step run, and with which query. In later passes the triggers decide that."""
    if run.state.proposal.trigger != history_pb2.TRIGGER_FIRST_PASS:
        return
    gathered = run.result.gathered
    request = query_pb2.DecideFollowUpRequest(
        parsed_question=run.case.question,
        candidates=with_scores(gathered, list(gathered.candidates)[:_MAX_FOLLOW_UP_CANDIDATES]),
        available_targets=sorted(run.state.patterns & LEGS),
        budget=run.budget_left(),
    )
    run.follow_up = (await run.stages.decide_follow_up(request)).decision


async def search(run: CurrentPass, settings: Settings) -> None:
    """The legs that are on, each with its queries. The rankings of earlier calls are fused with the new ones."""
    queries = run.state.queries if run.follow_up is None else _follow_up_queries(run, run.follow_up)
    is_first = run.state.number == 1 and run.follow_up is None
    # With nothing new to ask, the early look is still fused anew, by the hints that were not known then.
    if not queries and not (is_first and run.result.gathered.rankings):
        return
    response = await _retrieve(run, queries, settings.get("max_candidates", run.settings.max_candidates))
    if response is None:
        return
    if is_first:
        # The early look's rankings are part of this fusion, so its own order is superseded.
        run.result.gathered = replace(run.result.gathered, candidates={}, found_in={})
    run.gather(response.candidates)
    run.result.gathered = replace(run.result.gathered, rankings=tuple(response.rankings))


def _follow_up_queries(run: CurrentPass, decision: query_pb2.FollowUpDecision) -> tuple[retrieval_pb2.LegQuery, ...]:
    legs = run.state.patterns & LEGS
    if decision.retrieval.mode == question_pb2.RETRIEVAL_MODE_NONE:
        return ()
    if decision.retrieval.mode == question_pb2.RETRIEVAL_MODE_SELECTED:
        legs &= frozenset(decision.retrieval.targets)
    return tuple(retrieval_pb2.LegQuery(leg=leg, text=decision.query) for leg in sorted(legs))


async def _retrieve(
    run: CurrentPass, queries: Sequence[retrieval_pb2.LegQuery], max_candidates: int
) -> retrieval_pb2.RetrieveResponse | None:
    """The legs asked for, or else the leg that was not asked; None where they are down and what was found stands."""
    known = run.result.gathered
    retrieve = partial(
        run.stages.retrieve,
        max_candidates=max_candidates,
        plan=run.case.question.retrieval,
        excluded_passage_ids=run.state.excluded_passage_ids,
    )
    try:
        return await retrieve(queries, prior_rankings=known.rankings)
    except StageError:
        if known.candidates:
            return None
        if any(ranking.passages for ranking in known.rankings):
            return await retrieve((), prior_rankings=known.rankings)
        others = [query for query in swap_legs(queries) if query not in queries]
        if not others:
            raise
    return await retrieve(others)


async def follow_references(run: CurrentPass, settings: Settings) -> None:
    """Two-hop: to places that the question names, or that the answer before this pass asked for."""
    references = run.state.references
    if not references:
        return
    limit = settings.get("max_passages", run.settings.max_followed_passages)
    found = await run.stages.follow_references(references, _find_sources(run, references), limit)
    run.gather(found.candidates)
    run.result.signals.followed_references.extend(references)
    run.required += tuple(candidate.passage.passage_id for candidate in found.candidates)


def _find_sources(run: CurrentPass, references: Sequence[question_pb2.Reference]) -> list[str]:
    """The passages that hold the references; where none does, the best ones, whose documents are meant then."""
    gathered = run.result.gathered
    evidence = [
        gathered.candidates[unit.passage_id] for unit in gathered.evidence if unit.passage_id in gathered.candidates
    ]
    best = evidence or list(gathered.candidates.values())
    labels = {reference.label for reference in references}
    holding = [item for item in best if labels & {reference.label for reference in item.passage.references}]
    return [item.passage.passage_id for item in (holding or best)[:_MAX_REFERENCE_SOURCES]]


async def gather_listing(run: CurrentPass, _: Settings) -> None:
    """All items of a kind around the best candidates, as widely as the state says."""
    if run.state.listing_scope == NO_LISTING or not run.result.gathered.candidates:
        return
    anchors = list(run.result.gathered.candidates)[:_MAX_LISTING_ANCHORS]
    listing = await run.stages.list_items(run.case.question, run.state.keywords, anchors, run.state.listing_scope)
    run.gather(listing.candidates)
    run.result.gathered = replace(run.result.gathered, listing=listing)
