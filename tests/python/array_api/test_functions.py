"""Functions of the array API namespace agree with `array_api_strict`, eagerly and traced."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as npst

import penstock as tf
from penstock import array_api as xp
from penstock.array_api import _arrays

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
KINDS = {
    "bool": ["bool"],
    "integral": INTEGERS,
    "integral or bool": [*INTEGERS, "bool"],
    "real floating": REAL,
    "floating": REAL + COMPLEX,
    "real numeric": INTEGERS + REAL,
    "numeric": INTEGERS + REAL + COMPLEX,
    "any": [*INTEGERS, *REAL, *COMPLEX, "bool"],
}
# Relative errors, of values and of what cancels in them.
TOLERANCE = {"float32": 4e-6, "float64": 1e-13, "complex64": 2e-5, "complex128": 1e-12}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e30, -1e-30]


def numbers(dtype: str) -> st.SearchStrategy[Any]:
    """Elements of a dtype: special ones and moderate ones."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        limits = np.iinfo(dtype)
        return st.integers(max(limits.min, -9), 9).filter(lambda v: v >= limits.min) | st.sampled_from(
            [limits.min, limits.max]
        )
    width = 32 if dtype in ("float32", "complex64") else 64
    real = st.floats(-50, 50, width=width, allow_subnormal=False)
    if kind == "f":
        return real | st.sampled_from(SPECIAL)
    return st.builds(complex, real, real)


def arrays(kind: str, shape: Any = None, elements: Any = None) -> st.SearchStrategy[np.ndarray]:
    shapes = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4) if shape is None else shape
    return st.sampled_from(KINDS[kind]).flatmap(
        lambda d: npst.arrays(d, shapes, elements=numbers(d) if elements is None else elements)
    )


@st.composite
def pairs(draw, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays that broadcast, of dtypes that promote."""
    shapes = draw(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)).input_shapes
    dtypes = draw(st.sampled_from([p for p in itertools.product(KINDS[kind], repeat=2) if promotes(*p)]))
    return tuple(draw(npst.arrays(d, s, elements=numbers(d))) for d, s in zip(dtypes, shapes, strict=True))


def promotes(a: str, b: str) -> bool:
    return tf._core._promote(tf.as_dtype(a), tf.as_dtype(b)) is not None


def as_arrays(value: Any) -> Any:
    """The arrays of a result."""
    if isinstance(value, tuple):
        return [as_arrays(v) for v in value]
    return np.asarray(value)


def compare(got: Any, expected: Any, exact: bool = False) -> None:
    if isinstance(expected, list):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            compare(a, b, exact)
        return
    limit = TOLERANCE.get(expected.dtype.name, 0)
    if limit and not exact and default_differs(got, expected):
        got, limit = got.astype(expected.dtype), 4e-6
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if exact or not limit:
        np.testing.assert_array_equal(got, expected)
    else:
        finite = np.abs(expected[np.isfinite(expected)])
        np.testing.assert_allclose(got, expected, rtol=limit, atol=limit * float(finite.max(initial=0)))


def default_differs(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether both have the default dtype, which is of 32 bits here and of 64 there."""
    return (got.dtype.name, expected.dtype.name) in (("float32", "float64"), ("complex64", "complex128"))


def check(name: str, *args: Any, exact: bool = False, **kwargs: Any) -> None:
    """Calls a function of both namespaces, ours traced too, where arrays are operands."""

    def call(module: Any, convert: Any) -> Any:
        function = module
        for part in name.split("."):
            function = getattr(function, part)
        return function(*map(convert, args), **{k: convert(v) for k, v in kwargs.items()})

    def of(module: Any) -> Any:
        def convert(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return module.asarray(value)
            if isinstance(value, np.dtype):
                return getattr(module, value.name)
            return type(value)(map(convert, value)) if isinstance(value, list) else value

        return convert

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = as_arrays(call(strict, of(strict)))
        compare(as_arrays(call(xp, of(xp))), expected, exact)
        # All arrays as parameters, which the trace knows by their types alone.
        flat = [a for a in args if isinstance(a, np.ndarray)]
        if flat:

            def f(*tensors: Any) -> Any:
                left = iter(tensors)
                return call(xp, lambda v: xp.asarray(next(left)) if isinstance(v, np.ndarray) else of(xp)(v))

            if not any(isinstance(v, np.ndarray) for v in kwargs.values()):
                compare(as_arrays(tf.function(f)(*map(tf.constant, flat))), expected, exact)


# --- elementwise ---

# Domains on which both are defined, where that is not all numbers.
BETWEEN = {"acos": (-1, 1), "asin": (-1, 1), "atanh": (-0.9375, 0.9375), "acosh": (1, 50)}
UNARY = {
    "abs": "numeric", "acos": "real floating", "acosh": "real floating", "asin": "real floating",
    "asinh": "real floating", "atan": "real floating", "atanh": "real floating",
    "bitwise_invert": "integral or bool", "ceil": "real numeric", "conj": "floating", "cos": "real floating",
    "cosh": "floating", "exp": "floating", "expm1": "real floating", "floor": "real numeric",
    "isfinite": "numeric", "isinf": "numeric", "isnan": "numeric", "log": "real floating",
    "log10": "real floating", "log1p": "real floating", "log2": "real floating", "logical_not": "bool",
    "negative": "numeric", "positive": "numeric", "reciprocal": "floating", "round": "numeric",
    "sign": "numeric", "signbit": "real floating", "sin": "real floating", "sinh": "floating",
    "sqrt": "floating", "square": "numeric", "tan": "real floating", "tanh": "real floating",
    "trunc": "real numeric",
}  # fmt: skip
BINARY = {
    "add": "numeric", "atan2": "real floating", "bitwise_and": "integral or bool",
    "bitwise_or": "integral or bool", "bitwise_xor": "integral or bool", "copysign": "real floating",
    "equal": "any", "greater": "real numeric", "greater_equal": "real numeric", "hypot": "real floating",
    "less": "real numeric", "less_equal": "real numeric", "logaddexp": "real floating", "logical_and": "bool",
    "logical_or": "bool", "logical_xor": "bool", "maximum": "real numeric", "minimum": "real numeric",
    "multiply": "numeric", "nextafter": "real floating", "not_equal": "any", "subtract": "numeric",
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_functions_of_one_array(name, data):
    bounds = BETWEEN.get(name)
    elements = None if bounds is None else st.floats(*bounds, width=16)
    x = data.draw(arrays(UNARY[name], elements=elements))
    if x.dtype.kind in "fc" and name in ("sin", "cos", "tan"):
        x = np.where(np.abs(x) > 1e4, x.dtype.type(1), x)
    check(name, x)


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_functions_of_two_arrays(name, data):
    check(name, *data.draw(pairs(BINARY[name])))


@pytest.mark.parametrize("name", ["divide", "floor_divide", "remainder", "pow"])
@pytest.mark.parametrize("dtype", REAL)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_quotients_and_powers_of_floats(name, dtype, data):
    shapes = npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3)
    moderate = st.sampled_from([-4.0, -1.5, -0.5, 0.25, 1.0, 2.0, 3.0, 7.0])
    a, b = (npst.arrays(dtype, s, elements=moderate) for s in data.draw(shapes).input_shapes)
    check(name, data.draw(a), data.draw(b))


@pytest.mark.parametrize(
    "name", ["floor_divide", "remainder", "pow", "bitwise_left_shift", "bitwise_right_shift"]
)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(name, dtype):
    low = 0 if dtype.startswith("u") else -9
    x, y = np.arange(low, 10).astype(dtype), np.arange(1, 8).astype(dtype)[:, None]
    if "shift" in name:
        x, y = np.abs(x), y % 5
    elif name == "pow":
        y = y % 4
    elif low:
        y = np.where(y % 2 == 0, -y, y).astype(dtype)
    check(name, x, y)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(
    "name", ["hypot", "copysign", "logaddexp", "atan2", "add", "multiply", "divide", "maximum", "minimum"]
)
def test_special_values_of_two_operands(name, dtype):
    x = np.array(SPECIAL, dtype)
    with np.errstate(all="ignore"):
        expected = np.asarray(getattr(strict, name)(strict.asarray(x), strict.asarray(x[:, None])))
    got = getattr(xp, name)(xp.asarray(x), xp.asarray(x[:, None])).numpy()
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE[dtype], atol=0)
    if name not in ("maximum", "minimum"):
        # Which of two zeros is the greater is open.
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(expected[~np.isnan(got)]))


def test_logarithms_of_powers_are_exact():
    for dtype in (xp.float32, xp.float64):
        twos = xp.astype(xp.asarray([2.0**n for n in range(-100, 100)], dtype=xp.float64), dtype)
        assert xp.log2(twos).tolist() == list(range(-100, 100))
    tens = xp.asarray([10.0**n for n in range(23)], dtype=xp.float64)
    assert xp.log10(tens).tolist() == list(range(23))


def test_python_scalars_take_the_dtype_of_the_array():
    for dtype in INTEGERS:
        x = xp.ones(2, dtype=getattr(xp, dtype))
        assert xp.add(x, 1).dtype == xp.subtract(3, x).dtype == x.dtype
        for scalar in (1.5, 1j, True):
            with pytest.raises(TypeError, match=rf"Python {type(scalar).__name__}.*{dtype}"):
                xp.add(x, scalar)
    with pytest.raises(TypeError, match="add: one of arguments"):
        xp.add(1, 2)


@pytest.mark.parametrize(("name", "kind"), [*UNARY.items()])
def test_dtypes_of_another_kind_are_errors(name, kind):
    for dtype in set(KINDS["any"]) - set(KINDS["numeric" if kind != "bool" else "bool"]) - set(KINDS[kind]):
        with pytest.raises(TypeError, match=rf"{name}: argument 'x' .*{dtype}"):
            getattr(xp, name)(xp.ones(2, dtype=getattr(xp, dtype)))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_clip(data):
    x = data.draw(arrays("real numeric", elements=st.integers(0, 9)))
    bounds = [data.draw(st.none() | st.integers(0, 4)), data.draw(st.none() | st.integers(4, 9))]
    check("clip", x, *bounds)
    low = np.full(x.shape[-1:], 3, x.dtype)
    check("clip", x, low, None)


# --- reductions ---


def axes_of(x: np.ndarray) -> st.SearchStrategy[Any]:
    if not x.ndim:
        return st.none() | st.just(())
    one = st.integers(-x.ndim, x.ndim - 1)
    return st.none() | one | npst.valid_tuple_axes(x.ndim, min_size=0)


REDUCTIONS = {"sum": "numeric", "prod": "numeric", "mean": "floating", "all": "any", "any": "any"}
REDUCTIONS |= {"max": "real numeric", "min": "real numeric", "std": "real floating", "var": "real floating"}
REDUCTIONS |= {"count_nonzero": "any"}


@pytest.mark.parametrize("name", REDUCTIONS)
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_reductions(name, data):
    some = npst.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4)
    empty = name not in ("max", "min", "mean", "std", "var")
    # Whole numbers: their sums are exact, and their products do not overflow.
    elements = None if name in ("all", "any", "count_nonzero") else st.integers(0, 3)
    x = data.draw(arrays(REDUCTIONS[name], None if empty else some, elements))
    check(name, x, axis=data.draw(axes_of(x)), keepdims=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["max", "min", "sum", "mean", "std"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_special_values_in_reductions(name, value):
    check(name, np.array([1.0, value, 2.0]))
    check(name, np.array([[1.0, value], [3.0, 4.0]]), axis=1)


@pytest.mark.parametrize("correction", [0, 1, 1.5])
def test_corrections(correction):
    check("var", np.array([[1.0, 2.0, 4.0]]), axis=1, correction=correction)
    check("std", np.array([[1.0, 2.0, 4.0]]), correction=correction)


@pytest.mark.parametrize("correction", [3, 3.5, 4])
def test_variances_of_no_more_elements_than_the_correction_are_nan(correction):
    x = xp.asarray([1.0, 2.0, 4.0])
    assert np.isnan(xp.var(x, correction=correction).numpy())
    assert np.isnan(xp.std(x, axis=0, correction=correction).numpy())


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_cumulative(name, data):
    shapes = npst.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)
    x = data.draw(arrays("numeric", shapes, st.integers(0, 3)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1)) if x.ndim > 1 else None
    # A shorter integer is wrong there: NumPy's own rule widens it.
    if x.dtype.kind not in "iu" or x.dtype.itemsize == 8:
        check(name, x, axis=axis, include_initial=data.draw(st.booleans()))
    wide = np.dtype("float64" if x.dtype.kind == "f" else "complex128" if x.dtype.kind == "c" else "int64")
    check(name, x, axis=axis, dtype=wide)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_diff(data):
    shapes = npst.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5)
    x = data.draw(arrays("numeric", shapes, st.integers(0, 9)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    check("diff", x, axis=axis, n=data.draw(st.integers(0, 3)))
    check("diff", x, axis=axis, prepend=x, append=x)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_positions(name, data):
    shapes = npst.array_shapes(min_dims=1, max_dims=3, max_side=4)
    x = data.draw(arrays("real numeric", shapes))
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    check(name, x, axis=axis, keepdims=data.draw(st.booleans()))


# --- shapes ---


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_rearrangements(data):
    x = data.draw(arrays("any"))
    n = x.ndim
    check("permute_dims", x, tuple(data.draw(st.permutations(range(n)))), exact=True)
    check("flip", x, axis=data.draw(axes_of(x)), exact=True)
    check("expand_dims", x, data.draw(st.integers(-n - 1, n)), exact=True)
    check("reshape", x, (-1,), exact=True)
    check("tile", x, tuple(data.draw(st.lists(st.integers(0, 3), max_size=4))), exact=True)
    check("roll", x, data.draw(st.integers(-9, 9)), exact=True)
    check("repeat", x, data.draw(st.integers(0, 3)), exact=True)
    if n:
        axis = data.draw(st.integers(-n, n - 1))
        check("moveaxis", x, axis, data.draw(st.integers(-n, n - 1)), exact=True)
        check("roll", x, (2, -1), axis=(axis, axis), exact=True)
        check("unstack", x, axis=axis, exact=True)
        check("concat", [x, x], axis=axis, exact=True)
        counts = np.arange(x.shape[axis])
        check("repeat", x, counts, axis=axis, exact=True)
        check("take", x, np.arange(x.shape[axis])[::-1].copy() - x.shape[axis], axis=axis, exact=True)
    check("concat", [x, x], axis=None, exact=True)
    check("stack", [x, x], axis=data.draw(st.integers(-n - 1, n)), exact=True)
    check("broadcast_to", x, (2, *x.shape), exact=True)
    check("squeeze", x[None, ..., None], (0, -1), exact=True)
    if n >= 2:
        check("matrix_transpose", x, exact=True)
        k = data.draw(st.integers(-4, 4))
        check("tril", x, k=k, exact=True)
        check("triu", x, k=k, exact=True)
        check("linalg.diagonal", x, offset=k, exact=True)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_arrays_that_broadcast(data):
    a, b = data.draw(pairs("any"))
    check("broadcast_arrays", a, b, exact=True)
    assert xp.broadcast_shapes(a.shape, b.shape) == np.broadcast_shapes(a.shape, b.shape)
    condition = data.draw(npst.arrays("bool", a.shape))
    check("where", condition, a, b, exact=True)


def test_shapes_with_unknown_sizes_broadcast():
    assert xp.broadcast_shapes((None, 3), (1,), (2, 1, 1)) == (2, None, 3)
    with pytest.raises(ValueError, match="broadcast"):
        xp.broadcast_shapes((2,), (3,))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_elements_along_an_axis(data):
    shapes = npst.array_shapes(min_dims=1, max_dims=3, max_side=4)
    x = data.draw(arrays("any", shapes))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    n = x.shape[axis]
    shape = list(x.shape)
    shape[axis] = data.draw(st.integers(0, 5))
    at = data.draw(npst.arrays("int64", tuple(shape), elements=st.integers(-n, n - 1)))
    check("take_along_axis", x, at, axis=axis, exact=True)


def test_meshgrid_and_unknown_indexing():
    vectors = [np.arange(n) for n in (2, 3, 1)]
    for indexing in ("xy", "ij"):
        check("meshgrid", *vectors, indexing=indexing, exact=True)
    with pytest.raises(ValueError, match="indexing"):
        xp.meshgrid(xp.arange(2), indexing="yx")


# --- making ---


@pytest.mark.parametrize(
    "args",
    [
        (5,),
        (0,),
        (-3,),
        (2, 9),
        (2, 9, 3),
        (9, 2, -3),
        (9, 2),
        (0.0, 1.0, 0.3),
        (1.5,),
        (5, 0, -1.5),
        (0, 2**40, 2**39),
    ],
)
def test_arange(args):
    check("arange", *args)
    for dtype in ("float32", "int16", "float64"):
        if max(map(abs, args)) < 1000 and not (dtype == "int16" and any(isinstance(a, float) for a in args)):
            check("arange", *args, dtype=np.dtype(dtype))


@pytest.mark.parametrize("num", [0, 1, 2, 5, 100])
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (-2.5, 7.5), (3, 3), (5, -5), (0.1, 1e30), (0j, 1 + 2j)])
def test_linspace(start, stop, num, endpoint):
    check("linspace", start, stop, num, endpoint=endpoint)
    if not isinstance(stop, complex):
        check("linspace", start, stop, num, endpoint=endpoint, dtype=np.dtype("float64"))


@pytest.mark.parametrize("args", [(3,), (2, 4), (4, 2), (0,), (0, 3)])
@pytest.mark.parametrize("k", [-5, -1, 0, 2, 9, 2**70])
def test_eye(args, k):
    check("eye", *args, k=min(k, 100))
    assert xp.eye(*args, k=k).shape == strict.eye(*args).shape


@pytest.mark.parametrize("dtype", KINDS["any"])
def test_filled_arrays(dtype):
    for name in ("zeros", "ones", "empty"):
        assert getattr(xp, name)((2, 3), dtype=getattr(xp, dtype)).shape == (2, 3)
        if name != "empty":
            check(name, (2, 0, 3), dtype=np.dtype(dtype))
            check(f"{name}_like", np.ones(3, "int8"), dtype=np.dtype(dtype))
    value = {"b": True, "c": 1j}.get(np.dtype(dtype).kind, 7)
    check("full", 3, value, dtype=np.dtype(dtype))
    check("full_like", np.ones((2, 2), dtype), value)
    assert xp.full((), value, dtype=getattr(xp, dtype)).shape == ()


@pytest.mark.parametrize(
    ("obj", "dtype"),
    [
        (True, "bool"), (1, "int64"), (1.5, "float32"), (1j, "complex64"), ([True, 2], "int64"),
        ([1, 2.5], "float32"), ([True, 1.5], "float32"), ([1, 2j], "complex64"), ([[1], [2]], "int64"),
        ([], "float32"), (range(3), "int64"), ((1, (2)), "int64"), (np.float64(2), "float64"),
        (np.arange(3, dtype="uint8"), "uint8"), (2**40, "int64"),
        (memoryview(b"ab"), "uint8"),
    ],
)  # fmt: skip
def test_asarray_infers_the_dtype(obj, dtype):
    x = xp.asarray(obj)
    assert x.dtype.name == dtype
    np.testing.assert_array_equal(x.numpy(), np.asarray(obj))


def test_asarray_of_tensors_and_copies():
    x = tf.constant([1, 2])
    assert xp.asarray(x).dtype == tf.int32
    assert xp.asarray(tf.Variable([1.0])).tolist() == [1]
    assert xp.asarray([x, 2 * x]).tolist() == [[1, 2], [2, 4]]
    assert xp.asarray(x, copy=False).tolist() == xp.asarray(x, copy=True).tolist() == [1, 2]
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1], copy=False)
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(np.ones(100), copy=False)
    with pytest.raises(ValueError, match="int32 must be copied"):
        xp.asarray(x, dtype=xp.int64, copy=False)
    with pytest.raises(OverflowError, match=r"300.*uint8"):
        xp.asarray([300], dtype=xp.uint8)
    with pytest.raises(OverflowError):
        xp.asarray(2**70)
    array = np.arange(100)
    kept = xp.asarray(array)
    array[0] = 7
    assert kept[0] == 0


# --- dtypes ---


@pytest.mark.parametrize(("a", "b"), list(itertools.product(KINDS["any"], repeat=2)))
def test_can_cast(a, b):
    assert xp.can_cast(getattr(xp, a), getattr(xp, b)) == strict.can_cast(
        getattr(strict, a), getattr(strict, b)
    )
    assert xp.can_cast(xp.ones(1, dtype=getattr(xp, a)), getattr(xp, a))


@pytest.mark.parametrize("dtype", KINDS["any"])
def test_limits_and_kinds(dtype):
    own, theirs = getattr(xp, dtype), getattr(strict, dtype)
    kinds = [
        "bool",
        "signed integer",
        "unsigned integer",
        "integral",
        "real floating",
        "complex floating",
        "numeric",
    ]
    for kind in kinds:
        assert xp.isdtype(own, kind) == strict.isdtype(theirs, kind)
    assert xp.isdtype(own, (own, "bool"))
    of, fields = ("finfo", ["bits", "eps", "max", "min", "smallest_normal"])
    if xp.isdtype(own, "integral"):
        of, fields = "iinfo", ["bits", "max", "min"]
    if dtype == "bool":
        for name in ("finfo", "iinfo"):
            with pytest.raises(TypeError, match="bool"):
                getattr(xp, name)(own)
        return
    limits, expected = getattr(xp, of)(own), getattr(strict, of)(theirs)
    for field in fields:
        assert getattr(limits, field) == getattr(expected, field)
        assert type(getattr(limits, field)) is type(getattr(expected, field))
    assert limits.dtype == own.real_dtype
    assert getattr(xp, of)(xp.ones(1, dtype=own)) == limits


def test_kinds_that_are_none():
    with pytest.raises(ValueError, match=r"kind.*'float'"):
        xp.isdtype(xp.float32, "float")


@settings(max_examples=25, deadline=None)
@given(arrays("any", elements=st.integers(0, 1)), st.sampled_from(KINDS["any"]))
def test_astype(x, dtype):
    if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
        with pytest.raises(TypeError, match=dtype):
            xp.astype(xp.asarray(x), getattr(xp, dtype))
    else:
        np.testing.assert_array_equal(
            xp.astype(xp.asarray(x), getattr(xp, dtype)).numpy(), x.astype(dtype), strict=True
        )


# --- products ---


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_matrix_products(data):
    shapes = data.draw(
        npst.mutually_broadcastable_shapes(signature="(m?,n),(n,p?)->(m?,p?)", max_dims=2, max_side=3)
    )
    dtypes = data.draw(
        st.sampled_from(
            [("int32", "int32"), ("int8", "int16"), ("float32", "float64"), ("float64", "complex64")]
        )
    )
    a, b = (np.ones(s, d) for s, d in zip(shapes.input_shapes, dtypes, strict=True))
    check("matmul", a, b)


@pytest.mark.parametrize("axes", [0, 1, 2, ((0, 1), (1, 0)), ((-1,), (0,))])
def test_tensordot(axes):
    x = np.arange(9.0).reshape(3, 3)
    check("tensordot", x, x + 1, axes=axes)
    check("linalg.tensordot", x.astype("int32"), x.astype("int16"), axes=axes)


@pytest.mark.parametrize("axis", [-1, -2])
def test_vecdot(axis):
    x = np.arange(12.0).reshape(2, 3, 2)
    check("vecdot", x, x + 1, axis=axis)
    check("vecdot", x * 1j, x[:1] + 2j, axis=axis)
    with pytest.raises(ValueError, match="size"):
        xp.vecdot(xp.ones((2, 3)), xp.ones((2, 1)))


@pytest.mark.parametrize("ord", [0, 1, 2, 3, 0.5, -1, -2, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [True, False])
def test_vector_norms(ord, axis, keepdims):
    x = np.array([[[1.0, -2.0], [3.0, 4.0]], [[0.5, 1.0], [-1.0, 2.0]]])
    check("linalg.vector_norm", x, ord=ord, axis=axis, keepdims=keepdims)
    check("linalg.vector_norm", x + 1j, ord=ord, axis=axis, keepdims=keepdims)


def test_small_products():
    x = np.arange(6.0).reshape(2, 3)
    check("linalg.cross", x, x[::-1].copy())
    check("linalg.cross", x.T.copy(), x[::-1].T.copy(), axis=-2)
    check("linalg.outer", x[0], x[1])
    check("linalg.trace", x.astype("int8"), offset=1)
    check("linalg.trace", x, dtype=np.dtype("float64"))
    square = np.array([[[2.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    for n in (0, 1, 2, 5):
        check("linalg.matrix_power", square, n)
    for call in (
        lambda: xp.linalg.outer(xp.ones((2, 2)), xp.ones(2)),
        lambda: xp.linalg.cross(xp.ones(2), xp.ones(2)),
    ):
        with pytest.raises(ValueError, match="x1"):
            call()


# --- errors ---


@pytest.mark.parametrize(
    "name", ["sum", "max", "all", "argmax", "flip", "unstack", "concat", "squeeze", "cumulative_sum"]
)
def test_axes_out_of_range_are_errors(name):
    x = xp.ones((2, 3))
    args = ([x],) if name == "concat" else (x,)
    for axis in (2, -3):
        with pytest.raises((ValueError, IndexError), match="axis"):
            getattr(xp, name)(*args, axis=axis)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "any", "flip"])
def test_axes_named_twice_are_errors(name):
    with pytest.raises(ValueError, match="twice"):
        getattr(xp, name)(xp.ones((2, 3)), axis=(0, -2))


def test_what_is_no_array_is_an_error():
    for value in (1, [1.0], "a"):
        with pytest.raises(TypeError, match=r"sin: argument 'x' must be an array.*asarray"):
            xp.sin(value)


def test_every_operand_kind_is_known():
    assert set(KINDS) | {"signed integer", "unsigned integer", "complex floating"} == set(_arrays.KINDS)


@pytest.mark.parametrize(
    ("name", "x", "y", "expected"),
    [
        ("logaddexp", 2.0, 2.0, (0.5, 0.5)),
        ("logaddexp", 0.0, -40.0, (1.0, np.exp(-40.0))),
        ("hypot", 3.0, 3.0, (2**-0.5, 2**-0.5)),
        ("hypot", -3.0, 4.0, (-0.6, 0.8)),
        ("hypot", 3e30, 4e30, (0.6, 0.8)),
        ("hypot", 0.0, 0.0, (0.0, 0.0)),
    ],
)
def test_derivatives_do_not_depend_on_which_operand_is_greater(name, x, y, expected):
    x, y = tf.constant(x), tf.constant(y)
    with tf.GradientTape() as tape:
        tape.watch((x, y))
        result = getattr(xp, name)(x, y)
    np.testing.assert_allclose(tape.gradient(result, (x, y)), expected, rtol=1e-6)


def test_a_hypotenuse_of_extreme_operands_is_exact():
    x = np.array([3e-45, 3e38, np.inf, 0, np.nan, np.inf], "float32")
    y = np.array([4e-45, 1e38, 1, 0, 1, np.nan], "float32")
    np.testing.assert_allclose(xp.hypot(xp.asarray(x), xp.asarray(y)), np.hypot(x, y), rtol=1e-6)


@pytest.mark.parametrize(("name", "base"), [("log2", 2), ("log10", 10)])
def test_logarithms_of_powers_are_exact_and_have_gradients(name, base):
    x = xp.asarray([float(base), 1.0, base**3, 5.0, 0.0, np.inf])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(xp, name)(x)
    assert y.numpy()[[0, 1, 2, 4, 5]].tolist() == [1.0, 0.0, 3.0, -np.inf, np.inf]
    expected = 1 / (x.numpy()[:4] * np.log(base))
    np.testing.assert_allclose(tape.gradient(y, x).numpy()[:4], expected, rtol=1e-6)
