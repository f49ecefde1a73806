"""One request from end to end: open it, resolve what runs, loop over passes, and say how it ended.

The order of a request stands here and nowhere else; every decision in it is a call of a pure module.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog

from citemesh.rpc.errors import ServiceError
from citemesh.rpc.request_ids import current_request_id
from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    budget_pb2,
    dispatcher_pb2,
    errors_pb2,
    generation_pb2,
    validation_pb2,
)
from services.dispatcher.adjust import adjust, open_state
from services.dispatcher.budget import limit_policy, open_budget, reserve_s
from services.dispatcher.citing import cited_evidence
from services.dispatcher.completing import open_completed
from services.dispatcher.desk import Desk
from services.dispatcher.loop import Loop, decide, iterate, record_pass
from services.dispatcher.one_pass import interrupt, run_pass
from services.dispatcher.opening import Inquiry, Opening
from services.dispatcher.outcome import ANSWERED, SOURCES_ONLY, WITHHELD, outcome_of_pass, outcome_without_pass
from services.dispatcher.pipelines import GENERATOR, OPTIMIZER, LoadedPipeline
from services.dispatcher.requests import DEFAULT_PIPELINE
from services.dispatcher.resolve import resolve
from services.dispatcher.responding import RELEASED, respond_after_loop, respond_without_pass
from services.dispatcher.stages import StageError, Stages, to_duration
from services.dispatcher.state import Case, LoopState, PassResult
from services.dispatcher.steps.current import CurrentPass
from services.dispatcher.steps.drafting import keep_current_sources
from services.dispatcher.stop import Stop
from services.dispatcher.words import outcome_name, stop_name

Event = dispatcher_pb2.AnswerStreamResponse
Emit = Callable[[Event], None]

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Answering:
    """One request as it runs. Its state is readable at any time, so that a deadline finds the best so far."""

    desk: Desk
    request: dispatcher_pb2.AnswerRequest
    left_s: float | None
    emit: Emit | None = None
    """Takes what is told on the way; None where the caller waits for the response alone."""

    policy: dispatcher_pb2.Policy = field(init=False)
    pipeline: LoadedPipeline = field(init=False)
    stages: Stages = field(init=False)
    arrived: float = field(init=False)
    opening: Opening | None = None
    activations: activation_pb2.Activations = field(default_factory=activation_pb2.Activations)
    loop: Loop | None = None
    current: CurrentPass | None = None
    """The pass that runs now; None between passes."""

    direct: answer_pb2.AnswerWithEvidence | None = None
    """The reply that needed no documents."""

    timings: dispatcher_pb2.Timings = field(default_factory=dispatcher_pb2.Timings)
    sent_claims: set[str] = field(default_factory=set)
    review_id: str = ""

    def __post_init__(self) -> None:
        self.policy = limit_policy(self.desk.settings.policy(), self.request.budget)
        self.pipeline = self.desk.pipelines[self.request.pipeline or DEFAULT_PIPELINE]
        self.stages = self.desk.open_stages(self.request, self.left_s)
        self.stages.on_report = self._report
        self.arrived = self.stages.clock()

    async def answer(self) -> dispatcher_pb2.AnswerResponse:
        """The response, before the caller's deadline. Raises ServiceError where there is nothing to return."""
        limit = asyncio.timeout(self.stages.left_s())
        try:
            async with limit:
                await self._proceed()
        except TimeoutError:
            if not limit.expired():
                raise
            await self._cut_short()
        response = self._respond()
        self.desk.measures.count_answer(response, self.request.release_mode)
        _log.info(
            "answered",
            outcome=outcome_name(response.outcome),
            stop=stop_name(response.stop_reason),
            pass_count=len(response.history),
            exhausted=response.exhausted,
        )
        return response

    # The order of a request ----------------------------------------------------------------------------------------

    async def _proceed(self) -> None:
        opening = self.opening = await open_completed(self.stages, self._inquiry())
        self.activations = resolve(opening.facts())
        self._tell(activations=self.activations)
        outcome = self._outcome_without_pass(opening)
        if outcome is None:
            await self._run_loop(opening)
        elif outcome == ANSWERED:
            await self._reply_directly(opening)

    def _inquiry(self) -> Inquiry:
        return Inquiry(
            self.request.question,
            self.request.history,
            open_budget(self.policy),
            understand=self.pipeline.find(OPTIMIZER, "understand") is not None,
            max_candidates=self.desk.settings.max_candidates,
            rankings_only=self.pipeline.searches_first,
        )

    def _outcome_without_pass(self, opening: Opening) -> answer_pb2.AnswerOutcome.ValueType | None:
        return outcome_without_pass(
            opening.question,
            opening.scope,
            scope_is_known=opening.scope_is_known,
            unreadable_count=opening.unreadable_count,
        )

    async def _run_loop(self, opening: Opening) -> None:
        case = Case(opening.question, opening.scope, self.activations, self.policy)
        self.loop = Loop(case)
        await iterate(
            self.loop,
            open_state(case, opening.early),
            run_pass=partial(self._run_pass, case),
            adjust=partial(adjust, case),
            after_pass=partial(self._after_pass, self.loop),
        )
        await self._queue_for_review(self.loop)

    async def _run_pass(self, case: Case, state: LoopState) -> PassResult:
        streams = self.request.release_mode == answer_pb2.RELEASE_MODE_UNVALIDATED and state.number == 1
        emit_text = self._send_text if streams else None
        self.current = CurrentPass(
            self.stages, case, self.desk.settings, state, turns=self.request.history, emit_text=emit_text
        )
        return await run_pass(self.current, self.pipeline)

    def _after_pass(self, loop: Loop, result: PassResult) -> None:
        self.current = None
        self._tell(iteration=loop.history[-1])
        if result is loop.best and outcome_of_pass(result.signals) in RELEASED:
            self._mark("complete_answer_duration")
            self._mark("validated_answer_duration")
            self._send_claims(result)

    async def _reply_directly(self, opening: Opening) -> None:
        """Small talk, or the last answer said differently: no documents, so no claims either."""
        step = self.pipeline.find(GENERATOR, "grounded")
        request = generation_pb2.GenerateRequest(
            parsed_question=opening.question,
            rules=self.pipeline.settings[step.id].get("rules", "") if step else "",
            history=self.request.history,
            budget=open_budget(self.policy),
        )
        try:
            answer = (await self.stages.generate(request)).answer
        except StageError as failure:
            raise ServiceError(failure.reason, failure.text) from failure
        self.direct = answer_pb2.AnswerWithEvidence(
            text=answer.text, language=answer.language, complete_answer_found=True, confidence=answer.confidence
        )
        self._mark("complete_answer_duration")

    async def _queue_for_review(self, loop: Loop) -> None:
        """Only the answer that is withheld in the end waits for a person, not every draft on the way."""
        best = loop.best
        if best is None or outcome_of_pass(best.signals) != WITHHELD:
            return
        cited = cited_evidence(best.answer, best.evidence)
        try:
            request = validation_pb2.ValidateRequest(
                parsed_question=loop.case.question,
                answer=best.answer,
                evidence=cited,
                checks=await self.stages.check_passages([unit.passage_id for unit in cited]),
                as_of_time=self.stages.as_of_time,
                queue_when_withheld=True,
            )
            self.review_id = (await self.stages.validate(request)).review_id
        except StageError:
            # The answer stays withheld all the same; the report of the stage says why nobody will review it.
            self.review_id = ""

    # The end of the time -------------------------------------------------------------------------------------------

    async def _cut_short(self) -> None:
        """The time is over: the best so far, or the sources so far, or DEADLINE_EXCEEDED."""
        if self.loop is None:
            raise _deadline_exceeded()
        interrupted = self.current
        if interrupted is None:
            return
        record_pass(self.loop, interrupted.state, interrupt(interrupted))
        self._tell(iteration=self.loop.history[-1])
        decision = decide(self.loop.case, self.loop.history)
        assert isinstance(decision, Stop), "no time at all is left, which is a rule to stop"
        self.loop.stop = decision
        if self.loop.best is interrupted.result:
            await self._show_sources(interrupted)

    async def _show_sources(self, interrupted: CurrentPass) -> None:
        """Check the sources in the time kept in reserve; what cannot be checked is not shown."""
        if outcome_of_pass(interrupted.result.signals) != SOURCES_ONLY:
            raise _deadline_exceeded()
        self.stages.ends_at += reserve_s(self.desk.time_for(self.left_s))
        try:
            await keep_current_sources(interrupted)
        except StageError:
            raise _deadline_exceeded() from None
        if not interrupted.result.evidence:
            raise _deadline_exceeded()

    def _respond(self) -> dispatcher_pb2.AnswerResponse:
        opening = self.opening
        assert opening is not None, "without an opening the request has ended with an error"
        if self.loop is not None:
            response = respond_after_loop(opening, self.loop, self.stages)
        else:
            outcome = self._outcome_without_pass(opening)
            assert outcome is not None, "without a loop the outcome is known from the opening"
            response = respond_without_pass(opening, self.activations, self.stages, outcome, self.direct)
        response.pipeline = self.pipeline.message.name
        response.policy.CopyFrom(self.policy)
        response.request_id = self.request.request_id or current_request_id() or secrets.token_hex(8)
        response.review_id = self.review_id
        if response.outcome in RELEASED:
            self._mark_first_text()
        self._mark("total_duration")
        response.timings.CopyFrom(self.timings)
        return response

    # Events on the way ---------------------------------------------------------------------------------------------

    def _tell(self, **part: Any) -> None:
        if self.emit is not None:
            self.emit(Event(**part))

    def _report(self, report: budget_pb2.StageReport) -> None:
        self.desk.measures.count_stage(report)
        self._tell(stage_report=report)

    def _send_text(self, text: str) -> None:
        self._mark_first_text()
        self._tell(text_delta=text)

    def _send_claims(self, result: PassResult) -> None:
        """Claims leave once validation has released what they are part of; a later pass sends only what is new."""
        if self.request.release_mode != answer_pb2.RELEASE_MODE_VALIDATED_CLAIMS:
            return
        for claim in result.answer.claims:
            if claim.text not in self.sent_claims:
                self._mark_first_text()
                self.sent_claims.add(claim.text)
                self._tell(claim=claim)

    def _mark_first_text(self) -> None:
        if not self.timings.HasField("first_text_duration"):
            self._mark("first_text_duration")

    def _mark(self, name: str) -> None:
        getattr(self.timings, name).CopyFrom(to_duration(self.stages.clock() - self.arrived))


def _deadline_exceeded() -> ServiceError:
    return ServiceError(
        errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED,
        "The deadline passed before anything could be answered: allow more time, or narrow the scope.",
    )
