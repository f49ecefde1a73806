"""The calls to the other services, one method each: deadline share, credentials, report and cost are the same for all.

A call that fails is reported and raises StageError; what takes its place is decided in fallback.py. Nothing here
decides anything.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeVar, cast

import grpc.aio
from google.protobuf.descriptor import Descriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.rpc.calls import call, open_stream
from citemesh.rpc.errors import ServiceError, reason_name
from citemesh.v1 import (
    activation_pb2,
    budget_pb2,
    documents_pb2,
    documents_pb2_grpc,
    errors_pb2,
    generation_pb2,
    generation_pb2_grpc,
    query_pb2,
    query_pb2_grpc,
    question_pb2,
    rerank_pb2,
    rerank_pb2_grpc,
    retrieval_pb2,
    retrieval_pb2_grpc,
    validation_pb2,
    validation_pb2_grpc,
)
from services.dispatcher.budget import stage_timeout_s, sum_costs
from services.dispatcher.fallback import FALLBACKS
from services.dispatcher.words import pattern_name

Response = TypeVar("Response", bound=Message)
First = TypeVar("First")
Second = TypeVar("Second")
Open = Callable[[str], grpc.aio.Channel]

# The caller's credentials were good when the request came in: where they end on the way, the caller must hear of it.
_FOR_THE_CALLER: Final = (errors_pb2.ERROR_REASON_UNAUTHENTICATED, errors_pb2.ERROR_REASON_TOKEN_EXPIRED)
_SEARCHING_LEGS: Final = (activation_pb2.PATTERN_KEYWORD, activation_pb2.PATTERN_DENSE)
_NO_SUCH_DOCUMENT: Final = errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND


class StageError(Exception):
    """A stage of this request failed; it has been reported."""

    def __init__(self, stage: budget_pb2.Stage.ValueType, reason: errors_pb2.ErrorReason.ValueType, text: str) -> None:
        super().__init__(text)
        self.stage = stage
        self.reason = reason
        self.text = text


class Stubs:
    """The six other services, over the channels that the host gives."""

    def __init__(self, open_channel: Open) -> None:
        self.query = query_pb2_grpc.QueryServiceStub(open_channel("query"))
        self.retrieval = retrieval_pb2_grpc.RetrievalServiceStub(open_channel("retrieval"))
        self.rerank = rerank_pb2_grpc.RerankServiceStub(open_channel("rerank"))
        self.generation = generation_pb2_grpc.GenerationServiceStub(open_channel("generation"))
        self.validation = validation_pb2_grpc.ValidationServiceStub(open_channel("validation"))
        self.documents = documents_pb2_grpc.DocumentsServiceStub(open_channel("documents"))


@dataclass(slots=True)
class Stages:
    """The stages of one request: what is the same in all its calls, and what they reported and spent."""

    stubs: Stubs
    scope: question_pb2.Scope | None
    as_of_time: Timestamp
    ends_at: float
    """By `clock`, the moment after which no stage may work: the caller's deadline less the reserve."""

    on_report: Callable[[budget_pb2.StageReport], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    number: int = 0
    """The pass that runs now; 0 before the first."""

    reports: list[budget_pb2.StageReport] = field(default_factory=list)
    index_snapshot: str = ""
    permission_version: int = 0

    def left_s(self) -> float:
        """Seconds left to the stages."""
        return max(0.0, self.ends_at - self.clock())

    def cost(self) -> budget_pb2.Cost:
        """What was spent so far."""
        return sum_costs(report.cost for report in self.reports if report.HasField("cost"))

    async def understand(
        self, question: str, history: Sequence[question_pb2.Turn], budget: budget_pb2.Budget, *, rules_only: bool
    ) -> question_pb2.ParsedQuestion:
        """query.Understand."""
        request = query_pb2.UnderstandRequest(question=question, history=history, budget=budget, rules_only=rules_only)
        response = await self._call(budget_pb2.STAGE_UNDERSTAND, "query", self.stubs.query.Understand, request)
        return response.parsed_question

    async def profile(self) -> documents_pb2.ProfileResponse:
        """documents.Profile of the scope."""
        request = documents_pb2.ProfileRequest(scope=self.scope, as_of_time=self.as_of_time)
        return await self._call(budget_pb2.STAGE_PROFILE, "documents", self.stubs.documents.Profile, request)

    async def can_read(self, document_id: str) -> bool:
        """Whether the caller can read the document, at whatever time it is in force. Raises StageError."""
        request = documents_pb2.GetRequest(document_id=document_id)
        try:
            await self._call(budget_pb2.STAGE_PROFILE, "documents", self.stubs.documents.Get, request, silent=True)
        except StageError as failure:
            if failure.reason == _NO_SUCH_DOCUMENT:
                return False
            raise
        return True

    async def retrieve(
        self,
        queries: Iterable[retrieval_pb2.LegQuery],
        *,
        max_candidates: int,
        plan: question_pb2.RetrievalPlan | None = None,
        prior_rankings: Iterable[retrieval_pb2.Ranking] = (),
        excluded_passage_ids: Iterable[str] = (),
        rankings_only: bool = False,
    ) -> retrieval_pb2.RetrieveResponse:
        """retrieval.Retrieve. Raises StageError also where every leg that ran has failed."""
        plan = plan or question_pb2.RetrievalPlan()
        request = retrieval_pb2.RetrieveRequest(
            queries=queries,
            prior_rankings=prior_rankings,
            document_hints=plan.document_hints,
            scope=self.scope,
            as_of_time=self.as_of_time,
            max_candidates=max_candidates,
            excluded_passage_ids=excluded_passage_ids,
            rankings_only=rankings_only,
        )
        if plan.section_hint:
            request.section_hint = plan.section_hint
        response = await self._call(budget_pb2.STAGE_RETRIEVE, "retrieval", self.stubs.retrieval.Retrieve, request)
        self.index_snapshot, self.permission_version = response.index_snapshot, response.permission_version
        if find_lost_search(response):
            reason = errors_pb2.ERROR_REASON_RETRIEVAL_UNAVAILABLE
            raise StageError(budget_pb2.STAGE_RETRIEVE, reason, "Neither words nor meaning could be searched.")
        return response

    async def follow_references(
        self, references: Iterable[question_pb2.Reference], from_passage_ids: Iterable[str], max_passages: int
    ) -> retrieval_pb2.FollowReferencesResponse:
        """retrieval.FollowReferences, one hop: each further hop has a pass, and so a record, of its own."""
        request = retrieval_pb2.FollowReferencesRequest(
            references=references,
            from_passage_ids=from_passage_ids,
            scope=self.scope,
            as_of_time=self.as_of_time,
            max_hops=1,
            max_passages=max_passages,
        )
        method = self.stubs.retrieval.FollowReferences
        return await self._call(budget_pb2.STAGE_FOLLOW_REFERENCES, "retrieval", method, request)

    async def list_items(
        self,
        question: question_pb2.ParsedQuestion,
        keywords: Iterable[str],
        anchor_passage_ids: Iterable[str],
        listing_scope: retrieval_pb2.ListingScope.ValueType,
    ) -> retrieval_pb2.ListItemsResponse:
        """retrieval.ListItems around the anchors."""
        request = retrieval_pb2.ListItemsRequest(
            question=question.standalone_question or question.original_question,
            keywords=keywords,
            anchor_passage_ids=anchor_passage_ids,
            listing_scope=listing_scope,
            scope=self.scope,
            as_of_time=self.as_of_time,
        )
        if question.HasField("requested_count"):
            request.requested_count = question.requested_count
        return await self._call(budget_pb2.STAGE_LIST_ITEMS, "retrieval", self.stubs.retrieval.ListItems, request)

    async def check_passages(self, passage_ids: Sequence[str]) -> Sequence[retrieval_pb2.PassageCheck]:
        """retrieval.GetPassages for statuses only: how the passages stand now, for this caller."""
        if not passage_ids:
            return ()
        request = retrieval_pb2.GetPassagesRequest(
            passage_ids=passage_ids, scope=self.scope, as_of_time=self.as_of_time, statuses_only=True
        )
        response = await self._call(budget_pb2.STAGE_RECHECK, "retrieval", self.stubs.retrieval.GetPassages, request)
        return response.checks

    async def rerank(
        self, queries: Iterable[str], passages: Iterable[rerank_pb2.PairText]
    ) -> rerank_pb2.RerankResponse:
        """rerank.Rerank."""
        request = rerank_pb2.RerankRequest(queries=queries, passages=passages)
        return await self._call(budget_pb2.STAGE_RERANK, "rerank", self.stubs.rerank.Rerank, request)

    async def assemble(self, request: rerank_pb2.AssembleContextRequest) -> rerank_pb2.AssembleContextResponse:
        """rerank.AssembleContext."""
        return await self._call(budget_pb2.STAGE_ASSEMBLE, "rerank", self.stubs.rerank.AssembleContext, request)

    async def generate(
        self, request: generation_pb2.GenerateRequest, emit_text: Callable[[str], None] | None = None
    ) -> generation_pb2.GenerateResponse:
        """generation.Generate; with `emit_text`, GenerateStream, whose text is handed on as it comes."""
        stage = budget_pb2.STAGE_GENERATE
        if emit_text is None:
            return await self._call(stage, "generation", self.stubs.generation.Generate, request)
        return await self._report(stage, self._generate_stream(request, emit_text))

    async def _generate_stream(
        self, request: generation_pb2.GenerateRequest, emit_text: Callable[[str], None]
    ) -> generation_pb2.GenerateResponse:
        method = self.stubs.generation.GenerateStream
        timeout = stage_timeout_s(budget_pb2.STAGE_GENERATE, self.left_s())
        wrapped = generation_pb2.GenerateStreamRequest(request=request)
        async with open_stream(method, wrapped, timeout=timeout, service="generation") as events:
            async for event in events:
                if event.HasField("text_delta"):
                    emit_text(event.text_delta)
                elif event.HasField("response"):
                    return event.response
        raise ServiceError(errors_pb2.ERROR_REASON_INTERNAL, "The generation ended without a response.")

    async def validate(self, request: validation_pb2.ValidateRequest) -> validation_pb2.ValidateResponse:
        """validation.Validate."""
        return await self._call(budget_pb2.STAGE_VALIDATE, "validation", self.stubs.validation.Validate, request)

    async def reparse(self, document_id: str, page_numbers: Iterable[int]) -> documents_pb2.ReparseResponse:
        """documents.Reparse of these pages only."""
        request = documents_pb2.ReparseRequest(
            document_id=document_id, page_numbers=page_numbers, as_of_time=self.as_of_time
        )
        return await self._call(budget_pb2.STAGE_REPARSE, "documents", self.stubs.documents.Reparse, request)

    async def decide_follow_up(self, request: query_pb2.DecideFollowUpRequest) -> query_pb2.DecideFollowUpResponse:
        """query.DecideFollowUp."""
        return await self._call(budget_pb2.STAGE_DECIDE_FOLLOW_UP, "query", self.stubs.query.DecideFollowUp, request)

    async def _call(
        self,
        stage: budget_pb2.Stage.ValueType,
        service: str,
        method: grpc.aio.UnaryUnaryMultiCallable[Any, Response],
        request: Message,
        *,
        silent: bool = False,
    ) -> Response:
        timeout = stage_timeout_s(stage, self.left_s())
        return await self._report(stage, call(method, request, timeout=timeout, service=service), silent=silent)

    async def _report(
        self, stage: budget_pb2.Stage.ValueType, calling: Awaitable[Response], *, silent: bool = False
    ) -> Response:
        """Await the call and report how it went; a `silent` one belongs to a stage that reports once."""
        started = self.clock()
        report = budget_pb2.StageReport(stage=stage, iteration_number=self.number)
        try:
            response = await calling
        except ServiceError as error:
            if error.reason in _FOR_THE_CALLER:
                raise
            report.branch = FALLBACKS[stage].branch
            report.error_reason = reason_name(error.reason)
            report.fallback_reason = report.error_reason if report.branch else ""
            raise StageError(stage, error.reason, error.message) from error
        else:
            _describe(report, response)
            return response
        finally:
            report.duration.CopyFrom(to_duration(self.clock() - started))
            if not silent:
                self.reports.append(report)
                self.on_report(report)


async def settle_both(
    first: Awaitable[First], second: Awaitable[Second]
) -> tuple[First | StageError, Second | StageError]:
    """Await two calls side by side. A stage that failed is returned as such, so that the other one may still end.

    Raises ServiceError, as each alone does, for what the caller must hear of.
    """
    try:
        async with asyncio.TaskGroup() as group:
            beside = group.create_task(_settle(second))
            settled = await _settle(first)
    except* ServiceError as errors:
        raise errors.exceptions[0] from None
    return settled, beside.result()


async def _settle(calling: Awaitable[First]) -> First | StageError:
    try:
        return await calling
    except StageError as failure:
        return failure


def _describe(report: budget_pb2.StageReport, response: Message) -> None:
    """Copy what responses say of themselves, each as far as its message has the field."""
    if isinstance(response, retrieval_pb2.RetrieveResponse):
        _describe_legs(report, response)
        return
    told = _told_by(response.DESCRIPTOR)
    if "branch" in told:
        report.branch = cast(Any, response).branch
    if "fallback_reason" in told:
        report.fallback_reason = cast(Any, response).fallback_reason
    if "cost" in told:
        report.cost.CopyFrom(cast(Any, response).cost)


@cache
def _told_by(descriptor: Descriptor) -> frozenset[str]:
    return frozenset(descriptor.fields_by_name.keys())


def _describe_legs(report: budget_pb2.StageReport, response: retrieval_pb2.RetrieveResponse) -> None:
    legs = response.leg_reports
    report.branch = "+".join(pattern_name(leg.leg) for leg in legs if not leg.error_reason)
    report.fallback_reason = ", ".join(
        f"{pattern_name(leg.leg)}: {leg.error_reason}" for leg in legs if leg.error_reason
    )
    report.cached = bool(legs) and all(leg.cached for leg in legs)
    report.error_reason = find_lost_search(response)


def find_lost_search(response: retrieval_pb2.RetrieveResponse) -> str:
    """Why the search is lost: all legs that search words or meaning failed; empty where one of them works."""
    searching = [leg for leg in response.leg_reports if leg.leg in _SEARCHING_LEGS]
    failed = [leg.error_reason for leg in searching if leg.error_reason]
    return failed[0] if failed and len(failed) == len(searching) else ""


def to_duration(seconds: float) -> Duration:
    """Seconds as a Duration, to the microsecond."""
    whole, micros = divmod(max(0, round(seconds * 1e6)), 1_000_000)
    return Duration(seconds=whole, nanos=micros * 1000)
