"""Where a client calls and as whom: the part of both clients that is not a call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from citemesh.auth.principal import AUTHORIZATION_KEY, Principal, open_metadata
from citemesh.config.paths import socket_path, state_dir

DISPATCHER: Final = "citemesh.v1.DispatcherService"
DOCUMENTS: Final = "citemesh.v1.DocumentsService"
RETRIEVAL: Final = "citemesh.v1.RetrievalService"

Token = str | Callable[[], str] | None


@dataclass(frozen=True, slots=True)
class Connection:
    """The addresses of the three services that callers use, the caller's credentials, and how long a call may take."""

    targets: Mapping[str, str]
    token: Token
    principal: Principal | None
    timeout_s: float
    environ: Mapping[str, str]

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The credentials of the next call; a token given as a function is asked for anew."""
        token = self.token() if callable(self.token) else self.token
        if token is not None:
            return ((AUTHORIZATION_KEY, f"Bearer {token}"),)
        return open_metadata(self.principal) if self.principal is not None else ()

    def timeout(self, timeout_s: float | None) -> float:
        """The timeout of the next call, in seconds. Raises ValueError where it is not positive."""
        if timeout_s is None:
            return self.timeout_s
        if timeout_s <= 0.0:
            raise ValueError("timeout_s must be positive")
        return timeout_s

    def watches_health(self, service: str) -> bool:
        """Whether to leave replicas that are not serving; a Unix socket has no replicas."""
        return not self.targets[service].startswith("unix:")


def make_connection(
    target: str | None,
    *,
    documents_target: str | None = None,
    retrieval_target: str | None = None,
    token: Token = None,
    principal: Principal | None = None,
    timeout_s: float = 30.0,
    environ: Mapping[str, str] | None = None,
) -> Connection:
    """`target` None means the mesh that runs on this machine for this user. Raises ValueError for senseless values."""
    if timeout_s <= 0.0:
        raise ValueError("timeout_s must be positive")
    if token is not None and principal is not None:
        raise ValueError("give a token, or (where the mesh runs with open auth) a principal, not both")
    variables = os.environ if environ is None else environ
    found = target or f"unix:{socket_path(state_dir(variables))}"
    targets = {DISPATCHER: found, DOCUMENTS: documents_target or found, RETRIEVAL: retrieval_target or found}
    return Connection(targets, token, principal, timeout_s, dict(variables))
