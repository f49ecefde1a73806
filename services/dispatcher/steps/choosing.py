"""The steps that choose: rerank what was found, assemble whole units, and ask the gate whether that is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from citemesh.v1 import evidence_pb2, history_pb2, rerank_pb2, retrieval_pb2
from services.dispatcher.candidates import assemble_plainly, order_candidates, pair_text, with_scores
from services.dispatcher.context import choose_candidates, find_held_back
from services.dispatcher.gate import Admission, admit, admit_first_stage, found_current
from services.dispatcher.stages import StageError, settle_both
from services.dispatcher.steps.current import CurrentPass, GateClosedError, Settings

_MAX_QUERIES: Final = 4
"""The question and its parts: rerank scores each apart and lets the best count."""


async def rerank(run: CurrentPass, settings: Settings) -> None:
    """Score what no earlier pass has scored: the question is the same, so the scores of its pairs are."""
    gathered = run.result.gathered
    queries = list(dict.fromkeys((run.standalone_question, *run.case.question.sub_questions)))[:_MAX_QUERIES]
    limit = settings.get("max_candidates", run.settings.max_reranked_candidates)
    limit = min(limit, run.settings.max_scored_pairs // len(queries))
    # What an earlier pass found and did not score was not worth it then, and is not now.
    new = (item for item in gathered.candidates if gathered.found_in.get(item) == run.state.number)
    wanted = dict.fromkeys((*run.required, *run.listed_passage_ids(), *new))
    unscored = [item for item in wanted if item in gathered.candidates and item not in gathered.scores]
    passages = [
        rerank_pb2.PairText(passage_id=item, text=pair_text(gathered.candidates[item].passage))
        for item in unscored[:limit]
    ]
    if not passages:
        return
    response = await run.stages.rerank(queries, passages)
    scores = {**gathered.scores, **{score.passage_id: score for score in response.scores}}
    run.result.gathered = order_candidates(replace(gathered, scores=scores))


async def assemble(run: CurrentPass, settings: Settings) -> None:
    """Whole units: what this pass led to, then the listing's, then what is cited already, then the best."""
    max_tokens, max_units = run.context_limits
    max_tokens = settings.get("max_token_count", max_tokens)
    max_units = settings.get("max_evidence_count", max_units)
    required = _choose(run)
    gathered = run.result.gathered
    request = rerank_pb2.AssembleContextRequest(
        candidates=with_scores(gathered, gathered.chosen),
        max_token_count=max_tokens,
        max_evidence_count=max_units,
        required_passage_ids=required,
        known_evidence_ids=[
            rerank_pb2.EvidenceId(passage_id=passage_id, evidence_id=evidence_id)
            for passage_id, evidence_id in gathered.evidence_ids.items()
        ],
    )
    if not gathered.chosen:
        run.keep_evidence(())
        return
    assembled, checks = await settle_both(run.stages.assemble(request), _check_chosen(run))
    if isinstance(assembled, StageError):
        run.keep_evidence(assemble_plainly(gathered, max_tokens, max_units))
        raise assembled
    run.keep_evidence(assembled.evidence)
    run.checks = None if isinstance(checks, StageError) else checks


async def _check_chosen(run: CurrentPass) -> Sequence[retrieval_pb2.PassageCheck]:
    """How all that may become evidence stands: as this pass found it a moment ago, or else as it is read now."""
    gathered = run.result.gathered
    is_fresh = run.stages.clock() - run.started <= run.settings.max_check_age_s
    if not is_fresh or not run.found.issuperset(gathered.chosen):
        return await run.stages.check_passages(gathered.chosen)
    return [found_current(gathered.candidates[item].passage) for item in gathered.chosen]


def _choose(run: CurrentPass) -> list[str]:
    """Settle what this pass is about; return what of it is required."""
    gathered, state = run.result.gathered, run.state
    required = _required(run)
    held_back = find_held_back(run.case.question, state.patterns, gathered.candidates) if state.number == 1 else ()
    # What this pass was led to joins the others, it takes nobody's place.
    max_count = run.settings.max_chosen_candidates + len(run.required)
    chosen = choose_candidates(gathered.candidates, required, held_back, max_count)
    run.result.gathered = replace(gathered, chosen=chosen)
    return required


def _required(run: CurrentPass) -> list[str]:
    listed = (item for item in run.listed_passage_ids() if not _is_beside_the_point(run, item))
    wanted = (*run.required, *listed, *run.state.required_passage_ids)
    return [item for item in dict.fromkeys(wanted) if item in run.result.gathered.candidates]


def _is_beside_the_point(run: CurrentPass, passage_id: str) -> bool:
    """Whether a listed passage is too little relevant to be required: lists stand beside each other in documents."""
    score = run.result.gathered.scores.get(passage_id)
    return score is not None and score.relevance < run.case.policy.min_relevance


async def pass_gate(run: CurrentPass) -> None:
    """Check the evidence now and keep what may be used. Raises GateClosedError where that is not enough."""
    if not run.assembled:
        # A pipeline without an assembler still gives the generator whole units within the limits.
        _choose(run)
        run.keep_evidence(assemble_plainly(run.result.gathered, *run.context_limits))
    evidence = run.result.gathered.evidence
    if run.checks is None:
        run.checks = await run.stages.check_passages([unit.passage_id for unit in evidence])
    admission = _admit(run, evidence, run.checks)
    run.result.signals.gate = admission.decision
    run.result.evidence = admission.evidence
    if admission.decision != history_pb2.GATE_DECISION_PASS:
        raise GateClosedError


async def check_evidence(run: CurrentPass, evidence: Sequence[evidence_pb2.Evidence]) -> Admission:
    """What the gate says of `evidence`, whose access and version are read now. Raises StageError."""
    checks = await run.stages.check_passages([unit.passage_id for unit in evidence])
    return _admit(run, evidence, checks)


def _admit(
    run: CurrentPass, evidence: Sequence[evidence_pb2.Evidence], checks: Sequence[retrieval_pb2.PassageCheck]
) -> Admission:
    as_of_time, case = run.stages.as_of_time, run.case
    if any(unit.HasField("relevance") for unit in evidence):
        return admit(evidence, checks, as_of_time, case.policy)
    candidates = run.result.gathered.candidates
    return admit_first_stage(evidence, checks, as_of_time, candidates, case.question.retrieval.anchor_keywords)
