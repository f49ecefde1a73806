"""The errors that every store raises."""

from __future__ import annotations

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2


def store_unavailable(message: str) -> ServiceError:
    """The error for a store that cannot be used; `message` says what to check."""
    return ServiceError(errors_pb2.ERROR_REASON_STORE_UNAVAILABLE, message)


def document_not_found(document_id: str) -> ServiceError:
    """The error for a document or a version that is not there."""
    return ServiceError(
        errors_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND, "There is no such document.", document_id=document_id
    )
