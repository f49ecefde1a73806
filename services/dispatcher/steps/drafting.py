"""The steps that answer: write from the evidence, have each claim judged, leave out what failed and judge again."""

from __future__ import annotations

from collections.abc import Sequence

from citemesh.v1 import (
    answer_pb2,
    budget_pb2,
    evidence_pb2,
    generation_pb2,
    history_pb2,
    retrieval_pb2,
    validation_pb2,
)
from services.dispatcher.candidates import assemble_plainly
from services.dispatcher.citing import cited_evidence, tie_listing
from services.dispatcher.correct import drop_claims, failed_verdicts, keep_citable
from services.dispatcher.fallback import FALLBACKS
from services.dispatcher.gate import keep_current
from services.dispatcher.stages import StageError, settle_both
from services.dispatcher.steps.choosing import check_evidence, pass_gate
from services.dispatcher.steps.current import CurrentPass, Settings


async def remember(run: CurrentPass, settings: Settings) -> None:
    """Let the generator see the last turns of the conversation."""
    run.memory = tuple(run.turns)[-settings.get("max_turns", len(run.turns)) :]


async def generate(run: CurrentPass, settings: Settings) -> None:
    """A provisional answer from what the gate lets through."""
    await pass_gate(run)
    request = generation_pb2.GenerateRequest(
        parsed_question=run.case.question,
        evidence=run.result.evidence,
        listing=tie_listing(run.result.gathered.listing, run.result.evidence),
        failed_verdicts=run.state.failed_verdicts,
        failed_claims=run.state.failed_claims,
        rules=settings.get("rules", ""),
        history=run.memory,
        budget=run.budget_left(),
    )
    response = await run.stages.generate(request, run.emit_text)
    run.result.answer = response.answer
    run.answered = True


async def validate(run: CurrentPass, settings: Settings) -> None:
    """Judge each claim; leave out what failed and judge the rest again. No pipeline releases anything without this."""
    if run.validated or not run.result.answer.claims:
        return
    validation = await _judge(run)
    for _ in range(settings.get("max_corrections", 1)):
        if validation.decision != answer_pb2.RELEASE_DECISION_CORRECT:
            break
        _leave_out(run, failed_verdicts(validation.verdicts))
        if not run.result.answer.claims:
            break
        validation = await _judge(run)
    _note_failures(run, failed_verdicts(validation.verdicts))
    run.result.validation = validation
    run.validated = True


async def _judge(run: CurrentPass) -> validation_pb2.ValidateResponse:
    """Judge by the checks of the gate while they are made again; where they have changed, judge by the new ones."""
    cited = cited_evidence(run.result.answer, run.result.evidence)
    ids = [unit.passage_id for unit in cited]
    known = {check.passage_id: check for check in run.checks or ()}
    before = [known[passage_id] for passage_id in ids if passage_id in known]
    validation, checks = await settle_both(
        run.stages.validate(_keep_judgeable(run, cited, before)), run.stages.check_passages(ids)
    )
    if isinstance(checks, StageError):
        raise checks
    if list(checks) != before:
        return await run.stages.validate(_keep_judgeable(run, cited, checks))
    if isinstance(validation, StageError):
        raise validation
    return validation


def _keep_judgeable(
    run: CurrentPass, cited: Sequence[evidence_pb2.Evidence], checks: Sequence[retrieval_pb2.PassageCheck]
) -> validation_pb2.ValidateRequest:
    """Drop from the answer what cites anything that is not current, and ask for a verdict on the rest."""
    current = {unit.evidence_id for unit in keep_current(cited, checks)}
    run.result.answer = keep_citable(run.result.answer, current)
    return validation_pb2.ValidateRequest(
        parsed_question=run.case.question,
        answer=run.result.answer,
        evidence=cited,
        checks=checks,
        as_of_time=run.stages.as_of_time,
        budget=run.budget_left(),
    )


def _leave_out(run: CurrentPass, failed: tuple[answer_pb2.ClaimVerdict, ...]) -> None:
    _note_failures(run, failed)
    run.result.answer = drop_claims(run.result.answer, {verdict.claim_id for verdict in failed})


def _note_failures(run: CurrentPass, failed: tuple[answer_pb2.ClaimVerdict, ...]) -> None:
    """Keep verdicts and claims for the next pass; after the last round the same may be noted twice, and is not."""
    ids = {verdict.claim_id for verdict in failed}
    run.result.failed_verdicts += tuple(item for item in failed if item not in run.result.failed_verdicts)
    run.result.failed_claims += tuple(claim for claim in run.result.answer.claims if claim.claim_id in ids)


async def fall_back_to_sources(run: CurrentPass) -> None:
    """A stage failed and nothing took its place. Where passages may stand for an answer, check them once more.

    Unchecked ones are not shown; where none is left, the documents confirm nothing to this caller.
    """
    signals = run.result.signals
    if FALLBACKS[signals.failed_stage].outcome != answer_pb2.ANSWER_OUTCOME_SOURCES_ONLY:
        run.result.evidence = ()
        return
    try:
        await keep_current_sources(run)
    except StageError as failure:
        signals.failed_stage = failure.stage
        run.result.evidence = ()
        return
    if not run.result.evidence:
        signals.failed_stage = budget_pb2.STAGE_UNSPECIFIED
        signals.gate = history_pb2.GATE_DECISION_NO_EVIDENCE


async def keep_current_sources(run: CurrentPass) -> None:
    """Keep, as sources, what may be read and is in force right now and passes the gate. Raises StageError."""
    gathered = run.result.gathered
    if run.result.signals.gate == history_pb2.GATE_DECISION_PASS:
        checks = await run.stages.check_passages([unit.passage_id for unit in run.result.evidence])
        run.result.evidence = keep_current(run.result.evidence, checks)
        return
    evidence = gathered.evidence if run.assembled else assemble_plainly(gathered, *run.context_limits)
    run.result.evidence = (await check_evidence(run, evidence)).evidence
