"""One pass over the stages: the steps of the pipeline in order, each doing only what the state asks for.

What an earlier pass gathered stands for whatever is not done again. A stage that fails is replaced as fallback.py
says; where nothing takes its place the pass ends there, and its signals name the stage.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from citemesh.v1 import budget_pb2
from services.dispatcher.fallback import FALLBACKS
from services.dispatcher.pipelines import (
    CONTEXT,
    GENERATOR,
    MEMORY,
    OPTIMIZER,
    QUALITY_GATE,
    RETRIEVER,
    STOP,
    LoadedPipeline,
)
from services.dispatcher.record import anchor_overlap, describe_answer
from services.dispatcher.stages import StageError, to_duration
from services.dispatcher.state import PassResult
from services.dispatcher.steps import choosing, drafting, searching
from services.dispatcher.steps.current import CurrentPass, GateClosedError, Settings

Step = Callable[[CurrentPass, Settings], Awaitable[None]]


async def _done_already(_: CurrentPass, __: Settings) -> None:
    """Understanding comes once, before the first pass (opening.py)."""


STEPS: Final[dict[tuple[str, str], Step]] = {
    (OPTIMIZER, "understand"): _done_already,
    (OPTIMIZER, "follow_up"): searching.decide_follow_up,
    (MEMORY, "conversation"): drafting.remember,
    (RETRIEVER, "hybrid"): searching.search,
    (RETRIEVER, "references"): searching.follow_references,
    (RETRIEVER, "listing"): searching.gather_listing,
    (CONTEXT, "rerank"): choosing.rerank,
    (CONTEXT, "assemble"): choosing.assemble,
    (GENERATOR, "grounded"): drafting.generate,
    (QUALITY_GATE, "claims"): drafting.validate,
}
"""What each step of a pipeline does, by type and processor; pipelines.PROCESSORS holds the same pairs."""


async def run_pass(run: CurrentPass, pipeline: LoadedPipeline) -> PassResult:
    """Run the steps. Raises only what ends the request: cancellation, and what the caller must hear of."""
    run.stages.number = run.state.number
    try:
        await searching.reparse_pages(run)
        for step in pipeline.message.steps:
            await _run_step(run, STEPS[step.type, step.processor], pipeline.settings[step.id], step.on_failure)
        # A pipeline without a quality gate has its claims judged all the same.
        await drafting.validate(run, {})
    except StageError as failure:
        run.result.signals.failed_stage = failure.stage
        await drafting.fall_back_to_sources(run)
    except GateClosedError:
        pass
    return describe(run)


async def _run_step(run: CurrentPass, step: Step, settings: Settings, on_failure: str) -> None:
    try:
        await step(run, settings)
    except StageError as failure:
        if on_failure == STOP or not FALLBACKS[failure.stage].branch:
            raise


def interrupt(run: CurrentPass) -> PassResult:
    """The result as it stands when the deadline ends the pass: its signals say how far it came."""
    signals = run.result.signals
    if not run.result.gathered.candidates:
        signals.failed_stage = budget_pb2.STAGE_RETRIEVE
    elif not run.result.answer.claims:
        signals.failed_stage = budget_pb2.STAGE_GENERATE
    else:
        signals.failed_stage = budget_pb2.STAGE_VALIDATE
    result = describe(run)
    signals.time_left_duration.Clear()
    signals.time_left_duration.SetInParent()
    return result


def describe(run: CurrentPass) -> PassResult:
    """The result with its signals: all that decisions read of this pass."""
    result, signals = run.result, run.result.signals
    describe_answer(signals, result.answer)
    _describe_validation(run)
    _describe_drift(run)
    signals.candidate_ids.extend(result.gathered.chosen)
    signals.evidence_ids.extend(unit.passage_id for unit in result.gathered.evidence)
    signals.keywords.extend(run.state.keywords)
    signals.failed_verdicts.extend(result.failed_verdicts)
    signals.budget_left.CopyFrom(run.budget_left())
    signals.time_left_duration.CopyFrom(to_duration(run.stages.left_s()))
    signals.pass_duration.CopyFrom(to_duration(run.stages.clock() - run.started))
    return result


def _describe_validation(run: CurrentPass) -> None:
    """An answer is complete where both its generator and validation say so."""
    signals, validation = run.result.signals, run.result.validation
    if not run.validated:
        return
    signals.release_decision = validation.decision
    signals.complete_answer_found = signals.complete_answer_found and validation.complete
    parts = {*signals.unanswered_sub_questions, *validation.uncovered_sub_questions}
    signals.unanswered_sub_questions[:] = sorted(parts)


def _describe_drift(run: CurrentPass) -> None:
    if run.state.number == 1:
        return
    gathered = run.result.gathered
    anchors = run.case.question.retrieval.anchor_keywords
    found = [gathered.candidates[passage_id] for passage_id in gathered.chosen]
    overlap = anchor_overlap(anchors, run.state.gathered.chosen, found)
    if overlap is not None:
        run.result.signals.anchor_overlap = overlap
