"""SPEC of the retrieval service, and how it is put together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import grpc.aio

from citemesh.config.load import load_settings
from citemesh.models.encoder import Encoder, load_encoder
from citemesh.models.paths import models_dir
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.store.contract import StoreReader
from citemesh.store.encoder_match import describe_encoder
from citemesh.store.open import open_reader, store_name
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import retrieval_pb2_grpc
from services.retrieval.encoder_guard import EncoderGuard
from services.retrieval.handler import RetrievalHandler
from services.retrieval.leg_runner import LegRunner
from services.retrieval.legs.dense import DenseLeg
from services.retrieval.legs.keyword import KeywordLeg
from services.retrieval.legs.leg import Leg
from services.retrieval.legs.toc import TocLeg
from services.retrieval.listing import Lister
from services.retrieval.measures import Measures
from services.retrieval.references import ReferenceFollower
from services.retrieval.search import Search
from services.retrieval.settings import RetrievalSettings


class RetrievalService:
    """The started service: an open store, a loaded encoder, the legs."""

    def __init__(
        self, settings: RetrievalSettings, store: StoreReader, name: str, encoder: Encoder, metrics: MetricFactory
    ) -> None:
        self._store = store
        measures = Measures(metrics)
        own = describe_encoder(encoder)
        self._guard = EncoderGuard(store, own)
        key = own.SerializeToString(deterministic=True).hex()
        legs: tuple[Leg, ...] = (
            KeywordLeg(store),
            DenseLeg(store, encoder, key, settings.vector_cache_entry_count, measures),
            TocLeg(store, settings.toc_section_count),
        )
        self._runner = LegRunner(
            {leg.pattern: leg for leg in legs},
            settings.leg_thread_count,
            settings.ranking_cache_entry_count,
            measures,
            self._guard.index_encoder,
        )
        self._handler = RetrievalHandler(
            store,
            name,
            Search(store, self._runner, self._guard, settings, measures),
            ReferenceFollower(store, settings.default_reference_passage_count, settings.max_titled_document_count),
            Lister(store),
        )

    def register(self, server: grpc.aio.Server) -> None:
        """Add the handler to `server`."""
        retrieval_pb2_grpc.add_RetrievalServiceServicer_to_server(self._handler, server)

    async def check(self) -> str | None:
        """Why no search can be answered; None where it can."""
        return await asyncio.to_thread(self._find_problem)

    async def close(self) -> None:
        """Wait for the legs and close the store."""
        await asyncio.to_thread(self._runner.close)
        self._store.close()

    def _find_problem(self) -> str | None:
        problem = self._store.check()
        if problem is not None:
            return problem
        difference = self._guard.find_difference()
        return None if difference is None else f"the index was built with another encoder: {difference}"


async def start(context: StartContext) -> RetrievalService:
    """Load the settings and the encoder, and open the store. Raises ModelError, ServiceError or ConfigurationError."""
    settings = load_settings(RetrievalSettings, context.environ)
    return await asyncio.to_thread(build, settings, context.state_dir, context.environ, context.metrics)


def build(
    settings: RetrievalSettings, state_dir: Path, environ: Mapping[str, str], metrics: MetricFactory
) -> RetrievalService:
    """The service over the store and the encoder that `environ` names."""
    encoder = load_encoder(models_dir(environ), settings.encoder_folder)
    store = open_reader(state_dir, environ)
    return RetrievalService(settings, store, store_name(environ), encoder, metrics)


SPEC = ServiceSpec(name="retrieval", full_name="citemesh.v1.RetrievalService", needs=(), start=start)
