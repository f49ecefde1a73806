"""From the shared options to a mesh: the one named, the one that runs here, or one started for the command."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc.aio

from citemesh.auth.principal import Credentials, Metadata, Principal, set_credentials
from citemesh.cli import mesh
from citemesh.cli.exits import CommandError, Exit
from citemesh.cli.options import Common
from citemesh.cli.output import Output
from citemesh.config.paths import socket_path
from citemesh.rpc.channels import open_channel

_PROBE_TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Connection:
    """An open channel to a mesh, and how long a call over it may take."""

    channel: grpc.aio.Channel
    target: str
    timeout_s: float


@asynccontextmanager
async def connect(common: Common, output: Output, *, may_start: bool = True) -> AsyncIterator[Connection]:
    """A connection to the mesh that the options mean; one that had to be started ends with the block.

    Raises CommandError where there is no mesh and none may be started.
    """
    async with AsyncExitStack() as stack:
        target = common.target or await find_running_mesh(common.state_dir)
        started = target is None
        if target is None:
            if not may_start:
                raise CommandError(
                    "No mesh runs here. Start one with `citemesh up`, or name one with --target.", Exit.UNAVAILABLE
                )
            output.note("No mesh runs here: starting one for this command. `citemesh up` keeps one running.")
            target = await stack.enter_async_context(mesh.host_for_command(common.state_dir))
        # A mesh in this process cannot hang without its caller: no pings, which a busy machine answers too late.
        channel = open_channel(target, os.environ, local=started, watch_health=False)
        stack.push_async_callback(channel.close)
        act_as(common.metadata)
        yield Connection(channel, target, common.timeout_s)


async def find_running_mesh(state: Path) -> str | None:
    """The address of the mesh whose state is in `state`, or None where none answers."""
    path = socket_path(state)
    if not path.exists():
        return None
    target = f"unix:{path}"
    # A socket file outlives a mesh that was killed, so it is tried.
    async with grpc.aio.insecure_channel(target) as channel:
        try:
            await asyncio.wait_for(channel.channel_ready(), _PROBE_TIMEOUT_S)
        except TimeoutError:
            return None
    return target


def act_as(metadata: Metadata) -> None:
    """Make the calls of this command carry `metadata`; the principal itself is for the mesh to find out."""
    set_credentials(Credentials(Principal("", "", frozenset()), metadata))
