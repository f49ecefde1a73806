"""What a request may hold: every wrong field is named, and what is too large is refused before any work."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2, validation_pb2
from citemesh.v1.validation_pb2 import ValidateRequest
from services.validation.requests import check_decide_review, check_list_reviews, check_validate
from tests.unit.services.validation.builders import cite, claim, evidence, request


def test_every_wrong_field_is_named() -> None:
    sent = request(" ", [claim("a"), claim("b")], [])
    sent.evidence.add()
    with pytest.raises(ServiceError) as raised:
        check_validate(sent)
    assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
    assert {field for field, _ in raised.value.field_violations} == {
        "parsed_question.original_question",
        "answer.claims[1].claim_id",
        "evidence[0].evidence_id",
    }
    with pytest.raises(ServiceError):
        check_list_reviews(validation_pb2.ListReviewsRequest(page_size=501))
    with pytest.raises(ServiceError) as raised:
        check_decide_review(validation_pb2.DecideReviewRequest(comment="x" * 2001))
    assert {field for field, _ in raised.value.field_violations} == {"review_id", "state", "comment"}


def make_request() -> ValidateRequest:
    source = evidence("Fees are due.")
    sent = request("What is due?", [claim("Fees are due.", cite(source))], [source])
    sent.answer.items.add(text="Fees", citations=[cite(source)])
    return sent


def test_a_sound_request_passes() -> None:
    check_validate(make_request())


@pytest.mark.parametrize(
    ("field", "spoil"),
    [
        (
            "parsed_question.original_question",
            lambda sent: setattr(sent.parsed_question, "original_question", "x" * 4_001),
        ),
        ("parsed_question.sub_questions", lambda sent: sent.parsed_question.sub_questions.extend(["x"] * 21)),
        ("parsed_question.sub_questions[0]", lambda sent: sent.parsed_question.sub_questions.append("x" * 4_001)),
        ("answer.text", lambda sent: setattr(sent.answer, "text", "x" * 100_001)),
        ("answer.claims", lambda sent: sent.answer.claims.extend(claim("a", number=n) for n in range(9, 209))),
        ("answer.claims[0].text", lambda sent: setattr(sent.answer.claims[0], "text", "x" * 20_001)),
        ("answer.claims[0].citations", lambda sent: sent.answer.claims[0].citations.extend([cite(evidence("a"))] * 50)),
        (
            "answer.claims[0].citations[0].quote",
            lambda sent: setattr(sent.answer.claims[0].citations[0], "quote", "x" * 100_001),
        ),
        ("answer.items", lambda sent: sent.answer.items.extend([sent.answer.items[0]] * 1_000)),
        ("answer.items[0].citations", lambda sent: sent.answer.items[0].citations.extend([cite(evidence("a"))] * 50)),
        ("evidence", lambda sent: sent.evidence.extend(evidence("a", number=n) for n in range(2, 202))),
        ("evidence[0].text", lambda sent: setattr(sent.evidence[0], "text", "x" * 100_001)),
        ("checks", lambda sent: sent.checks.extend([sent.checks[0]] * 1_000)),
        ("as_of_time", lambda sent: sent.as_of_time.CopyFrom(Timestamp(seconds=10**15))),
    ],
)
def test_what_is_too_large_is_named(field: str, spoil: Callable[[ValidateRequest], None]) -> None:
    sent = make_request()
    spoil(sent)
    with pytest.raises(ServiceError) as raised:
        check_validate(sent)
    assert [name for name, _ in raised.value.field_violations] == [field]
