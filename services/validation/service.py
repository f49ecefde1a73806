"""SPEC: how the validation service is wired."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Final

import grpc.aio

from citemesh.config.load import ConfigurationError, load_settings
from citemesh.models import load_encoder
from citemesh.models.errors import ModelError
from citemesh.models.paths import models_dir
from citemesh.rpc.spec import ServiceSpec, StartContext
from citemesh.store.open import open_reader
from citemesh.telemetry import names
from citemesh.v1 import validation_pb2_grpc
from citemesh.v1.answer_pb2 import ReleaseDecision, Verdict
from services.validation.handler import ValidationHandler
from services.validation.readership import Readership
from services.validation.reviews import ReviewQueue
from services.validation.settings import ValidationSettings

STATE_FOLDER: Final = "validation"


class ValidationService:
    """The running service."""

    def __init__(self, handler: ValidationHandler, reviews: ReviewQueue) -> None:
        self._handler = handler
        self._reviews = reviews

    def register(self, server: grpc.aio.Server) -> None:
        """Add the handler."""
        validation_pb2_grpc.add_ValidationServiceServicer_to_server(self._handler, server)

    async def check(self) -> str | None:
        """Not serving where the queue cannot be read: a withheld answer must not be lost."""
        try:
            await asyncio.to_thread(self._reviews.count_open)
        except sqlite3.Error:
            return "The review queue cannot be read."
        return None

    async def close(self) -> None:
        """Close the queue."""
        await asyncio.to_thread(self._reviews.close)


async def start(context: StartContext) -> ValidationService:
    """Load settings and encoder, and open the queue. Raises ConfigurationError naming what to see to."""
    settings = load_settings(ValidationSettings, context.environ)
    try:
        encoder = (
            await asyncio.to_thread(load_encoder, models_dir(context.environ)) if settings.encoder_enabled else None
        )
    except ModelError as error:
        raise ConfigurationError(f"{error}; or set CITEMESH_VALIDATION_ENCODER_ENABLED=false") from error
    folder = context.state_dir / STATE_FOLDER
    readership = Readership(await asyncio.to_thread(open_reader, context.state_dir, context.environ))
    try:
        reviews = await asyncio.to_thread(
            ReviewQueue, folder, readership, settings.reviewer_group, settings.max_review_count
        )
    except BaseException:  # no end may leave the store open; raised again
        readership.close()
        raise
    reviews_open = context.metrics.gauge(names.REVIEWS_OPEN)
    reviews_open.set(await asyncio.to_thread(reviews.count_open))
    handler = ValidationHandler(
        settings,
        encoder,
        reviews,
        verdicts=context.metrics.counter(names.VERDICTS, verdict=Verdict.keys()[1:]),
        releases=context.metrics.counter(names.RELEASES, decision=ReleaseDecision.keys()[1:]),
        reviews_open=reviews_open,
    )
    return ValidationService(handler, reviews)


SPEC = ServiceSpec(name="validation", full_name="citemesh.v1.ValidationService", needs=(), start=start)
