"""The grpc_server_* metrics, with the label children of each method resolved once."""

from __future__ import annotations

import grpc
from google.protobuf import descriptor_pool

from citemesh.rpc.errors import CODES, reason_name
from citemesh.telemetry import names
from citemesh.telemetry.metrics import MetricFactory

_TYPES = {
    (False, False): "unary",
    (True, False): "client_stream",
    (False, True): "server_stream",
    (True, True): "bidi_stream",
}


class MethodMetrics:
    """What is counted for one method."""

    __slots__ = ("_duration", "_errors", "_handled", "_received", "_sent", "_started")

    def __init__(self, metrics: RpcMetrics, labels: tuple[str, str, str]) -> None:
        self._started = metrics.started.labels(*labels)
        self._duration = metrics.duration.labels(*labels)
        self._received = metrics.received.labels(*labels)
        self._sent = metrics.sent.labels(*labels)
        # The Go ecosystem writes codes in camel case: OK, NotFound, DeadlineExceeded.
        self._handled = {code: metrics.handled.labels(*labels, _go_name(code)) for code in grpc.StatusCode}
        reasons = (reason_name(reason) for reason in CODES)
        self._errors = {name: metrics.errors.labels(labels[1], name) for name in reasons}

    def begin(self) -> None:
        """A call has come in."""
        self._started.inc()

    def end(self, code: grpc.StatusCode, elapsed_s: float) -> None:
        """A call has ended."""
        self._handled[code].inc()
        self._duration.observe(elapsed_s)

    def count_error(self, reason: str) -> None:
        """A call has ended with an ErrorReason."""
        self._errors[reason].inc()

    def count_received(self) -> None:
        """A request message was read."""
        self._received.inc()

    def count_sent(self) -> None:
        """A response message goes out."""
        self._sent.inc()


class RpcMetrics:
    """The families, and the methods known so far."""

    def __init__(self, factory: MetricFactory) -> None:
        self.started = factory.counter(names.GRPC_STARTED)
        self.handled = factory.counter(names.GRPC_HANDLED)
        self.duration = factory.histogram(names.GRPC_HANDLING_SECONDS)
        self.received = factory.counter(names.GRPC_MSG_RECEIVED)
        self.sent = factory.counter(names.GRPC_MSG_SENT)
        self.errors = factory.counter(names.SERVICE_ERRORS)
        self.in_flight = factory.gauge(names.CALLS_IN_FLIGHT)
        self._methods: dict[str, MethodMetrics] = {}

    def of(self, path: str, request_streaming: bool, response_streaming: bool) -> MethodMetrics:
        """The metrics of "/package.Service/Method"; its series are there, at zero, from this call on."""
        found = self._methods.get(path)
        if found is None:
            service, _, method = path.lstrip("/").rpartition("/")
            found = MethodMetrics(self, (_TYPES[request_streaming, response_streaming], service, method))
            self._methods[path] = found
        return found

    def prepare(self, full_name: str) -> None:
        """Create the series of every method of a service, as far as its descriptor is known to this process."""
        try:
            service = descriptor_pool.Default().FindServiceByName(full_name)
        except KeyError:
            return  # a hand-made service without a descriptor: its series appear with its first call
        for method in service.methods:
            self.of(f"/{full_name}/{method.name}", method.client_streaming, method.server_streaming)


def _go_name(code: grpc.StatusCode) -> str:
    if code is grpc.StatusCode.OK:
        return "OK"
    if code is grpc.StatusCode.CANCELLED:
        return "Canceled"
    return code.name.title().replace("_", "")
