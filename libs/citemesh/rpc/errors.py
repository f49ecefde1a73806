"""The one mapping between errors in code and errors on the wire.

Code raises ServiceError; the server interceptor sends it as google.rpc.Status with ErrorInfo (domain "citemesh") and,
where fields are wrong, BadRequest; callers read the reason back with `error_reason` or `from_rpc_error`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import grpc
import grpc.aio
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # it ships no stubs

from citemesh.v1 import errors_pb2

DOMAIN: Final = "citemesh"
STATUS_DETAILS_KEY: Final = "grpc-status-details-bin"
INTERNAL_TEXT: Final = "Internal error. The service's log says more: search it for this error's request_id."

_PREFIX: Final = "ERROR_REASON_"
_REASON = errors_pb2
_CODE = grpc.StatusCode

# Metadata over 8 KiB may be refused on the way. The text travels twice, once with three bytes for each byte that is
# not ASCII, and the details travel in base64: these limits keep the sum below it.
_MAX_VIOLATIONS_SIZE_BYTES: Final = 3500
_MAX_MESSAGE_SIZE_BYTES: Final = 500
_MAX_VALUE_SIZE_BYTES: Final = 200

CODES: Final[dict[errors_pb2.ErrorReason.ValueType, grpc.StatusCode]] = {
    _REASON.ERROR_REASON_INVALID_FIELD: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_UNAUTHENTICATED: _CODE.UNAUTHENTICATED,
    _REASON.ERROR_REASON_TOKEN_EXPIRED: _CODE.UNAUTHENTICATED,
    _REASON.ERROR_REASON_PERMISSION_DENIED: _CODE.PERMISSION_DENIED,
    _REASON.ERROR_REASON_DOCUMENT_NOT_FOUND: _CODE.NOT_FOUND,
    _REASON.ERROR_REASON_PAGE_NOT_FOUND: _CODE.NOT_FOUND,
    _REASON.ERROR_REASON_PIPELINE_NOT_FOUND: _CODE.NOT_FOUND,
    _REASON.ERROR_REASON_PIPELINE_INVALID: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_DEADLINE_TOO_SHORT: _CODE.DEADLINE_EXCEEDED,
    _REASON.ERROR_REASON_DEADLINE_EXCEEDED: _CODE.DEADLINE_EXCEEDED,
    _REASON.ERROR_REASON_OVERLOADED: _CODE.RESOURCE_EXHAUSTED,
    _REASON.ERROR_REASON_CANCELLED: _CODE.CANCELLED,
    _REASON.ERROR_REASON_STORE_UNAVAILABLE: _CODE.UNAVAILABLE,
    _REASON.ERROR_REASON_RETRIEVAL_UNAVAILABLE: _CODE.UNAVAILABLE,
    _REASON.ERROR_REASON_MODEL_UNAVAILABLE: _CODE.UNAVAILABLE,
    _REASON.ERROR_REASON_ENCODER_MISMATCH: _CODE.FAILED_PRECONDITION,
    _REASON.ERROR_REASON_CALIBRATION_MISMATCH: _CODE.FAILED_PRECONDITION,
    _REASON.ERROR_REASON_FILE_EMPTY: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_FILE_TOO_LARGE: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_FILE_TYPE_UNSUPPORTED: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_FILE_CORRUPT: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_FILE_ENCRYPTED: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_FILE_PASSWORD_WRONG: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_PARSE_TIMEOUT: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_PARSE_MEMORY_EXCEEDED: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_PARSE_CRASHED: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_LLM_TIMEOUT: _CODE.UNAVAILABLE,
    _REASON.ERROR_REASON_LLM_UNAVAILABLE: _CODE.UNAVAILABLE,
    _REASON.ERROR_REASON_LLM_RESPONSE_INVALID: _CODE.UNAVAILABLE,
    _REASON.ERROR_REASON_RELEASE_MODE_NOT_ALLOWED: _CODE.PERMISSION_DENIED,
    _REASON.ERROR_REASON_RECORD_INCOMPLETE: _CODE.INVALID_ARGUMENT,
    _REASON.ERROR_REASON_REVIEW_NOT_FOUND: _CODE.NOT_FOUND,
    _REASON.ERROR_REASON_CONFLICTING_UPDATE: _CODE.ABORTED,
    _REASON.ERROR_REASON_UPSTREAM_UNAVAILABLE: _CODE.UNAVAILABLE,
    _REASON.ERROR_REASON_NOT_CONFIGURED: _CODE.FAILED_PRECONDITION,
    _REASON.ERROR_REASON_INTERNAL: _CODE.INTERNAL,
}

_RETRY_PUSHBACK_KEY: Final = "grpc-retry-pushback-ms"
_NOT_RETRIED: Final = frozenset(
    {
        _REASON.ERROR_REASON_LLM_TIMEOUT,
        _REASON.ERROR_REASON_LLM_UNAVAILABLE,
        _REASON.ERROR_REASON_LLM_RESPONSE_INVALID,
    }
)

# What an error without our details means: it was made by gRPC itself, or by something that is not citemesh.
_REASONS_OF_BARE_CODES: Final[dict[grpc.StatusCode, errors_pb2.ErrorReason.ValueType]] = {
    _CODE.UNAVAILABLE: _REASON.ERROR_REASON_UPSTREAM_UNAVAILABLE,
    _CODE.DEADLINE_EXCEEDED: _REASON.ERROR_REASON_DEADLINE_EXCEEDED,
    _CODE.RESOURCE_EXHAUSTED: _REASON.ERROR_REASON_OVERLOADED,
    _CODE.CANCELLED: _REASON.ERROR_REASON_CANCELLED,
    _CODE.UNAUTHENTICATED: _REASON.ERROR_REASON_UNAUTHENTICATED,
    _CODE.PERMISSION_DENIED: _REASON.ERROR_REASON_PERMISSION_DENIED,
    _CODE.UNIMPLEMENTED: _REASON.ERROR_REASON_NOT_CONFIGURED,
}


class ServiceError(Exception):
    """An error that a caller is meant to see: its text, its reason, and what the reason's metadata keys hold.

    Never put an exception's text, or text of a question or a document, into `message` or `metadata`.
    """

    def __init__(self, reason: errors_pb2.ErrorReason.ValueType, message: str, **metadata: str | int | float) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata: dict[str, str] = {key: str(value) for key, value in metadata.items()}
        self.field_violations: list[tuple[str, str]] = []

    @property
    def code(self) -> grpc.StatusCode:
        """The gRPC code of the reason."""
        return CODES.get(self.reason, _CODE.INTERNAL)

    def __str__(self) -> str:
        return f"{reason_name(self.reason)}: {self.message}"


def invalid_argument(field: str, description: str) -> ServiceError:
    """The error for one wrong field: `raise invalid_argument("question", "must not be empty")`."""
    return invalid_fields([(field, description)])


def invalid_fields(
    violations: Iterable[tuple[str, str]],
    reason: errors_pb2.ErrorReason.ValueType = errors_pb2.ERROR_REASON_INVALID_FIELD,
) -> ServiceError:
    """The error for several wrong fields, each (path of the field, what is wrong with it), all reported at once."""
    listed = list(violations)
    error = ServiceError(reason, "; ".join(f"{field}: {description}" for field, description in listed))
    error.field_violations = listed
    return error


def reason_name(reason: errors_pb2.ErrorReason.ValueType) -> str:
    """The reason as it travels in ErrorInfo: the enum's name without its prefix, such as DOCUMENT_NOT_FOUND."""
    return errors_pb2.ErrorReason.Name(reason).removeprefix(_PREFIX)


def to_status(error: ServiceError) -> status_pb2.Status:
    """`error` as google.rpc.Status that fits into metadata: violations that do not fit are counted, not listed."""
    message = _shorten(error.message, _MAX_MESSAGE_SIZE_BYTES)
    status = status_pb2.Status(code=error.code.value[0], message=message)
    info = error_details_pb2.ErrorInfo(reason=reason_name(error.reason), domain=DOMAIN)
    for key, value in error.metadata.items():
        info.metadata[key] = _shorten(value, _MAX_VALUE_SIZE_BYTES)
    status.details.append(_pack(info))
    if error.field_violations:
        status.details.append(_pack(_bad_request(error.field_violations)))
    return status


def to_trailing_metadata(
    status: status_pb2.Status, reason: errors_pb2.ErrorReason.ValueType
) -> tuple[tuple[str, str | bytes], ...]:
    """The trailing metadata by which gRPC carries `status` beside the code and the text.

    Channels retry UNAVAILABLE. A negative pushback tells them not to, where a model has been asked already: each retry
    would ask it again.
    """
    details = (STATUS_DETAILS_KEY, status.SerializeToString())
    return (details, (_RETRY_PUSHBACK_KEY, "-1")) if reason in _NOT_RETRIED else (details,)


def read_status(error: grpc.RpcError) -> status_pb2.Status | None:
    """The google.rpc.Status in a failed call's trailing metadata, or None where there is none that can be read."""
    trailing_metadata = getattr(error, "trailing_metadata", None)
    pairs = trailing_metadata() if callable(trailing_metadata) else None
    for key, value in pairs or ():
        if key == STATUS_DETAILS_KEY:
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                return None
    return None


def read_error_info(status: status_pb2.Status) -> error_details_pb2.ErrorInfo | None:
    """The ErrorInfo of our domain in `status`, if there is one."""
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info) and info.domain == DOMAIN:
            return info
    return None


def read_field_violations(status: status_pb2.Status) -> list[tuple[str, str]]:
    """The (field, description) pairs of the BadRequest in `status`; empty where there is none."""
    for detail in status.details:
        bad_request = error_details_pb2.BadRequest()
        if detail.Unpack(bad_request):
            return [(violation.field, violation.description) for violation in bad_request.field_violations]
    return []


def error_reason(error: BaseException) -> errors_pb2.ErrorReason.ValueType | None:
    """The reason that a failed call (or a ServiceError) carries; None where it carries none that this version knows."""
    if isinstance(error, ServiceError):
        return error.reason
    if not isinstance(error, grpc.RpcError):
        return None
    status = read_status(error)
    info = read_error_info(status) if status is not None else None
    return None if info is None else _parse_reason(info.reason)


def from_rpc_error(error: grpc.RpcError, service: str = "") -> ServiceError:
    """A failed call as ServiceError: the peer's own reason and text, or what its bare code means.

    Text that does not come from citemesh is not passed on; `service` names the peer in the text that replaces it.
    """
    status = read_status(error)
    info = read_error_info(status) if status is not None else None
    if status is not None and info is not None:
        reason = _parse_reason(info.reason) or errors_pb2.ERROR_REASON_INTERNAL
        mapped = ServiceError(reason, status.message)
        mapped.metadata = dict(info.metadata)
        mapped.field_violations = read_field_violations(status)
        return mapped
    return _from_bare_code(error, service or "service")


def _from_bare_code(error: grpc.RpcError, service: str) -> ServiceError:
    code = error.code() if isinstance(error, grpc.Call | grpc.aio.AioRpcError) else _CODE.UNKNOWN
    details = (error.details() or "") if isinstance(error, grpc.Call | grpc.aio.AioRpcError) else ""
    reason = _REASONS_OF_BARE_CODES.get(code, errors_pb2.ERROR_REASON_INTERNAL)
    if reason == errors_pb2.ERROR_REASON_INTERNAL:
        return ServiceError(reason, INTERNAL_TEXT, service=service)
    if code is _CODE.RESOURCE_EXHAUSTED and "larger than max" in details:
        text = f"The message to or from the {service} is larger than gRPC is set to carry."
        return ServiceError(errors_pb2.ERROR_REASON_INVALID_FIELD, text, service=service)
    if code is _CODE.UNAVAILABLE and _is_tls_failure(details):
        text = f"The {service}'s certificate or ours was refused: check the TLS files and the names in them."
    elif code is _CODE.UNIMPLEMENTED:
        text = f"The {service} at this address does not know this call: check the address and the versions."
    else:
        text = f"The call to the {service} ended with {code.name}."
    return ServiceError(reason, text, service=service)


def _is_tls_failure(details: str) -> bool:
    """gRPC reports a failed TLS handshake as UNAVAILABLE; only its text tells it from a dead peer."""
    lowered = details.lower()
    return any(word in lowered for word in ("ssl", "tls", "certificate", "handshak"))


def _parse_reason(name: str) -> errors_pb2.ErrorReason.ValueType | None:
    try:
        return errors_pb2.ErrorReason.Value(_PREFIX + name)
    except ValueError:
        return None


def _bad_request(violations: list[tuple[str, str]]) -> error_details_pb2.BadRequest:
    message = error_details_pb2.BadRequest()
    for index, (field, description) in enumerate(violations):
        message.field_violations.add(
            field=_shorten(field, _MAX_VALUE_SIZE_BYTES), description=_shorten(description, _MAX_MESSAGE_SIZE_BYTES)
        )
        if message.ByteSize() > _MAX_VIOLATIONS_SIZE_BYTES:
            del message.field_violations[index]
            message.field_violations.add(field="", description=f"and {len(violations) - index} more")
            break
    return message


def _pack(message: error_details_pb2.ErrorInfo | error_details_pb2.BadRequest) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed


def _shorten(text: str, limit: int) -> str:
    """`text` in at most `limit` bytes of UTF-8; a cut shows as an ellipsis (three bytes)."""
    encoded = text.encode(errors="replace")
    return text if len(encoded) <= limit else encoded[: limit - 3].decode(errors="ignore") + "…"
