"""The one error that the clients raise for a failed call."""

from __future__ import annotations

from typing import Final

import grpc

from citemesh.rpc.errors import from_rpc_error, reason_name

_RETRYABLE: Final = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED}
)


class CitemeshError(Exception):
    """A call that failed. An answer that could not be given is no error: look at the response's `outcome`."""

    def __init__(
        self,
        reason: str,
        message: str,
        code: grpc.StatusCode = grpc.StatusCode.UNKNOWN,
        metadata: dict[str, str] | None = None,
        field_violations: list[tuple[str, str]] | None = None,
    ) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        """The ErrorReason by name, without its prefix, such as DOCUMENT_NOT_FOUND."""
        self.message = message
        """What happened, for a person."""
        self.code = code
        """The gRPC code of the reason."""
        self.metadata = metadata or {}
        """What the reason's documentation promises, such as document_id."""
        self.field_violations = field_violations or []
        """The wrong fields of the request: (path, what is wrong)."""

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed later. Calls that never reached a server have been retried already."""
        return self.code in _RETRYABLE


def to_citemesh_error(error: grpc.RpcError) -> CitemeshError:
    """The error of a failed call."""
    known = from_rpc_error(error, "mesh")
    return CitemeshError(reason_name(known.reason), known.message, known.code, known.metadata, known.field_violations)
