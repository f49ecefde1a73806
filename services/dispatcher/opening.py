"""The opening of a request: what is asked, what is in scope, and what a first look at the words already found.

All three run at once. The search for the original question waits for nobody; its rankings join the first pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import budget_pb2, document_pb2, documents_pb2, question_pb2, retrieval_pb2
from services.dispatcher.fallback import parse_plainly
from services.dispatcher.queries import early_queries
from services.dispatcher.resolve import Facts
from services.dispatcher.stages import StageError, Stages

Value = TypeVar("Value")

_MAX_NAMED_LOOKUPS: Final = 20
"""More named documents than this are not looked up one by one."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What is known before the first pass."""

    question: question_pb2.ParsedQuestion
    scope: document_pb2.ScopeProfile
    scope_is_known: bool
    unreadable_count: int
    """Documents that the request names and the caller cannot read."""

    early: retrieval_pb2.RetrieveResponse | None
    """What the words of the original question found; None where nobody looked or the look failed."""

    def facts(self) -> Facts:
        """What the activation rules read."""
        return Facts(self.question, self.scope, self.early.keyword_leg_can_match if self.early else True)


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What the opening of a request reads of it."""

    question: str
    history: Sequence[question_pb2.Turn]
    budget: budget_pb2.Budget
    understand: bool = True
    """Whether the pipeline has the question understood; else its own words are searched for."""

    rules_only: bool = False
    max_candidates: int = 1
    rankings_only: bool = True
    """Whether the first look may leave the passages to the search after it."""


async def open_request(stages: Stages, inquiry: Inquiry) -> Opening:
    """Understand, profile and look, in parallel. Raises ServiceError only for what the caller must hear of."""
    try:
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(_attempt(_look(stages, inquiry)))
            profiling = group.create_task(_attempt(stages.profile()))
            question = await _understand(stages, inquiry)
            if not needs_documents(question):
                looking.cancel()
                profiling.cancel()
    except* ServiceError as errors:
        raise errors.exceptions[0] from None
    if not needs_documents(question):
        return Opening(question, document_pb2.ScopeProfile(), True, 0, None)
    return await _profiled(stages, question, profiling.result(), looking.result())


def needs_documents(question: question_pb2.ParsedQuestion) -> bool:
    """Whether the question is to be answered from documents."""
    return question.need == question_pb2.RETRIEVAL_NEED_RETRIEVE


async def _understand(stages: Stages, inquiry: Inquiry) -> question_pb2.ParsedQuestion:
    if not inquiry.understand:
        return parse_plainly(inquiry.question)
    try:
        question = await stages.understand(
            inquiry.question, inquiry.history, inquiry.budget, rules_only=inquiry.rules_only
        )
    except StageError:
        return parse_plainly(inquiry.question)
    # The original is kept whatever the other side made of it.
    question.original_question = inquiry.question
    if question.need == question_pb2.RETRIEVAL_NEED_UNSPECIFIED:
        question.need = question_pb2.RETRIEVAL_NEED_RETRIEVE
    return question


async def _look(stages: Stages, inquiry: Inquiry) -> retrieval_pb2.RetrieveResponse:
    return await stages.retrieve(
        early_queries(inquiry.question), max_candidates=inquiry.max_candidates, rankings_only=inquiry.rankings_only
    )


async def _profiled(
    stages: Stages,
    question: question_pb2.ParsedQuestion,
    profile: documents_pb2.ProfileResponse | None,
    early: retrieval_pb2.RetrieveResponse | None,
) -> Opening:
    if profile is None:
        return Opening(question, document_pb2.ScopeProfile(), False, 0, early)
    scope = profile.scope_profile
    return Opening(question, scope, True, await _count_unreadable(stages, scope), early)


async def _count_unreadable(stages: Stages, scope: document_pb2.ScopeProfile) -> int:
    """Named documents that are not in scope because they cannot be read; one merely not in force is no such case."""
    if stages.scope is None or stages.scope.WhichOneof("scope") != "documents":
        return 0
    named = dict.fromkeys(stages.scope.documents.document_ids)
    if scope.document_count >= len(named):
        return 0
    if len(named) > _MAX_NAMED_LOOKUPS:
        return len(named) - scope.document_count
    profiled = {profile.document_id for profile in scope.profiles}
    async with asyncio.TaskGroup() as group:
        lookups = [
            group.create_task(_attempt(stages.can_read(document_id)))
            for document_id in named
            if document_id not in profiled
        ]
    # Where the look-up failed nothing is said of the document: the search itself will not show it.
    return sum(1 for lookup in lookups if lookup.result() is False)


async def _attempt(work: Awaitable[Value]) -> Value | None:
    """The result, or None where the stage failed: it is reported, and its absence is handled by whoever needs it."""
    try:
        return await work
    except StageError:
        return None
