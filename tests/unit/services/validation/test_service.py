"""The service as a host starts it; calls made as a principal, on the handler that it registers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from prometheus_client import CollectorRegistry

from citemesh.auth.principal import Principal, acting_as
from citemesh.rpc.spec import StartContext
from citemesh.telemetry import names
from citemesh.telemetry.metrics import MetricFactory
from citemesh.v1 import validation_pb2
from citemesh.v1.answer_pb2 import ReleaseDecision
from services.validation.service import SPEC, ValidationService
from tests.unit.services.validation.builders import claim, request

ANA = Principal("acme", "ana", frozenset())
RITA = Principal("acme", "rita", frozenset({"reviewers"}))


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[tuple[ValidationService, CollectorRegistry]]:
    registry = CollectorRegistry()
    context = StartContext(
        environ={"CITEMESH_VALIDATION_ENCODER_ENABLED": "false"},
        state_dir=tmp_path,
        registry=registry,
        metrics=MetricFactory(registry),
        open_channel=Mock(),
    )
    started = await SPEC.start(context)
    assert isinstance(started, ValidationService)
    yield started, registry
    await started.close()


async def test_a_withheld_answer_waits_and_is_decided(service: tuple[ValidationService, CollectorRegistry]) -> None:
    started, registry = service
    assert await started.check() is None
    handler = started._handler
    sent = request("Who pays?", [claim("The moon pays.")], [])
    sent.queue_when_withheld = True
    with acting_as(ANA):
        response = await handler.Validate(sent, Mock())
    assert response.branch == "deterministic"
    assert response.decision == ReleaseDecision.RELEASE_DECISION_WITHHOLD
    assert response.review_id
    assert registry.get_sample_value(names.REVIEWS_OPEN.name) == 1
    assert registry.get_sample_value(names.VERDICTS.name, {"verdict": "VERDICT_CITATION_MISSING"}) == 1
    assert registry.get_sample_value(names.VERDICTS.name, {"verdict": "VERDICT_SUPPORTED"}) == 0
    with acting_as(RITA):
        listed = await handler.ListReviews(validation_pb2.ListReviewsRequest(), Mock())
        assert [review.review_id for review in listed.reviews] == [response.review_id]
        decided = await handler.DecideReview(
            validation_pb2.DecideReviewRequest(
                review_id=response.review_id, state=validation_pb2.REVIEW_STATE_REJECTED
            ),
            Mock(),
        )
    assert decided.review.decided_by == "rita"
    assert registry.get_sample_value(names.REVIEWS_OPEN.name) == 0


async def test_an_answer_is_kept_only_where_that_is_asked_for(
    service: tuple[ValidationService, CollectorRegistry],
) -> None:
    started, registry = service
    response = await started._handler.Validate(request("Who pays?", [claim("The moon pays.")], []), Mock())
    assert response.decision == ReleaseDecision.RELEASE_DECISION_WITHHOLD
    assert not response.review_id
    assert registry.get_sample_value(names.REVIEWS_OPEN.name) == 0
