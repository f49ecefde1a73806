"""RPC in, one domain call, RPC out."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import grpc.aio
from prometheus_client import Counter, Gauge

from citemesh.auth.principal import current_principal
from citemesh.v1 import validation_pb2, validation_pb2_grpc
from citemesh.v1.answer_pb2 import ReleaseDecision, Verdict
from services.validation.requests import check_decide_review, check_list_reviews, check_validate
from services.validation.reviews import ReviewQueue
from services.validation.settings import ValidationSettings
from services.validation.validate import validate
from services.validation.verdicts import Encoder

Context = grpc.aio.ServicerContext[Any, Any]

WITHOUT_ENCODER = "deterministic"
WITH_ENCODER = "deterministic+encoder"


class ValidationHandler(validation_pb2_grpc.ValidationServiceServicer):
    """citemesh.v1.ValidationService."""

    def __init__(
        self,
        settings: ValidationSettings,
        encoder: Encoder | None,
        reviews: ReviewQueue,
        verdicts: Counter,
        releases: Counter,
        reviews_open: Gauge,
    ) -> None:
        self._settings = settings
        self._encoder = encoder
        self._reviews = reviews
        self._verdicts = verdicts
        self._releases = releases
        self._reviews_open = reviews_open

    async def Validate(  # noqa: N802  # the RPC's name
        self, request: validation_pb2.ValidateRequest, context: Context
    ) -> validation_pb2.ValidateResponse:
        """Judge an answer; keep it where it is withheld and that was asked for."""
        check_validate(request)
        now = datetime.now(UTC)
        response = await asyncio.to_thread(validate, request, now, self._settings, self._encoder)
        response.branch = WITHOUT_ENCODER if self._encoder is None else WITH_ENCODER
        if response.decision == ReleaseDecision.RELEASE_DECISION_WITHHOLD and request.queue_when_withheld:
            response.review_id = await asyncio.to_thread(
                self._reviews.add, request, response.verdicts, current_principal(), now
            )
            await self._count_open()
        for each in response.verdicts:
            self._verdicts.labels(Verdict.Name(each.verdict)).inc()
        self._releases.labels(ReleaseDecision.Name(response.decision)).inc()
        return response

    async def ListReviews(  # noqa: N802  # the RPC's name
        self, request: validation_pb2.ListReviewsRequest, context: Context
    ) -> validation_pb2.ListReviewsResponse:
        """A page of the reviews that the caller may see."""
        check_list_reviews(request)
        page = await asyncio.to_thread(self._reviews.list, request, current_principal())
        return validation_pb2.ListReviewsResponse(reviews=page.reviews, next_page_token=page.next_page_token)

    async def DecideReview(  # noqa: N802  # the RPC's name
        self, request: validation_pb2.DecideReviewRequest, context: Context
    ) -> validation_pb2.DecideReviewResponse:
        """End a review."""
        check_decide_review(request)
        review = await asyncio.to_thread(self._reviews.decide, request, current_principal(), datetime.now(UTC))
        await self._count_open()
        return validation_pb2.DecideReviewResponse(review=review)

    async def _count_open(self) -> None:
        self._reviews_open.set(await asyncio.to_thread(self._reviews.count_open))
