"""What a service exports so that a host can run it, alone or beside others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import grpc.aio
    from prometheus_client import CollectorRegistry

    from citemesh.telemetry.metrics import MetricFactory


class RunningService(Protocol):
    """A started service: its models are loaded and its stores are open."""

    def register(self, server: grpc.aio.Server) -> None:
        """Add the service's handlers to `server`, which has not started yet."""
        ...

    async def check(self) -> str | None:
        """Say in one line why the service cannot serve; None if it can. Polled about once a second: keep it cheap."""
        ...

    async def close(self) -> None:
        """Release everything. Called once, after the last call has ended."""
        ...


@dataclass(frozen=True, slots=True)
class StartContext:
    """Everything a service may take from its host; services read no global state."""

    environ: Mapping[str, str]
    """Environment variables, fixed at start. Settings are loaded from here, never from os.environ."""

    state_dir: Path
    """The folder that holds the embedded store and other local state. It exists."""

    registry: CollectorRegistry
    """The registry behind /metrics, shared by the services of one process."""

    metrics: MetricFactory
    """Makes (or finds again) the metrics of telemetry/names.py in `registry`."""

    open_channel: Callable[[str], grpc.aio.Channel]
    """What `channel` calls; the host's, which knows local services from configured addresses."""

    def channel(self, service_name: str) -> grpc.aio.Channel:
        """The channel to a service named in the SPEC's `needs`; made at first use, shared, closed by the host.

        Raises KeyError if the name is not among the needs of a hosted service.
        """
        return self.open_channel(service_name)


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """A service's name, what it needs and how to start it. Each services/<name>/service.py exports one as SPEC."""

    name: str
    """The short name: the folder under services/, and the word in CITEMESH_<NAME>_ADDRESS."""

    full_name: str
    """The gRPC service name, such as citemesh.v1.RerankService; health is reported under it."""

    needs: tuple[str, ...]
    """Short names of the services that this one calls."""

    start: Callable[[StartContext], Awaitable[RunningService]]
    """Loads settings, models and stores. Whatever it raises stops the host, which names the service."""
