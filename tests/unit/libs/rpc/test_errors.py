"""One reason, one code; what goes out can be read back, and fits."""

from __future__ import annotations

import re
from pathlib import Path

import grpc
import grpc.aio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.rpc.errors import (
    CODES,
    INTERNAL_TEXT,
    ServiceError,
    error_reason,
    from_rpc_error,
    invalid_argument,
    invalid_fields,
    read_error_info,
    read_field_violations,
    reason_name,
    to_status,
    to_trailing_metadata,
)
from citemesh.v1 import errors_pb2

REPO = Path(__file__).resolve().parents[4]
REASONS = [value for value in errors_pb2.ErrorReason.values() if value]


def over_the_wire(error: ServiceError) -> grpc.aio.AioRpcError:
    """The error as a caller gets it."""
    status = to_status(error)
    trailing = grpc.aio.Metadata(*to_trailing_metadata(status, errors_pb2.ERROR_REASON_INTERNAL))
    return grpc.aio.AioRpcError(error.code, grpc.aio.Metadata(), trailing, details=status.message)


def bare(code: grpc.StatusCode, details: str = "") -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details=details)


def test_every_reason_has_exactly_one_code() -> None:
    assert sorted(CODES) == sorted(REASONS)


def test_the_codes_are_those_that_the_contract_documents() -> None:
    text = (REPO / "protos/citemesh/v1/errors.proto").read_text()
    documented = re.findall(r"((?:  //[^\n]*\n)+)  ERROR_REASON_(\w+) = \d+;", text)
    for comment, name in documented:
        if name != "UNSPECIFIED":
            found = re.findall(r"Code ([A-Z_]+)", comment)
            assert found == [CODES[errors_pb2.ErrorReason.Value(f"ERROR_REASON_{name}")].name], name


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_comes_back_from_the_wire(reason: errors_pb2.ErrorReason.ValueType) -> None:
    error = ServiceError(reason, "text", document_id="d", page_number=3)
    assert error_reason(over_the_wire(error)) == reason
    again = from_rpc_error(over_the_wire(error))
    assert (again.reason, again.message, again.metadata) == (reason, "text", {"document_id": "d", "page_number": "3"})


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3000)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=60))
def test_details_always_fit_into_metadata(violations: list[tuple[str, str]]) -> None:
    status = to_status(invalid_fields(violations))
    assert 3 * len(status.message.encode()) + status.ByteSize() * 4 / 3 <= 7500
    info = read_error_info(status)
    assert info is not None
    assert info.reason == "INVALID_FIELD"
    assert 1 <= len(read_field_violations(status)) <= len(violations) + 1


def test_violations_that_do_not_fit_are_counted() -> None:
    status = to_status(invalid_fields([(f"steps[{n}].settings", "x" * 100) for n in range(200)]))
    listed = read_field_violations(status)
    assert listed[-1][1] == f"and {200 - len(listed) + 1} more"


def test_one_wrong_field() -> None:
    error = invalid_argument("question", "must not be empty")
    assert (error.code, error.field_violations) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        [("question", "must not be empty")],
    )
    assert "question: must not be empty" in str(error)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (grpc.StatusCode.UNAVAILABLE, errors_pb2.ERROR_REASON_UPSTREAM_UNAVAILABLE),
        (grpc.StatusCode.DEADLINE_EXCEEDED, errors_pb2.ERROR_REASON_DEADLINE_EXCEEDED),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, errors_pb2.ERROR_REASON_OVERLOADED),
        (grpc.StatusCode.CANCELLED, errors_pb2.ERROR_REASON_CANCELLED),
        (grpc.StatusCode.UNKNOWN, errors_pb2.ERROR_REASON_INTERNAL),
        (grpc.StatusCode.INTERNAL, errors_pb2.ERROR_REASON_INTERNAL),
    ],
)
def test_errors_that_are_not_ours_lose_their_text(
    code: grpc.StatusCode, reason: errors_pb2.ErrorReason.ValueType
) -> None:
    mapped = from_rpc_error(bare(code, "secret text"), "rerank")
    assert mapped.reason == reason
    assert "secret" not in mapped.message
    assert mapped.metadata == {"service": "rerank"}
    assert error_reason(bare(code)) is None
    if reason == errors_pb2.ERROR_REASON_INTERNAL:
        assert mapped.message == INTERNAL_TEXT


def test_a_failed_tls_handshake_is_not_taken_for_a_dead_peer() -> None:
    text = "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Ssl handshake failed"
    assert "certificate" in from_rpc_error(bare(grpc.StatusCode.UNAVAILABLE, text)).message


def test_a_reason_from_a_later_version_is_not_misread() -> None:
    status = to_status(ServiceError(errors_pb2.ERROR_REASON_INTERNAL, "x"))
    info = read_error_info(status)
    assert info is not None
    info.reason = "INVENTED_LATER"
    status.details[0].Pack(info)
    trailing = grpc.aio.Metadata(*to_trailing_metadata(status, errors_pb2.ERROR_REASON_INTERNAL))
    error = grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, grpc.aio.Metadata(), trailing, details="x")
    assert error_reason(error) is None
    assert from_rpc_error(error).reason == errors_pb2.ERROR_REASON_INTERNAL


def test_damaged_details_are_ignored() -> None:
    trailing = grpc.aio.Metadata(("grpc-status-details-bin", b"\xff\xff"))
    error = grpc.aio.AioRpcError(grpc.StatusCode.NOT_FOUND, grpc.aio.Metadata(), trailing)
    assert error_reason(error) is None


def test_names_travel_without_prefix() -> None:
    assert reason_name(errors_pb2.ERROR_REASON_PAGE_NOT_FOUND) == "PAGE_NOT_FOUND"
    assert error_reason(ValueError()) is None
