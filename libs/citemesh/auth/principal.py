"""The principal of the running call, and the metadata that carries it on to the next service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from urllib.parse import quote

from citemesh.rpc.errors import ServiceError
from citemesh.v1 import errors_pb2

AUTHORIZATION_KEY = "authorization"
TENANT_KEY = "x-citemesh-tenant"
USER_KEY = "x-citemesh-user"
GROUPS_KEY = "x-citemesh-groups"

Metadata = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified caller. The tenant is a partition: nothing crosses it."""

    tenant_id: str
    user_id: str
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class Credentials:
    """A principal and the metadata by which the next service can verify it again."""

    principal: Principal
    metadata: Metadata


_current: ContextVar[Credentials | None] = ContextVar("citemesh_credentials", default=None)


def current_principal() -> Principal:
    """The principal of the running call. Raises ServiceError (unauthenticated) outside an authenticated call."""
    credentials = _current.get()
    if credentials is None:
        raise ServiceError(errors_pb2.ERROR_REASON_UNAUTHENTICATED, "The call carries no verified caller.")
    return credentials.principal


def outgoing_metadata() -> Metadata:
    """The metadata that forwards the caller's credentials; empty outside an authenticated call."""
    credentials = _current.get()
    return () if credentials is None else credentials.metadata


def open_metadata(principal: Principal) -> Metadata:
    """The metadata that names `principal` to a mesh that runs with open auth; values are percent-encoded."""
    return (
        (TENANT_KEY, quote(principal.tenant_id, safe="")),
        (USER_KEY, quote(principal.user_id, safe="")),
        (GROUPS_KEY, ",".join(quote(group, safe="") for group in sorted(principal.groups))),
    )


def set_credentials(credentials: Credentials) -> None:
    """Make `credentials` those of the running call; each gRPC call runs in a context of its own, so nothing to undo."""
    _current.set(credentials)


@contextmanager
def acting_as(principal: Principal) -> Iterator[None]:
    """Run a block as `principal` with open-mode metadata: for tests and for work that a mesh does for itself."""
    token = _current.set(Credentials(principal, open_metadata(principal)))
    try:
        yield
    finally:
        _current.reset(token)
