"""Traces by OpenTelemetry, for sampled calls only; and the trace context, passed on whether or not we export.

Without CITEMESH_TRACING_ENDPOINT nothing is recorded here, and a caller's `traceparent` still reaches every stage.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import grpc
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from citemesh.config.load import load_settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

TRACEPARENT_KEY: Final = "traceparent"
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


class TracingSettings(BaseSettings):
    """Variables CITEMESH_TRACING_*."""

    model_config = SettingsConfigDict(env_prefix="CITEMESH_TRACING_", use_attribute_docstrings=True)

    endpoint: str = ""
    """Where spans go, as http://host:port of an OTLP gRPC receiver; empty: nowhere."""

    sample_ratio: float = Field(default=0.01, ge=0.0, le=1.0)
    """Share of the calls without a trace context that start a trace. A caller's own decision is followed."""


@dataclass(slots=True)
class CallTrace:
    """The trace context of one call; `span` is there only where the call is sampled and exported."""

    traceparent: str
    span: Span | None = None

    @property
    def trace_id(self) -> str:
        """The trace's id as 32 hex digits; empty where there is no trace."""
        return self.traceparent[3:35]

    def end(self, code: grpc.StatusCode) -> None:
        """Close the span with the call's gRPC code; codes that tell of a server's fault mark it as an error."""
        if self.span is None:
            return
        self.span.set_attribute("rpc.grpc.status_code", code.value[0])
        if code in _FAULTS:
            from opentelemetry.trace import StatusCode

            self.span.set_status(StatusCode.ERROR)
        self.span.end()


_FAULTS: Final = frozenset(
    {
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
_NO_TRACE: Final = CallTrace("")


class CallTracer:
    """Begins a span per sampled call and hands on the context."""

    def __init__(self, provider: TracerProvider | None = None, sample_ratio: float = 0.0) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("citemesh") if provider is not None else None
        self._sample_ratio = sample_ratio

    def begin(self, method: str, incoming: str | bytes | None) -> CallTrace:
        """The trace of a call to `method` ("/package.Service/Method") that came with the traceparent `incoming`."""
        match = _TRACEPARENT.fullmatch(incoming) if isinstance(incoming, str) else None
        if self._tracer is not None and self._is_sampled(match):
            return self._start_span(method, match)
        return CallTrace(match.group(0)) if match is not None else _NO_TRACE

    def _is_sampled(self, match: re.Match[str] | None) -> bool:
        if match is not None:
            return bool(int(match.group(3), 16) & 1)
        return random.random() < self._sample_ratio  # noqa: S311  # sampling needs no secrecy

    def _start_span(self, method: str, match: re.Match[str] | None) -> CallTrace:
        from opentelemetry import trace

        assert self._tracer is not None
        parent = None
        if match is not None:
            context = trace.SpanContext(
                int(match.group(1), 16), int(match.group(2), 16), is_remote=True, trace_flags=trace.TraceFlags(1)
            )
            parent = trace.set_span_in_context(trace.NonRecordingSpan(context))
        service, _, name = method.lstrip("/").rpartition("/")
        attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name}
        span = self._tracer.start_span(
            f"{service}/{name}", context=parent, kind=trace.SpanKind.SERVER, attributes=attributes
        )
        made = span.get_span_context()
        return CallTrace(f"00-{made.trace_id:032x}-{made.span_id:016x}-01", span)

    def close(self) -> None:
        """Send what is left."""
        if self._provider is not None:
            self._provider.shutdown()


def make_tracer(environ: Mapping[str, str], services: Iterable[str]) -> CallTracer:
    """The tracer that CITEMESH_TRACING_* asks for. OpenTelemetry is imported only where spans are exported."""
    settings = load_settings(TracingSettings, environ)
    if not settings.endpoint:
        return CallTracer()
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    exporter = OTLPSpanExporter(endpoint=settings.endpoint, insecure=settings.endpoint.startswith("http://"))
    return CallTracer(make_provider(exporter, services), settings.sample_ratio)


def make_provider(exporter: SpanExporter, services: Iterable[str]) -> TracerProvider:
    """A provider that records every span it is asked for (CallTracer samples) and exports in the background."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    resource = Resource.create({"service.name": "citemesh", "citemesh.services": sorted(services)})
    provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider
