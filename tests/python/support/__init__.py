"""What the tests of the Python layer share."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import penstock as tf

TOLERANCE = {
    np.dtype("float16"): 5e-3,
    np.dtype("float32"): 2e-6,
    np.dtype("float64"): 1e-12,
    np.dtype("complex64"): 2e-6,
    np.dtype("complex128"): 1e-12,
}


def leaves(result: Any) -> list[Any]:
    """The tensors of a result, in order."""
    return [leaf for leaf in tf.nest.flatten(result) if leaf is not None]


def arrays(result: Any) -> list[np.ndarray]:
    """The tensors of a result as arrays."""
    return [np.asarray(leaf.numpy() if tf.is_tensor(leaf) else leaf) for leaf in leaves(result)]


def plain(value: Any) -> Any:
    """A value with Python's numbers and containers in place of tensors, arrays and data sets."""
    if isinstance(value, tf.data.Dataset):
        return [plain(x) for x in value]
    if isinstance(value, tf.RaggedTensor):
        return value.to_list()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        items = map(plain, value)
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    value = value.numpy() if hasattr(value, "numpy") else value
    return value.tolist() if hasattr(value, "tolist") else value


def as_lists(value: Any) -> Any:
    """What `plain` gives, with lists in place of tuples and text in place of bytes."""
    value = plain(value)
    if isinstance(value, tuple | list):
        return [as_lists(v) for v in value]
    if isinstance(value, dict):
        return {k: as_lists(v) for k, v in value.items()}
    return value.decode() if isinstance(value, bytes) else value


def assert_same(got: Any, expected: Any, rtol: float | None = None) -> None:
    """Compares arrays: shapes, integers and strings exactly, floats to the dtype's tolerance."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    if got.dtype.kind in "fc":
        limit = TOLERANCE[got.dtype] if rtol is None else rtol
        np.testing.assert_allclose(got, expected.astype(got.dtype), rtol=limit, atol=limit)
    else:
        np.testing.assert_array_equal(got, expected)


def traced(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function that is traced with known shapes."""
    return tf.function(lambda *tensors: function(*tensors))(*args)


def traced_openly(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function that is traced for tensors of these ranks, with all sizes unknown."""
    specs = [tf.TensorSpec([None] * a.shape.rank, a.dtype) for a in args]
    by_count = {
        1: lambda a: function(a),
        2: lambda a, b: function(a, b),
        3: lambda a, b, c: function(a, b, c),
        4: lambda a, b, c, d: function(a, b, c, d),
    }
    return tf.function(by_count[len(args)], input_signature=specs)(*args)


def both_ways(function: Callable[..., Any], *args: Any, open_shapes: bool = True) -> Any:
    """The eager result, once the traced ones are found to be equal."""
    tensors = [tf.convert_to_tensor(a) for a in args]
    eager = function(*tensors)
    ways = [traced(function, *tensors)]
    if open_shapes:
        ways.append(traced_openly(function, *tensors))
    for other in ways:
        assert len(leaves(other)) == len(leaves(eager))
        for a, b in zip(leaves(eager), leaves(other), strict=True):
            assert a.dtype == b.dtype
            assert_same(b.numpy(), a.numpy())
    return eager


def ways(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """The function itself, and traced."""
    return [function, tf.function(function)]


def guarded(function: Callable[..., Any]) -> Any:
    """A traced function that is traced anew where a global that it reads has changed."""
    return tf.function(function, guard="globals")


def gradient(function: Callable[..., Any], *values: Any) -> list[Any]:
    """The gradients of a function by its arguments, from a tape."""
    tensors = [tf.constant(v) for v in values]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        y = function(*tensors)
    return tape.gradient(y, tensors)


def slope(function: Callable[..., Any], x: Any, direction: Any, step: float = 1e-6) -> float:
    """The change of a scalar function along a direction, by central differences."""
    ahead, behind = (function(tf.constant(x + d * direction)) for d in (step, -step))
    return (float(ahead) - float(behind)) / (2 * step)


def place(array: Any) -> int:
    """The address of an array's memory."""
    return np.asarray(array).__array_interface__["data"][0]


def run_python(code: str, *, check: bool = True, timeout: float = 100) -> subprocess.CompletedProcess[str]:
    """Runs a program in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=check, timeout=timeout
    )


def counted(body: Callable[..., Any] = lambda *args, **kwargs: 0, **options: Any) -> tuple[list[Any], Any]:
    """A traced function that notes what it was traced with."""
    seen = []

    @functools.wraps(body)
    def run(*args, **kwargs):
        seen.append((args, kwargs))
        return body(*args, **kwargs)

    return seen, tf.function(run, autograph=False, **options)


def run_together(count: int, work: Callable[[int], Any]) -> None:
    """Runs `work(i)` in threads that start at once; raises what any of them raises."""
    barrier = threading.Barrier(count)
    errors: list[BaseException] = []

    def run(i: int) -> None:
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread waits for ever"
    if errors:
        raise errors[0]
