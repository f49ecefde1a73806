"""Metrics: one object per name, series from zero, names that follow the convention."""

from __future__ import annotations

import re

import pytest
from prometheus_client import CollectorRegistry

from citemesh.telemetry import names
from citemesh.telemetry.metrics import MetricFactory
from citemesh.telemetry.names import DEFINITIONS, MetricKind


def test_names_follow_the_convention() -> None:
    assert len({definition.name for definition in DEFINITIONS}) == len(DEFINITIONS) > 25
    for definition in DEFINITIONS:
        assert re.fullmatch(r"(grpc_server|citemesh)_[a-z_]+", definition.name)
        assert definition.name.endswith("_total") == (definition.kind is MetricKind.COUNTER)
        assert bool(definition.buckets) == (definition.kind is MetricKind.HISTOGRAM)
        assert list(definition.buckets) == sorted(set(definition.buckets))
        assert definition.documentation.endswith(".")
        assert not re.search(r"_(ms|millis|minutes|kb|mb)(_|$)", definition.name), "base units"


def test_every_definition_can_be_made_and_is_found_again() -> None:
    registry = CollectorRegistry()
    factory = MetricFactory(registry)
    for definition in DEFINITIONS:
        make = getattr(factory, definition.kind.value)
        assert make(definition) is make(definition)
    assert len(list(registry.collect())) == len(DEFINITIONS)


def test_series_are_there_from_zero() -> None:
    registry = CollectorRegistry()
    factory = MetricFactory(registry)
    factory.counter(names.CACHE_REQUESTS, cache=["rankings", "vectors"], result=["hit", "miss"])
    factory.histogram(names.LEG_DURATION_SECONDS, leg=["dense"])
    factory.gauge(names.SERVICE_SERVING, service=["a"])
    for cache in ("rankings", "vectors"):
        for result in ("hit", "miss"):
            assert registry.get_sample_value("citemesh_cache_requests_total", {"cache": cache, "result": result}) == 0
    assert registry.get_sample_value("citemesh_retrieval_leg_duration_seconds_count", {"leg": "dense"}) == 0
    assert registry.get_sample_value("citemesh_service_serving", {"service": "a"}) == 0


def test_wrong_kinds_and_labels_are_refused() -> None:
    factory = MetricFactory(CollectorRegistry())
    with pytest.raises(TypeError, match="is a counter"):
        factory.gauge(names.OUTCOMES)
    with pytest.raises(TypeError, match="outcome"):
        factory.counter(names.OUTCOMES, result=["x"])
