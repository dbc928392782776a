"""Measures each operator that NumPy or SciPy has too, at 10, 1000 and a million elements, beside them.

    python benches/ops.py                     # writes benches/ops.md
    python benches/ops.py --match 'reduce|sort' --sizes 1000000

Penstock runs on as many threads as it takes by default. `make bench-ops` holds NumPy, and PyTorch where it is
installed, to one. A figure is the best of several loops, in which the libraries take turns. An operator that
takes more than three times as long as NumPy for a million elements is listed at the head of the file.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import platform
import re
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.special

import penstock as tf
from penstock import raw_ops
from penstock.config import threading
from run import machine

Arrays = tuple[np.ndarray[Any, Any], ...]
HERE = Path(__file__).resolve().parent
LARGEST = 1_000_000
LIMIT = 3.0  # how many times NumPy's time is too long


class Case(NamedTuple):
    """One operator: on tensors, on arrays, and the arrays for a number of elements."""

    ours: Callable[..., Any]
    numpys: Callable[..., Any]
    arrays: Callable[[int], Arrays]
    # The name of the function of PyTorch that takes the same operands.
    torchs: str | None = None


def random() -> np.random.Generator:
    """The same numbers for every case."""
    return np.random.default_rng(7)


def uniform(low: float = -2.0, high: float = 2.0, count: int = 1) -> Callable[[int], Arrays]:
    """Vectors of `float32`."""
    return lambda n: tuple(random().uniform(low, high, n).astype("float32") for _ in range(count))


def constant(value: Any) -> Callable[[int], Arrays]:
    """Vectors of one value."""
    return lambda n: (np.full((n,), value),)


def integers(low: int = 1, high: int = 100, count: int = 1) -> Callable[[int], Arrays]:
    """Vectors of `int32`."""
    return lambda n: tuple(random().integers(low, high, n).astype("int32") for _ in range(count))


def booleans(count: int = 1) -> Callable[[int], Arrays]:
    """Vectors of `bool`."""
    return lambda n: tuple(random().random(n) < 0.5 for _ in range(count))


def complexes(count: int = 1) -> Callable[[int], Arrays]:
    """Vectors of `complex64`."""

    def make(n: int) -> Arrays:
        rng = random()
        return tuple((rng.normal(size=n) + 1j * rng.normal(size=n)).astype("complex64") for _ in range(count))

    return make


def matrix(columns: int | None = None) -> Callable[[int], Arrays]:
    """A matrix of `float32`: of about as many rows as columns, or of a number of columns."""

    def make(n: int) -> Arrays:
        width = columns or max(1, math.isqrt(n))
        return (random().normal(size=(max(1, n // width), width)).astype("float32"),)

    return make


def square(n: int) -> Arrays:
    """Two square matrices of n elements."""
    side = max(1, math.isqrt(n))
    return tuple(random().normal(size=(2, side, side)).astype("float32"))


def block(n: int) -> Arrays:
    """An array of three dimensions, of 10 rows and 10 columns at most."""
    extents = min(10, n), max(1, n // 100), min(10, n)
    return (np.asarray(random().normal(size=extents), "float32"),)


def along(n: int) -> Arrays:
    """A matrix, and the position of an element of its column for each of its elements."""
    (x,) = matrix()(n)
    return x, np.asarray(random().integers(0, len(x), x.shape))


def ascending(n: int) -> Arrays:
    """A vector and a segment for each of its elements, in order; none is empty."""
    return random().normal(size=n).astype("float32"), np.arange(n) // 100


def indexed(n: int) -> Arrays:
    """A vector and as many indices."""
    return random().normal(size=n).astype("float32"), random().integers(0, n, n)


def rows(n: int) -> Arrays:
    """A matrix of 32 columns and as many indices of rows as it has."""
    (x,) = matrix(32)(max(n, 32))
    return x, random().integers(0, len(x), len(x))


def scattered(n: int) -> Arrays:
    """A vector, distinct indices and updates."""
    return np.zeros(n, "float32"), random().permutation(n), random().normal(size=n).astype("float32")


def segments(n: int) -> Arrays:
    """A vector and a segment for each of its elements."""
    return random().normal(size=n).astype("float32"), random().integers(0, max(1, n // 100), n)


def few(n: int) -> Arrays:
    """A vector of integers that repeat."""
    return integers(0, 1000)(n)


def sought(n: int) -> Arrays:
    """A sorted vector, and one to look for in it."""
    return np.sort(random().normal(size=n)).astype("float32"), *WIDE(n)


def put(x: Any, at: Any, values: Any) -> Any:
    """NumPy's scatter, into a copy as ours."""
    out = x.copy()
    out[at] = values
    return out


def added(x: Any, at: Any, values: Any) -> Any:
    """NumPy's sum into a copy."""
    out = x.copy()
    np.add.at(out, at, values)
    return out


def attributes(op: Any, **given: Any) -> Callable[..., Any]:
    """An operator with some attributes."""
    return lambda *operands: op(*operands, **given)


WIDE, POSITIVE, UNIT, ABOVE = uniform(), uniform(0.1, 9.0), uniform(-0.99, 0.99), uniform(1.01, 9.0)

UNARY: dict[str, tuple[Callable[..., Any], Callable[[int], Arrays]]] = {
    "neg": (np.negative, WIDE),
    "abs": (np.abs, WIDE),
    "sign": (np.sign, WIDE),
    "square": (np.square, WIDE),
    "sqrt": (np.sqrt, POSITIVE),
    "reciprocal": (np.reciprocal, POSITIVE),
    "exp": (np.exp, WIDE),
    "expm1": (np.expm1, WIDE),
    "log": (np.log, POSITIVE),
    "log1p": (np.log1p, POSITIVE),
    "sin": (np.sin, WIDE),
    "cos": (np.cos, WIDE),
    "tan": (np.tan, WIDE),
    "asin": (np.arcsin, UNIT),
    "acos": (np.arccos, UNIT),
    "atan": (np.arctan, WIDE),
    "sinh": (np.sinh, WIDE),
    "cosh": (np.cosh, WIDE),
    "tanh": (np.tanh, WIDE),
    "asinh": (np.arcsinh, WIDE),
    "acosh": (np.arccosh, ABOVE),
    "atanh": (np.arctanh, UNIT),
    "sigmoid": (scipy.special.expit, WIDE),
    "floor": (np.floor, WIDE),
    "ceil": (np.ceil, WIDE),
    "rint": (np.rint, WIDE),
    "trunc": (np.trunc, WIDE),
    "erf": (scipy.special.erf, WIDE),
    "erfc": (scipy.special.erfc, WIDE),
    "lgamma": (scipy.special.gammaln, POSITIVE),
    "digamma": (scipy.special.digamma, POSITIVE),
    "is_nan": (np.isnan, WIDE),
    "is_inf": (np.isinf, WIDE),
    "is_finite": (np.isfinite, WIDE),
    "logical_not": (np.logical_not, booleans()),
    "invert": (np.invert, integers()),
    "conj": (np.conj, complexes()),
    "angle": (np.angle, complexes()),
    "zeros_like": (np.zeros_like, WIDE),
    "ones_like": (np.ones_like, WIDE),
}

BINARY: dict[str, tuple[Callable[..., Any], Callable[[int], Arrays]]] = {
    "add": (np.add, uniform(count=2)),
    "sub": (np.subtract, uniform(count=2)),
    "mul": (np.multiply, uniform(count=2)),
    "div": (np.divide, uniform(0.5, 2.0, 2)),
    "floordiv": (np.floor_divide, integers(count=2)),
    "floormod": (np.remainder, integers(count=2)),
    "truncatemod": (np.fmod, integers(count=2)),
    "pow": (np.power, uniform(0.1, 2.0, 2)),
    "maximum": (np.maximum, uniform(count=2)),
    "minimum": (np.minimum, uniform(count=2)),
    "atan2": (np.arctan2, uniform(count=2)),
    "xlogy": (scipy.special.xlogy, uniform(0.1, 2.0, 2)),
    "bitwise_and": (np.bitwise_and, integers(count=2)),
    "bitwise_or": (np.bitwise_or, integers(count=2)),
    "bitwise_xor": (np.bitwise_xor, integers(count=2)),
    "left_shift": (np.left_shift, integers(0, 8, 2)),
    "right_shift": (np.right_shift, integers(0, 8, 2)),
    "equal": (np.equal, uniform(count=2)),
    "not_equal": (np.not_equal, uniform(count=2)),
    "less": (np.less, uniform(count=2)),
    "less_equal": (np.less_equal, uniform(count=2)),
    "greater": (np.greater, uniform(count=2)),
    "greater_equal": (np.greater_equal, uniform(count=2)),
    "logical_and": (np.logical_and, booleans(2)),
    "logical_or": (np.logical_or, booleans(2)),
    "logical_xor": (np.logical_xor, booleans(2)),
}


def _reductions() -> dict[str, Case]:
    """Of all elements of a matrix, of its rows and of its columns."""
    numpys = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean}
    cases = {}
    for name, numpy in numpys.items():
        ours = getattr(raw_ops, f"reduce_{name}")
        for what, axis in (("all", None), ("rows", 1), ("columns", 0)):
            cases[f"reduce_{name} of {what}"] = Case(
                attributes(ours, axes=None if axis is None else [axis]),
                attributes(numpy, axis=axis),
                matrix(),
            )
    for name in ("sum", "max"):
        cases[f"reduce_{name} of the middle"] = Case(
            attributes(getattr(raw_ops, f"reduce_{name}"), axes=[1]), attributes(numpys[name], axis=1), block
        )
    for name, numpy, early in (("all", np.all, booleans()), ("any", np.any, booleans())):
        ours = getattr(raw_ops, f"reduce_{name}")
        cases[f"reduce_{name}"] = Case(ours, numpy, early)
        cases[f"reduce_{name} to the end"] = Case(ours, numpy, constant(name == "all"))
        cases[f"reduce_{name} of columns"] = Case(
            attributes(ours, axes=[0]), attributes(numpy, axis=0), lambda n: (matrix()(n)[0] > 0,)
        )
    cases["count_nonzero"] = Case(tf.math.count_nonzero, np.count_nonzero, booleans())
    for name, numpy in (("argmax", np.argmax), ("argmin", np.argmin)):
        for what, axis in (("rows", 1), ("columns", 0)):
            cases[f"{name} of {what}"] = Case(
                attributes(getattr(raw_ops, name), axis=axis), attributes(numpy, axis=axis), matrix()
            )
    for name, numpy in (("cumsum", np.cumsum), ("cumprod", np.cumprod)):
        for what, axis in (("rows", 1), ("columns", 0)):
            cases[f"{name} of {what}"] = Case(
                attributes(getattr(raw_ops, name), axis=axis), attributes(numpy, axis=axis), matrix()
            )
    return cases


def _arrays() -> dict[str, Case]:
    """What moves elements."""
    return {
        "select": Case(raw_ops.select, np.where, lambda n: (*booleans()(n), *uniform(count=2)(n)), "where"),
        "add a row": Case(raw_ops.add, np.add, lambda n: (matrix()(n)[0], matrix()(n)[0][0])),
        "add a short row": Case(raw_ops.add, np.add, lambda n: (matrix(4)(n)[0], matrix(4)(n)[0][0])),
        "add a column": Case(raw_ops.add, np.add, lambda n: (matrix()(n)[0], matrix()(n)[0][:, :1])),
        "add a number": Case(raw_ops.add, np.add, lambda n: (*WIDE(n), np.full((), 1.5, "float32"))),
        "cast to int32": Case(attributes(raw_ops.cast, dtype=tf.int32), lambda x: x.astype("int32"), WIDE),
        "cast to float64": Case(
            attributes(raw_ops.cast, dtype=tf.float64), lambda x: x.astype("float64"), WIDE
        ),
        "cast to bool": Case(attributes(raw_ops.cast, dtype=tf.bool), lambda x: x.astype("bool"), WIDE),
        "cast from int32": Case(
            attributes(raw_ops.cast, dtype=tf.float32), lambda x: x.astype("float32"), integers()
        ),
        "cast from bool": Case(
            attributes(raw_ops.cast, dtype=tf.float32), lambda x: x.astype("float32"), booleans()
        ),
        "cast to float16": Case(
            attributes(raw_ops.cast, dtype=tf.float16), lambda x: x.astype("float16"), WIDE
        ),
        "clip_by_value": Case(
            lambda x: tf.clip_by_value(x, -1.0, 1.0),
            lambda x: np.clip(x, np.float32(-1), np.float32(1)),
            WIDE,
        ),
        "transpose": Case(raw_ops.transpose, lambda x: np.ascontiguousarray(x.T), matrix()),
        "transpose of 4 columns": Case(raw_ops.transpose, lambda x: np.ascontiguousarray(x.T), matrix(4)),
        "transpose of 4 rows": Case(
            raw_ops.transpose, lambda x: np.ascontiguousarray(x.T), lambda n: (matrix(4)(n)[0].T.copy(),)
        ),
        "transpose of float64": Case(
            raw_ops.transpose,
            lambda x: np.ascontiguousarray(x.T),
            lambda n: (matrix()(n)[0].astype("float64"),),
        ),
        "transpose of bool": Case(
            raw_ops.transpose, lambda x: np.ascontiguousarray(x.T), lambda n: (matrix()(n)[0] > 0,)
        ),
        "transpose (2, 0, 1)": Case(
            lambda x: raw_ops.transpose(x, perm=[2, 0, 1]),
            lambda x: np.ascontiguousarray(np.transpose(x, (2, 0, 1))),
            block,
        ),
        "transpose (0, 2, 1)": Case(
            lambda x: raw_ops.transpose(raw_ops.reshape(x, [10, -1, 10]), perm=[0, 2, 1]),
            lambda x: np.ascontiguousarray(np.transpose(x.reshape(10, -1, 10), (0, 2, 1))),
            lambda n: WIDE(max(100, n)),
        ),
        "reverse": Case(attributes(raw_ops.reverse, axes=[0]), lambda x: np.flip(x).copy(), WIDE),
        "reverse rows": Case(attributes(raw_ops.reverse, axes=[0]), lambda x: np.flip(x, 0).copy(), matrix()),
        "concat": Case(
            lambda x, y: raw_ops.concat([x, y], axis=0), lambda x, y: np.concatenate([x, y]), uniform(count=2)
        ),
        "concat columns": Case(
            lambda x: raw_ops.concat([x, x], axis=1), lambda x: np.concatenate([x, x], axis=1), matrix()
        ),
        "stack": Case(lambda x, y: raw_ops.stack([x, y]), lambda x, y: np.stack([x, y]), uniform(count=2)),
        "stack last": Case(
            lambda x, y: raw_ops.stack([x, y], axis=-1),
            lambda x, y: np.stack([x, y], axis=-1),
            uniform(count=2),
        ),
        "stack 5 last": Case(
            lambda x: raw_ops.stack([x] * 5, axis=-1),
            lambda x: np.stack([x] * 5, axis=-1),
            lambda n: WIDE(max(1, n // 5)),
        ),
        "concat of short rows": Case(
            lambda x, y: raw_ops.concat([x, y], axis=1),
            lambda x, y: np.concatenate([x, y], axis=1),
            lambda n: (matrix(4)(n)[0], matrix(2)(n // 2)[0]),
        ),
        "unstack last": Case(
            lambda x: raw_ops.unstack(x, num=4, axis=-1),
            lambda x: [x[:, i].copy() for i in range(4)],
            matrix(4),
        ),
        "split columns": Case(
            attributes(raw_ops.split, num=2, axis=1),
            lambda x: [part.copy() for part in np.split(x, 2, axis=1)],
            matrix(10),
        ),
        "roll": Case(lambda x: tf.roll(x, 3, 0), lambda x: np.roll(x, 3), WIDE),
        "roll of columns": Case(lambda x: tf.roll(x, 3, 1), lambda x: np.roll(x, 3, 1), matrix()),
        "repeat": Case(lambda x: tf.repeat(x, 3), lambda x: np.repeat(x, 3), lambda n: WIDE(max(1, n // 3))),
        "tile of columns": Case(
            lambda x: raw_ops.tile(x, [1, 3]),
            lambda x: np.tile(x, (1, 3)),
            lambda n: matrix(4)(max(4, n // 3)),
        ),
        "split": Case(
            attributes(raw_ops.split, num=2, axis=0), lambda x: [part.copy() for part in np.split(x, 2)], WIDE
        ),
        "tile": Case(lambda x: raw_ops.tile(x, [2]), lambda x: np.tile(x, 2), WIDE),
        "broadcast_to": Case(
            lambda x: raw_ops.broadcast_to(x, [10, x.shape[0]]),
            lambda x: np.broadcast_to(x, (10, len(x))).copy(),
            lambda n: WIDE(max(1, n // 10)),
        ),
        "pad": Case(lambda x: raw_ops.pad(x, [[1, 1], [1, 1]], 0.0), lambda x: np.pad(x, 1), matrix()),
        "strided_slice": Case(lambda x: x[::2], lambda x: x[::2].copy(), WIDE),
        "strided_slice of columns": Case(lambda x: x[:, ::2], lambda x: x[:, ::2].copy(), matrix()),
        "a column": Case(lambda x: x[:, 1], lambda x: x[:, 1].copy(), matrix(4)),
        "reverse columns": Case(
            attributes(raw_ops.reverse, axes=[1]), lambda x: np.flip(x, 1).copy(), matrix()
        ),
        "slice of columns": Case(lambda x: x[:, 1:], lambda x: x[:, 1:].copy(), matrix()),
        "fill": Case(
            lambda x: raw_ops.fill([x.shape[0]], 1.5), lambda x: np.full(len(x), 1.5, "float32"), WIDE
        ),
        "range": Case(
            lambda x: raw_ops.range(0, x.shape[0], 1), lambda x: np.arange(len(x), dtype="int32"), WIDE
        ),
        "one_hot": Case(
            lambda x: raw_ops.one_hot(x, 10, 1.0, 0.0),
            lambda x: np.eye(10, dtype="float32")[x],
            lambda n: integers(0, 10)(max(1, n // 10)),
        ),
        "gather": Case(raw_ops.gather, np.take, indexed),
        "gather rows": Case(raw_ops.gather, lambda x, at: np.take(x, at, axis=0), rows),
        "gather_nd": Case(
            lambda x, at: raw_ops.gather_nd(x, raw_ops.expand_dims(at, axis=1)), lambda x, at: x[at], indexed
        ),
        "gather_nd of 2": Case(
            lambda x, at: raw_ops.gather_nd(x, raw_ops.stack([at, at], axis=-1)),
            lambda x, at: x[at, at],
            lambda n: (matrix()(n)[0], random().integers(0, max(1, math.isqrt(n)), n)),
        ),
        "gather of columns": Case(
            lambda x, at: raw_ops.gather(x, at, axis=1),
            lambda x, at: np.take(x, at, axis=1),
            lambda n: (matrix()(n)[0], random().integers(0, max(1, math.isqrt(n)), max(1, math.isqrt(n)))),
        ),
        "take_along_axis": Case(
            lambda x, at: raw_ops.take_along_axis(x, at, axis=0),
            lambda x, at: np.take_along_axis(x, at, axis=0),
            along,
        ),
        "boolean_mask": Case(tf.boolean_mask, lambda x, mask: x[mask], lambda n: (*WIDE(n), *booleans()(n))),
        "where_indices": Case(raw_ops.where_indices, np.argwhere, booleans()),
        "where_indices of a matrix": Case(
            raw_ops.where_indices, np.argwhere, lambda n: (matrix()(n)[0] > 1,)
        ),
        "tensor_scatter_nd_update": Case(
            lambda x, at, v: raw_ops.tensor_scatter_nd_update(x, raw_ops.expand_dims(at, axis=1), v),
            put,
            scattered,
        ),
        "tensor_scatter_nd_add": Case(
            lambda x, at, v: raw_ops.tensor_scatter_nd_add(x, raw_ops.expand_dims(at, axis=1), v),
            added,
            scattered,
        ),
        "unsorted_segment_sum": Case(
            lambda x, at: raw_ops.unsorted_segment_sum(x, at, 10_000),
            lambda x, at: np.bincount(at, x, 10_000),
            segments,
        ),
        "segment_sum": Case(
            raw_ops.segment_sum,
            lambda x, at: np.add.reduceat(x, np.flatnonzero(np.diff(at, prepend=-1))),
            ascending,
        ),
        "matmul": Case(raw_ops.matmul, np.matmul, square, "matmul"),
        "matmul by a vector": Case(
            raw_ops.matmul, np.matmul, lambda n: (matrix()(n)[0], matrix()(n)[0][:1].T.copy()), "matmul"
        ),
    }


def _searches() -> dict[str, Case]:
    """Sorting and sets."""
    return {
        "sort": Case(raw_ops.sort, np.sort, WIDE),
        "sort of integers": Case(raw_ops.sort, np.sort, integers(0, 2**31 - 1)),
        "sort of float64": Case(raw_ops.sort, np.sort, lambda n: (WIDE(n)[0].astype("float64"),)),
        "sort of int64": Case(raw_ops.sort, np.sort, lambda n: (random().integers(-(2**62), 2**62, n),)),
        "sort of rows": Case(raw_ops.sort, np.sort, matrix(100)),
        "sort of rows of 10": Case(raw_ops.sort, np.sort, matrix(10)),
        "sort of rows of 1000": Case(raw_ops.sort, np.sort, matrix(1000)),
        "sort of columns": Case(attributes(raw_ops.sort, axis=0), attributes(np.sort, axis=0), matrix()),
        "argsort of rows": Case(raw_ops.argsort, attributes(np.argsort, kind="stable"), matrix(100)),
        "top_k of rows": Case(
            lambda x: raw_ops.top_k(x, min(5, x.shape[1])),
            lambda x: np.sort(np.partition(x, -min(5, x.shape[1]))[:, -5:])[:, ::-1],
            matrix(100),
        ),
        "argsort": Case(raw_ops.argsort, attributes(np.argsort, kind="stable"), WIDE),
        "top_k": Case(
            lambda x: raw_ops.top_k(x, 10), lambda x: np.sort(np.partition(x, -10)[-10:])[::-1], WIDE
        ),
        "unique": Case(raw_ops.unique, attributes(np.unique, return_inverse=True, return_counts=True), few),
        "searchsorted": Case(raw_ops.searchsorted, np.searchsorted, sought),
        "bincount": Case(tf.math.bincount, np.bincount, few),
    }


def _widths() -> dict[str, Case]:
    """Functions of floats in `float64`, and what takes other dtypes than the tables above have."""

    def doubled(make: Callable[[int], Arrays]) -> Callable[[int], Arrays]:
        return lambda n: tuple(x.astype("float64") for x in make(n))

    names = "exp expm1 log log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"
    cases = {}
    for name in [*names.split(), "sigmoid", "erf", "erfc", "pow", "atan2"]:
        numpy, make = {**UNARY, **BINARY}[name]
        cases[f"{name} of float64"] = Case(getattr(raw_ops, name), numpy, doubled(make), name)
    for name in ("floordiv", "floormod"):
        cases[f"{name} of floats"] = Case(getattr(raw_ops, name), BINARY[name][0], uniform(0.5, 9.0, 2))
    for name, numpy in (("abs", np.abs), ("exp", np.exp), ("log", np.log), ("asin", np.arcsin)):
        cases[f"{name} of complex"] = Case(getattr(raw_ops, name), numpy, complexes())
    cases["div of complex"] = Case(raw_ops.div, np.divide, complexes(2))
    cases["pow of integers"] = Case(raw_ops.pow, np.power, integers(0, 6, 2))
    return cases


def cases() -> dict[str, Case]:
    """Every case, by name."""
    table = {n: Case(getattr(raw_ops, n), numpy, make, n) for n, (numpy, make) in {**UNARY, **BINARY}.items()}
    return {**table, **_widths(), **_reductions(), **_arrays(), **_searches()}


def loop(call: Callable[[], Any], seconds: float) -> float:
    """The seconds of one call, of as many as fill a time."""
    number = 1
    while True:
        start = time.perf_counter()
        for _ in range(number):
            call()
        taken = time.perf_counter() - start
        if taken >= seconds:
            return taken / number
        number = max(2 * number, int(number * seconds / max(taken, 1e-9)))


def measured(calls: dict[str, Callable[[], Any]], repeats: int, seconds: float) -> dict[str, float]:
    """The best seconds of a call of each, which take turns."""
    best = dict.fromkeys(calls, math.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            best[name] = min(best[name], loop(call, seconds))
    return best


def run(case: Case, n: int, torch: Any, repeats: int, seconds: float) -> dict[str, float]:
    """The seconds of each library on n elements."""
    arrays = case.arrays(n)
    tensors = [tf.constant(a) for a in arrays]
    calls = {"penstock": lambda: case.ours(*tensors), "numpy": lambda: case.numpys(*arrays)}
    if torch is not None and case.torchs is not None and hasattr(torch, case.torchs):
        of_torch, function = [torch.from_numpy(np.array(a)) for a in arrays], getattr(torch, case.torchs)
        calls["torch"] = lambda: function(*of_torch)
    with np.errstate(all="ignore"):
        return measured(calls, repeats, seconds)


def shown(seconds: float) -> str:
    """A time in a fitting unit, of three digits."""
    for unit, size in (("ns", 1e-9), ("µs", 1e-6)):
        if seconds < 999.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-3:.3g} ms"


Results = dict[str, dict[int, dict[str, float]]]


def ratio(at: dict[str, float]) -> float:
    """How many times NumPy's time ours is."""
    return at["penstock"] / at["numpy"]


def setting(threads: int, torch: Any) -> str:
    """What was measured, where and when."""
    info = machine()
    versions = [f"Penstock {tf.__version__}", f"NumPy {np.__version__}", f"SciPy {scipy.__version__}"]
    versions += [f"PyTorch {torch.__version__}"] if torch is not None else []
    own = f"Penstock on {threads} threads" if threads else "Penstock on as many threads as it takes"
    return (
        f"{info['cpu']}, {info['cores']} cores, {info['system']}; Python {platform.python_version()}, "
        f"{', '.join(versions)}; {date.today().isoformat()}. {own}, the others on one."
    )


def slower(results: Results, n: int) -> str:
    """The operators that are too slow at a size, the slowest first, in one line."""
    slow = {name: ratio(at[n]) for name, at in results.items() if ratio(at[n]) > LIMIT}
    return ", ".join(f"{name} {r:.1f}" for name, r in sorted(slow.items(), key=lambda x: -x[1])) or "none"


def report(results: Results, sizes: list[int], measured_on: str) -> str:
    """The file: the slow ones, then a row for each."""
    with_torch = any("torch" in at for by_size in results.values() for at in by_size.values())

    def mean(n: int) -> float:
        return math.exp(sum(math.log(ratio(at[n])) for at in results.values()) / max(1, len(results)))

    lines = [
        "# Operators beside NumPy",
        "",
        "Written by `make bench-ops`. A ratio is Penstock's time over NumPy's: below 1 is faster.",
        "",
        measured_on,
        "",
        f"{len(results)} cases. The geometric mean of the ratios is "
        + ", ".join(f"{mean(n):.2f} at {n:,} elements" for n in sizes)
        + ".",
        "",
        *(
            f"- Slower than {LIMIT:g} times NumPy at {n:,} elements: {slower(results, n)}."
            for n in reversed(sizes)
        ),
        "",
    ]
    head = ["operator"]
    for n in sizes:
        head += [f"{n:,}", "NumPy", *(["PyTorch"] if with_torch else []), "ratio"]
    lines += ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for name, by_size in results.items():
        row = [name]
        for n in sizes:
            at = by_size[n]
            row += [shown(at["penstock"]), shown(at["numpy"])]
            row += [shown(at["torch"]) if "torch" in at else ""] if with_torch else []
            row.append(f"{ratio(at):.2f}")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures, prints what is slow and writes the file."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--match", default="", help="a regular expression for the names of cases")
    options.add_argument("--sizes", default="10,1000,1000000", help="numbers of elements")
    options.add_argument("--repeats", type=int, default=5, help="loops, of which the best counts")
    options.add_argument("--seconds", type=float, default=0.01, help="the least time of a loop")
    options.add_argument("--threads", type=int, default=0, help="for Penstock; 0 for as many as it takes")
    options.add_argument("--out", type=Path, default=HERE / "ops.md", help="the file to write; - for none")
    chosen = options.parse_args()
    threading.set_intra_op_parallelism_threads(chosen.threads)
    sizes = [int(n) for n in chosen.sizes.split(",")]
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") is not None else None
    results: Results = {}
    for name, case in cases().items():
        if re.search(chosen.match, name):
            results[name] = {n: run(case, n, torch, chosen.repeats, chosen.seconds) for n in sizes}
            times = "  ".join(
                f"{shown(at['penstock'])} / {shown(at['numpy'])} = {ratio(at):.2f}"
                for at in results[name].values()
            )
            print(f"{name:28} {times}", file=sys.stderr, flush=True)
    text = report(results, sizes, setting(threading.get_intra_op_parallelism_threads(), torch))
    print(text[: text.index("| operator")])
    if str(chosen.out) != "-" and not chosen.match:
        chosen.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
