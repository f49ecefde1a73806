"""One factory for metric objects: each name is registered once per registry, and its series exist from zero."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from threading import Lock

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from citemesh.telemetry.names import MetricDefinition, MetricKind

Metric = Counter | Gauge | Histogram

# A `_created` series beside every counter would double what is scraped, and nothing reads it.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library does not annotate it


class MetricFactory:
    """Makes the metrics of telemetry/names.py in one registry; asked again, it returns the same object."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._made: dict[str, Metric] = {}
        self._lock = Lock()

    def counter(self, definition: MetricDefinition, **label_values: Iterable[str]) -> Counter:
        """The counter. Given values for each of its labels, every combination is there from the start, at zero."""
        metric = self._make(definition, MetricKind.COUNTER)
        assert isinstance(metric, Counter)
        _create_series(metric, definition, label_values)
        return metric

    def gauge(self, definition: MetricDefinition, **label_values: Iterable[str]) -> Gauge:
        """The gauge; label values as for `counter`."""
        metric = self._make(definition, MetricKind.GAUGE)
        assert isinstance(metric, Gauge)
        _create_series(metric, definition, label_values)
        return metric

    def histogram(self, definition: MetricDefinition, **label_values: Iterable[str]) -> Histogram:
        """The histogram; label values as for `counter`."""
        metric = self._make(definition, MetricKind.HISTOGRAM)
        assert isinstance(metric, Histogram)
        _create_series(metric, definition, label_values)
        return metric

    def _make(self, definition: MetricDefinition, kind: MetricKind) -> Metric:
        if definition.kind is not kind:
            raise TypeError(f"{definition.name} is a {definition.kind.value}, not a {kind.value}")
        with self._lock:
            metric = self._made.get(definition.name)
            if metric is None:
                metric = self._made[definition.name] = _construct(definition, self.registry)
            return metric


def _construct(definition: MetricDefinition, registry: CollectorRegistry) -> Metric:
    name, text, labels = definition.name, definition.documentation, definition.labels
    if definition.kind is MetricKind.COUNTER:
        return Counter(name, text, labels, registry=registry)
    if definition.kind is MetricKind.GAUGE:
        return Gauge(name, text, labels, registry=registry)
    if definition.buckets:
        return Histogram(name, text, labels, registry=registry, buckets=definition.buckets)
    return Histogram(name, text, labels, registry=registry)


def _create_series(metric: Metric, definition: MetricDefinition, label_values: dict[str, Iterable[str]]) -> None:
    if not label_values:
        return
    if set(label_values) != set(definition.labels):
        raise TypeError(f"{definition.name} has the labels {definition.labels}, got values for {tuple(label_values)}")
    for values in product(*(tuple(label_values[label]) for label in definition.labels)):
        metric.labels(*values)
