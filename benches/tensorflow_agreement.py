"""Calls public functions of TensorFlow and of Penstock with the same arguments, and prints where they differ.

    .venv-peers/bin/python benches/tensorflow_agreement.py [SEED] [NAME]

Compared are values (NaN and the signs of zeros too), dtypes, shapes and classes of errors, over dtypes,
shapes, axes and special values. With NAME only functions whose name holds it are called. What is decided to
differ is in `DECIDED`; a dtype that only Penstock takes is no difference. Takes some minutes.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow

import penstock

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
EVERY = ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, np.inf, -np.inf, np.nan, 3.0, -7.0, 100.0]

UNARY = (
    "abs acos acosh asin asinh atan atanh ceil conj cos cosh digamma erf erfc erfinv exp expm1 floor "
    "imag is_finite is_inf is_nan lgamma log log1p log_sigmoid logical_not ndtri negative real "
    "reciprocal reciprocal_no_nan rint round rsqrt sigmoid sign sin sinh softplus softsign sqrt "
    "square tan tanh angle"
)
ACTIVATIONS = "elu gelu leaky_relu relu relu6 selu silu softmax log_softmax softplus softsign tanh sigmoid"
BINARY = (
    "add subtract multiply divide floordiv floormod mod pow maximum minimum atan2 squared_difference "
    "divide_no_nan multiply_no_nan xlogy xdivy xlog1py nextafter zeta polygamma truediv equal "
    "not_equal less less_equal greater greater_equal logical_and logical_or logical_xor"
)
REDUCTIONS = (
    "reduce_sum reduce_prod reduce_max reduce_min reduce_mean reduce_any reduce_all reduce_logsumexp "
    "reduce_std reduce_variance reduce_euclidean_norm count_nonzero argmax argmin cumsum cumprod "
    "cumulative_logsumexp"
)

# By the name of the function: what differs, and why.
DECIDED = {
    "cast": "floats beyond an integer's range saturate, where TensorFlow's result depends on the machine",
    "saturate_cast": "takes booleans and complex numbers as well",
    "math.argmax": "NaN is the greatest, as in NumPy",
    "math.argmin": "NaN is the least, as in NumPy",
    "math.digamma": "infinite at infinity, as in SciPy",
    "math.zeta": "infinite at the pole, as in SciPy",
    "math.polygamma": "infinite at the poles, as in SciPy",
    "math.floormod": "a zero has the sign of the divisor, as in NumPy",
    "math.mod": "a zero has the sign of the divisor, as in NumPy",
    "math.xlogy": "a zero is positive, as in SciPy",
    "math.xlog1py": "a zero is positive, as in SciPy",
    "math.xdivy": "a zero is positive",
    "math.erfinv": "a zero keeps its sign",
    "math.divide": "a complex number by zero is infinite, as in C",
    "math.truediv": "a complex number by zero is infinite, as in C",
    "math.expm1": "a complex infinity has no NaN",
    "math.divide_no_nan": "a complex zero has the signs of the quotient",
    "math.reduce_mean": "that of no complex numbers is NaN, as of no real ones",
    "math.reduce_std": "dtypes are checked before axes",
    "math.reduce_variance": "dtypes are checked before axes",
    "math.segment_max": "NaN is the greatest",
    "math.segment_min": "NaN is the least",
    "math.unsorted_segment_max": "NaN is the greatest",
    "math.unsorted_segment_min": "NaN is the least",
    "math.unsorted_segment_mean": "the sum of integers does not overflow",
    "tensor_scatter_nd_max": "NaN is the greatest",
    "tensor_scatter_nd_min": "NaN is the least",
    "nn.gelu": "coefficients have the precision of float64",
    "nn.leaky_relu": "coefficients have the precision of float64",
    "nn.relu": "a zero is positive in every dtype",
    "nn.relu6": "a zero is positive in every dtype",
    "nn.softmax": "all are NaN beside an infinite one, as in SciPy",
    "math.segment_mean": "the sum of integers does not overflow",
    "linalg.norm": "that of complex numbers is real",
}
# TensorFlow has no kernel for a dtype.
ABSENT = (
    "not in the list of allowed",
    "Could not find device",
    "No OpKernel",
    "No WhereOp",
    "data type is no",
    "Expected",
    "must be",
)


def numbers(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], special: bool = True) -> Any:
    """An array of a dtype (of byte strings, for `str`), with special values among its elements."""
    if dtype == "str":
        words = [bytes([97 + i % 5]) * (i % 4) for i in rng.integers(0, 100, int(np.prod(shape)))]
        return np.array(words, object).reshape(shape)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    kind = tensorflow.as_dtype(dtype)
    to = kind.as_numpy_dtype
    if kind.is_integer:
        values = rng.integers(max(kind.min, -9), 9, shape).astype(to)
        extremes = np.array([kind.min, kind.max, 0, 1], to)
        return np.where(rng.random(shape) < (0.25 if special else 0), rng.choice(extremes, shape), values)
    values = rng.normal(size=shape) * 3
    if special:
        values = np.where(rng.random(shape) < 0.4, rng.choice(SPECIAL, shape), values)
    if not kind.is_complex:
        return values.astype(to)
    imaginary = np.where(
        rng.random(shape) < 0.3 * special, rng.choice([0.0, -0.0, 1.0, -2.0], shape), rng.normal(size=shape)
    )
    return (np.where(np.isfinite(values), values, 0.0) + 1j * imaginary).astype(to)


class Call:
    """A function by its name, and its arguments: arrays become tensors, `"dtype:int8"` the dtype."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        self.name, self.args, self.kwargs = name, args, kwargs

    def run(self, module: Any) -> Any:
        """The leaves of the result as arrays, or the exception."""

        def own(x: Any) -> Any:
            if isinstance(x, np.ndarray | np.generic):
                return module.constant(x)
            if isinstance(x, str) and x.startswith("dtype:"):
                return getattr(module, x.removeprefix("dtype:"))
            return (
                [own(v) for v in x]
                if isinstance(x, list) and any(isinstance(v, np.ndarray) for v in x)
                else x
            )

        try:
            function = module
            for part in self.name.split("."):
                function = getattr(function, part)
            result = function(*map(own, self.args), **{k: own(v) for k, v in self.kwargs.items()})
            return [x.numpy() if hasattr(x, "numpy") else np.asarray(x) for x in module.nest.flatten(result)]
        except Exception as error:
            return error

    def __repr__(self) -> str:
        def short(x: Any) -> str:
            return f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray | np.generic) else repr(x)

        listed = [*map(short, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"{self.name}({', '.join(listed)})"


def unequal(a: np.ndarray, b: np.ndarray) -> Any:
    """Where two arrays of one dtype and shape differ: in values, in what is NaN, in signs of zeros."""
    if a.dtype.kind in "biuOSU":
        return np.asarray(a != b)
    # Sums of a few numbers in other orders differ by as much.
    bound = {"float16": 2e-2, "bfloat16": 1e-1, "float64": 1e-8, "complex128": 1e-8}.get(a.dtype.name, 1e-3)
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    signs = (x == 0) & (y == 0) & (np.signbit(x.real) != np.signbit(y.real))
    return ~np.isclose(x, y, rtol=bound, atol=bound / 10, equal_nan=True) | signs


def difference(ours: Any, theirs: Any) -> str | None:
    """In what two results or exceptions differ, or None."""
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        if isinstance(ours, Exception) and type(theirs).__name__ in [c.__name__ for c in type(ours).__mro__]:
            return None
        if isinstance(theirs, Exception) and any(reason in str(theirs) for reason in ABSENT):
            return None
        return " | ".join(
            f"{type(x).__name__}: {x!s:.120}" if isinstance(x, Exception) else "a result"
            for x in (ours, theirs)
        )
    if len(ours) != len(theirs):
        return f"{len(ours)} results, not {len(theirs)}"
    for a, b in zip(ours, theirs, strict=True):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"{a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}"
        bad = unequal(a, b)
        if bad.any():
            at = tuple(int(i[0]) for i in np.nonzero(bad)) if bad.ndim else ()
            return f"at {list(at)} {a[at]!r}, not {b[at]!r} ({int(bad.sum())} of {bad.size})"
    return None


def elementwise(rng: np.random.Generator) -> Iterator[Call]:
    """Calls of functions of elements, of conversions and of bits."""
    for dtype in EVERY:
        for name in UNARY.split():
            yield Call(f"math.{name}", numbers(rng, dtype, (40,)))
        for name in BINARY.split():
            b = numbers(rng, dtype, (60,))
            if dtype in INTEGERS and name in ("floordiv", "floormod", "mod"):
                b = np.where(b == 0, np.asarray(3, b.dtype), b)
            yield Call(f"math.{name}", numbers(rng, dtype, (60,)), b)
        for other in EVERY:
            x = numbers(rng, dtype, (30,), special=dtype in INTEGERS)
            yield Call("cast", x, f"dtype:{other}")
            yield Call("saturate_cast", x, f"dtype:{other}")
    for name in ACTIVATIONS.split():
        for dtype in [*FLOATS, "int32", "complex64"]:
            yield Call(f"nn.{name}", numbers(rng, dtype, (5, 8)))
    for dtype in INTEGERS:
        for name in ("floordiv", "floormod", "truediv", "mod"):
            yield Call(f"math.{name}", np.array([1, 2], dtype), np.array([0, 1], dtype))
        shifts = rng.integers(0, np.dtype(dtype).itemsize * 8, 20).astype(dtype)
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"):
            yield Call(f"bitwise.{name}", numbers(rng, dtype, (20,)), shifts)
        yield Call("bitwise.invert", numbers(rng, dtype, (20,)))


def reductions(rng: np.random.Generator) -> Iterator[Call]:
    """Calls of functions along axes."""
    for name in REDUCTIONS.split():
        exact = name in ("reduce_max", "reduce_min", "argmax", "argmin", "reduce_any", "count_nonzero")
        for dtype in EVERY:
            for axis in (None, 0, 1, -1, 2, -3):
                for shape in ((4, 5), (0, 3), (3, 0)):
                    if axis is not None or not name.startswith("cum"):
                        yield Call(f"math.{name}", numbers(rng, dtype, shape, exact), axis)
            if name.startswith("reduce"):
                yield Call(f"math.{name}", numbers(rng, dtype, (4, 5), exact), axis=[0, 1], keepdims=True)


def structural(rng: np.random.Generator) -> Iterator[Call]:
    """Calls of functions that move elements, of any dtype, strings among them."""
    for dtype in ["str", *EVERY]:
        for shape in ((3, 4), (2, 3, 4), (0, 3)):
            x = numbers(rng, dtype, shape)
            n, mask = x.ndim, rng.random(shape) < 0.5
            for axis in (0, -1, 1, 7):
                yield from (Call(name, [x, x], axis) for name in ("concat", "stack"))
                yield from (
                    Call("expand_dims", x, axis),
                    Call("unstack", x, axis=axis),
                    Call("gather", x, [0, 1, 0], axis=axis),
                )
                yield from (
                    Call("roll", x, 1, axis),
                    Call("repeat", x, 2, axis=axis),
                    Call("split", x, [1, -1], axis=axis),
                )
            for mode in ("CONSTANT", "REFLECT", "SYMMETRIC", "X"):
                yield from (Call("pad", x, [pads] * n, mode) for pads in ([1, 1], [0, 3], [-1, 1]))
            yield from (Call("tile", x, times) for times in ([2] * n, [0] * n, [2], [-1] * n))
            yield from (Call("reshape", x, to) for to in ([-1], [2, -1], [7, 7], [-1, -1]))
            yield from (
                Call("gather_nd", x, at) for at in ([[0, 1], [1, 2]], [[0], [1]], [[9, 9]], [[0, 0, 0, 0]])
            )
            yield from (Call("slice", x, [b] * n, [s] * n) for b, s in ((0, 1), (1, -1), (0, 9)))
            yield from (
                Call("strided_slice", x, *key)
                for key in (([0, 1], [3, 4], [2, 1]), ([2], [0], [-1]), ([0], [1], [0]))
            )
            yield from (
                Call(name, x)
                for name in ("transpose", "squeeze", "shape", "size", "zeros_like", "ones_like", "where")
            )
            yield from (
                Call("reverse", x, [-1, 0]),
                Call("where", mask, x, x),
                Call("broadcast_to", x, (2, *shape)),
            )
            yield from (
                Call("boolean_mask", x, m) for m in (mask, mask[:, 0] if shape[1] else mask, [True] * 7)
            )
        x, v = numbers(rng, dtype, (3, 4)), numbers(rng, dtype, (6,))
        yield from (Call(name, v) for name in ("unique", "unique_with_counts", "linalg.diag", "math.cumsum"))
        for direction in ("ASCENDING", "DESCENDING", "X"):
            yield from (
                Call("sort", x, direction=direction),
                Call("argsort", x, direction=direction, stable=True),
            )
        yield from (Call("math.top_k", x, k) for k in (2, 9, -1))
        ascending, scattered = np.array([0, 0, 1, 1, 3, 3]), np.array([2, 0, -1, 2, 0, 5])
        for op in ("sum", "prod", "max", "min", "mean"):
            yield from (
                Call(f"math.segment_{op}", v, ids)
                for ids in (ascending, ascending[::-1].copy(), ascending[:2])
            )
            yield from (Call(f"math.unsorted_segment_{op}", v, scattered, n) for n in (6, 3))
        for op in ("update", "add", "sub", "max", "min"):
            yield from (Call(f"tensor_scatter_nd_{op}", v, at, v[: len(at)]) for at in ([[0], [2]], [[17]]))
        yield from (
            Call("dynamic_partition", v, parts, 2) for parts in ([0, 1, 0, 1, 1, 0], [0, 1, 0, 1, 1, 3])
        )
        yield from (Call("one_hot", [0, 2, -1, 5], depth, v[0], v[1]) for depth in (3, -1))


def main() -> None:
    """Prints the calls that differ, and how many there were."""
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    rng = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    named = sys.argv[2] if len(sys.argv) > 2 else ""
    total, differing, decided = 0, 0, dict.fromkeys(DECIDED, 0)
    for family in (elementwise, reductions, structural):
        for call in family(rng):
            if named not in call.name:
                continue
            total += 1
            found = difference(call.run(penstock), call.run(tensorflow))
            if found and call.name in DECIDED:
                decided[call.name] += 1
            elif found:
                differing += 1
                print(f"{call}\n    {found}", flush=True)
    for name, count in decided.items():
        if count:
            print(f"{name}: {count} calls: {DECIDED[name]}")
    print(f"{differing} of {total} calls differ otherwise")


if __name__ == "__main__":
    main()
