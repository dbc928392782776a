"""What the operators of the engine give, said independently by NumPy, SciPy and Python.

A function of `REFERENCE` takes the operands of its operator as arrays (strings as arrays of `bytes` objects)
and the attributes by keyword. It gives an array per result: the very bits, or, as `Near`, the values in a
wider dtype that the operator approximates.
"""

from __future__ import annotations

import codecs
import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import image_reference
import ml_dtypes
import numpy as np
import scipy.special

Array = np.ndarray
Model = Callable[..., Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = (np.dtype("float16"), BFLOAT16)
WIDER = {
    np.dtype("float16"): np.float64,
    BFLOAT16: np.float64,
    np.dtype("float32"): np.float64,
    np.dtype("float64"): np.longdouble,
    np.dtype("complex64"): np.complex128,
    np.dtype("complex128"): np.clongdouble,
}


class Near(NamedTuple):
    """A result that the operator gives up to rounding, of itself and of the terms that it is a sum of."""

    value: Array
    # The magnitude of the terms, where they cancel.
    terms: Any = 0


def is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or dtype == BFLOAT16


def limits(dtype: np.dtype) -> tuple[Any, Any]:
    """The least and the greatest value."""
    if is_float(dtype):
        return -np.inf, np.inf
    info = np.iinfo(dtype)
    return info.min, info.max


def single(x: Array) -> Array:
    """Floats of 16 bits as `float32`, what they are computed in."""
    return x.astype("float32") if x.dtype in HALVES else x


def rounded(x: Any) -> Any:
    """A result computed in a wider dtype, unless it is not a float and so exact."""
    return Near(np.asarray(x)) if not isinstance(x, Near) and np.asarray(x).dtype.kind in "fc" else x


def near(f: Model) -> Model:
    """Computes floats in a wider dtype."""

    def model(*operands: Array, **attributes: Any) -> Any:
        result = f(*(x.astype(WIDER.get(x.dtype, x.dtype)) for x in operands), **attributes)
        return tuple(map(rounded, result)) if type(result) is tuple else rounded(result)

    return model


def special(f: Model) -> Model:
    """A function of SciPy that knows no `longdouble`."""

    def model(x: Array) -> Near:
        return Near(np.asarray(f(x.astype("float64")), WIDER[x.dtype]))

    return model


def own(f: Model) -> Model:
    """Computes in the dtype of the operands; floats of 16 bits in `float32`, rounded once."""

    def model(*operands: Array, **attributes: Any) -> Array:
        halves = [x.dtype for x in operands if x.dtype in HALVES]
        result = np.asarray(f(*map(single, operands), **attributes))
        return result.astype(halves[0]) if halves and result.dtype == np.float32 else result

    return model


def arithmetic(f: Model) -> Model:
    """Exact on all but complex numbers, whose products and quotients round in more than one way."""

    def model(*operands: Array, **attributes: Any) -> Any:
        return (near if operands[0].dtype.kind == "c" else own)(f)(*operands, **attributes)

    return model


def predicate(f: Model) -> Model:
    """A function with a boolean result."""
    return lambda *operands: np.asarray(f(*map(single, operands)))


def like(x: Array, value: Any) -> Array:
    """A result of the dtype of `x`."""
    return np.asarray(value).astype(x.dtype)


# --- elementwise ---


def selu(x: Array) -> Array:
    alpha, scale = 1.6732632423543772848, 1.0507009873554804934
    return scale * np.where(x < 0, alpha * np.expm1(x), x)


def complex_sign(x: Array) -> Array:
    return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x)))


def truncatediv(x: Array, y: Array) -> Array:
    if is_float(x.dtype):
        return np.trunc(x / y)
    floor = x // y
    return like(x, floor + ((x % y != 0) & ((x < 0) != (y < 0))))


def integer_pow(x: Array, y: Array) -> Array:
    """Wraps. To a negative exponent only 1 and -1 give something other than 0."""
    bits = x.dtype.itemsize * 8

    def power(base: int, exponent: int) -> int:
        if exponent < 0:
            value = {1: 1, -1: 1 if exponent % 2 == 0 else -1}.get(base, 0)
        else:
            value = pow(base, exponent, 1 << bits)
        return value % (1 << bits)

    unsigned = np.asarray(np.frompyfunc(power, 2, 1)(x.astype(object), y.astype(object)))
    return unsigned.astype(f"uint{bits}").view(x.dtype)


def power(x: Array, y: Array) -> Any:
    return integer_pow(x, y) if x.dtype.kind in "iu" else near(np.power)(x, y)


def left_shift(x: Array, y: Array) -> Array:
    """Negative amounts count as 0, those of the width and more shift all out."""
    bits = x.dtype.itemsize * 8
    return np.where(y < bits, x << np.clip(y, 0, bits - 1), like(x, 0))


def right_shift(x: Array, y: Array) -> Array:
    """As `left_shift`; of a negative number the copies of its sign remain."""
    bits = x.dtype.itemsize * 8
    return np.where((y < bits) | (x < 0), x >> np.clip(y, 0, bits - 1), like(x, 0))


def make_complex(x: Array, y: Array) -> Array:
    x, y = np.broadcast_arrays(x, y)
    out = np.empty(x.shape, "complex64" if x.dtype == np.float32 else "complex128")
    out.real, out.imag = x, y
    return out


def cast(x: Array, dtype: Any) -> Array:
    """Floats on the way to integers lose their fraction and are clamped, which NumPy leaves open."""
    target = np.dtype(dtype.as_numpy_dtype)
    if target.kind == "b":
        return x != 0
    if x.dtype.kind == "c" and target.kind != "c":
        x = x.real
    if is_float(x.dtype) and target.kind in "iu":
        least, greatest = limits(target)
        whole = [0 if math.isnan(v) else v if math.isinf(v) else int(v) for v in x.astype("float64").ravel()]
        return np.array([min(max(v, least), greatest) for v in whole], target).reshape(x.shape)
    return x.astype(target)


def special_pair(f: Model) -> Model:
    """As `special`, of two operands."""

    def model(x: Array, y: Array) -> Near:
        return Near(np.asarray(f(x.astype("float64"), y.astype("float64")), WIDER[x.dtype]))

    return model


def one_polygamma(n: float, x: float) -> float:
    if n == 0:
        return scipy.special.digamma(x)
    if not (n > 0 and n.is_integer()):
        return np.nan
    return (-1) ** (int(n) + 1) * scipy.special.gamma(n + 1) * scipy.special.zeta(n + 1, x)


def bitcast(x: Array, dtype: Any) -> Array:
    target = np.dtype(dtype.as_numpy_dtype)
    if target.itemsize > x.itemsize:
        return np.frombuffer(x.tobytes(), target).reshape(x.shape[:-1])
    shape = x.shape if target.itemsize == x.itemsize else (*x.shape, x.itemsize // target.itemsize)
    return np.frombuffer(x.tobytes(), target).reshape(shape)


polygamma = np.vectorize(one_polygamma, otypes=["float64"])


UNARY: dict[str, Model] = {
    "neg": own(np.negative),
    "abs": arithmetic(np.abs),
    "sign": lambda x: near(complex_sign)(x) if x.dtype.kind == "c" else own(np.sign)(x),
    "square": arithmetic(lambda x: x * x),
    "sqrt": arithmetic(np.sqrt),
    "rsqrt": near(lambda x: 1 / np.sqrt(x)),
    "reciprocal": arithmetic(lambda x: like(x, 1) / x),
    "exp": near(np.exp),
    "expm1": near(np.expm1),
    "log": near(np.log),
    "log1p": near(np.log1p),
    "sin": near(np.sin),
    "cos": near(np.cos),
    "tan": near(np.tan),
    "asin": near(np.arcsin),
    "acos": near(np.arccos),
    "atan": near(np.arctan),
    "sinh": near(np.sinh),
    "cosh": near(np.cosh),
    "tanh": near(np.tanh),
    "asinh": near(np.arcsinh),
    "acosh": near(np.arccosh),
    "atanh": near(np.arctanh),
    "sigmoid": near(lambda x: 1 / (1 + np.exp(-x))),
    "softplus": near(lambda x: np.logaddexp(0, x)),
    "relu": own(lambda x: np.where(x < 0, like(x, 0), x)),
    "relu6": own(lambda x: np.where(x < 0, like(x, 0), np.where(x > 6, like(x, 6), x))),
    "elu": near(lambda x: np.where(x < 0, np.expm1(x), x)),
    "selu": near(selu),
    "softsign": near(lambda x: x / (1 + np.abs(x))),
    "floor": own(np.floor),
    "ceil": own(np.ceil),
    "round": own(lambda x: np.rint(x) if is_float(x.dtype) else x),
    "rint": own(np.rint),
    "trunc": own(np.trunc),
    "erf": special(scipy.special.erf),
    "erfc": special(scipy.special.erfc),
    # SciPy's is -inf at -inf.
    "lgamma": special(lambda x: np.where(np.isinf(x), np.inf, scipy.special.gammaln(x))),
    "digamma": special(scipy.special.digamma),
    # SciPy's is 0 at -0.
    "erfinv": special(lambda x: np.copysign(scipy.special.erfinv(x), x)),
    "ndtri": special(scipy.special.ndtri),
    "is_nan": predicate(np.isnan),
    "is_inf": predicate(np.isinf),
    "is_finite": predicate(np.isfinite),
    "logical_not": np.logical_not,
    "invert": np.invert,
    "real": np.real,
    "imag": np.imag,
    "conj": np.conj,
    "angle": near(np.angle),
}

BINARY: dict[str, Model] = {
    "add": arithmetic(np.add),
    "sub": arithmetic(np.subtract),
    "mul": arithmetic(np.multiply),
    "div": arithmetic(np.divide),
    "floordiv": own(np.floor_divide),
    "floormod": own(np.remainder),
    "truncatediv": own(truncatediv),
    "truncatemod": own(np.fmod),
    "pow": power,
    # The first of equal operands, so of the zeros of either sign.
    "maximum": own(lambda x, y: np.where((x >= y) | (x != x), x, y)),
    "minimum": own(lambda x, y: np.where((x <= y) | (x != x), x, y)),
    "atan2": near(np.arctan2),
    "squared_difference": arithmetic(lambda x, y: (x - y) * np.conj(x - y)),
    "divide_no_nan": arithmetic(lambda x, y: np.where(y == 0, like(x, 0), x / y)),
    "multiply_no_nan": arithmetic(lambda x, y: np.where(y == 0, like(x, 0), x * y)),
    # 0 even where the other operand is NaN, unlike SciPy's.
    "xlogy": near(lambda x, y: np.where(x == 0, like(x, 0), x * np.log(y))),
    "xdivy": arithmetic(lambda x, y: np.where(x == 0, like(x, 0), x / y)),
    "nextafter": np.nextafter,
    # SciPy's is infinite at a NaN with a pole.
    "zeta": special_pair(lambda x, q: np.where(np.isnan(x), np.nan, scipy.special.zeta(x, q))),
    "polygamma": special_pair(polygamma),
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": left_shift,
    "right_shift": right_shift,
    "complex": make_complex,
    "add_n": own(lambda *xs: sum(xs[1:], start=xs[0])),
}

CHOICE: dict[str, Model] = {
    "equal": predicate(np.equal),
    "not_equal": predicate(np.not_equal),
    "less": predicate(np.less),
    "less_equal": predicate(np.less_equal),
    "greater": predicate(np.greater),
    "greater_equal": predicate(np.greater_equal),
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "select": np.where,
    "string_select": np.where,
    "cast": cast,
    "bitcast": bitcast,
}


# --- sorting and segments ---


def order(x: Array, axis: int, descending: bool) -> Array:
    """The stable order of elements; NaN is the greatest, and 0 is -0."""
    ranks = np.unique(single(x) if x.dtype.kind not in "iu" else x, return_inverse=True)[1].reshape(x.shape)
    return np.argsort(-ranks if descending else ranks, axis=axis, kind="stable")


def argsort(x: Array, axis: int = -1, descending: bool = False, dtype: Any = None) -> Array:
    return order(x, axis, descending).astype(index_dtype(dtype))


def sort(x: Array, axis: int = -1, descending: bool = False) -> Array:
    return np.take_along_axis(x, order(x, axis, descending), axis)


def top_k(x: Array, k: Array, dtype: Any = None) -> tuple[Array, Array]:
    places = order(x, -1, True)[..., : int(k)]
    return np.take_along_axis(x, places, -1), places.astype(index_dtype(dtype))


def searchsorted(rows: Array, values: Array, right: bool = False, dtype: Any = None) -> Array:
    out = np.empty(values.shape, index_dtype(dtype))
    for at in np.ndindex(values.shape[:-1]):
        out[at] = np.searchsorted(single(rows[at]), single(values[at]), "right" if right else "left")
    return out


def unique(x: Array, dtype: Any = None) -> tuple[Array, Array, Array]:
    """In the order of occurrence. A NaN is equal to nothing, itself included."""
    first: list[int] = []
    places = []
    for i, value in enumerate(x):
        same = [g for g, j in enumerate(first) if x[j] == value]
        places.append(same[0] if same else len(first))
        first += [] if same else [i]
    counts = np.bincount(places, minlength=len(first)) if places else np.zeros(0)
    target = index_dtype(dtype)
    return x[np.array(first, int)], np.array(places, target), counts.astype(target)


def scatter_along_axis(shape: Array, indices: Array, updates: Array, axis: int = -1) -> Array:
    out = np.zeros(tuple(shape), updates.dtype)
    for at in np.ndindex(indices.shape):
        place = list(at)
        place[axis] = indices[at]
        out[tuple(place)] += updates[at]
    return out


def by_segment(f: Model, empty: Any) -> Model:
    """Reduces the entries of each segment; those of a negative one are left out."""

    def model(data: Array, segment_ids: Array, num_segments: Array | None = None) -> Array:
        count = segment_ids.max(initial=-1) + 1 if num_segments is None else int(num_segments)
        out = np.full((count, *data.shape[segment_ids.ndim :]), empty, data.dtype)
        for s in range(count):
            if np.any(segment_ids == s):
                out[s] = f(data[segment_ids == s])
        return out

    return own(model)


def lowest(dtype: np.dtype) -> Any:
    """The least finite value."""
    return ml_dtypes.finfo(dtype).min if is_float(dtype) else np.iinfo(dtype).min


def highest(dtype: np.dtype) -> Any:
    return ml_dtypes.finfo(dtype).max if is_float(dtype) else np.iinfo(dtype).max


def unsorted_extremum(f: Model, empty: Callable[[np.dtype], Any]) -> Model:
    def model(data: Array, segment_ids: Array, num_segments: Array) -> Array:
        limit = single(np.asarray(empty(data.dtype), data.dtype))
        return by_segment(lambda x: f(x, axis=0), limit)(data, segment_ids, num_segments)

    return model


def segment_mean(x: Array) -> Array:
    if x.dtype.kind in "iu":
        return truncatediv(np.sum(x, axis=0, dtype=x.dtype), like(x, len(x)))
    return np.sum(x, axis=0, dtype=x.dtype) / like(x, len(x))


SORTED: dict[str, Model] = {
    "sort": sort,
    "argsort": argsort,
    "top_k": top_k,
    "searchsorted": searchsorted,
    "unique": unique,
    "take_along_axis": lambda x, indices, axis=-1: np.take_along_axis(x, indices, axis),
    "scatter_along_axis": own(scatter_along_axis),
    "unsorted_segment_mean": by_segment(segment_mean, 0),
    "unsorted_segment_prod": by_segment(lambda x: np.prod(x, axis=0, dtype=x.dtype), 1),
    "segment_sum": by_segment(lambda x: np.sum(x, axis=0, dtype=x.dtype), 0),
    "segment_mean": by_segment(segment_mean, 0),
    "segment_max": by_segment(lambda x: np.max(x, axis=0), 0),
    "segment_min": by_segment(lambda x: np.min(x, axis=0), 0),
    "segment_prod": by_segment(lambda x: np.prod(x, axis=0, dtype=x.dtype), 1),
    "unsorted_segment_max": unsorted_extremum(np.max, lowest),
    "unsorted_segment_min": unsorted_extremum(np.min, highest),
}


# --- reductions, scans, matrices, neural networks ---


def axes_of(x: Array, axes: Sequence[int] | None) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axes is None else tuple(axes)


def total(f: Model) -> Model:
    """A sum or a product, in the dtype of the operand."""

    def model(x: Array, axes: Sequence[int] | None = None, keepdims: bool = False) -> Array:
        return f(x, axis=axes_of(x, axes), keepdims=keepdims, dtype=x.dtype)

    return near(model)


def extremum(f: Model, start: int) -> Model:
    """The start is one of the limits of the dtype: what is the extremum of nothing."""

    def model(x: Array, axes: Sequence[int] | None = None, keepdims: bool = False) -> Array:
        return f(x, axis=axes_of(x, axes), keepdims=keepdims, initial=limits(x.dtype)[start])

    return own(model)


def mean(x: Array, axes: Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Of integers the mean of the wrapped sum, rounded to 0."""
    axes = axes_of(x, axes)
    count = math.prod(x.shape[a] for a in axes)
    summed = np.asarray(np.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype))
    return truncatediv(summed, like(x, count)) if x.dtype.kind in "iu" else summed / like(summed, count)


def logsumexp(x: Array, axes: Sequence[int] | None = None, keepdims: bool = False) -> Array:
    axes = axes_of(x, axes)
    most = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
    most = np.where(np.isinf(most), 0, most)
    summed = np.log(np.sum(np.exp(x - most), axis=axes, keepdims=True)) + most
    return summed if keepdims else np.squeeze(summed, axis=axes)


def sum_to_shape(x: Array, shape: Array) -> Array:
    padded = [1] * (x.ndim - shape.size) + shape.tolist()
    axes = tuple(i for i, (n, m) in enumerate(zip(x.shape, padded, strict=True)) if m == 1 and n != 1)
    return np.sum(x, axis=axes, keepdims=True, dtype=x.dtype).reshape(shape)


def position(f: Model) -> Model:
    """Where the extremum is: the first of equal ones, and NaN before all else."""

    def model(x: Array, axis: int = 0, dtype: Any = None) -> Array:
        return np.asarray(f(single(x), axis=axis)).astype("int64" if dtype is None else dtype.as_numpy_dtype)

    return model


def scan(f: np.ufunc, identity: int) -> Model:
    def model(x: Array, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Array:
        x = np.flip(x, axis) if reverse else x
        # From the identity on, so that a sum is not -0.
        out = f(like(x, identity), f.accumulate(x, axis=axis, dtype=x.dtype))
        if exclusive:
            out = np.moveaxis(out, axis, 0)
            out = np.concatenate([np.full_like(out[:1], identity), out[:-1]])
            out = np.moveaxis(out, 0, axis)
        return np.flip(out, axis) if reverse else out

    return near(model)


def cumulative_logsumexp(x: Array, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Near:
    wide = np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0).astype(WIDER[x.dtype])
    # A sum from 0 on is not -0.
    out = np.logaddexp.accumulate(wide, axis=0) + 0
    if exclusive:
        out = np.concatenate([np.full_like(out[:1], lowest(x.dtype)), out[:-1]])
    out = np.moveaxis(out, 0, axis)
    return Near(np.flip(out, axis) if reverse else out, 1)


def matmul(
    a: Array,
    b: Array,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
) -> Array:
    a = np.conj(np.swapaxes(a, -1, -2)) if adjoint_a else np.swapaxes(a, -1, -2) if transpose_a else a
    b = np.conj(np.swapaxes(b, -1, -2)) if adjoint_b else np.swapaxes(b, -1, -2) if transpose_b else b
    return np.matmul(a, b)


def softmax_and_log(x: Array, axis: int = -1) -> tuple[Array, Array]:
    """The softmax, and the negative of its logarithm."""
    shifted = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    summed = np.sum(np.exp(shifted), axis=axis, keepdims=True)
    return np.exp(shifted) / summed, np.log(summed) - shifted


def log_softmax(x: Array, axis: int = -1) -> Near:
    # 0 - 0 is 0, as is the difference of the maximum and a logarithm of 1.
    return Near(0 - softmax_and_log(x, axis)[1], 1)


def softmax_cross_entropy(logits: Array, labels: Array) -> tuple[Near, Near]:
    probabilities, surprise = softmax_and_log(logits)
    terms = labels * surprise
    return Near(np.sum(terms, axis=-1), np.sum(np.abs(terms), axis=-1)), Near(
        probabilities - labels, np.abs(labels)
    )


def sparse_softmax_cross_entropy(logits: Array, labels: Array) -> tuple[Near, Near]:
    probabilities, surprise = softmax_and_log(logits)
    chosen = np.arange(logits.shape[-1]) == labels[..., None]
    return Near(np.take_along_axis(surprise, labels[..., None], -1)[..., 0], 1), Near(
        probabilities - chosen, 1
    )


NUMERIC: dict[str, Model] = {
    "reduce_sum": total(np.sum),
    "reduce_prod": total(np.prod),
    "reduce_max": extremum(np.max, 0),
    "reduce_min": extremum(np.min, 1),
    "reduce_mean": near(mean),
    "reduce_any": lambda x, axes=None, keepdims=False: np.any(x, axes_of(x, axes), keepdims=keepdims),
    "reduce_all": lambda x, axes=None, keepdims=False: np.all(x, axes_of(x, axes), keepdims=keepdims),
    "reduce_logsumexp": near(logsumexp),
    "sum_to_shape": near(sum_to_shape),
    "argmax": position(np.argmax),
    "argmin": position(np.argmin),
    "cumsum": scan(np.add, 0),
    "cumprod": scan(np.multiply, 1),
    "cumulative_logsumexp": cumulative_logsumexp,
    "matmul": near(matmul),
    "bias_add": arithmetic(np.add),
    "softmax": near(lambda x, axis=-1: softmax_and_log(x, axis)[0]),
    "log_softmax": near(log_softmax),
    "softmax_cross_entropy": near(softmax_cross_entropy),
    "sparse_softmax_cross_entropy": near(sparse_softmax_cross_entropy),
}


# --- arrays ---


def unchanged(x: Array, **_: Any) -> Array:
    return x


def zeros(shape: Sequence[int] | Array, dtype: np.dtype) -> Array:
    return np.full(tuple(shape), b"" if dtype.kind == "O" else False if dtype.kind == "b" else 0, dtype)


def index_dtype(dtype: Any) -> Any:
    return "int32" if dtype is None else dtype.as_numpy_dtype


def number_range(start: Array, limit: Array, delta: Array) -> Array:
    count = math.ceil((float(limit) - float(start)) / float(delta))
    return like(start, start + like(start, np.arange(count)) * delta)


def one_hot(indices: Array, depth: Array, on_value: Array, off_value: Array, axis: int = -1) -> Array:
    hot = indices[..., None] == np.arange(depth)
    return np.moveaxis(np.where(hot, on_value, off_value), -1, axis)


def reshape(x: Array, shape: Array) -> Array:
    """A size -1 beside a size 0, which NumPy rejects, is what the sizes that are not 0 leave."""
    sizes = shape.tolist()
    if 0 in sizes and -1 in sizes:
        rest = math.prod(n for n in x.shape if n) // math.prod(n for n in sizes if n > 0)
        sizes[sizes.index(-1)] = rest
    return x.reshape(sizes)


def squeeze(x: Array, axes: Sequence[int] | None = None) -> Array:
    return np.squeeze(x, tuple(axes) if axes else None)


def pad(x: Array, paddings: Array, constant_values: Array) -> Array:
    out = np.full(
        [n + sum(p) for n, p in zip(x.shape, paddings.tolist(), strict=True)], constant_values, x.dtype
    )
    out[tuple(slice(p[0], p[0] + n) for n, p in zip(x.shape, paddings.tolist(), strict=True))] = x
    return out


def concat_offset(*shapes: Array, axis: int) -> tuple[Array, ...]:
    offsets = [np.zeros_like(shape) for shape in shapes]
    for offset, start in zip(
        offsets, itertools.accumulate((int(s[axis]) for s in shapes), initial=0), strict=False
    ):
        offset[axis] = start
    return tuple(offsets)


def unstack(x: Array, num: int | None = None, axis: int = 0) -> tuple[Array, ...]:
    return tuple(np.moveaxis(x, axis, 0)[i] for i in range(x.shape[axis]))


def split(
    x: Array, sizes: Sequence[int] | None = None, num: int | None = None, axis: int = 0
) -> tuple[Array, ...]:
    if sizes is None:
        return tuple(np.split(x, num, axis))
    rest = x.shape[axis] - sum(n for n in sizes if n >= 0)
    ends = itertools.accumulate(rest if n < 0 else n for n in sizes)
    return tuple(np.split(x, list(ends)[:-1], axis))


def subscript(begin: Array, end: Array, strides: Array, **masks: int) -> tuple[Any, ...]:
    """What is written in the brackets."""

    def item(i: int) -> Any:
        def masked(name: str) -> bool:
            return bool(masks.get(f"{name}_mask", 0) >> i & 1)

        if masked("ellipsis"):
            return Ellipsis
        if masked("new_axis"):
            return None
        if masked("shrink_axis"):
            return int(begin[i])
        return slice(
            None if masked("begin") else int(begin[i]),
            None if masked("end") else int(end[i]),
            int(strides[i]),
        )

    return tuple(item(i) for i in range(begin.size))


def strided_slice(x: Array, begin: Array, end: Array, strides: Array, **masks: int) -> Array:
    return x[subscript(begin, end, strides, **masks)]


def strided_slice_grad(
    shape: Array, begin: Array, end: Array, strides: Array, dy: Array, **masks: int
) -> Array:
    out = zeros(shape, dy.dtype)
    out[subscript(begin, end, strides, **masks)] = dy
    return out


def box(begin: Array, size: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(b, None if n < 0 else b + n) for b, n in zip(begin.tolist(), size, strict=True))


def slice_grad(shape: Array, begin: Array, dy: Array) -> Array:
    out = zeros(shape, dy.dtype)
    out[box(begin, dy.shape)] = dy
    return out


def gather(
    params: Array, indices: Array, axis: int = 0, batch_dims: int = 0, drop_negative: bool = False
) -> Array:
    axis, batch = axis % params.ndim, batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    out = np.empty(params.shape[:axis] + indices.shape[batch:] + params.shape[axis + 1 :], params.dtype)
    for at in np.ndindex(params.shape[:batch]):
        rows = np.asarray(indices[at])
        taken = np.take(params[at], np.where(rows < 0, 0, rows) if drop_negative else rows, axis=axis - batch)
        if drop_negative:
            dropped = (rows < 0).reshape(rows.shape + (1,) * (params.ndim - axis - 1))
            taken = np.where(dropped, zeros((), params.dtype), taken)
        out[at] = taken
    return out


def gather_grad(
    shape: Array, indices: Array, dy: Array, drop_negative: bool = False, **attributes: int
) -> Array:
    """Adds to the places that a `gather` from an array of the places finds."""
    # The places are counted from 1: what is dropped finds 0.
    places = np.arange(1, 1 + math.prod(shape)).reshape(shape)
    found = gather(places, indices, drop_negative=drop_negative, **attributes)
    out = np.zeros(1 + places.size, dy.dtype)
    np.add.at(out, found, dy)
    return out[1:].reshape(shape)


def gather_nd(params: Array, indices: Array) -> Array:
    out = np.empty(indices.shape[:-1] + params.shape[indices.shape[-1] :], params.dtype)
    for at in np.ndindex(indices.shape[:-1]):
        out[at] = params[tuple(indices[at])]
    return out


def scattered(f: Model) -> Model:
    """Replaces what is at each place by its combination with the update, in order."""

    def model(tensor: Array, indices: Array, updates: Array) -> Array:
        out = tensor.copy()
        for at in np.ndindex(indices.shape[:-1]):
            place = tuple(indices[at])
            out[place] = f(out[place], updates[at])
        return out

    return model


def segment_sum(data: Array, segment_ids: Array, num_segments: Array) -> Array:
    out = np.zeros((int(num_segments), *data.shape[segment_ids.ndim :]), data.dtype)
    kept = segment_ids >= 0
    np.add.at(out, segment_ids[kept], data[kept])
    return out


ARRAY: dict[str, Model] = {
    "identity": unchanged,
    "barrier": lambda *values: values,
    "stop_gradient": unchanged,
    "ensure_shape": unchanged,
    "check_numerics": unchanged,
    "shape": lambda x, dtype=None: np.array(x.shape, index_dtype(dtype)),
    "size": lambda x, dtype=None: np.array(x.size, index_dtype(dtype)),
    "rank": lambda x: np.array(x.ndim, "int32"),
    "fill": lambda dims, value: np.full(tuple(dims), value, value.dtype),
    "zeros_like": lambda x: zeros(x.shape, x.dtype),
    "ones_like": lambda x: np.full(x.shape, 1, x.dtype),
    "range": own(number_range),
    "one_hot": one_hot,
    "reshape": reshape,
    "expand_dims": lambda x, axis: np.expand_dims(x, axis),
    "squeeze": squeeze,
    "transpose": lambda x, perm=None: np.transpose(x, perm),
    "broadcast_to": lambda x, shape: np.broadcast_to(x, tuple(shape)),
    "tile": lambda x, multiples: np.tile(x, tuple(multiples)),
    "reverse": lambda x, axes: np.flip(x, tuple(axes)),
    "pad": pad,
    "concat": lambda *xs, axis: np.concatenate(xs, axis),
    "concat_offset": concat_offset,
    "stack": lambda *xs, axis=0: np.stack(xs, axis),
    "unstack": unstack,
    "split": split,
    "strided_slice": strided_slice,
    "strided_slice_grad": strided_slice_grad,
    "strided_slice_accumulate": lambda x, begin, end, strides, dy, **masks: (
        x + strided_slice_grad(np.array(x.shape, np.int64), begin, end, strides, dy, **masks)
    ),
    "slice": lambda x, begin, size: x[box(begin, size.tolist())],
    "slice_grad": slice_grad,
    "gather": gather,
    "gather_grad": own(gather_grad),
    "gather_accumulate": own(
        lambda x, indices, dy, **attributes: x + gather_grad(np.array(x.shape), indices, dy, **attributes)
    ),
    "gather_nd": gather_nd,
    "scatter_nd": own(lambda at, xs, shape: scattered(np.add)(zeros(shape, xs.dtype), at, xs)),
    "tensor_scatter_nd_update": scattered(lambda _, update: update),
    "tensor_scatter_nd_add": own(scattered(np.add)),
    "tensor_scatter_nd_sub": own(scattered(np.subtract)),
    "tensor_scatter_nd_max": own(scattered(np.maximum)),
    "tensor_scatter_nd_min": own(scattered(np.minimum)),
    "unsorted_segment_sum": own(segment_sum),
    "where_indices": lambda x: np.argwhere(single(x)),
}


# --- strings ---


def each(f: Callable[..., Any], *operands: Array, dtype: Any = object) -> Array:
    """The results of `f` for each element of the operands, broadcast."""
    operands = tuple(np.broadcast_arrays(*operands))
    out = np.empty(operands[0].shape, dtype)
    for at in np.ndindex(out.shape):
        out[at] = f(*(x[at] for x in operands))
    return out


def over_text(f: Callable[[str], str]) -> Callable[[bytes], bytes]:
    return lambda s: f(s.decode()).encode()


def changed_case(to: str) -> Model:
    ascii_only = getattr(bytes, to)
    return lambda x, encoding="": each(over_text(getattr(str, to)) if encoding == "utf-8" else ascii_only, x)


def string_length(x: Array, unit: str = "BYTE") -> Array:
    return each(lambda s: len(s.decode() if unit == "UTF8_CHAR" else s), x, dtype="int32")


def substr(x: Array, pos: Array, len: Array, unit: str = "BYTE") -> Array:
    def part(s: Any, start: int, count: int) -> Any:
        rest = s[start:]
        return rest if count < 0 else rest[:count]

    def of_characters(s: bytes, start: int, count: int) -> bytes:
        return part(s.decode(), start, count).encode()

    return each(of_characters if unit == "UTF8_CHAR" else part, x, pos, len)


def as_string(
    x: Array,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
) -> Array:
    conversion = "e" if scientific else "g" if shortest else "f"
    form = (
        f"%{fill.strip()}{width if width > 0 else ''}{f'.{precision}' if precision >= 0 else ''}{conversion}"
    )

    def text(value: Any) -> bytes:
        if x.dtype.kind == "O":
            return value
        if x.dtype.kind == "b":
            return b"true" if value else b"false"
        if x.dtype.kind == "c":
            return f"({form % value.real},{form % value.imag})".encode()
        if is_float(x.dtype):
            return (form % float(value)).encode()
        return (form.replace(conversion, "d") % int(value)).encode()

    return each(text, x)


def string_to_number(x: Array, dtype: Any = None) -> Array:
    target = np.dtype("float32" if dtype is None else dtype.as_numpy_dtype)
    return each(float if target.kind == "f" else int, x, dtype=target)


def regex_replace(x: Array, pattern: str, rewrite: str, replace_global: bool = True) -> Array:
    return each(over_text(lambda s: re.sub(pattern, rewrite, s, count=0 if replace_global else 1)), x)


def shown(x: Array, summarize: int) -> str:
    """As `tf.print` writes it, for numbers that few digits say."""
    if x.ndim == 0:
        return f"{x.item():g}"
    if x.size == 0:
        return "[]"
    rows = [shown(row, summarize) if x.dtype.kind != "O" or x.ndim > 1 else quoted(row) for row in x]
    if summarize >= 0 and len(rows) > 2 * summarize:
        rows[summarize : len(rows) - summarize] = ["..."]
    return "[" + (" " if x.ndim == 1 else "\n" * (x.ndim - 1) + " ").join(rows) + "]"


def quoted(s: bytes) -> str:
    return '"' + s.decode().replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def string_format(*data: Array, template: str, summarize: int = 3) -> Array:
    text = template.format(*(shown(x, summarize) for x in data))
    return each(lambda _: text.encode(), np.zeros(()))


def parts(f: Callable[[bytes], list[Any]], dtype: Any = object) -> Model:
    """The parts of all strings in one list, and the splits between its rows."""

    def model(x: Array) -> tuple[Array, Array]:
        rows = [f(s) for s in x.ravel()]
        values = np.empty(sum(map(len, rows)), dtype)
        values[:] = [part for row in rows for part in row]
        return values, np.cumsum([0, *map(len, rows)], dtype="int64")

    return model


def string_split(x: Array, sep: str = "", maxsplit: int = -1) -> tuple[Array, Array]:
    most = maxsplit if maxsplit > 0 else -1

    def pieces(s: bytes) -> list[bytes]:
        return s.split(sep.encode(), most) if sep else s.split(maxsplit=most)

    return parts(pieces)(x)


PYTHON_ENCODING = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}


def unicode_decode(
    x: Array,
    input_encoding: str = "UTF-8",
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
) -> tuple[Array, Array]:
    def points(s: bytes) -> list[int]:
        # What is no character is decoded as a surrogate, which no sample has.
        text = s.decode(PYTHON_ENCODING[input_encoding], "strict" if errors == "strict" else "mark")
        out = []
        for c in map(ord, text):
            if c == 0xD800:
                out += [replacement_char] if errors == "replace" else []
            else:
                out.append(replacement_char if replace_control_characters and c < 32 else c)
        return out

    return parts(points, "int32")(x)


codecs.register_error("mark", lambda error: ("\ud800", error.end))


def unicode_encode(
    codepoints: Array,
    row_splits: Array,
    output_encoding: str = "UTF-8",
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
) -> Array:
    def text(row: Array) -> bytes:
        valid = [0 <= c < 0x110000 and not 0xD800 <= c < 0xE000 for c in row]
        if errors == "ignore":
            points = [c for c, good in zip(row, valid, strict=True) if good]
        else:
            points = [c if good else replacement_char for c, good in zip(row, valid, strict=True)]
        return "".join(map(chr, points)).encode(PYTHON_ENCODING[output_encoding])

    out = np.empty(row_splits.size - 1, object)
    out[:] = [text(codepoints[a:b]) for a, b in itertools.pairwise(row_splits)]
    return out


def string_reduce_join(
    x: Array, axes: Sequence[int] | None = None, keepdims: bool = False, separator: str = ""
) -> Array:
    for axis in range(x.ndim - 1, -1, -1) if axes is None else axes:
        moved = np.moveaxis(x, axis, -1)
        joined = np.empty((*moved.shape[:-1], 1), object)
        for at in np.ndindex(moved.shape[:-1]):
            joined[(*at, 0)] = separator.encode().join(moved[at])
        x = np.moveaxis(joined, -1, axis)
    gone = tuple(range(x.ndim)) if axes is None else tuple(axes)
    return x if keepdims else np.asarray(np.squeeze(x, gone))


STRING: dict[str, Model] = {
    "string_add": lambda x, y: each(lambda a, b: a + b, x, y),
    "string_equal": lambda x, y: each(lambda a, b: a == b, x, y, dtype="bool"),
    "string_not_equal": lambda x, y: each(lambda a, b: a != b, x, y, dtype="bool"),
    "string_length": string_length,
    "string_join": lambda *xs, separator="": each(
        lambda *parts: separator.encode().join(parts[1:]), np.zeros(()), *xs
    ),
    "string_lower": changed_case("lower"),
    "string_upper": changed_case("upper"),
    "string_strip": lambda x: each(bytes.strip, x),
    "substr": substr,
    "as_string": as_string,
    "string_to_number": string_to_number,
    "regex_replace": regex_replace,
    "regex_full_match": lambda x, pattern: each(
        lambda s: re.fullmatch(pattern, s.decode()) is not None, x, dtype="bool"
    ),
    "string_format": string_format,
    "string_split": string_split,
    "string_bytes_split": parts(lambda s: [s[i : i + 1] for i in range(len(s))]),
    "unicode_decode": unicode_decode,
    "unicode_encode": unicode_encode,
    "string_reduce_join": string_reduce_join,
}

# --- images and matrices ---


def summed(f: Model) -> Model:
    """A sum of products, which rounds by the size of its terms."""

    def wide(x: Array) -> Array:
        return x.astype(WIDER.get(x.dtype, x.dtype))

    def model(*operands: Array, **attributes: Any) -> Near:
        terms = f(*(np.abs(wide(x)) for x in operands), **attributes)
        return Near(f(*map(wide, operands), **attributes), terms)

    return model


def band_part(x: Array, lower: int = -1, upper: int = -1) -> Array:
    rows, columns = np.indices(x.shape[-2:])
    keep = ((lower < 0) | (rows - columns <= lower)) & ((upper < 0) | (columns - rows <= upper))
    return np.where(keep, x, np.zeros((), x.dtype))


def set_diag(x: Array, diagonal: Array) -> Array:
    out = x.copy()
    i = np.arange(diagonal.shape[-1])
    out[..., i, i] = diagonal
    return out


def max_pool_grad(x: Array, grad: Array, **attributes: Any) -> Near:
    terms = image_reference.max_pool_grad(x, np.abs(grad), **attributes)
    return Near(image_reference.max_pool_grad(x, grad, **attributes).astype(WIDER[x.dtype]), terms)


IMAGES: dict[str, Model] = {
    "max_pool_grad": max_pool_grad,
    **{name: summed(f) for name, f in image_reference.SUMS.items()},
    **image_reference.MOVES,
    "matrix_band_part": band_part,
    "matrix_diag_part": lambda x: np.diagonal(x, axis1=-2, axis2=-1),
    "matrix_set_diag": set_diag,
}

REFERENCE: dict[str, Model] = {**UNARY, **BINARY, **CHOICE, **SORTED, **NUMERIC, **ARRAY, **STRING, **IMAGES}

EQUATIONS = "rounds by the condition of its matrices: test_linalg checks what defines the result"
FACTORS = "its factors are unique only up to signs: test_linalg checks what defines them"
DRAWN = "random numbers: their distribution is what is tested"
STATELESS = "random numbers, the same for a seed: their distribution is what is tested"
LISTS = "takes or gives a list of tensors, which NumPy has not"
REGIONS = "runs regions: it has no result of its own, and no samples"
VARIABLES = "works on a variable, which no sample can be"

# Operators for which there is no reference, and why.
EXEMPT: dict[str, str] = {
    "triangular_solve": EQUATIONS,
    "matrix_solve": EQUATIONS,
    "matrix_inverse": EQUATIONS,
    "matrix_determinant": EQUATIONS,
    "log_matrix_determinant": EQUATIONS,
    "cholesky": EQUATIONS,
    "lu": EQUATIONS,
    "singular_values": EQUATIONS,
    "self_adjoint_eigvals": EQUATIONS,
    "qr": FACTORS,
    "qr_full": FACTORS,
    "svd": FACTORS,
    "svd_full": FACTORS,
    "self_adjoint_eig": FACTORS,
    "random_uniform": DRAWN,
    "random_normal": DRAWN,
    "truncated_normal": DRAWN,
    "random_uniform_int": DRAWN,
    "stateless_random_uniform": STATELESS,
    "stateless_random_normal": STATELESS,
    "stateless_truncated_normal": STATELESS,
    "stateless_random_uniform_int": STATELESS,
    "stateless_random_gamma": STATELESS,
    "stateless_random_poisson": STATELESS,
    "random_gamma_grad": "SciPy has no such function: it is tested against differences of quantiles",
    "string_to_hash_bucket_fast": "a hash, which is tested against known answers",
    "stateless_random_binomial": STATELESS,
    "print": "has an effect and no result",
    "assert": "has an effect and no result",
    "host_call": "gives what its function gives",
    "timestamp": "gives the time",
    "const": "gives its attribute",
    "with_gradient": "gives its operands; its function computes gradients",
    "cond": REGIONS,
    "switch": REGIONS,
    "while": REGIONS,
    "call": REGIONS,
    "fused": REGIONS,
    "native": REGIONS,
    "list_new": LISTS,
    "list_from_tensor": LISTS,
    "list_length": LISTS,
    "list_get": LISTS,
    "list_set": LISTS,
    "list_take": LISTS,
    "list_accumulate": LISTS,
    "list_push": LISTS,
    "list_pop": LISTS,
    "list_resize": LISTS,
    "list_stack": LISTS,
    "list_lengths": LISTS,
    "list_concat": LISTS,
    "list_split": LISTS,
    "list_add": LISTS,
    "read_variable": VARIABLES,
    "assign": VARIABLES,
    "assign_add": VARIABLES,
    "assign_sub": VARIABLES,
    "scatter_variable": VARIABLES,
    "strided_slice_assign": VARIABLES,
    "rng_read_and_skip": VARIABLES,
}
