"""RPC in, one domain call, RPC out."""

from __future__ import annotations

import time
from typing import Any

import grpc.aio

from citemesh.rpc.deadline import remaining_s
from citemesh.telemetry import names
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import budget_pb2, rerank_pb2, rerank_pb2_grpc
from services.rerank.assemble import Limits, assemble_context
from services.rerank.ranking import Ranker
from services.rerank.requests import check_assemble, check_rerank
from services.rerank.settings import RerankSettings

Context = grpc.aio.ServicerContext[Any, Any]


class RerankHandler(rerank_pb2_grpc.RerankServiceServicer):
    """citemesh.v1.RerankService."""

    def __init__(self, ranker: Ranker, settings: RerankSettings, metrics: MetricFactory) -> None:
        self._ranker = ranker
        self._settings = settings
        branch = ranker.backend.branch
        self._pairs = metrics.counter(names.RERANK_PAIRS, backend=(branch,)).labels(branch)
        self._abstentions = metrics.counter(names.RERANK_ABSTENTIONS)
        self._context_tokens = metrics.histogram(names.CONTEXT_TOKENS)

    async def Rerank(  # noqa: N802  # the RPC's name
        self, request: rerank_pb2.RerankRequest, context: Context
    ) -> rerank_pb2.RerankResponse:
        """Score pairs."""
        check_rerank(request)
        remaining = remaining_s(context)
        deadline = None if remaining is None else time.monotonic() + remaining
        ranking = await self._ranker.rank(request.queries, request.passages, deadline)
        self._pairs.inc(ranking.scored_pair_count)
        if ranking.scores[0].relevance < self._settings.min_relevance:
            self._abstentions.inc()
        card = self._ranker.backend.card
        return rerank_pb2.RerankResponse(
            scores=ranking.scores,
            model=f"{card.model_id}@{card.revision}",
            calibration=self._ranker.calibration.name,
            branch=self._ranker.backend.branch,
            cost=budget_pb2.Cost(scored_pair_count=ranking.scored_pair_count),
        )

    async def AssembleContext(  # noqa: N802  # the RPC's name
        self, request: rerank_pb2.AssembleContextRequest, context: Context
    ) -> rerank_pb2.AssembleContextResponse:
        """Select evidence."""
        check_assemble(request)
        limits = Limits(
            max_token_count=request.max_token_count,
            max_evidence_count=request.max_evidence_count or self._settings.max_evidence_count,
            min_relevance=(
                request.min_relevance if request.HasField("min_relevance") else self._settings.min_relevance
            ),
        )
        response = assemble_context(
            request.candidates, limits, request.required_passage_ids, request.known_evidence_ids
        )
        self._context_tokens.observe(response.token_count)
        return response
