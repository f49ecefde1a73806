"""From --allow, --allow-user and --everyone to an access policy."""

from __future__ import annotations

from collections.abc import Iterable

from citemesh.cli.exits import CommandError
from citemesh.v1 import document_pb2


def read_access(groups: Iterable[str], users: Iterable[str], everyone: bool) -> document_pb2.AccessPolicy | None:
    """The policy that the options name; None where they name none, which leaves the mesh's rule.

    Everyone is a word of its own: a blank name is refused, never read as everyone.
    """
    named_groups, named_users = _read_names(groups, "--allow"), _read_names(users, "--allow-user")
    if everyone:
        if named_groups or named_users:
            raise CommandError("--everyone contradicts --allow and --allow-user: leave one of them out")
        return document_pb2.AccessPolicy(everyone=document_pb2.Everyone())
    if not named_groups and not named_users:
        return None
    return document_pb2.AccessPolicy(only=document_pb2.AllowedPrincipals(groups=named_groups, users=named_users))


def describe_access(access: document_pb2.AccessPolicy) -> str:
    """Who may read, in words."""
    kind = access.WhichOneof("access")
    if kind == "everyone":
        return "everyone"
    names = [f"group {group}" for group in access.only.groups] + [f"user {user}" for user in access.only.users]
    return ", ".join(names) or "nobody"


def _read_names(names: Iterable[str], option: str) -> list[str]:
    stripped = [name.strip() for name in names]
    if not all(stripped):
        raise CommandError(f"{option}: a name is empty")
    return stripped
