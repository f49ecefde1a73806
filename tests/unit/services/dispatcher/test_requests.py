"""Wrong requests: every violation at once, each with its field and its documented reason."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import answer_pb2, budget_pb2, dispatcher_pb2, errors_pb2, question_pb2
from services.dispatcher.requests import check_answer, check_explain
from tests.unit.services.dispatcher.records import POLICY


def refuse(**fields: object) -> ServiceError:
    request = dispatcher_pb2.AnswerRequest(**{"question": "Which?", **fields})  # type: ignore[arg-type]  # fields of the message
    with pytest.raises(ServiceError) as caught:
        check_answer(request, {"default"}, POLICY)
    return caught.value


def test_a_plain_question_is_fine() -> None:
    check_answer(dispatcher_pb2.AnswerRequest(question="Which?"), {"default"}, POLICY)
    check_explain(dispatcher_pb2.ExplainRequest(question="Which?"))


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({"question": " \n"}, ["question"]),
        ({"question": "x" * 4001}, ["question"]),
        ({"history": [question_pb2.Turn(role=question_pb2.ROLE_USER)] * 51}, ["history"]),
        ({"history": [question_pb2.Turn(text="x" * 20_001)]}, ["history[0].role", "history[0].text"]),
        ({"scope": question_pb2.Scope()}, ["scope"]),
        ({"scope": question_pb2.Scope(documents=question_pb2.DocumentIds())}, ["scope.documents.document_ids"]),
        (
            {"scope": question_pb2.Scope(documents=question_pb2.DocumentIds(document_ids=["a", " "]))},
            ["scope.documents.document_ids[1]"],
        ),
        ({"budget": budget_pb2.Budget(max_iterations=0)}, ["budget.max_iterations"]),
        (
            {"budget": budget_pb2.Budget(max_iterations=5, max_model_calls=-1)},
            ["budget.max_iterations", "budget.max_model_calls"],
        ),
        ({"request_id": "x" * 101}, ["request_id"]),
        ({"as_of_time": Timestamp(seconds=10**15)}, ["as_of_time"]),
        ({"question": "", "request_id": "x" * 101}, ["question", "request_id"]),
    ],
)
def test_violations(fields: dict[str, object], paths: list[str]) -> None:
    error = refuse(**fields)
    assert error.reason == errors_pb2.ERROR_REASON_INVALID_FIELD
    assert [path for path, _ in error.field_violations] == paths


def test_an_unknown_pipeline_is_not_found() -> None:
    error = refuse(pipeline="nightly")
    assert error.reason == errors_pb2.ERROR_REASON_PIPELINE_NOT_FOUND
    assert error.metadata == {"pipeline": "nightly"}


def test_a_release_mode_beyond_the_policy_is_refused() -> None:
    error = refuse(release_mode=answer_pb2.RELEASE_MODE_UNVALIDATED)
    assert error.reason == errors_pb2.ERROR_REASON_RELEASE_MODE_NOT_ALLOWED
