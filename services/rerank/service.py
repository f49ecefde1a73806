"""SPEC: how the rerank service is wired."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import grpc.aio

from citemesh.config.load import ConfigurationError, load_settings
from citemesh.models import load_encoder, load_pair_scorer
from citemesh.models.errors import ModelError
from citemesh.models.pair_scorer import find_pair_scorer, find_tokenizer
from citemesh.models.paths import models_dir
from citemesh.models.scorer_card import read_scorer_card
from citemesh.models.tokenizer import PairTokenizer
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.telemetry import names
from citemesh.v1 import rerank_pb2_grpc
from services.rerank.backend import PairBackend
from services.rerank.calibration import DEFAULT_CALIBRATION_PATH, Calibration, CalibrationError, load_calibration
from services.rerank.handler import RerankHandler
from services.rerank.late_interaction import LateInteractionBackend
from services.rerank.local import LocalBackend
from services.rerank.logit_cache import LogitCache
from services.rerank.ranking import Ranker
from services.rerank.settings import RerankSettings


class RerankService:
    """The running service."""

    def __init__(self, handler: RerankHandler, ranker: Ranker) -> None:
        self._handler = handler
        self._ranker = ranker

    def register(self, server: grpc.aio.Server) -> None:
        """Add the handler."""
        rerank_pb2_grpc.add_RerankServiceServicer_to_server(self._handler, server)

    async def check(self) -> str | None:
        """Not serving where the calibration is another model's, or where the backend cannot score."""
        mismatch = self._ranker.calibration.find_mismatch(self._ranker.backend.card)
        if mismatch is not None:
            return mismatch.message
        return await self._ranker.backend.check()

    async def close(self) -> None:
        """Release the backend."""
        await self._ranker.backend.close()


async def start(context: StartContext) -> RerankService:
    """Load settings, model and calibration. Raises ConfigurationError naming the variable or file to see to."""
    settings = load_settings(RerankSettings, context.environ)
    queue_length = context.metrics.gauge(names.RERANK_QUEUE_LENGTH)
    calibration = _load_calibration(settings)
    try:
        backend = await asyncio.to_thread(make_backend, settings, context.environ, queue_length.set)
    except ModelError as error:
        raise ConfigurationError(str(error)) from error
    ranker = Ranker(backend, calibration, LogitCache(settings.cached_logit_count))
    handler = RerankHandler(ranker, settings, context.metrics)
    return RerankService(handler, ranker)


def make_backend(settings: RerankSettings, environ: Mapping[str, str], on_length: Callable[[int], None]) -> PairBackend:
    """The backend that the settings name; blocks while a model is read."""
    folder = models_dir(environ)
    if not settings.triton_target and settings.pair_scorer_path is not None:
        return LocalBackend(load_pair_scorer(folder, settings.pair_scorer_path), settings, on_length)

    model_path = find_pair_scorer(folder, settings.pair_scorer_path)
    card = read_scorer_card(model_path)
    if not settings.triton_target:
        return LateInteractionBackend(card, load_encoder(folder), settings, on_length)
    from services.rerank.triton import TritonBackend  # brings in the Triton client, which most processes never need

    return TritonBackend(card, PairTokenizer(find_tokenizer(model_path), card.max_token_count), settings)


def _load_calibration(settings: RerankSettings) -> Calibration:
    try:
        return load_calibration(settings.calibration_path or DEFAULT_CALIBRATION_PATH)
    except CalibrationError as error:
        raise ConfigurationError(f"{error}; see CITEMESH_RERANK_CALIBRATION_PATH") from error


SPEC = ServiceSpec(name="rerank", full_name="citemesh.v1.RerankService", needs=(), start=start)
