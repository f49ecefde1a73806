"""`citemesh up`: the mesh, or some services of it, until it is stopped."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from citemesh.cli import mesh
from citemesh.cli.options import StateDirOption, find_state_dir

if TYPE_CHECKING:
    from citemesh.rpc.host import Host


class Auth(StrEnum):
    """How callers are verified."""

    JWT = "jwt"
    OPEN = "open"


def up(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME...]", help="Services to host. Default: all of them.", show_default=False),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="ADDR",
            help="host:port or unix:PATH. Default: CITEMESH_HOST_LISTEN_ADDRESS, else a Unix socket of this user.",
            show_default=False,
        ),
    ] = None,
    auth: Annotated[
        Auth | None,
        typer.Option(
            "--auth",
            help="jwt verifies a token on every call; open believes callers, for one machine.",
            show_default=False,
        ),
    ] = None,
    state_dir: StateDirOption = None,
) -> None:
    """Host the mesh in this process until it is stopped by Ctrl-C or SIGTERM.

    Callers are verified as CITEMESH_AUTH_* says. Without any of that, and on the Unix socket that only this user
    can open, callers are believed. A service that is hosted without its neighbours finds them by CITEMESH_NAME_ADDRESS.
    """
    overrides = {}
    if listen is not None:
        overrides["CITEMESH_HOST_LISTEN_ADDRESS"] = listen
    if auth is not None:
        overrides["CITEMESH_AUTH_MODE"] = auth.value
    mesh.serve_until_stopped(names or [], find_state_dir(state_dir), overrides, _announce)


def _announce(host: Host) -> None:
    """Where the mesh listens, on stdout, once it answers calls."""
    print(host.target, flush=True)
    metrics = f", metrics on http://{host.metrics_address}/metrics" if host.metrics_address else ""
    lines = [f"Ready: {', '.join(host.service_names)} on {host.target}{metrics}."]
    lines += [f"Not serving: {name}: {reason}" for name, reason in host.problems.items()]
    print("\n".join(lines), file=sys.stderr, flush=True)
