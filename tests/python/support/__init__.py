"""What the tests of the Python layer share."""

from __future__ import annotations

import subprocess
import sys
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


def run_python(code: str, *, check: bool = True, timeout: float = 100) -> subprocess.CompletedProcess[str]:
    """Runs a program in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=check, timeout=timeout
    )


def counted(body: Callable[..., Any] = lambda *args, **kwargs: 0, **options: Any) -> tuple[list[Any], Any]:
    """A traced function that notes what it was traced with."""
    seen = []

    def run(*args, **kwargs):
        seen.append((args, kwargs))
        return body(*args, **kwargs)

    return seen, tf.function(run, autograph=False, **options)
