"""Functions of `tf.experimental.numpy` agree with NumPy's, eagerly and where no size is known."""

from __future__ import annotations

import itertools
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as tf
import penstock.experimental.numpy as tnp

INTEGERS = ["int8", "int32", "int64", "uint8", "uint64"]
REAL = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
BOOL = ["bool"]
NUMBERS = INTEGERS + REAL + COMPLEX
ANY = BOOL + NUMBERS
ORDERED = INTEGERS + REAL
SHAPES = [(), (0,), (3,), (2, 3), (3, 0, 2), (2, 1, 3)]
SPECIAL = [0.0, 1.0, -0.0, -1.5, np.nan, 2.5, np.inf, -np.inf, 0.5, 3.0, -2.0]
WHOLE = [0, 1, -1, 3, 2, 5, -4, 7, 100, -128, 4]
TOLERANCE = {"float32": 3e-6, "complex64": 1e-5, "float64": 1e-12, "complex128": 1e-12}


def array(dtype: str, shape: tuple[int, ...], start: int = 0, finite: bool = False) -> np.ndarray:
    """An array of a dtype and shape, with the values at which functions differ."""
    count = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    values: list[Any] = SPECIAL if kind in "fc" else WHOLE
    if finite:
        values = [v for v in values if np.isfinite(v)]
    chosen = [values[(start + 2 * i) % len(values)] for i in range(count)]
    if kind == "b":
        made = np.array([v > 0 for v in chosen], bool)
    elif kind == "c":
        made = np.array([complex(v, values[(i + 3) % 4]) for i, v in enumerate(chosen)], dtype)
    else:
        made = np.array(chosen).astype("int64" if kind in "iu" else dtype).astype(dtype)
    return made.reshape(shape)


def compare(ours: Any, theirs: Any, dtype: str | None) -> None:
    """Checks values, shapes and, where one is given, the dtype of a result, or of each of several."""
    if isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            compare(a, b, dtype)
        return
    got, expected = np.asarray(ours), np.asarray(theirs)
    assert got.shape == expected.shape
    if dtype is not None:
        assert got.dtype == np.dtype(dtype), "dtype"
    limit = TOLERANCE.get(got.dtype.name, 0)
    if limit:
        finite = np.abs(expected[np.isfinite(expected)])
        np.testing.assert_allclose(got, expected, rtol=limit, atol=limit * float(finite.max(initial=1)))
    else:
        np.testing.assert_array_equal(got, expected)


def traced(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a function gives in a traced one where no size of an array is known."""
    places = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]
    specs = [tf.TensorSpec([None] * args[i].ndim, args[i].dtype) for i in places]

    @tf.function(input_signature=specs)
    def run(*arrays: tf.Tensor) -> Any:
        given = list(args)
        for place, value in zip(places, arrays, strict=True):
            given[place] = value
        return getattr(tnp, name)(*given, **options)

    return run(*(args[i] for i in places))


def agree(
    name: str,
    args: tuple[Any, ...],
    options: dict[str, Any],
    dtype: str | None,
    wide: bool,
    graph: bool = True,
) -> None:
    """Calls both functions; where NumPy refuses, so must this one."""
    theirs = args
    if wide:
        theirs = tuple(a.astype("float64") if is_exact(a) else a for a in args)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = getattr(np, name)(*theirs, **options)
        except (ValueError, TypeError, IndexError):
            # The extreme of nothing is that of its dtype, as for TensorFlow.
            if name in EXTREMES and not args[0].size:
                return
            with pytest.raises((ValueError, TypeError, IndexError)):
                np.asarray(getattr(tnp, name)(*args, **options))
            return
    if dtype is None and isinstance(expected, np.ndarray | np.generic):
        dtype = expected.dtype.name
    compare(getattr(tnp, name)(*args, **options), expected, dtype)
    if graph:
        compare(traced(name, args, options), expected, dtype)


def is_exact(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "biu"


class One(NamedTuple):
    """A function of one array.

    Attributes:
        name: its name.
        dtypes: those of the argument.
        options: of each of several calls.
        wide: whether integers become `float64` first, which NumPy does for long ones only.
        least: the least rank.
        finite: whether special values are left out.
        dtype: of the result; "any" where NumPy's is another.
        graph: whether it can be traced without sizes.
    """

    name: str
    dtypes: list[str] = ANY
    options: list[dict[str, Any]] = [{}]
    wide: bool = False
    least: int = 0
    finite: bool = False
    dtype: str | None = None
    graph: bool = True


EXTREMES = ("max", "min", "amax", "amin", "ptp", "argmax", "argmin")
AXES = [{}, {"axis": 0}, {"axis": -1}, {"axis": (0, -1)}, {"keepdims": True}, {"axis": 7}]
ONE_AXIS = [{}, {"axis": 0}, {"axis": -1}, {"axis": 7}]
PLACES = [{"k": 0}, {"k": 1}, {"k": -1}, {"k": 9}]
FLOATS = [*BOOL, *INTEGERS, *REAL]

FLOAT_FUNCTIONS = """
    arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh deg2rad exp exp2 expm1 floor log
    log10 log1p log2 rad2deg sin sinc sinh sqrt tan tanh fix
"""

ONE = [
    *(One(name, FLOATS, wide=True) for name in FLOAT_FUNCTIONS.split()),
    *(One(name, COMPLEX, finite=True) for name in ["cos", "cosh", "exp", "sin", "sinh", "sqrt", "square"]),
    *(
        One(name, ANY)
        for name in ["isfinite", "isinf", "isnan", "iscomplex", "isreal", "real", "imag", "copy"]
    ),
    *(One(name, FLOATS) for name in ["isneginf", "isposinf"]),
    *(One(name, [*INTEGERS, *REAL]) for name in ["signbit"]),
    *(One(name, NUMBERS) for name in ["negative", "positive", "square", "conj", "conjugate"]),
    *(One(name, [*BOOL, *ORDERED]) for name in ("abs", "absolute")),
    One("abs", COMPLEX, finite=True),
    One("fabs", REAL),
    One("sign", ORDERED),
    One("reciprocal", REAL),
    One("logical_not", ANY),
    One("bitwise_not", [*BOOL, *INTEGERS]),
    One("angle", [*REAL, *COMPLEX], [{}, {"deg": True}], finite=True),
    *(One(name, REAL, [{}, {"decimals": 1}, {"decimals": -1}], finite=True) for name in ("around", "round")),
    *(One(name, ANY, AXES) for name in ("sum", "prod")),
    One("mean", FLOATS, AXES[:4], wide=True),
    *(One(name, [*BOOL, *ORDERED], AXES) for name in ("max", "min", "amax", "amin")),
    One("ptp", ORDERED, AXES[:4], finite=True),
    *(One(name, ANY, AXES) for name in ("all", "any")),
    One("count_nonzero", ANY, ONE_AXIS),
    One("std", FLOATS, AXES[:5], wide=True),
    One("var", FLOATS, [*AXES[:5], {"ddof": 1}, {"axis": 0, "ddof": 1}], wide=True),
    One("cumsum", NUMBERS, ONE_AXIS),
    One("cumprod", [*INTEGERS, *REAL], ONE_AXIS),
    One("cumprod", COMPLEX, ONE_AXIS, finite=True),
    *(One(name, FLOATS, AXES[:4]) for name in ("nansum", "nanprod")),
    One("nanmean", FLOATS, AXES[:4], wide=True),
    One("diff", [*BOOL, *NUMBERS], [{}, {"axis": 0}, {"n": 2}, {"n": 0}, {"n": 10}], least=1),
    *(One(name, ORDERED, ONE_AXIS, finite=True) for name in ("argmax", "argmin")),
    One("argsort", ORDERED, [{"kind": "stable"}, {"axis": 0, "kind": "stable"}], least=1, finite=True),
    One("sort", [*BOOL, *ORDERED], [{}, {"axis": 0}, {"axis": None}], least=1),
    *(One(name) for name in ("ravel", "transpose", "squeeze", "atleast_1d", "atleast_2d", "atleast_3d")),
    *(One(name, ["int32", "float64"]) for name in ("flip", "zeros_like", "ones_like", "ascontiguousarray")),
    One("flip", ["int32"], [{"axis": 0}, {"axis": (0, -1)}], least=1),
    One("nonzero", ["int32", "float64"], least=1),
    One("flipud", ["int32"], least=1),
    One("fliplr", ["int32"], least=2),
    One("rot90", ["int32"], [{"k": k} for k in range(-1, 5)], least=2),
    One("rot90", ["int32"], [{"axes": (1, 0)}, {"axes": (0, -1)}, {"axes": (1, 1)}], least=2),
    *(One(name, ["int32", "float64"], PLACES, least=2) for name in ("tril", "triu")),
    *(One(name, ["int32", "float64"], PLACES) for name in ("diag", "diagflat")),
    One("diagonal", ["int32"], [{"offset": o} for o in (0, 1, -1, 9)], least=2),
    One("diagonal", ["int32"], [{"axis1": -1, "axis2": 0}, {"axis1": 1, "axis2": 1}], least=2),
    One("trace", ["int8", "float64"], [{}, {"offset": 1}, {"axis1": 1, "axis2": 0}], least=2, finite=True),
    One("vander", ["int64", "float64"], [{}, {"N": 2}, {"N": 4, "increasing": True}], finite=True),
]


def cases(table: list[Any]) -> list[Any]:
    return [pytest.param(case, id=f"{case.name}-{i}") for i, case in enumerate(table)]


@pytest.mark.parametrize("case", cases(ONE))
def test_functions_of_one_array(case):
    for dtype, shape in itertools.product(case.dtypes, SHAPES):
        if len(shape) < case.least:
            continue
        for options in case.options:
            # NumPy lets reductions of numbers have an axis 0; TensorFlow does not.
            if not shape and options.get("axis") is not None:
                continue
            x = array(dtype, shape, len(shape), case.finite)
            agree(case.name, (x,), options, case.dtype, case.wide, case.graph)


class Two(NamedTuple):
    """A function of two arrays; the same as `One` else."""

    name: str
    dtypes: list[str] = ANY
    wide: bool = False
    finite: bool = False
    nonzero: bool = False


PAIRS = [((), ()), ((3,), ()), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0,), (1,)), ((2, 3), (2,))]
TWO = [
    *(Two(name, ANY) for name in ("add", "multiply", "equal", "not_equal")),
    Two("subtract", NUMBERS),
    *(
        Two(name, [*BOOL, *ORDERED])
        for name in ["less", "less_equal", "greater", "greater_equal", "maximum", "minimum"]
    ),
    *(Two(name, ANY) for name in ["logical_and", "logical_or", "logical_xor"]),
    *(Two(name, [*BOOL, *INTEGERS]) for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]),
    *(Two(name, ["int64", "uint64", *REAL]) for name in ("divide", "true_divide")),
    *(
        Two(name, ORDERED, finite=True, nonzero=True)
        for name in ("floor_divide", "mod", "remainder", "divmod")
    ),
    Two("power", REAL, finite=True),
    *(Two(name, REAL) for name in ["arctan2", "hypot", "heaviside", "logaddexp", "logaddexp2", "nextafter"]),
    *(Two(name, ["int32", "int64", "uint8"]) for name in ("gcd", "lcm")),
    Two("isclose", [*INTEGERS, *REAL]),
]


@pytest.mark.parametrize("case", cases(TWO))
def test_functions_of_two_arrays(case):
    for dtype, (of_x, of_y) in itertools.product(case.dtypes, PAIRS):
        x, y = array(dtype, of_x, 0, case.finite), array(dtype, of_y, 1, case.finite)
        y = np.where(y == 0, np.ones_like(y), y) if case.nonzero else y
        agree(case.name, (x, y), {}, None, case.wide)
    mixed = array("int32", (3,), 2), array("float32", (3,), 1, True)
    if set(REAL) <= set(case.dtypes) and not case.nonzero:
        agree(case.name, mixed, {}, None, False)


A = array("int32", (2, 3))
B = array("float64", (2, 3), 1, True)
V = array("int64", (3,), 1)
S = np.array(3.0)
CUBE = np.arange(24.0).reshape(2, 3, 4)
EMPTY = np.zeros((0, 3))
COMPLEX_VECTOR = np.array([1 + 2j, 3 - 1j, 0.5j])

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("matmul", (A, A.T), {}),
    ("matmul", (A, B.T), {}),
    ("matmul", (V, V), {}),
    ("matmul", (CUBE, CUBE.transpose(0, 2, 1)), {}),
    ("matmul", (CUBE, np.ones(4)), {}),
    ("matmul", (EMPTY, B.T), {}),
    ("matmul", (A > 0, A.T > 0), {}),
    ("matmul", (A, A), {}),
    ("matmul", (S, S), {}),
    ("dot", (A, V), {}),
    ("dot", (S, B), {}),
    ("dot", (CUBE, np.ones((2, 4, 3))), {}),
    ("dot", (V, V), {}),
    ("inner", (A, V), {}),
    ("inner", (S, V), {}),
    ("outer", (A, V), {}),
    ("outer", (S, EMPTY), {}),
    ("vdot", (COMPLEX_VECTOR, COMPLEX_VECTOR), {}),
    ("tensordot", (CUBE, CUBE, 3), {}),
    ("tensordot", (CUBE, CUBE, [[0, 1], [0, 1]]), {}),
    ("tensordot", (A, V, 1), {}),
    ("einsum", ("ij,j->i", A, V), {}),
    ("einsum", ("ij->ji", B), {}),
    ("einsum", ("ij,kj", A, B), {"optimize": True}),
    ("kron", (A, V), {}),
    ("kron", (CUBE, B), {}),
    ("kron", (S, V), {}),
    ("cross", (B, V), {}),
    ("cross", (B, B), {"axis": 1}),
    ("cross", (B.T, B), {"axisa": 0, "axisc": 0}),
    ("cross", (np.ones(4), np.ones(4)), {}),
    ("polyval", (V, B), {}),
    ("polyval", (np.array([2.0]), B), {}),
    ("polyval", (EMPTY[:, 0], B), {}),
    ("allclose", (B, B + 1e-12), {}),
    ("allclose", (B, np.where(B > 1, np.nan, B)), {"equal_nan": True}),
    ("isclose", (np.array([np.nan, np.inf, 1.0]), np.array([np.nan, np.inf, -np.inf])), {"equal_nan": True}),
    ("array_equal", (A, A), {}),
    ("array_equal", (A, V), {}),
    ("array_equal", (A, A.T), {}),
    ("clip", (B, 0.0, 1.0), {}),
    ("clip", (B, 1.0, 0.0), {}),
    ("clip", (B, np.zeros(3), None), {}),
    ("clip", (B, None, np.zeros((2, 1))), {}),
    ("where", (A > 0, A, B), {}),
    ("where", (A, np.float64(1.0), V), {}),
    ("where", (A > 0,), {}),
    ("select", ([A > 1, A < 0], [A, B]), {}),
    ("select", ([V > 1], [V], 7), {}),
    ("compress", (np.array([True, False]), A, 0), {}),
    ("compress", (np.array([True, False, True, True]), A), {}),
    ("compress", (np.array([False, True, True]), B), {"axis": -1}),
    ("compress", (A > 0, A), {}),
    ("take", (A, np.array([0, 2, 9, -1])), {"mode": "clip"}),
    ("take", (A, np.array([[0, 5], [-1, -4]]), 1), {"mode": "wrap"}),
    ("take_along_axis", (A, np.array([[0], [-1]]), 1), {}),
    ("take_along_axis", (B, np.argsort(B, 0), 0), {}),
    ("take_along_axis", (A, np.array([1, 5]), None), {}),
    ("reshape", (A, (3, 2)), {}),
    ("reshape", (A, -1), {}),
    ("reshape", (CUBE, (4, -1)), {"order": "F"}),
    ("reshape", (A, (4, 2)), {}),
    ("expand_dims", (A, 1), {}),
    ("expand_dims", (A, (0, -1)), {}),
    ("squeeze", (A[None], 0), {}),
    ("squeeze", (A, 0), {}),
    ("transpose", (CUBE, (2, 0, 1)), {}),
    ("transpose", (CUBE, (-1, 0, -2)), {}),
    ("swapaxes", (CUBE, 0, -1), {}),
    ("swapaxes", (CUBE, 0, 5), {}),
    ("moveaxis", (CUBE, 0, -1), {}),
    ("moveaxis", (CUBE, (0, 1), (-1, 0)), {}),
    ("roll", (A, 1), {}),
    ("roll", (A, -2, 1), {}),
    ("roll", (CUBE, (1, 2), (0, 1)), {}),
    ("repeat", (A, 2), {}),
    ("repeat", (A, np.array([1, 2])), {"axis": 0}),
    ("repeat", (S, 3), {}),
    ("tile", (A, 2), {}),
    ("tile", (A, (2, 1, 2)), {}),
    ("tile", (CUBE, (2,)), {}),
    ("pad", (A, ((1, 0), (0, 2)), "constant"), {}),
    ("pad", (B, 1, "constant"), {"constant_values": 7.0}),
    ("pad", (B, 1, "reflect"), {}),
    ("pad", (B, ((1, 1), (2, 2)), "symmetric"), {}),
    ("broadcast_to", (V, (2, 3)), {}),
    ("broadcast_to", (V, (3, 2)), {}),
    ("broadcast_arrays", (A, V, S), {}),
    ("concatenate", ([A, B],), {}),
    ("concatenate", ([A, B], 1), {}),
    ("concatenate", ([A, V], None), {}),
    ("concatenate", ([A, V],), {}),
    ("append", (A, V), {}),
    ("append", (A, A), {"axis": 1}),
    ("stack", ([V, V + 1.5],), {}),
    ("stack", ([A, A], -1), {}),
    ("vstack", ([V, A],), {}),
    ("hstack", ([V, V],), {}),
    ("hstack", ([A, B],), {}),
    ("dstack", ([V, V],), {}),
    ("dstack", ([A, A],), {}),
    ("split", (V, 3), {}),
    ("split", (V, 2), {}),
    ("split", (CUBE, [1, 3], -1), {}),
    ("split", (V, [0, 2, 9]), {}),
    ("vsplit", (A, 2), {}),
    ("hsplit", (A, [1]), {}),
    ("hsplit", (V, 3), {}),
    ("dsplit", (CUBE, 2), {}),
    ("dsplit", (A, 2), {}),
    ("meshgrid", (V, np.arange(2.0)), {}),
    ("meshgrid", (V, np.arange(2), np.arange(2)), {"indexing": "ij"}),
    ("ix_", (V, np.array([True, False, True])), {}),
    ("average", (A,), {}),
    ("average", (A,), {"axis": 0, "returned": True}),
    ("average", (A, None, np.abs(A) + 1), {}),
    ("average", (A, 1, np.array([1.0, 2.0, 3.0])), {"returned": True}),
    ("average", (A, 0, np.array([1.0, 2.0, 3.0])), {}),
    ("full_like", (A, 2.7), {}),
    ("full_like", (B, V), {}),
    ("divmod", (7.5, -2.0), {}),
    ("argsort", (A,), {"axis": None, "kind": "stable"}),
]
MADE: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("zeros", (3,), {}),
    ("zeros", ((2, 0),), {"dtype": np.int8}),
    ("ones", ((2, 3),), {"dtype": bool}),
    ("full", ((2, 2), 1.5), {}),
    ("full", (3, [1, 2, 3]), {}),
    ("full", ((), 7), {"dtype": np.float32}),
    ("eye", (3,), {}),
    ("eye", (2, 4), {"k": 1}),
    ("eye", (4, 2), {"k": -2, "dtype": int}),
    ("eye", (2, 2), {"k": 5}),
    ("identity", (2,), {}),
    ("tri", (3,), {}),
    ("tri", (2, 4, 1), {}),
    ("tri", (4, 2, -3), {"dtype": bool}),
    ("arange", (5,), {}),
    ("arange", (2.5,), {}),
    ("arange", (1, 10, 3), {}),
    ("arange", (5, 1, -2), {}),
    ("arange", (0, 1, 0.25), {}),
    ("arange", (3, 1), {}),
    ("arange", (-3,), {}),
    ("arange", (3,), {"dtype": np.float32}),
    ("linspace", (0, 1, 5), {}),
    ("linspace", (0, 1, 4), {"endpoint": False}),
    ("linspace", (2.0, -1.0, 3), {"retstep": True}),
    ("linspace", ([0, 1], [10, 20], 3), {"axis": -1}),
    ("linspace", (0, 1, 0), {}),
    ("linspace", (3, 1, 1), {}),
    ("linspace", (0, 10, 4), {"dtype": int}),
    ("linspace", (0, 1, -1), {}),
    ("logspace", (0, 2, 3), {}),
    ("logspace", (0, 3, 4), {"base": 2.0, "endpoint": False}),
    ("geomspace", (1, 1000, 4), {}),
    ("geomspace", (-8, -1, 4), {}),
    ("geomspace", (1, 16, 4), {"endpoint": False}),
    ("geomspace", ([1, 2], [100, 8], 3), {"axis": -1}),
    ("diag_indices", (3,), {}),
    ("diag_indices", (2, 3), {}),
    ("array", ([[1, 2], [3, 4.5]],), {}),
    ("array", (3,), {"ndmin": 2}),
    ("array", ([True, False],), {"dtype": np.float32}),
    ("array", ([],), {}),
    ("array", (2**63,), {}),
    ("asarray", ([1 + 2j, 3],), {}),
]


@pytest.mark.parametrize(
    ("name", "args", "options"), [pytest.param(*c, id=f"{c[0]}-{i}") for i, c in enumerate(CALLS)]
)
def test_functions_of_several_arguments(name, args, options):
    unsized = ("cross", "kron", "split", "hsplit", "vsplit", "dsplit", "polyval", "full_like")
    agree(name, args, options, None, False, graph=name not in unsized)


@pytest.mark.parametrize(
    ("name", "args", "options"), [pytest.param(*c, id=f"{c[0]}-{i}") for i, c in enumerate(MADE)]
)
def test_arrays_are_made(name, args, options):
    agree(name, args, options, "int32" if name == "diag_indices" else None, False)


TESTED_ELSEWHERE = {
    "random", "result_type", "promote_types", "finfo", "iinfo", "issubdtype", "shape", "ndim", "size",
    "isscalar", "iscomplexobj", "isrealobj", "experimental_enable_numpy_behavior", "empty", "empty_like",
    "asanyarray", "float_power", "flatten",
}  # fmt: skip


def test_every_function_is_compared():
    names = {
        name
        for name in tnp.__all__
        if callable(getattr(tnp, name)) and not isinstance(getattr(tnp, name), type)
    }
    compared = {case.name for case in [*ONE, *TWO]} | {name for name, _, _ in [*CALLS, *MADE]}
    assert names - compared == TESTED_ELSEWHERE - {"iinfo", "random"}


def test_no_arrays_are_not_joined():
    for join in (tnp.hstack, tnp.vstack, tnp.dstack, tnp.concatenate, tnp.stack):
        with pytest.raises(tf.errors.InvalidArgumentError, match="at least one"):
            join([])
