"""grpc.health.v1 from what the services say of themselves, per service and (under the empty name) for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import grpc
import grpc.aio
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client import Gauge

from citemesh.rpc.spec import RunningService

_log = structlog.get_logger(__name__)

_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN

OVERALL = ""


class HealthServicer(health_pb2_grpc.HealthServicer):
    """The standard service. Unlike the packaged one, watchers of one name do not lose each other's notifications,
    and they can be sent home, so that a server with watchers can stop before its grace is over."""

    def __init__(self) -> None:
        self._statuses: dict[str, int] = {OVERALL: _NOT_SERVING}
        self._changed = asyncio.Condition()
        self._draining = False
        self._closed = False

    async def set(self, service: str, status: int) -> None:
        """Publish a status; ignored while draining."""
        async with self._changed:
            if not self._draining:
                self._statuses[service] = status
                self._changed.notify_all()

    async def drain(self) -> None:
        """Report NOT_SERVING everywhere, for good."""
        async with self._changed:
            self._draining = True
            self._statuses = dict.fromkeys(self._statuses, _NOT_SERVING)
            self._changed.notify_all()

    async def close(self) -> None:
        """End every watch."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()

    async def Check(  # noqa: N802  # the name in the protocol
        self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext[object, object]
    ) -> health_pb2.HealthCheckResponse:
        """The status now; NOT_FOUND for a service that is not here."""
        status = self._statuses.get(request.service)
        if status is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such service here")
        return health_pb2.HealthCheckResponse(status=status)

    async def Watch(  # noqa: N802  # the name in the protocol
        self, request: health_pb2.HealthCheckRequest, _context: grpc.aio.ServicerContext[object, object]
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """The status now and after every change."""
        last: int | None = None
        while True:
            status = self._statuses.get(request.service, _UNKNOWN)
            if status != last:
                last = status
                yield health_pb2.HealthCheckResponse(status=status)
                continue
            if self._closed:
                return
            async with self._changed:
                if not self._closed and self._statuses.get(request.service, _UNKNOWN) == last:
                    await self._changed.wait()


class HealthPoller:
    """Asks every service about itself and publishes the answers."""

    def __init__(
        self,
        servicer: HealthServicer,
        services: Mapping[str, RunningService],
        full_names: Mapping[str, str],
        gauge: Gauge,
        *,
        timeout_s: float,
    ) -> None:
        self._servicer = servicer
        self._services = services
        self._full_names = full_names
        self._gauge = gauge
        self._timeout_s = timeout_s
        self.problems: dict[str, str] = {}
        """Why services cannot serve, by short name; empty where all can."""
        self._reported: dict[str, str] | None = None

    async def poll(self) -> None:
        """Ask everyone once, at the same time."""
        reasons = await asyncio.gather(*(self._ask(service) for service in self._services.values()))
        self.problems = {
            name: reason for name, reason in zip(self._services, reasons, strict=True) if reason is not None
        }
        for name in self._services:
            serving = name not in self.problems
            self._gauge.labels(name).set(1.0 if serving else 0.0)
            await self._servicer.set(self._full_names[name], _SERVING if serving else _NOT_SERVING)
        await self._servicer.set(OVERALL, _NOT_SERVING if self.problems else _SERVING)
        if self.problems != self._reported:
            self._reported = dict(self.problems)
            write = _log.warning if self.problems else _log.info
            write("health", serving=not self.problems, problems=self.problems)

    async def run(self, interval_s: float) -> None:
        """Poll until cancelled."""
        while True:
            await asyncio.sleep(interval_s)
            await self.poll()

    async def _ask(self, service: RunningService) -> str | None:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await service.check()
        except TimeoutError:
            return f"the check took longer than {self._timeout_s:g} s"
        except Exception as error:  # noqa: BLE001  # a service that cannot even check itself is not serving
            return f"the check failed with {type(error).__name__}"
