"""What ran between `trace_on` and `trace_export`: graphs of functions, and a profile."""

from __future__ import annotations

import gc
import logging
import os
from typing import Any

from penstock import _core, profiler
from penstock._runtime import protos
from penstock._runtime.print import get_logger
from penstock._runtime.protos import FunctionGraphs, RunMetadata

__all__ = ["export", "off", "on"]


class _Tracing:
    """What is being traced; the calls of each trace before, where graphs are."""

    is_on = False
    calls: dict[tuple[int, int], int] | None = None
    profile = False
    outdir: str | None = None


def _functions() -> list[Any]:
    """All functions that are alive."""
    return [found for found in gc.get_objects() if issubclass(type(found), _core._Function)]


def on(graph: bool, profile: bool, outdir: str | os.PathLike[str] | None) -> None:
    """Begin, unless it has begun."""
    if _Tracing.is_on:
        _warn("Trace already enabled")
        return
    if profile and outdir is None:
        raise ValueError("argument 'profiler_outdir' must be given where profiler=True")
    if profile:
        profiler.experimental.start(os.fspath(outdir or "."))
    if graph:
        # A number may be reused where a function has gone, whose traces are of no interest then.
        _Tracing.calls = {
            (id(function), number): trace._statistics()[0]
            for function in _functions()
            for number, trace in enumerate(function._traces())
        }
    _Tracing.is_on, _Tracing.profile = True, profile


def off() -> None:
    """End, and forget."""
    if _Tracing.profile:
        profiler.experimental.stop(save=False)
    _Tracing.is_on, _Tracing.profile, _Tracing.calls = False, False, None


def export() -> bytes | None:
    """End: the graphs of the functions that ran, as a `RunMetadata` message; None where none were asked for.

    A profile is written.
    """
    if not _Tracing.is_on:
        raise ValueError("Must enable trace before export through tf.summary.trace_on.")
    before, content = _Tracing.calls, None
    if before is not None:
        graphs = [
            protos.graph_bytes(trace.graph.as_graph_def().node)
            for function in _functions()
            for number, trace in enumerate(function._traces())
            if trace._statistics()[0] > before.get((id(function), number), 0)
        ]
        content = RunMetadata(
            function_graphs=[FunctionGraphs(pre_optimization_graph=graph) for graph in graphs]
        ).SerializeToString()
    if _Tracing.profile:
        profiler.experimental.stop()
        _Tracing.profile = False
    off()
    return content


def _warn(message: str) -> None:
    if get_logger().isEnabledFor(logging.WARNING):
        get_logger().warning("%s", message)
