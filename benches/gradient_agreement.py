"""Differentiates functions of TensorFlow and of Penstock at the same points, and prints where they differ.

    .venv-peers/bin/python benches/gradient_agreement.py [NAME]

Compared are first and second derivatives by each floating argument at kinks, ties, poles, infinities and NaN.
What is decided to differ is in `DECIDED`. Zeros count as equal whatever their sign. With NAME only functions
whose name holds it are differentiated. Takes a minute or two.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow

import penstock
from tensorflow_agreement import ABSENT, difference, unequal

INF, NAN = np.inf, np.nan
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    6.0,
    7.0,
    -7.0,
    30.0,
    -30.0,
    100.0,
    INF,
    -INF,
    NAN,
]
PLANE = [0.0, 1.0, -1.0, 1j, -1j, 0.5 + 0.25j, -1.5 + 2j, -0.5 - 0.75j, 2 - 1j]
DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]

UNARY = (
    "math.abs math.acos math.acosh math.asin math.asinh math.atan math.atanh math.ceil math.conj math.cos "
    "math.cosh math.digamma math.erf math.erfc math.erfinv math.exp math.expm1 math.floor math.imag "
    "math.lgamma math.log math.log1p math.log_sigmoid math.ndtri math.negative math.real math.reciprocal "
    "math.reciprocal_no_nan math.rint math.round math.rsqrt math.sigmoid math.sign math.sin math.sinh "
    "math.softplus math.softsign math.sqrt math.square math.tan math.tanh math.angle nn.elu nn.gelu "
    "nn.leaky_relu nn.relu nn.relu6 nn.selu nn.silu nn.softplus"
)
BINARY = (
    "math.add math.subtract math.multiply math.divide math.floordiv math.floormod math.pow math.maximum "
    "math.minimum math.atan2 math.squared_difference math.divide_no_nan math.multiply_no_nan math.xlogy "
    "math.xdivy math.xlog1py math.truediv complex"
)
REDUCTIONS = (
    "reduce_sum reduce_prod reduce_max reduce_min reduce_mean reduce_logsumexp reduce_std reduce_variance "
    "reduce_euclidean_norm cumsum cumprod cumulative_logsumexp l2_normalize"
)
# Rows with ties, zeros, extremes, and what is not finite.
ROWS = [
    [1.0, 2.0, 3.0, -1.0],
    [2.0, 2.0, 1.0, 2.0],
    [0.0, 0.0, 0.0, 0.0],
    [0.0, 2.0, 3.0, -4.0],
    [0.0, 2.0, 0.0, -4.0],
    [1.0, INF, 2.0, 0.5],
    [0.0, INF, 2.0, 0.5],
    [INF, INF, 1.0, 1.0],
    [-INF, 1.0, 2.0, INF],
    [-INF, -INF, -INF, -INF],
    [1.0, NAN, 2.0, 3.0],
    [1e3, 1e4, 1e4, 1e4],
    [1e-3, 1e-4, 1e-4, 1e-5],
]
EXTREME = [
    [1e30, 1e30, 1e-30, 2.0],
    [1e-30, 1e-30, 1e30, 2.0],
    [1e-20, 1e-20, 1e-20, 1.0],
    [1e20, 1e20, 1e20, 1.0],
]

# How far apart sums may be, beside the greatest of the row.
ROUNDING = {
    "float16": 4e-2,
    "bfloat16": 2e-1,
    "float32": 1e-3,
    "float64": 1e-8,
    "complex64": 1e-3,
    "complex128": 1e-8,
}

# By the name of the function: what differs, and why.
DECIDED = {
    "cumprod": "exact where elements are 0, where TensorFlow gives 0",
    "reduce_prod": "second derivatives are exact where elements are 0, where TensorFlow gives 0",
    "unsorted_segment_prod": "finite where TensorFlow multiplies 0 by infinity",
    "unsorted_segment_max": "that of infinities is infinite",
    "unsorted_segment_min": "that of infinities is infinite",
    "cumulative_logsumexp": "NaN where the result depends on a NaN",
    "l2_normalize": "NaN where the result depends on a NaN",
    "sort": "NaN is the greatest",
    "sort descending": "NaN is the greatest",
    "top_k": "NaN is the greatest",
    "max_pool": "NaN is the greatest",
    "scatter max updates": "NaN is the greatest",
    "digamma": "infinite at the poles, as in SciPy",
    "lgamma": "infinite at the poles, as in SciPy",
    "pow": "0 by the base where the exponent is 0, as in JAX; that of a complex 0 to the 1 is 1",
    "x ** 0.0": "0 by the base where the exponent is 0, as in JAX",
    "x ** 1.0": "linear, so that there is no second derivative",
    "leaky_relu": "linear in pieces, so that there is no second derivative",
    "xdivy": "infinite at the pole; the conjugate derivative for complex numbers",
    "xlogy": "the conjugate derivative for complex numbers",
    "xlog1py": "the conjugate derivative for complex numbers",
    "multiply_no_nan": "the conjugate derivative for complex numbers",
    "silu": "the conjugate derivative for complex numbers",
    "gelu": "coefficients have the precision of float64",
    "reduce_euclidean_norm": "the conjugate derivative for complex numbers; finite where squares underflow",
    "norm ord 3": "0 at a complex 0",
    "normalize": "finite where squares overflow",
    "norm ord 1": "finite where squares underflow",
    "segment_prod": "the conjugate derivative for complex numbers; finite where products underflow",
    "linalg.det": "the conjugate derivative for complex numbers; matrices are singular at another rounding",
    "reduce_std": "rounds sums in another order",
    "gather": "rows can be differentiated",
}


# TensorFlow has no derivative.
UNDIFFERENTIABLE = (
    "gradient registry has no entry",
    "not implemented",
    "No gradient defined",
    "no gradient defined",
)


class Derivative:
    """A function by its name and its arguments, and how it is called where the name is no public one.

    The elements of the arguments are points on their own, or `rows`.
    """

    def __init__(
        self, name: str, *args: Any, call: Callable[..., Any] | None = None, rows: bool = False
    ) -> None:
        self.name, self.args, self.call, self.rows = name, args, call, rows

    def run(self, module: Any, order: int) -> Any:
        """The gradients of the sum by each argument, of an order, as arrays; or the exception."""

        def function(*xs: Any) -> Any:
            if self.call is not None:
                return self.call(module, *xs)
            found = module
            for part in self.name.split("."):
                found = getattr(found, part)
            return found(*xs)

        try:
            xs = [module.constant(x) for x in self.args]
            with module.GradientTape() as outer:
                outer.watch(xs)
                with module.GradientTape() as tape:
                    tape.watch(xs)
                    result = function(*xs)
                found = tape.gradient(result, xs)
            if order == 2:
                found = outer.gradient([g for g in found if g is not None], xs)
            return [np.asarray("none") if g is None else module.convert_to_tensor(g).numpy() for g in found]
        except Exception as error:
            return error


def compared(case: Derivative, order: int) -> str | None:
    """In what the gradients by Penstock and by TensorFlow differ, or None."""
    ours, theirs = case.run(penstock, order), case.run(tensorflow, order)
    if isinstance(theirs, Exception) and any(
        reason in str(theirs) for reason in (*ABSENT, *UNDIFFERENTIABLE)
    ):
        return None
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        return difference(ours, theirs)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if "U" in (a.dtype.kind, b.dtype.kind):
            if a.dtype != b.dtype:
                kinds = ("none" if x.dtype.kind == "U" else x.dtype for x in (a, b))
                return f"by argument {i}: {', not '.join(map(str, kinds))}"
            continue
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"by argument {i}: {a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}"
        bad = unequal(a, b) & ~((a == 0) & (b == 0))
        if case.rows:
            # Terms of sums may be greater by far than what is left of them.
            wide = np.complex128 if a.dtype.kind == "c" else np.float64
            size = max((abs(x) for x in b.astype(wide).ravel() if np.isfinite(x)), default=0.0)
            bad &= ~(abs(a.astype(wide) - b.astype(wide)) <= ROUNDING[a.dtype.name] * max(size, 1.0))
        if bad.any():
            places = list(zip(*np.nonzero(bad), strict=True))[:5]
            at = "; ".join(f"{', '.join(str(x[p]) for x in case.args)}: {a[p]}, not {b[p]}" for p in places)
            return f"by argument {i} at {at} ({int(bad.sum())} of {bad.size})"
    return None


def elementwise() -> Iterator[Derivative]:
    """Functions of elements, at special points and pairs of them."""
    for dtype in DTYPES:
        points = np.array(PLANE if dtype.startswith("complex") else SPECIAL).astype(
            tensorflow.as_dtype(dtype).as_numpy_dtype
        )
        for name in UNARY.split():
            yield Derivative(name, points)
        xs, ys = (a.ravel() for a in np.meshgrid(points, points))
        for name in BINARY.split():
            yield Derivative(name, xs, ys)
        if dtype.startswith("complex"):
            continue
        for exponent in (0.0, 1.0, 2.0, 3.0, -1.0, 0.5, -0.5, 1.5):
            yield Derivative(f"x ** {exponent}", points, call=lambda m, x, e=exponent: x**e)
        yield Derivative("clip_by_value", points, call=lambda m, x: m.clip_by_value(x, -1.0, 1.0))
        yield Derivative("clip_by_value", xs, ys, ys[::-1].copy())
        yield Derivative("where", xs, ys, call=lambda m, x, y: m.where(x > y, x, y * y))
        yield Derivative("sqrt(x * x)", points, call=lambda m, x: m.sqrt(x * x))
        yield Derivative("maximum of one", points, call=lambda m, x: m.maximum(x, x))


def named(name: str, **kwargs: Any) -> Callable[..., Any]:
    """A function of `tf.math` with some arguments."""
    return lambda module, x: getattr(module.math, name)(x, **kwargs)


def along_axes() -> Iterator[Derivative]:
    """Functions of rows: reductions, scans, norms, sorting."""
    for dtype in DTYPES:
        to = tensorflow.as_dtype(dtype).as_numpy_dtype
        for row in [*ROWS, *(EXTREME if dtype not in ("float16",) else [])]:
            if dtype.startswith("complex"):
                if not np.isfinite(row).all():
                    continue
                x = (np.array(row) * (1 + 0.5j)).astype(to)
            else:
                x = np.array(row).astype(to)
            grid = np.stack([x, x[::-1]])
            for name in REDUCTIONS.split():
                yield Derivative(name, x, call=named(name), rows=True)
                if name.startswith("reduce"):
                    yield Derivative(name, grid, call=named(name, axis=[0, 1], keepdims=True), rows=True)
                    yield Derivative(name, grid, call=named(name, axis=0), rows=True)
            for name in ("cumsum", "cumprod", "cumulative_logsumexp"):
                yield Derivative(
                    name, grid, call=named(name, axis=1, exclusive=True, reverse=True), rows=True
                )
            weights = np.array([1.0, -2.0, 3.0, 0.5]).astype(to)
            for name, call in WEIGHED.items():
                if not (dtype.startswith("complex") and name in REAL_ONLY):
                    yield Derivative(
                        name, x, call=lambda m, x, w=weights, c=call: c(m, x) * m.constant(w), rows=True
                    )
            for name, call in ROW_CALLS.items():
                if not (dtype.startswith("complex") and name in REAL_ONLY):
                    yield Derivative(name, x, call=call, rows=True)


IDS = [0, 0, 1, 1]
WEIGHED: dict[str, Callable[[Any, Any], Any]] = {
    "nn.softmax": lambda m, x: m.nn.softmax(x),
    "nn.log_softmax": lambda m, x: m.nn.log_softmax(x),
    "sort": lambda m, x: m.sort(x),
    "sort descending": lambda m, x: m.sort(x, direction="DESCENDING"),
    "top_k": lambda m, x: m.math.top_k(x, 4).values,
    "reduce_prod": lambda m, x: m.reduce_prod(x, keepdims=True),
    "clip_by_norm": lambda m, x: m.clip_by_norm(x, 1.0),
    "reverse": lambda m, x: m.reverse(x, [0]),
}
ROW_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "norm": lambda m, x: m.norm(x),
    "norm ord 1": lambda m, x: m.norm(x, ord=1),
    "norm ord inf": lambda m, x: m.norm(x, ord=np.inf),
    "norm ord 3": lambda m, x: m.norm(x, ord=3),
    "segment_sum": lambda m, x: m.math.segment_sum(x, IDS),
    "segment_mean": lambda m, x: m.math.segment_mean(x, IDS),
    "segment_prod": lambda m, x: m.math.segment_prod(x, IDS),
    "segment_max": lambda m, x: m.math.segment_max(x, IDS),
    "segment_min": lambda m, x: m.math.segment_min(x, IDS),
    "unsorted_segment_sum": lambda m, x: m.math.unsorted_segment_sum(x, [0, 2, 0, -1], 3),
    "unsorted_segment_prod": lambda m, x: m.math.unsorted_segment_prod(x, [0, 2, 0, -1], 3),
    "unsorted_segment_max": lambda m, x: m.math.unsorted_segment_max(x, [0, 2, 0, -1], 3),
    "unsorted_segment_min": lambda m, x: m.math.unsorted_segment_min(x, [0, 2, 0, -1], 3),
    "unsorted_segment_mean": lambda m, x: m.math.unsorted_segment_mean(x, [0, 2, 0, -1], 3),
    "top_k of two": lambda m, x: m.math.top_k(x, 2).values,
    "in_top": lambda m, x: m.reduce_max(m.math.top_k(x, 3).values),
    "softmax_cross_entropy": lambda m, x: m.nn.softmax_cross_entropy_with_logits(
        labels=m.constant([0.25, 0.25, 0.5, 0.0], x.dtype), logits=x
    ),
    "sparse_softmax_cross_entropy": lambda m, x: m.nn.sparse_softmax_cross_entropy_with_logits(
        labels=1, logits=x
    ),
    "sigmoid_cross_entropy": lambda m, x: m.nn.sigmoid_cross_entropy_with_logits(
        labels=m.constant([0.0, 1.0, 0.5, 1.0], x.dtype), logits=x
    ),
    "l2_loss": lambda m, x: m.nn.l2_loss(x),
    "max_pool": lambda m, x: m.nn.max_pool1d(m.reshape(x, [1, 4, 1]), 2, 1, "SAME"),
    "avg_pool": lambda m, x: m.nn.avg_pool1d(m.reshape(x, [1, 4, 1]), 2, 1, "SAME"),
    "tensor_scatter_nd_max": lambda m, x: m.tensor_scatter_nd_max(
        x, [[0], [2]], m.constant([2.0, 2.0], x.dtype)
    ),
    "scatter max updates": lambda m, x: m.tensor_scatter_nd_max(
        m.constant([2.0, 2.0], x.dtype), [[0], [0], [1], [1]], x
    ),
    "linalg.det": lambda m, x: m.linalg.det(m.reshape(x, [2, 2])),
    "linalg.trace": lambda m, x: m.linalg.trace(m.reshape(x, [2, 2])),
    "moments": lambda m, x: m.nn.moments(x, [0]),
    "normalize": lambda m, x: m.linalg.normalize(x)[0],
    "cross": lambda m, x: m.linalg.cross(x[:3], x[1:]),
    "einsum": lambda m, x: m.einsum("i,j->ij", x, x),
    "matmul": lambda m, x: m.reshape(x, [2, 2]) @ m.reshape(x, [2, 2]),
    "gather": lambda m, x: m.gather(x, [0, 0, 3]),
    "dynamic_partition": lambda m, x: m.dynamic_partition(x, [0, 1, 0, 1], 2),
    "cast to complex": lambda m, x: m.cast(x, m.complex128),
    "cast to float64": lambda m, x: m.cast(x, m.float64),
}
REAL_ONLY = {
    "nn.softmax",
    "nn.log_softmax",
    "sort",
    "sort descending",
    "top_k",
    "clip_by_norm",
    "segment_max",
    "segment_min",
    "unsorted_segment_max",
    "unsorted_segment_min",
    "top_k of two",
    "in_top",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
    "sigmoid_cross_entropy",
    "l2_loss",
    "max_pool",
    "avg_pool",
    "tensor_scatter_nd_max",
    "scatter max updates",
    "cast to float64",
}


def main() -> None:
    """Prints the derivatives that differ, and how many there were."""
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    tensorflow.get_logger().setLevel("ERROR")
    named = sys.argv[1] if len(sys.argv) > 1 else ""
    total, differing, decided = 0, 0, dict.fromkeys(DECIDED, 0)
    for family in (elementwise, along_axes):
        for case in family():
            if named not in case.name:
                continue
            for order in (1, 2):
                total += 1
                found = compared(case, order)
                kind = case.name.removeprefix("math.").removeprefix("nn.")
                if found and kind in DECIDED:
                    decided[kind] += 1
                elif found:
                    differing += 1
                    x = case.args[0]
                    shown = x.tolist() if x.size < 9 else "..."
                    print(f"{case.name}, order {order}, {x.dtype} {shown}\n    {found}", flush=True)
    for name, count in decided.items():
        if count:
            print(f"{name}: {count}: {DECIDED[name]}")
    print(f"{differing} of {total} derivatives differ otherwise")


if __name__ == "__main__":
    main()
