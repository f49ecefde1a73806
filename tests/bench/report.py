"""Figures for people (a table) and for machines (a JSON line each), with what they were measured on."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PACKAGES = ("grpcio", "protobuf", "uvloop", "prometheus-client", "structlog", "onnxruntime", "numpy")


@dataclass(frozen=True)
class Figure:
    """One measured figure; `limit` is what it must not exceed, where something is asked of it."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether the figure is within its limit."""
        return self.limit is None or self.value <= self.limit


def describe_machine() -> dict[str, Any]:
    """Processor, cores, load, versions."""
    model = ""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "load": [round(value, 1) for value in os.getloadavg()],
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in _PACKAGES},
    }


def p50(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def show(bench: str, figures: Sequence[Figure]) -> None:
    """The table, then the lines."""
    width = max(len(figure.name) for figure in figures)
    print(f"\n{bench}")
    for figure in figures:
        judged = "" if figure.limit is None else f"   <= {figure.limit:g}: {'holds' if figure.holds else 'MISSED'}"
        print(f"  {figure.name:<{width}}  {figure.value:>9.3f} {figure.unit}{judged}")
    for figure in figures:
        line = {"bench": bench, "name": figure.name, "value": round(figure.value, 4), "unit": figure.unit}
        if figure.limit is not None:
            line |= {"limit": figure.limit, "holds": figure.holds}
        print(json.dumps(line | dict(figure.details)))
