from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2, question_pb2, retrieval_pb2
from citemesh.v1.retrieval_pb2 import GetPassagesRequest
from services.retrieval.describe import describe_index
from services.retrieval.passages import get_passages
from tests.unit.services.retrieval.library import ANNA, HANNA, Library

CURRENT = retrieval_pb2.PASSAGE_STATUS_CURRENT
NOT_IN_FORCE = retrieval_pb2.PASSAGE_STATUS_NOT_IN_FORCE
NOT_FOUND = retrieval_pb2.PASSAGE_STATUS_NOT_FOUND


@pytest.fixture
def versions(library: Library) -> Library:
    library.add("policy", ["Rule of 2024."], start="2024-01-01")
    library.add("policy", ["Rule of 2025."], start="2025-01-01")
    library.add("pay", ["Salary bands."], groups=["hr"])
    return library


def test_each_passage_says_how_it_stands(versions: Library) -> None:
    ids = ["pay@1#0", "policy@1#0", "policy@2#0", "nothing"]
    response = get_passages(versions.reader, GetPassagesRequest(passage_ids=ids), ANNA)
    assert [check.passage_id for check in response.checks] == ids
    assert [check.status for check in response.checks] == [NOT_FOUND, NOT_IN_FORCE, CURRENT, NOT_FOUND]
    assert [bool(check.content_hash) for check in response.checks] == [False, True, True, False]
    assert [passage.text for passage in response.passages] == ["Rule of 2025."]
    hanna = get_passages(versions.reader, GetPassagesRequest(passage_ids=ids), HANNA)
    assert hanna.checks[0].status == CURRENT


def test_the_time_asked_for_decides(versions: Library) -> None:
    time = Timestamp()
    time.FromJsonString("2024-06-01T00:00:00Z")
    request = GetPassagesRequest(passage_ids=["policy@1#0", "policy@2#0"], as_of_time=time)
    response = get_passages(versions.reader, request, ANNA)
    assert [check.status for check in response.checks] == [CURRENT, NOT_IN_FORCE]


def test_statuses_alone_carry_no_text(versions: Library) -> None:
    response = get_passages(versions.reader, GetPassagesRequest(passage_ids=["policy@2#0"], statuses_only=True), ANNA)
    assert not response.passages
    assert response.checks[0].status == CURRENT


def test_a_scope_hides_what_is_outside(versions: Library) -> None:
    scope = question_pb2.Scope(documents=question_pb2.DocumentIds(document_ids=["other"]))
    response = get_passages(versions.reader, GetPassagesRequest(passage_ids=["policy@2#0"], scope=scope), ANNA)
    assert response.checks[0].status == NOT_FOUND


@pytest.mark.parametrize("count", [0, 201])
def test_the_number_of_ids_is_bounded(library: Library, count: int) -> None:
    with pytest.raises(ServiceError) as raised:
        get_passages(library.reader, GetPassagesRequest(passage_ids=["x"] * count), ANNA)
    assert raised.value.reason == errors_pb2.ERROR_REASON_INVALID_FIELD


def test_a_description_counts_only_what_may_be_read(versions: Library) -> None:
    description = describe_index(versions.reader, "embedded", ANNA)
    assert (description.document_count, description.passage_count) == (1, 1)
    assert description.encoder.model == "word-counter"
    assert description.encoder.dimension_count * 3 == len(description.encoder.canary_vectors)
    assert describe_index(versions.reader, "embedded", HANNA).document_count == 2
