"""One request from end to end: open it, resolve what runs, loop over passes, and say how it ended.

The order of a request stands here and nowhere else; every decision in it is a call of a pure module.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import structlog
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.rpc.errors import ServiceError
from citemesh.rpc.request_ids import current_request_id
from citemesh.v1 import (
    activation_pb2,
    answer_pb2,
    budget_pb2,
    dispatcher_pb2,
    errors_pb2,
    generation_pb2,
    history_pb2,
    validation_pb2,
)
from services.dispatcher import outcome as outcomes
from services.dispatcher.adjust import adjust, open_state
from services.dispatcher.budget import limit_policy, open_budget, reserve_s
from services.dispatcher.candidates import trace_candidates
from services.dispatcher.citing import cited_evidence
from services.dispatcher.loop import Loop, decide, iterate, record_pass
from services.dispatcher.measures import Measures
from services.dispatcher.one_pass import interrupt, run_pass
from services.dispatcher.opening import Inquiry, Opening, open_request
from services.dispatcher.pipelines import GENERATOR, OPTIMIZER, LoadedPipeline
from services.dispatcher.requests import DEFAULT_PIPELINE
from services.dispatcher.resolve import resolve
from services.dispatcher.settings import DispatcherSettings
from services.dispatcher.stages import StageError, Stages, Stubs, to_duration
from services.dispatcher.state import Case, LoopState, PassResult
from services.dispatcher.steps.current import CurrentPass
from services.dispatcher.steps.drafting import keep_current_sources
from services.dispatcher.stop import Stop
from services.dispatcher.words import outcome_name, stop_name

Event = dispatcher_pb2.AnswerStreamResponse
Emit = Callable[[Event], None]

_log = structlog.get_logger(__name__)

_RELEASED = (outcomes.ANSWERED, outcomes.CORRECTED)
_NO_PASS = Stop(history_pb2.STOP_REASON_NO_PASS_NEEDED)


@dataclass(frozen=True, slots=True)
class Desk:
    """What all requests share."""

    stubs: Stubs
    settings: DispatcherSettings
    pipelines: Mapping[str, LoadedPipeline]
    measures: Measures

    def open_stages(
        self, request: dispatcher_pb2.AnswerRequest | dispatcher_pb2.ExplainRequest, left_s: float | None
    ) -> Stages:
        """The stages for one request that has `left_s` seconds; they end a reserve earlier."""
        total_s = self.settings.default_timeout_s if left_s is None else left_s
        as_of_time = Timestamp()
        if request.HasField("as_of_time"):
            as_of_time.CopyFrom(request.as_of_time)
        else:
            # One moment for the whole request: a document that changes while it runs is not seen half.
            as_of_time.GetCurrentTime()
        scope = request.scope if request.HasField("scope") else None
        stages = Stages(self.stubs, scope, as_of_time, ends_at=0.0)
        stages.ends_at = stages.clock() + total_s - reserve_s(total_s)
        return stages


async def explain(
    desk: Desk, request: dispatcher_pb2.ExplainRequest, left_s: float | None
) -> dispatcher_pb2.ExplainResponse:
    """What a question would run, and why: by rules alone, no model is called."""
    inquiry = Inquiry(request.question, request.history, budget_pb2.Budget(), rules_only=True)
    opening = await open_request(desk.open_stages(request, left_s), inquiry)
    response = dispatcher_pb2.ExplainResponse(
        parsed_question=opening.question, scope_profile=opening.scope, activations=resolve(opening.facts())
    )
    if opening.early is not None:
        response.keyword_leg_can_match = opening.early.keyword_leg_can_match
    return response


@dataclass(slots=True)
class Answering:
    """One request as it runs."""

    desk: Desk
    request: dispatcher_pb2.AnswerRequest
    left_s: float | None
    emit: Emit = lambda _: None
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

    async def _proceed(self) -> None:
        opening = self.opening = await open_request(self.stages, self._inquiry())
        self.activations = resolve(opening.facts())
        self.emit(Event(activations=self.activations))
        ended = self._outcome_without_pass(opening)
        if ended is None:
            await self._run_loop(opening)
        elif ended == outcomes.ANSWERED:
            await self._reply_directly(opening)

    def _inquiry(self) -> Inquiry:
        return Inquiry(
            self.request.question,
            self.request.history,
            open_budget(self.policy),
            understand=self.pipeline.find(OPTIMIZER, "understand") is not None,
            max_candidates=self.desk.settings.max_candidates,
        )

    def _outcome_without_pass(self, opening: Opening) -> answer_pb2.AnswerOutcome.ValueType | None:
        return outcomes.outcome_without_pass(
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
            run_pass=self._run_pass,
            adjust=partial(adjust, case),
            after_pass=self._after_pass,
        )
        await self._queue_for_review(self.loop)

    async def _run_pass(self, state: LoopState) -> PassResult:
        assert self.loop is not None
        streams = self.request.release_mode == answer_pb2.RELEASE_MODE_UNVALIDATED and state.number == 1
        self.current = CurrentPass(
            self.stages,
            self.loop.case,
            self.desk.settings,
            state,
            self.request.history,
            self._send_text if streams else None,
        )
        return await run_pass(self.current, self.pipeline)

    def _after_pass(self, result: PassResult) -> None:
        assert self.loop is not None
        self.current = None
        self.emit(Event(iteration=self.loop.history[-1]))
        if result is self.loop.best and result.answer.claims:
            self._clock("complete_answer_duration")
            self._clock("validated_answer_duration")
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
        self._clock("complete_answer_duration")

    async def _queue_for_review(self, loop: Loop) -> None:
        """Only the answer that is withheld in the end waits for a person, not every draft on the way."""
        best = loop.best
        if best is None or outcomes.outcome_of_pass(best.signals) != outcomes.WITHHELD:
            return
        cited = cited_evidence(best.answer, best.evidence)
        try:
            checks = await self.stages.check_passages([unit.passage_id for unit in cited])
            validation = await self.stages.validate(
                validation_pb2.ValidateRequest(
                    parsed_question=loop.case.question,
                    answer=best.answer,
                    evidence=cited,
                    checks=checks,
                    as_of_time=self.stages.as_of_time,
                    queue_when_withheld=True,
                )
            )
            self.review_id = validation.review_id
        except StageError:
            # The answer stays withheld all the same; the report of the stage says why nobody will review it.
            self.review_id = ""

    async def _cut_short(self) -> None:
        """The time is over: the best so far, or the sources so far, or DEADLINE_EXCEEDED."""
        if self.loop is None:
            raise _deadline_exceeded()
        interrupted = self.current
        if interrupted is not None:
            record_pass(self.loop, interrupted.state, interrupt(interrupted))
            self.emit(Event(iteration=self.loop.history[-1]))
            decision = decide(self.loop.case, self.loop.history)
            assert isinstance(decision, Stop), "no time at all is left, which is a rule to stop"
            self.loop.stop = decision
        if interrupted is not None and self.loop.best is interrupted.result:
            await self._show_sources(interrupted)

    async def _show_sources(self, interrupted: CurrentPass) -> None:
        """Check the sources in the time kept in reserve; what cannot be checked is not shown."""
        if outcomes.outcome_of_pass(interrupted.result.signals) != outcomes.SOURCES_ONLY:
            raise _deadline_exceeded()
        self.stages.ends_at += reserve_s(self.left_s or self.desk.settings.default_timeout_s)
        try:
            await keep_current_sources(interrupted)
        except StageError:
            raise _deadline_exceeded() from None
        if not interrupted.result.evidence:
            raise _deadline_exceeded()

    # Saying it -----------------------------------------------------------------------------------------------------

    def _respond(self) -> dispatcher_pb2.AnswerResponse:
        opening = self.opening
        assert opening is not None, "without an opening the request has ended with an error"
        stop = (self.loop.stop if self.loop else None) or _NO_PASS
        response = dispatcher_pb2.AnswerResponse(
            activations=self.activations,
            stage_reports=self.stages.reports,
            cost=self.stages.cost(),
            exhausted=stop.exhausted,
            stop_reason=stop.reason,
            parsed_question=opening.question,
            scope_profile=opening.scope,
            unreadable_document_count=opening.unreadable_count,
            pipeline=self.pipeline.message.name,
            policy=self.policy,
            request_id=self.request.request_id or current_request_id() or secrets.token_hex(8),
            as_of_time=self.stages.as_of_time,
            index_snapshot=self.stages.index_snapshot,
            permission_version=self.stages.permission_version,
            review_id=self.review_id,
        )
        if opening.early is not None:
            response.keyword_leg_can_match = opening.early.keyword_leg_can_match
        if self.loop is not None and self.loop.best is not None:
            self._tell_loop(response, self.loop, self.loop.best)
        else:
            ended = self._outcome_without_pass(opening)
            assert ended is not None, "without a pass the outcome is known from the opening"
            response.outcome = ended
            response.answer.CopyFrom(self.direct or answer_pb2.AnswerWithEvidence())
        response.message = outcomes.message_for(response.outcome, opening.question)
        self._tell_timings(response)
        return response

    def _tell_loop(self, response: dispatcher_pb2.AnswerResponse, loop: Loop, best: PassResult) -> None:
        response.outcome = outcomes.outcome_of_pass(best.signals)
        response.history.extend(loop.history)
        response.candidates.extend(trace_candidates((loop.last or best).gathered))
        response.verdicts.extend(best.failed_verdicts)
        failed = {(verdict.claim_id, verdict.verdict) for verdict in best.failed_verdicts}
        response.verdicts.extend(
            verdict for verdict in best.validation.verdicts if (verdict.claim_id, verdict.verdict) not in failed
        )
        if response.outcome in _RELEASED:
            response.answer.CopyFrom(best.answer)
            response.evidence.extend(cited_evidence(best.answer, best.evidence))
        elif response.outcome == outcomes.SOURCES_ONLY:
            response.evidence.extend(best.evidence)

    def _tell_timings(self, response: dispatcher_pb2.AnswerResponse) -> None:
        if response.outcome not in _RELEASED:
            self.timings.ClearField("complete_answer_duration")
            self.timings.ClearField("validated_answer_duration")
        elif not self.timings.HasField("first_text_duration"):
            self._clock("first_text_duration")
        self._clock("total_duration")
        response.timings.CopyFrom(self.timings)

    def _clock(self, name: str) -> None:
        getattr(self.timings, name).CopyFrom(to_duration(self.stages.clock() - self.arrived))

    # Events --------------------------------------------------------------------------------------------------------

    def _report(self, report: budget_pb2.StageReport) -> None:
        self.desk.measures.count_stage(report)
        self.emit(Event(stage_report=report))

    def _send_text(self, text: str) -> None:
        self._clock_first_text()
        self.emit(Event(text_delta=text))

    def _send_claims(self, result: PassResult) -> None:
        """Claims leave once validation has released what they are part of; a later pass sends only what is new."""
        wanted = self.request.release_mode == answer_pb2.RELEASE_MODE_VALIDATED_CLAIMS
        if not wanted or outcomes.outcome_of_pass(result.signals) not in _RELEASED:
            return
        for claim in result.answer.claims:
            if claim.text not in self.sent_claims:
                self._clock_first_text()
                self.sent_claims.add(claim.text)
                self.emit(Event(claim=claim))

    def _clock_first_text(self) -> None:
        if not self.timings.HasField("first_text_duration"):
            self._clock("first_text_duration")


def _deadline_exceeded() -> ServiceError:
    return ServiceError(
        errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED,
        "The deadline passed before anything could be answered: allow more time, or narrow the scope.",
    )
