"""Calls of several threads that are computed as one."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from penstock import _core, nest
from penstock._function.function import function
from penstock._ops.arrangement import concat
from penstock._runtime.host_calls import py_function
from penstock._types.specs import TensorSpec
from penstock.errors import InvalidArgumentError, UnavailableError

__all__ = ["nondifferentiable_batch_function"]


def nondifferentiable_batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Sequence[int] | None = None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
    enable_large_batch_splitting: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a decorator of functions whose calls from several threads are computed as one.

    The rows of the arguments of calls that come within a time are put together, the function runs once, and
    each call gets the rows of the results that are its own. It has no gradient.

    Args:
        num_batch_threads: how many batches are computed at once.
        max_batch_size: the most rows of a batch.
        batch_timeout_micros: for how long the first call of a batch waits for others, in microseconds.
        allowed_batch_sizes: the sizes that batches are filled up to, by copies of their first row; ascending,
            the last one is `max_batch_size`. By default any size.
        max_enqueued_batches: how many batches may wait.
        autograph: whether the function's `if`, `while` and `for` become operations.
        enable_large_batch_splitting: whether a call with more rows than a batch has is divided; else it is an
            error.

    Returns:
        The decorator. The function takes tensors that have as many rows, and gives such.

    Raises:
        ValueError: for sizes that do not ascend to `max_batch_size`, or numbers that are not positive.
        InvalidArgumentError: in a call, for arguments that do not have as many rows, or too many.
        UnavailableError: in a call, where `max_enqueued_batches` wait already.

    >>> import penstock as tf
    >>> @tf.nondifferentiable_batch_function(1, 8, 100)
    ... def double(x):
    ...     return x * 2
    >>> double(tf.constant([1, 2])).numpy().tolist()
    [2, 4]
    """
    for name, value in {
        "num_batch_threads": num_batch_threads,
        "max_batch_size": max_batch_size,
        "max_enqueued_batches": max_enqueued_batches,
    }.items():
        if value < 1:
            raise ValueError(f"argument '{name}' must be at least 1, got {value}")
    sizes = list(allowed_batch_sizes or ())
    if sizes and (sizes != sorted(set(sizes)) or sizes[-1] != max_batch_size):
        raise ValueError(
            f"argument 'allowed_batch_sizes' must ascend to 'max_batch_size', {max_batch_size}, got {sizes}"
        )

    def decorator(fn: Callable[..., Any]) -> Callable[..., Any]:
        batches = _Batches(
            num_batch_threads, max_batch_size, batch_timeout_micros / 1e6, max_enqueued_batches
        )
        compute = function(fn, autograph=autograph)

        @functools.wraps(fn)
        def batched(*args: Any) -> Any:
            flat = [_core._to_tensor(arg) for arg in nest.flatten(args)]
            specs = [TensorSpec(_any_rows(x), x.dtype) for x in flat]
            concrete = compute.get_concrete_function(*nest.pack_sequence_as(args, specs))
            gives = concrete.structured_outputs
            kinds = [TensorSpec(spec.shape, spec.dtype) for spec in nest.flatten(gives)]
            key = tuple((str(spec.shape), spec.dtype.name) for spec in specs)

            def run(*rows: Any) -> list[Any]:
                return nest.flatten(compute(*nest.pack_sequence_as(args, list(rows))))

            def call(*tensors: Any) -> list[Any]:
                return _divided(batches, key, list(tensors), run, sizes, enable_large_batch_splitting)

            found = py_function(call, flat, kinds) if _core._is_tracing() else call(*flat)
            return nest.pack_sequence_as(gives, list(found)) if nest.is_nested(gives) else found[0]

        return batched

    return decorator


def _any_rows(x: Any) -> list[Any] | None:
    if x.shape.rank == 0:
        raise InvalidArgumentError("a function of batches takes tensors with rows, got a scalar")
    return None if x.shape.rank is None else [None, *x.shape.as_list()[1:]]


def _divided(
    batches: _Batches,
    key: Any,
    tensors: list[Any],
    run: Callable[..., list[Any]],
    sizes: Sequence[int],
    may_divide: bool,
) -> list[Any]:
    """The results of a call, whose rows are those of a batch or of several."""
    rows = int(tensors[0].shape[0])
    if any(int(x.shape[0]) != rows for x in tensors):
        counts = [int(x.shape[0]) for x in tensors]
        raise InvalidArgumentError(f"a function of batches takes tensors of as many rows, got {counts}")
    most = batches.most
    if rows > most and not may_divide:
        raise InvalidArgumentError(
            f"argument 'max_batch_size' is {most}, a call has {rows} rows, and "
            "'enable_large_batch_splitting' is False"
        )
    parts = []
    for start in range(0, max(rows, 1), most):
        part = [x[start : start + most] for x in tensors]
        parts.append(batches.result(key, part, min(most, rows - start), run, sizes))
    return parts[0] if len(parts) == 1 else [concat(list(column), 0) for column in zip(*parts, strict=True)]


class _Batch:
    """Calls that are computed together."""

    def __init__(self) -> None:
        self.calls: list[list[Any]] = []
        self.counts: list[int] = []
        self.full = threading.Event()
        self.done = threading.Event()
        self.results: list[Any] = []
        self.error: BaseException | None = None


class _Batches:
    """The batches of a function: the thread of the first call of one waits for others, and computes it."""

    def __init__(self, at_once: int, most: int, seconds: float, waiting: int) -> None:
        self.most = most
        self._seconds, self._limit = seconds, waiting
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(at_once)
        self._open: dict[Any, _Batch] = {}
        self._waiting = 0

    def result(
        self, key: Any, tensors: list[Any], rows: int, run: Callable[..., list[Any]], sizes: Sequence[int]
    ) -> list[Any]:
        """The results of a call, as rows of those of its batch."""
        with self._lock:
            batch = self._open.get(key)
            if batch is not None and sum(batch.counts) + rows > self.most:
                batch.full.set()
                batch = None
            first = batch is None
            if batch is None:
                if self._waiting >= self._limit:
                    raise UnavailableError(
                        f"argument 'max_enqueued_batches' is {self._limit}, and as many batches wait"
                    )
                batch = self._open[key] = _Batch()
                self._waiting += 1
            mine = len(batch.calls)
            batch.calls.append(tensors)
            batch.counts.append(rows)
            if sum(batch.counts) >= self.most:
                batch.full.set()
        if first:
            self._compute(key, batch, run, sizes)
        else:
            batch.done.wait()
        if batch.error is not None:
            raise batch.error
        start = sum(batch.counts[:mine])
        return [x[start : start + rows] for x in batch.results]

    def _compute(self, key: Any, batch: _Batch, run: Callable[..., list[Any]], sizes: Sequence[int]) -> None:
        try:
            end = time.monotonic() + self._seconds
            with self._slots:
                batch.full.wait(max(0.0, end - time.monotonic()))
                with self._lock:
                    self._waiting -= 1
                    if self._open.get(key) is batch:
                        del self._open[key]
                rows = sum(batch.counts)
                columns = [concat(list(c), 0) if len(c) > 1 else c[0] for c in zip(*batch.calls, strict=True)]
                target = next((size for size in sizes if size >= rows), rows)
                if rows and target > rows:
                    columns = [concat([c, *[c[:1]] * (target - rows)], 0) for c in columns]
                batch.results = run(*columns)
        except BaseException as error:
            batch.error = error
        finally:
            batch.done.set()
