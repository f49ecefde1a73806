"""Who may read a document, and what a scope names; pure."""

from __future__ import annotations

from typing import Final

from citemesh.auth.principal import Principal
from citemesh.rpc.errors import invalid_argument
from citemesh.v1.document_pb2 import AccessPolicy, Everyone
from citemesh.v1.question_pb2 import Scope

EVERYONE: Final = AccessPolicy(everyone=Everyone())
"""The access of a new document for which none is given."""


def check_access(access: AccessPolicy) -> None:
    """Raise INVALID_FIELD where `access` says neither case."""
    if access.WhichOneof("access") is None:
        raise invalid_argument("access", "must say everyone, or name who; an empty set reaches nobody")


def allowed_readers(access: AccessPolicy) -> frozenset[str]:
    """The entries that let somebody read; without meaning where everyone may. Empty names let nobody."""
    users = {f"user:{user}" for user in access.only.users if user}
    return frozenset(users | {f"group:{group}" for group in access.only.groups if group})


def reader_entries(principal: Principal) -> frozenset[str]:
    """The entries of `allowed_readers` by which `principal` may read."""
    users = {f"user:{principal.user_id}"} if principal.user_id else set()
    return frozenset(users | {f"group:{group}" for group in principal.groups if group})


def scope_documents(scope: Scope | None) -> frozenset[str] | None:
    """The document ids of `scope`; None for all. Raises INVALID_FIELD where it says neither."""
    if scope is None or scope.HasField("all_documents"):
        return None
    if not scope.HasField("documents"):
        raise invalid_argument("scope", "must name documents, or all of them")
    if not scope.documents.document_ids:
        raise invalid_argument("scope.documents.document_ids", "must not be empty; use all_documents for all")
    return frozenset(scope.documents.document_ids)
