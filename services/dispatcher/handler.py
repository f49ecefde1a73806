"""RPC in, one domain call, RPC out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio

from citemesh.rpc.deadline import remaining_s
from citemesh.v1 import dispatcher_pb2, dispatcher_pb2_grpc
from services.dispatcher.answering import Answering, Event
from services.dispatcher.desk import Desk
from services.dispatcher.explaining import explain
from services.dispatcher.replay import replay
from services.dispatcher.requests import check_answer, check_explain, check_replay

Context = grpc.aio.ServicerContext[Any, Any]


class DispatcherHandler(dispatcher_pb2_grpc.DispatcherServiceServicer):
    """citemesh.v1.DispatcherService."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def Answer(  # noqa: N802  # the RPC's name
        self, request: dispatcher_pb2.AnswerRequest, context: Context
    ) -> dispatcher_pb2.AnswerResponse:
        """Answer a question."""
        self._check(request)
        return await Answering(self._desk, request, remaining_s(context)).answer()

    async def AnswerStream(  # noqa: N802  # the RPC's name
        self, request: dispatcher_pb2.AnswerStreamRequest, context: Context
    ) -> AsyncIterator[Event]:
        """Answer a question and report on the way."""
        self._check(request.request)
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        answering = Answering(self._desk, request.request, remaining_s(context), events.put_nowait)
        task = asyncio.create_task(answering.answer())
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            yield Event(response=task.result())
        finally:
            # A caller who hangs up early must not leave the work running.
            task.cancel()
            await asyncio.wait([task])

    async def Explain(  # noqa: N802  # the RPC's name
        self, request: dispatcher_pb2.ExplainRequest, context: Context
    ) -> dispatcher_pb2.ExplainResponse:
        """Say what a question would run."""
        check_explain(request)
        return await explain(self._desk, request, remaining_s(context))

    async def Replay(  # noqa: N802  # the RPC's name
        self, request: dispatcher_pb2.ReplayRequest, context: Context
    ) -> dispatcher_pb2.ReplayResponse:
        """Decide a recorded answer again."""
        check_replay(request)
        return replay(request.recorded)

    async def ListPipelines(  # noqa: N802  # the RPC's name
        self, request: dispatcher_pb2.ListPipelinesRequest, context: Context
    ) -> dispatcher_pb2.ListPipelinesResponse:
        """List the pipelines, by name."""
        pipelines = self._desk.pipelines
        return dispatcher_pb2.ListPipelinesResponse(pipelines=[pipelines[name].message for name in sorted(pipelines)])

    def _check(self, request: dispatcher_pb2.AnswerRequest) -> None:
        check_answer(request, self._desk.pipelines.keys(), self._desk.settings.policy())
