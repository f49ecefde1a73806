"""The model runtime: how sessions are opened, the ones that this process holds, and how graphs are quantised."""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
from pathlib import Path
from typing import Any

import onnxruntime  # type: ignore[import-untyped]  # it ships no type information

from citemesh.models.errors import ModelError

_sessions: dict[Path, Any] = {}
_sessions_lock = threading.Lock()
_CGROUP_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")
# The fused kernel sums value after value: with it a layer norm and its addition take 0.5 ms at 195 tokens, apart 0.1,
# which is a sixth of the whole run of the default encoder.
_HARMFUL_FUSIONS = ["SkipLayerNormFusion"]
_limit = sys.maxsize


def open_session(path: Path) -> Any:
    """The process's one session of the graph at `path`; the same object on every call.

    It runs each call on the caller's own thread and may be called from many threads at once, so a worker per core
    shares one copy of the weights. Raises ModelError where the file is missing or is not a graph.
    """
    key = path.resolve()
    with _sessions_lock:
        if key not in _sessions:
            _sessions[key] = _make_session(key)
        return _sessions[key]


def _make_session(path: Path) -> Any:
    if not path.is_file():
        raise ModelError(f"model file {path} is missing; run `citemesh models pull`")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    # The arena keeps the largest batch ever seen, for ever; without it the process stays small at equal speed.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=_HARMFUL_FUSIONS
        )
    except Exception as error:  # onnxruntime's own exception classes share no base but Exception
        raise ModelError(f"model file {path} cannot be loaded: {type(error).__name__}: {error}") from error


def limit_cores(core_count: int) -> None:
    """Let models of this process use at most so many cores: for processes of which several share a machine."""
    global _limit  # one limit for the process, as its sessions are
    _limit = core_count


def count_usable_cores() -> int:
    """Cores that this process may use: its affinity, capped by a container's quota and `limit_cores`; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = min(cores, _limit)
    try:
        quota, period = _CGROUP_CPU_LIMIT.read_text().split()
    except (OSError, ValueError):
        return max(1, cores)
    if quota == "max":
        return max(1, cores)
    return max(1, min(cores, math.ceil(int(quota) / int(period))))


def quantise(source: Path, target: Path) -> None:
    """Write `source` with int8 weights, one scale per output channel; activations are quantised at run time.

    One scale per channel matters: vectors keep a cosine of 0.993 to float32, with one scale per tensor 0.963.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped]  # slow to import

    # The library advises on the root logger to optimise the graph first; sessions do that when they open it.
    root = logging.getLogger()
    root.addFilter(_is_not_advice)
    try:
        quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True)
    finally:
        root.removeFilter(_is_not_advice)


def _is_not_advice(record: logging.LogRecord) -> bool:
    return "pre-processing before quantization" not in str(record.msg)
