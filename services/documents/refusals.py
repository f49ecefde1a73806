"""A parser's refusal as an error of the service."""

from __future__ import annotations

from typing import Final

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2
from services.documents.parsing.refusal import ParseRefused, RefusalReason
from services.documents.parsing.sandbox import SandboxLimits

_REASONS: Final = {
    RefusalReason.EMPTY: errors_pb2.ERROR_REASON_FILE_EMPTY,
    RefusalReason.UNREADABLE: errors_pb2.ERROR_REASON_FILE_CORRUPT,
    RefusalReason.PASSWORD_NEEDED: errors_pb2.ERROR_REASON_FILE_ENCRYPTED,
    RefusalReason.PASSWORD_WRONG: errors_pb2.ERROR_REASON_FILE_PASSWORD_WRONG,
    RefusalReason.UNSUPPORTED: errors_pb2.ERROR_REASON_FILE_TYPE_UNSUPPORTED,
    RefusalReason.TOO_LARGE: errors_pb2.ERROR_REASON_FILE_TOO_LARGE,
    RefusalReason.TOO_SLOW: errors_pb2.ERROR_REASON_PARSE_TIMEOUT,
    RefusalReason.TOO_MUCH_MEMORY: errors_pb2.ERROR_REASON_PARSE_MEMORY_EXCEEDED,
    RefusalReason.CRASHED: errors_pb2.ERROR_REASON_PARSE_CRASHED,
}


def to_service_error(
    refusal: ParseRefused, limits: SandboxLimits, *, size_bytes: int, max_size_bytes: int, media_type: str = ""
) -> ServiceError:
    """The error that tells the sender why the file was not read, with the metadata its reason promises."""
    metadata: dict[str, str | int | float] = {}
    if refusal.reason is RefusalReason.TOO_SLOW:
        metadata["limit_s"] = round(refusal.limit_s or limits.times_for(size_bytes)[0], 1)
    elif refusal.reason is RefusalReason.TOO_MUCH_MEMORY:
        metadata["limit_bytes"] = limits.memory_bytes
    elif refusal.reason is RefusalReason.TOO_LARGE:
        metadata["max_size_bytes"] = max_size_bytes
    elif refusal.reason is RefusalReason.UNSUPPORTED:
        metadata["media_type"] = media_type or "application/octet-stream"
    return ServiceError(_REASONS[refusal.reason], refusal.message, **metadata)
