"""The options that commands share, and how their values are read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import quote

import typer
from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.auth.principal import AUTHORIZATION_KEY, GROUPS_KEY, USER_KEY, Metadata
from citemesh.cli.exits import CommandError
from citemesh.config.paths import state_dir
from citemesh.v1 import question_pb2

TOKEN_VARIABLE: Final = "CITEMESH_TOKEN"  # noqa: S105 - the name of a variable, not a secret
DEFAULT_TIMEOUT_S: Final = 30.0

TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="ADDR",
        show_default=False,
        help="Where the mesh listens, as host:port or unix:PATH. Default: the mesh that runs here.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print the response as JSON on stdout, and nothing else there.")
]
AsOption = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="USER[:GROUP,...]", help="Who asks, where the mesh runs with open auth.", show_default=False
    ),
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.05, help="The longest that a call may take, in seconds.")
]
StateDirOption = Annotated[
    Path | None,
    typer.Option(
        "--state-dir",
        metavar="DIR",
        show_default=False,
        help="Where a local mesh keeps its state. Default: CITEMESH_STATE_DIR, else the user's data directory.",
    ),
]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="DATE", show_default=False, help="Ask by the rules of this day. Default: now."),
]
DocumentOption = Annotated[
    list[str] | None, typer.Option("--document", metavar="ID", help="Look at this document only; may be repeated.")
]


@dataclass(frozen=True, slots=True)
class Common:
    """What every command that calls a mesh was told."""

    target: str | None
    as_json: bool
    metadata: Metadata
    timeout_s: float
    state_dir: Path


def read_common(
    target: str | None, as_json: bool, as_user: str | None, timeout_s: float, state_dir_option: Path | None
) -> Common:
    """The shared options with their values read. Raises CommandError where one is wrong."""
    return Common(
        target=target,
        as_json=as_json,
        metadata=read_credentials(as_user, os.environ),
        timeout_s=timeout_s,
        state_dir=find_state_dir(state_dir_option),
    )


def find_state_dir(option: Path | None) -> Path:
    """The state directory: the option, else CITEMESH_STATE_DIR, else the user's data directory."""
    return option.expanduser().absolute() if option is not None else state_dir(os.environ)


def read_credentials(as_user: str | None, environ: Mapping[str, str]) -> Metadata:
    """The metadata that says who asks: the token of CITEMESH_TOKEN, and what --as says.

    `as_user` is USER or USER:GROUP,GROUP. Without either, the mesh decides who a nameless caller is.
    """
    pairs: list[tuple[str, str]] = []
    token = environ.get(TOKEN_VARIABLE, "").strip()
    if token:
        pairs.append((AUTHORIZATION_KEY, f"Bearer {token}"))
    if as_user is not None:
        user, _, groups = as_user.partition(":")
        if not user.strip():
            raise CommandError("--as: name a user, as in --as ana or --as ana:staff,hr")
        named = [quote(group.strip(), safe="") for group in groups.split(",") if group.strip()]
        pairs += [(USER_KEY, quote(user.strip(), safe="")), (GROUPS_KEY, ",".join(named))]
    return tuple(pairs)


def read_time(text: str | None, option: str) -> Timestamp | None:
    """A day (2026-01-31, its first moment in universal time) or a moment (2026-01-31T09:00:00+01:00) as a timestamp."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"{option}: {text!r} is not a date; write it as 2026-01-31") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    timestamp = Timestamp()
    timestamp.FromDatetime(moment.astimezone(UTC))
    return timestamp


def make_scope(document_ids: list[str] | None) -> question_pb2.Scope | None:
    """The scope of these documents; None, which means all that the caller may read, where none was named."""
    if not document_ids:
        return None
    return question_pb2.Scope(documents=question_pb2.DocumentIds(document_ids=document_ids))
