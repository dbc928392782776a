"""Every operator on every sample of its declaration, against NumPy and against itself when it is traced."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.numpy_reference import EXEMPT, REFERENCE
from support.reference_models import BFLOAT16, HALVES, WIDER, Near, is_float

import penstock as tf
from penstock import _core, raw_ops

# Results that differ from one run to the next.
DRAWN_ANEW = {"random_uniform", "random_normal", "truncated_normal", "random_uniform_int", "timestamp"}

# What CUDA computes in its own way, to some units in the last place: `APPROXIMATE` of the Rust crate's tests.
APPROXIMATE_ON_GPUS = {"cos", "digamma", "lgamma", "sin", "tan"}

# The bits of the significand and the least exponent.
FORMATS = {
    np.dtype("float16"): (11, -14),
    BFLOAT16: (8, -126),
    np.dtype("float32"): (24, -126),
    np.dtype("float64"): (53, -1022),
}
# The relative errors that are allowed where 4 units in the last place are less.
RELATIVE = {np.dtype("float32"): 2e-6, np.dtype("float64"): 1e-14}


def samples(name: str) -> list[tuple[list[tf.Tensor], dict[str, Any]]]:
    """None for an operator with an attribute that Python cannot write."""
    with contextlib.suppress(TypeError):
        return _core._op_samples(name)
    return []


def array(tensor: tf.Tensor) -> np.ndarray:
    """Strings as an array of `bytes` objects, of rank 0 too; a list or a table as what it says of itself."""
    if tensor.dtype in (tf.variant, tf.resource):
        return np.array(repr(tensor))
    value = tensor.numpy()
    if tensor.dtype != tf.string:
        return np.asarray(value)
    out = np.empty(tuple(tensor.shape), object)
    out[...] = value
    return out


def results(value: Any) -> list[np.ndarray]:
    """The results of an operator, however many."""
    return [array(x) for x in (value if isinstance(value, tuple) else () if value is None else (value,))]


def bits(x: np.ndarray) -> Any:
    """What two arrays share that are equal to the sign of a zero, but for the payload of NaN."""
    if x.dtype.kind == "c":
        return bits(x.real), bits(x.imag)
    if is_float(x.dtype):
        return np.where(np.isnan(x.astype("float64")), x.dtype.type(np.nan), x).tobytes()
    return x.tolist()


def spacing(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The unit in the last place of `x` in `dtype`."""
    significand, least = FORMATS[dtype]
    exponent = np.maximum(np.frexp(x)[1] - 1, least)
    return np.ldexp(x.dtype.type(1), exponent - significand + 1)


def assert_near(got: np.ndarray, wide: np.ndarray, terms: Any) -> None:
    """Compares reals with the values that they approximate, which overflow or become 0 where rounded."""
    dtype = got.dtype
    with np.errstate(all="ignore"):
        rounded = wide.astype(dtype).astype(wide.dtype)
    got, terms = got.astype(wide.dtype), np.broadcast_to(terms, wide.shape).astype(wide.dtype)
    finite, zero = np.isfinite(rounded), (rounded == 0) & (got == 0)
    np.testing.assert_array_equal(got[~finite], rounded[~finite])
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(rounded[zero]))
    got, wide, terms = got[finite], wide[finite], terms[finite]
    if dtype in HALVES:
        allowed = np.maximum(spacing(wide, dtype), 4 * spacing(terms, np.dtype("float32")))
    else:
        allowed = np.maximum(
            4 * spacing(np.maximum(np.abs(wide), terms), dtype), RELATIVE[dtype] * np.abs(wide)
        )
    wrong = ~(np.abs(got - wide) <= allowed)
    assert not wrong.any(), f"{got[wrong]} for {wide[wrong]}, {got[wrong] - wide[wrong]} off"


def assert_near_complex(got: np.ndarray, wide: np.ndarray) -> None:
    """The error is relative to the magnitude."""
    assert np.isfinite(wide).all()
    assert (np.abs(got - wide) <= RELATIVE[got.real.dtype] * np.abs(wide)).all(), f"{got} for {wide}"


def assert_agrees(got: np.ndarray, expected: Any) -> None:
    if isinstance(expected, Near):
        assert (np.dtype(WIDER[got.dtype]), got.shape) == (expected.value.dtype, expected.value.shape)
        if got.dtype.kind == "c":
            assert_near_complex(got, expected.value)
        else:
            assert_near(got, *expected)
    else:
        expected = np.asarray(expected)
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert bits(got) == bits(expected), f"{got} for {expected}"


def test_each_operator_has_a_reference_or_a_reason_for_none() -> None:
    assert not set(REFERENCE) & set(EXEMPT)
    assert set(REFERENCE) | set(EXEMPT) == set(_core._ops())


@pytest.mark.parametrize("name", REFERENCE)
def test_operator_agrees_with_its_reference(name: str) -> None:
    found = samples(name)
    assert found
    for operands, attributes in found:
        got = results(getattr(raw_ops, name)(*operands, **attributes))
        with np.errstate(all="ignore"):
            expected = REFERENCE[name](*map(array, operands), **attributes)
        for a, b in zip(got, expected if type(expected) is tuple else (expected,), strict=True):
            assert_agrees(a, b)


def traced(operator: Callable[..., Any], operands: list[tf.Tensor], attributes: dict[str, Any]) -> list[Any]:
    """The results in a function of the operands, and in one where all but lists and tables are constants."""

    def constant(x: tf.Tensor) -> tf.Tensor:
        return x if x.dtype in (tf.variant, tf.resource) else tf.constant(array(x), x.dtype)

    of_constants = tf.function(lambda: operator(*map(constant, operands), **attributes))
    return [tf.function(lambda *tensors: operator(*tensors, **attributes))(*operands), of_constants()]


def comparable() -> list[Any]:
    """The operators whose results are the same each time; a GPU has functions of its own for some."""
    names = [name for name in _core._ops() if samples(name) and name not in DRAWN_ANEW]
    return [pytest.param(n, marks=[pytest.mark.of_host] if n in APPROXIMATE_ON_GPUS else []) for n in names]


@pytest.mark.parametrize("name", comparable())
def test_traced_operator_has_the_bits_of_an_eager_one(name: str) -> None:
    operator = getattr(raw_ops, name)
    for operands, attributes in samples(name):
        eager = results(operator(*operands, **attributes))
        for other in traced(operator, operands, attributes):
            for a, b in zip(results(other), eager, strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                assert bits(a) == bits(b)
