"""RPC in, one domain call, RPC out."""

from __future__ import annotations

from typing import Any

import grpc.aio
from prometheus_client import Counter

from citemesh.v1 import query_pb2, query_pb2_grpc
from citemesh.v1.question_pb2 import Intent
from services.query.branches import Branches
from services.query.requests import check_decide_follow_up, check_understand

Context = grpc.aio.ServicerContext[Any, Any]


class QueryHandler(query_pb2_grpc.QueryServiceServicer):
    """citemesh.v1.QueryService."""

    def __init__(self, branches: Branches, intents: Counter) -> None:
        self._branches = branches
        self._intents = intents

    async def Understand(  # noqa: N802  # the RPC's name
        self, request: query_pb2.UnderstandRequest, context: Context
    ) -> query_pb2.UnderstandResponse:
        """Parse a question."""
        check_understand(request)
        response = await self._branches.understand(request, context)
        self._intents.labels(Intent.Name(response.parsed_question.intent)).inc()
        return response

    async def DecideFollowUp(  # noqa: N802  # the RPC's name
        self, request: query_pb2.DecideFollowUpRequest, context: Context
    ) -> query_pb2.DecideFollowUpResponse:
        """Decide on a second retrieval."""
        check_decide_follow_up(request)
        return await self._branches.decide_follow_up(request, context)
