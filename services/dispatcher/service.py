"""SPEC: how the dispatcher is wired. It is the centre of the star: the one service that calls others."""

from __future__ import annotations

import asyncio

import grpc.aio

from citemesh.config.load import ConfigurationError, load_settings
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.v1 import dispatcher_pb2_grpc
from services.dispatcher.desk import Desk
from services.dispatcher.handler import DispatcherHandler
from services.dispatcher.measures import Measures
from services.dispatcher.pipelines import LoadedPipeline, PipelineError, load_pipelines
from services.dispatcher.settings import BUILT_IN_PIPELINES, DispatcherSettings
from services.dispatcher.stages import Stubs


class DispatcherService:
    """The running service."""

    def __init__(self, desk: Desk) -> None:
        self._handler = DispatcherHandler(desk)

    def register(self, server: grpc.aio.Server) -> None:
        """Add the handler."""
        dispatcher_pb2_grpc.add_DispatcherServiceServicer_to_server(self._handler, server)

    async def check(self) -> str | None:
        """Always serving: with other services down it still answers, by its fallbacks."""
        return None

    async def close(self) -> None:
        """Nothing to release: the host closes the channels."""


async def start(context: StartContext) -> DispatcherService:
    """Load settings and pipelines. Raises ConfigurationError naming every problem of a pipeline."""
    settings = load_settings(DispatcherSettings, context.environ)
    pipelines = await asyncio.to_thread(_load, settings)
    return DispatcherService(Desk(Stubs(context.channel), settings, pipelines, Measures(context.metrics)))


def _load(settings: DispatcherSettings) -> dict[str, LoadedPipeline]:
    folders = [BUILT_IN_PIPELINES]
    if settings.pipelines_dir is not None:
        if not settings.pipelines_dir.is_dir():
            raise ConfigurationError(
                f"CITEMESH_DISPATCHER_PIPELINES_DIR: {settings.pipelines_dir} is no folder: make it, or unset this."
            )
        folders.append(settings.pipelines_dir)
    try:
        return load_pipelines(folders)
    except PipelineError as error:
        raise ConfigurationError(str(error)) from None


SPEC = ServiceSpec(
    name="dispatcher",
    full_name="citemesh.v1.DispatcherService",
    needs=("query", "documents", "retrieval", "rerank", "generation", "validation"),
    start=start,
)
