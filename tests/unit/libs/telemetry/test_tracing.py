"""Traces: sampled calls make spans, all others only pass the context on."""

from __future__ import annotations

import grpc
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from citemesh.config.load import ConfigurationError
from citemesh.telemetry.tracing import CallTracer, make_provider, make_tracer

SAMPLED = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
UNSAMPLED = SAMPLED[:-1] + "0"


@pytest.mark.parametrize("incoming", [SAMPLED, UNSAMPLED])
def test_without_an_endpoint_the_context_passes_unchanged(incoming: str) -> None:
    trace = make_tracer({}, ["a"]).begin("/s/M", incoming)
    assert (trace.traceparent, trace.span) == (incoming, None)
    assert trace.trace_id == "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize("incoming", [None, "", "rubbish", b"\x00", SAMPLED + "-more", SAMPLED.upper()])
def test_what_is_no_trace_context_is_dropped(incoming: str | bytes | None) -> None:
    trace = make_tracer({}, ["a"]).begin("/s/M", incoming)
    assert (trace.traceparent, trace.trace_id, trace.span) == ("", "", None)


def test_a_sampled_call_makes_a_span_under_its_callers() -> None:
    exporter = InMemorySpanExporter()
    tracer = CallTracer(make_provider(exporter, ["rerank"]), sample_ratio=0.0)
    trace = tracer.begin("/citemesh.v1.RerankService/Rerank", SAMPLED)
    assert trace.trace_id == "0123456789abcdef0123456789abcdef"
    assert trace.traceparent != SAMPLED
    trace.end(grpc.StatusCode.OK)
    assert tracer.begin("/s/M", UNSAMPLED).span is None
    assert tracer.begin("/s/M", None).span is None
    tracer.close()
    (span,) = exporter.get_finished_spans()
    assert span.name == "citemesh.v1.RerankService/Rerank"
    assert span.parent is not None
    assert span.parent.span_id == 0x0123456789ABCDEF
    assert dict(span.attributes or {}) == {
        "rpc.system": "grpc",
        "rpc.service": "citemesh.v1.RerankService",
        "rpc.method": "Rerank",
        "rpc.grpc.status_code": 0,
    }
    assert span.status.status_code is StatusCode.UNSET


def test_calls_without_context_are_sampled_by_the_ratio() -> None:
    exporter = InMemorySpanExporter()
    tracer = CallTracer(make_provider(exporter, ["a"]), sample_ratio=1.0)
    trace = tracer.begin("/s/M", None)
    assert trace.span is not None
    trace.end(grpc.StatusCode.INTERNAL)
    tracer.close()
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="CITEMESH_TRACING_SAMPLE_RATIO"):
        make_tracer({"CITEMESH_TRACING_SAMPLE_RATIO": "2"}, [])
