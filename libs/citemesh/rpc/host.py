"""Run services in this process: one, some or all of them, over one Unix socket or TCP address."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import grpc
import grpc.aio
import structlog
import uvloop
from grpc_health.v1 import health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from prometheus_client import CollectorRegistry
from prometheus_client.process_collector import ProcessCollector

from citemesh.auth.authenticate import make_authenticator
from citemesh.config import paths
from citemesh.config.load import ConfigurationError, load_settings
from citemesh.rpc.channels import open_channel, server_options
from citemesh.rpc.handled_call import CallPolicy
from citemesh.rpc.health import HealthPoller, HealthServicer
from citemesh.rpc.interceptors import CallInterceptor
from citemesh.rpc.listener import MetricsEndpoint, bind, socket_file
from citemesh.rpc.method_metrics import RpcMetrics
from citemesh.rpc.plan import Plan, make_plan
from citemesh.rpc.request_ids import current_request_id
from citemesh.rpc.settings import HostSettings
from citemesh.rpc.spec import RunningService, ServiceSpec, StartContext
from citemesh.telemetry import names
from citemesh.telemetry.logs import LogSettings, configure_logging
from citemesh.telemetry.metrics import MetricFactory
from citemesh.telemetry.tracing import make_tracer

_log = structlog.get_logger(__name__)

_HEALTH_SERVICE = "grpc.health.v1.Health"
# Calls leave circles behind that only the collector frees. At Python's 700 it takes a tenth of the processor's time of
# a stage that does little else than call; at this many new objects a few MiB more stay until then.
_GARBAGE_THRESHOLD = 5_000


class StartError(Exception):
    """A service could not start. The text names the service; the cause is chained."""


class Host:
    """The services of one process: `await start()`, then `await stop()`. Everything is made in `start`."""

    def __init__(self, specs: Sequence[ServiceSpec], environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self.settings = load_settings(HostSettings, self._environ)
        self._plan: Plan = make_plan(specs, self._environ)
        self.registry = CollectorRegistry()
        self._metrics = MetricFactory(self.registry)
        self.target = ""
        """Where the services are reached, as a gRPC target; set by `start`."""
        self.metrics_address = ""
        """host:port of /metrics; empty where it is off."""
        self._local_target = ""
        self._services: dict[str, RunningService] = {}
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._closing = contextlib.AsyncExitStack()

    @property
    def service_names(self) -> tuple[str, ...]:
        """Short names of the hosted services, in the order of their start."""
        return tuple(spec.name for spec in self._plan.specs)

    @property
    def problems(self) -> dict[str, str]:
        """Why hosted services cannot serve, by short name; empty where all can."""
        return dict(self._poller.problems)

    async def start(self) -> None:
        """Start the services, then listen. When it returns, calls are answered and health has been published once.

        Raises ConfigurationError or StartError; whatever had started by then is closed again.
        """
        try:
            await self._start()
        except BaseException:  # a cancelled start closes what it opened, too; raised again
            await self._closing.aclose()
            raise

    async def _start(self) -> None:
        state_dir = paths.state_dir(self._environ)
        try:
            state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f"{paths.STATE_DIR_VARIABLE}: {state_dir} cannot be made: {error.strerror}"
            ) from error
        authenticator = make_authenticator(self._environ)
        tracer = make_tracer(self._environ, self.service_names)
        self._closing.callback(tracer.close)
        ProcessCollector(registry=self.registry)
        rpc_metrics = RpcMetrics(self._metrics)
        policy = CallPolicy(
            authenticator,
            tracer=tracer,
            default_deadline_s=self.settings.default_deadline_ms / 1000.0,
            max_concurrent_calls=self.settings.max_concurrent_calls,
            log_exception_text=load_settings(LogSettings, self._environ).text,
        )
        self._in_flight = policy.in_flight
        self._interceptor = CallInterceptor(rpc_metrics, policy)
        self._bind(state_dir)
        self._closing.push_async_callback(self._close_channels)
        context = StartContext(self._environ, state_dir, self.registry, self._metrics, self._channel)
        for spec in self._plan.specs:
            service = await _start_service(spec, context)
            self._services[spec.name] = service
            self._closing.push_async_callback(_close_service, spec.name, service)
            service.register(self._server)
            rpc_metrics.prepare(spec.full_name)
        await self._open_doors()

    def _bind(self, state_dir: Path) -> None:
        """Take the address before anything slow happens, so that a taken one is found at once."""
        address = self.settings.listen_address or f"unix:{_own_socket(state_dir, self.service_names)}"
        self._server = self._make_server(address)
        self._closing.push_async_callback(self._server.stop, None)
        self.target = self._listen(address)
        self._local_target = self.target
        if self._plan.calls_itself and not self.target.startswith("unix:"):
            # Local hops go by a private socket, whatever the door for others looks like (TLS, client certificates).
            self._local_target = self._listen(f"unix:{_own_socket(state_dir, (f'host-{os.getpid()}',))}")

    def _listen(self, address: str) -> str:
        target = bind(self._server, address, self.settings)
        if address.startswith("unix:"):
            self._closing.callback(socket_file(address).unlink, missing_ok=True)
        return target

    async def _open_doors(self) -> None:
        self._health = HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        full_names = {spec.name: spec.full_name for spec in self._plan.specs}
        if self.settings.reflection:
            reflected = (*full_names.values(), _HEALTH_SERVICE, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(reflected, self._server)
        self._poller = HealthPoller(
            self._health,
            self._services,
            full_names,
            self._metrics.gauge(names.SERVICE_SERVING, service=full_names),
            timeout_s=self.settings.health_timeout_ms / 1000.0,
        )
        if self.settings.metrics_address != "off":
            endpoint = MetricsEndpoint(self.settings.metrics_address, self.registry)
            self._closing.push_async_callback(asyncio.to_thread, endpoint.close)
            self.metrics_address = endpoint.address
        await self._server.start()
        await self._poller.poll()
        polling = asyncio.create_task(self._poller.run(self.settings.health_interval_ms / 1000.0))
        self._closing.push_async_callback(_cancel, polling)

    async def stop(self) -> None:
        """Drain: report NOT_SERVING, wait until callers have turned away, let calls in flight end, close everything."""
        await self._health.drain()
        if self.settings.drain_wait_ms:
            await asyncio.sleep(self.settings.drain_wait_ms / 1000.0)
        await self._health.close()
        grace_s = self.settings.drain_grace_ms / 1000.0
        if self._plan.calls_itself:
            grace_s = await self._await_idle(grace_s)
        await self._server.stop(grace_s)
        await self._closing.aclose()

    async def hurry(self) -> None:
        """End calls in flight now, while `stop` waits for them."""
        await self._server.stop(None)

    async def _await_idle(self, grace_s: float) -> float:
        """Wait until no call is in flight; return what is left of the grace.

        A closed door would also shut out the calls that a call in flight makes to its neighbours in this process.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace_s
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._in_flight.idle.wait()
        return max(0.0, deadline - loop.time())

    def _make_server(self, address: str) -> grpc.aio.Server:
        settings = self.settings
        renew = not address.startswith("unix:") and settings.max_connection_age_ms > 0
        return grpc.aio.server(
            interceptors=[self._interceptor],
            options=server_options(
                max_connection_age_s=settings.max_connection_age_ms / 1000.0 if renew else None,
                keep_requests_s=settings.drain_grace_ms / 1000.0 + settings.default_deadline_ms / 1000.0,
            ),
        )

    def _channel(self, service_name: str) -> grpc.aio.Channel:
        channel = self._channels.get(service_name)
        if channel is None:
            local = service_name in self.service_names
            if not local and service_name not in self._plan.remote:
                raise KeyError(f"{service_name} is not among the needs of {', '.join(self.service_names)}")
            target = self._local_target if local else self._plan.remote[service_name]
            channel = self._channels[service_name] = open_channel(target, self._environ, local=local)
        return channel

    async def _close_channels(self) -> None:
        for channel in self._channels.values():
            await channel.close()


@contextlib.asynccontextmanager
async def hosted(specs: Sequence[ServiceSpec], environ: Mapping[str, str]) -> AsyncIterator[Host]:
    """Host `specs` for the length of a block: for tests, and for a command that needs a mesh for itself."""
    host = Host(specs, environ)
    await host.start()
    try:
        yield host
    finally:
        await host.stop()


async def serve(
    specs: Sequence[ServiceSpec], environ: Mapping[str, str], on_ready: Callable[[Host], None] | None = None
) -> None:
    """Host `specs` until SIGTERM or SIGINT, then drain; a second signal ends calls in flight at once.

    `on_ready` is called once, when calls are answered.
    """
    loop = asyncio.get_running_loop()
    signals: asyncio.Queue[None] = asyncio.Queue()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signals.put_nowait, None)
    host = Host(specs, environ)
    starting = asyncio.create_task(host.start())
    first_signal = asyncio.create_task(signals.get())
    await asyncio.wait((starting, first_signal), return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        await _cancel(starting)
        return
    try:
        await starting
    except BaseException:  # whatever ended the start, nobody waits for a signal; raised again
        await _cancel(first_signal)
        raise
    # What is loaded by now stays: the garbage collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE_THRESHOLD)
    _log.info("ready", services=host.service_names, target=host.target, metrics=host.metrics_address)
    if on_ready is not None:
        on_ready(host)
    await first_signal
    _log.info("draining")
    stopping = asyncio.create_task(host.stop())
    second_signal = asyncio.create_task(signals.get())
    await asyncio.wait((stopping, second_signal), return_when=asyncio.FIRST_COMPLETED)
    if second_signal.done():
        await host.hurry()
    await _cancel(second_signal)
    await stopping
    _log.info("stopped")


def run(
    specs: Sequence[ServiceSpec], environ: Mapping[str, str], on_ready: Callable[[Host], None] | None = None
) -> None:
    """`serve` as a process does it: logging set up, on uvloop. Raises ConfigurationError or StartError."""
    settings = load_settings(LogSettings, environ)
    configure_logging(
        level=settings.level, with_text=settings.text, console=settings.console, request_id=current_request_id
    )
    uvloop.run(serve(specs, environ, on_ready))


def _own_socket(state_dir: Path, service_names: tuple[str, ...]) -> Path:
    try:
        paths.make_run_dir(state_dir)
    except OSError as error:
        raise ConfigurationError(f"The folder for the socket cannot be made: {error}") from error
    return paths.socket_path(state_dir, service_names[0] if len(service_names) == 1 else "mesh")


async def _start_service(spec: ServiceSpec, context: StartContext) -> RunningService:
    try:
        return await spec.start(context)
    except ConfigurationError:
        raise
    except Exception as error:
        # Whatever a service fails with, the operator needs its name first.
        raise StartError(f"The service {spec.name} cannot start: {type(error).__name__}: {error}") from error


async def _close_service(name: str, service: RunningService) -> None:
    try:
        await service.close()
    except Exception:  # noqa: BLE001  # one service's failure must not keep the others from closing
        _log.exception("close_failed", service=name)


async def _cancel(task: asyncio.Task[object] | asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
