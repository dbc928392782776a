"""What the operators of the engine give, said independently by NumPy, SciPy and Python.

A function of `REFERENCE` takes the operands of its operator as arrays (strings as arrays of `bytes` objects)
and the attributes by keyword. It gives an array per result: the very bits, or, as `Near`, the values in a
wider dtype that the operator approximates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import scipy.special

from support import image_reference
from support.array_reference import ARRAY, index_dtype
from support.reference_models import (
    WIDER,
    Array,
    Model,
    Near,
    arithmetic,
    is_float,
    like,
    limits,
    near,
    own,
    predicate,
    single,
    special,
)
from support.string_reference import STRING

# --- elementwise ---


def selu(x: Array) -> Array:
    alpha, scale = 1.6732632423543772848, 1.0507009873554804934
    return scale * np.where(x < 0, alpha * np.expm1(x), x)


def complex_sign(x: Array) -> Array:
    return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x)))


def floordiv(x: Array, y: Array) -> Array:
    """NumPy's, but for infinities: the floor of the quotient."""
    plain = np.floor_divide(x, y)
    if not is_float(x.dtype):
        return plain
    return np.where(np.isinf(x) | np.isinf(y), np.floor(x / y), plain)


def truncatediv(x: Array, y: Array) -> Array:
    if is_float(x.dtype):
        return np.trunc(x / y)
    floor = x // y
    return like(x, floor + ((x % y != 0) & ((x < 0) != (y < 0))))


def integer_pow(x: Array, y: Array) -> Array:
    """Wraps."""
    bits = x.dtype.itemsize * 8

    def power(base: int, exponent: int) -> int:
        return pow(base, exponent, 1 << bits)

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
    if is_float(x.dtype) and dtype.is_integer:
        least, greatest = int(dtype.min), int(dtype.max)
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
    "step": own(lambda x: np.where(x > 0, like(x, 1), like(x, 0))),
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
    "relu": own(lambda x: np.where(x <= 0, like(x, 0), x)),
    "relu6": own(lambda x: np.where(x <= 0, like(x, 0), np.where(x > 6, like(x, 6), x))),
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
    "floordiv": own(floordiv),
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
    # SciPy's have limits at a shape of 0.
    "igamma": special_pair(lambda a, x: np.where(a > 0, scipy.special.gammainc(a, x), np.nan)),
    "igammac": special_pair(lambda a, x: np.where(a > 0, scipy.special.gammaincc(a, x), np.nan)),
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


def bincount(x: Array, minlength: Array, maxlength: Array, rows: bool = False) -> Array:
    length = max(int(x.astype("int64").max(initial=-1)) + 1, int(minlength))
    length = length if maxlength < 0 else min(length, int(maxlength))
    listed = x if rows else x.reshape(1, -1)
    counts = [np.bincount(row[row < length].astype("int64"), minlength=length) for row in listed]
    table = np.array(counts, "int64").reshape(len(listed), length)
    return table if rows else table[0]


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
    "bincount": bincount,
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


def linear_recurrence(
    factors: Array, terms: Array, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> Near:
    def along(x: Array) -> Array:
        return np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0).astype(WIDER[x.dtype])

    a, b = along(factors), along(terms)
    out = np.zeros_like(b)
    for i in range(len(b)):
        out[i] = a[i] * out[i - 1] + b[i] if i else b[i]
    if exclusive:
        out = np.concatenate([np.zeros_like(out[:1]), out[:-1]])
    out = np.moveaxis(out, 0, axis)
    return Near(np.flip(out, axis) if reverse else out, 1)


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
    "count_nonzero": lambda x, axes=None, keepdims=False: np.asarray(
        np.count_nonzero(x, axis=axes_of(x, axes), keepdims=keepdims), "int64"
    ),
    "reduce_logsumexp": near(logsumexp),
    "sum_to_shape": near(sum_to_shape),
    "argmax": position(np.argmax),
    "argmin": position(np.argmin),
    "cumsum": scan(np.add, 0),
    "cumprod": scan(np.multiply, 1),
    "cumulative_logsumexp": cumulative_logsumexp,
    "linear_recurrence": linear_recurrence,
    "matmul": near(matmul),
    "matmul_int32": lambda a, b, **stored: matmul(a.astype("int32"), b.astype("int32"), **stored),
    "bias_add": arithmetic(np.add),
    "softmax": near(lambda x, axis=-1: softmax_and_log(x, axis)[0]),
    "log_softmax": near(log_softmax),
    "softmax_cross_entropy": near(softmax_cross_entropy),
    "sparse_softmax_cross_entropy": near(sparse_softmax_cross_entropy),
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


def fft(x: Array, inverse: bool = False, scaled: bool = False) -> Array:
    if not x.shape[-1]:
        return x
    if inverse:
        return np.fft.ifft(x, norm="backward" if scaled else "forward").astype(x.dtype)
    return np.fft.fft(x, norm="forward" if scaled else "backward").astype(x.dtype)


def paired(n: int) -> slice:
    """The coefficients of `n` real numbers that stand for their conjugates too."""
    return slice(1, (n + 1) // 2)


def rfft(x: Array, scaled: bool = False, mirrored: bool = False) -> Array:
    n, target = x.shape[-1], np.result_type(x.dtype, np.complex64)
    if not n:
        return np.zeros((*x.shape[:-1], 1), target)
    out = np.fft.rfft(x, norm="forward" if scaled else "backward").astype(target)
    if mirrored:
        out[..., paired(n)] *= 2
    return out


def irfft(x: Array, length: Array, scaled: bool = False, mirrored: bool = False) -> Array:
    n, target = int(length), x.real.dtype
    if not n:
        return np.zeros((*x.shape[:-1], 0), target)
    x = x.copy()
    if not mirrored:
        x[..., paired(n)] /= 2
    return np.fft.irfft(x, n, norm="backward" if scaled else "forward").astype(target)


FOURIER: dict[str, Model] = {"fft": near(fft), "rfft": near(rfft), "irfft": near(irfft)}

REFERENCE: dict[str, Model] = {
    **FOURIER,
    **UNARY,
    **BINARY,
    **CHOICE,
    **SORTED,
    **NUMERIC,
    **ARRAY,
    **STRING,
    **IMAGES,
}

EQUATIONS = "rounds by the condition of its matrices: test_linalg checks what defines the result"
FACTORS = "its factors are unique only up to signs: test_linalg checks what defines them"
DRAWN = "random numbers: their distribution is what is tested"
STATELESS = "random numbers, the same for a seed: their distribution is what is tested"
FILES = "reads or writes a format: its own tests compare with what other programs read and write"
BOXES = "chooses boxes: its own tests compare with a few lines of NumPy"
LISTS = "takes or gives a list of tensors, which NumPy has not"
TABLES = "takes or gives a hash table, which NumPy has not: the tests of tables compare them with maps"
REGIONS = "runs regions: it has no result of its own, and no samples"
VARIABLES = "works on a variable, which no sample can be"

# Operators for which there is no reference, and why.
EXEMPT: dict[str, str] = {
    "decode_png": FILES,
    "decode_jpeg": FILES,
    "decode_and_crop_jpeg": FILES,
    "decode_gif": FILES,
    "decode_bmp": FILES,
    "decode_jxl": FILES,
    "decode_webp": FILES,
    "decode_image": FILES,
    "extract_jpeg_shape": FILES,
    "encode_png": FILES,
    "encode_jpeg": FILES,
    "encode_jpeg_variable_quality": FILES,
    "decode_wav": FILES,
    "encode_wav": FILES,
    "decode_csv": FILES,
    "example_features": FILES,
    "serialize_tensor": FILES,
    "parse_tensor": FILES,
    "read_file": "reads a file",
    "write_file": "has an effect and no result",
    "non_max_suppression": BOXES,
    "non_max_suppression_overlaps": BOXES,
    "stateless_sample_distorted_bounding_box": STATELESS,
    "triangular_solve": EQUATIONS,
    "matrix_solve": EQUATIONS,
    "matrix_inverse": EQUATIONS,
    "matrix_determinant": EQUATIONS,
    "log_matrix_determinant": EQUATIONS,
    "cholesky": EQUATIONS,
    "lu": EQUATIONS,
    "singular_values": EQUATIONS,
    "self_adjoint_eigvals": EQUATIONS,
    "eigvals": EQUATIONS,
    "qr": FACTORS,
    "qr_full": FACTORS,
    "svd": FACTORS,
    "svd_full": FACTORS,
    "self_adjoint_eig": FACTORS,
    "eig": FACTORS,
    "random_uniform": DRAWN,
    "random_normal": DRAWN,
    "truncated_normal": DRAWN,
    "random_uniform_int": DRAWN,
    "stateless_random_uniform": STATELESS,
    "stateless_random_normal": STATELESS,
    "stateless_truncated_normal": STATELESS,
    "stateless_random_uniform_int": STATELESS,
    "stateless_random_uniform_full_int": STATELESS,
    "stateless_random_gamma": STATELESS,
    "stateless_random_poisson": STATELESS,
    "random_gamma_grad": "SciPy has no such function: it is tested against differences of quantiles",
    "string_to_hash_bucket": "a hash, of which no answer is promised",
    "string_to_hash_bucket_fast": "a hash, which is tested against known answers",
    "string_to_hash_bucket_strong": "a hash, which is tested against known answers",
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
    "table_of": TABLES,
    "table_find": TABLES,
    "table_size": TABLES,
    "table_export": TABLES,
    "table_insert": VARIABLES,
    "table_remove": VARIABLES,
    "read_variable": VARIABLES,
    "assign": VARIABLES,
    "assign_add": VARIABLES,
    "assign_sub": VARIABLES,
    "scatter_variable": VARIABLES,
    "strided_slice_assign": VARIABLES,
    "rng_read_and_skip": VARIABLES,
    "count_up_to": VARIABLES,
}
