"""Dtypes promote in `tf.experimental.numpy` as TensorFlow promotes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
import penstock.experimental.numpy as tnp
from penstock.experimental.numpy import _promotion as promotion

PYTHON: dict[str, Any] = {"pybool": True, "pyint": 1, "pyfloat": 1.5, "pycomplex": 1j}


def tables() -> dict[str, dict[tuple[str, str], str]]:
    """What each pair of operands promotes to, by mode."""
    found: dict[str, dict[tuple[str, str], str]] = {}
    rows: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("numpy_promotion.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            rows = {}
            mode = line.strip("[]")
        elif not line.startswith("#"):
            first, *row = line.split()
            rows[first] = row
            found[mode] = {(a, b): r for a, row in rows.items() for b, r in zip(rows, row, strict=False)}
    return found


TABLES = tables()


@pytest.fixture
def settings(monkeypatch):
    """What `experimental_enable_numpy_behavior` sets, for one test."""

    def choose(prefer_float32: bool = False, mode: str = "off") -> None:
        monkeypatch.setattr(promotion.settings, "prefer_float32", prefer_float32, raising=False)
        monkeypatch.setattr(promotion.settings, "mode", mode, raising=False)

    return choose


@pytest.mark.parametrize("mode", ["legacy", "prefer_float32"])
def test_dtypes_promote_by_numpys_rules(mode, settings):
    settings(prefer_float32=mode == "prefer_float32")
    assert len(TABLES[mode]) == 19 * 19
    for pair, expected in TABLES[mode].items():
        operands = [PYTHON.get(name) if name in PYTHON else tf.as_dtype(name) for name in pair]
        if expected == "-":
            with pytest.raises(TypeError, match="no common dtype"):
                tnp.result_type(*operands)
            continue
        assert tnp.result_type(*operands).name == expected, pair
        assert tnp.result_type(*reversed(operands)).name == expected, pair


@pytest.mark.parametrize("mode", ["all", "safe"])
def test_dtypes_promote_by_the_lattice(mode):
    def kind(name: str) -> promotion.Kind:
        return promotion.Kind(tf.as_dtype(name.strip("*")), name.endswith("*"))

    assert len(TABLES[mode]) == 20 * 20
    for (a, b), expected in TABLES[mode].items():
        for pair in ((kind(a), kind(b)), (kind(b), kind(a))):
            if expected == "-":
                with pytest.raises(TypeError, match="not promoted in mode 'safe'"):
                    promotion.joined(*pair, mode)
            else:
                assert promotion.joined(*pair, mode) == kind(expected), (a, b)


def test_promotion_by_the_lattice_is_associative_among_tensors():
    names = [name for name in dict(TABLES["all"]) if name[0] == name[1] and not name[0].endswith("*")]
    kinds = [promotion.Kind(tf.as_dtype(name)) for name, _ in names if name != "uint64"]

    def join(a, b):
        return promotion.joined(a, b, "all")

    for a in kinds:
        for b in kinds:
            for c in kinds:
                assert join(join(a, b), c) == join(a, join(b, c))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "int64"),
        (1.5, "float64"),
        (1j, "complex128"),
        (True, "bool"),
        ([1, 2.5], "float64"),
        ([[True], [2]], "int64"),
        ([], "float64"),
        (2**63, "uint64"),
        (np.float32(1), "float32"),
        ([np.int8(1), 2], "int8"),
        (np.ones(2, np.float16), "float16"),
        ("a", "string"),
        ([b"a", "b"], "string"),
        (tf.constant(1), "int32"),
        ([tf.constant(1), 2.5], "float64"),
        (tf.Variable(1.0), "float32"),
        (range(3), "int64"),
    ],
)
def test_values_become_arrays_of_numpys_dtypes(value, dtype):
    made = tnp.array(value)
    assert made.dtype.name == dtype
    assert isinstance(made, tnp.ndarray)


def test_python_floats_may_be_float32(settings):
    settings(prefer_float32=True)
    assert tnp.asarray(1.0).dtype == tf.float32
    assert tnp.add(1.0, 2.0).dtype == tf.float32
    assert tnp.asarray([1j]).dtype == tf.complex64
    assert tnp.asarray(1).dtype == tf.int64


def test_a_dtype_that_is_given_wins():
    assert tnp.array(5.5, int).numpy() == 5
    assert tnp.array([1, 2], tf.float16).dtype == tf.float16
    assert tnp.asarray(tf.constant([1.5]), np.int8).dtype == tf.int8


def test_types_of_numpy_promote():
    assert tnp.promote_types(tnp.int32, tnp.float32) == np.dtype(np.float64)
    assert tnp.promote_types(tf.int8, tf.uint8) == np.dtype(np.int16)
    assert tnp.result_type() == tf.float64
    assert tnp.result_type(float) == tf.float64


def test_dtypes_are_those_of_numpy():
    assert tnp.float32 is np.float32
    assert tnp.bool_ is np.bool_
    assert tnp.float_ is np.float64
    assert tnp.string_ is np.bytes_
    assert tnp.iinfo(tnp.int8).max == 127
    assert tnp.finfo(tf.float16).bits == 16
    assert tnp.issubdtype(tf.int32, np.integer)


def test_what_has_no_common_dtype_is_refused():
    with pytest.raises(TypeError, match="bfloat16 and int32 have no common dtype"):
        tnp.add(tf.constant(1, tf.bfloat16), tf.constant(1))
    with pytest.raises(TypeError, match="no common dtype"):
        tnp.add("a", 1)
    with pytest.raises((TypeError, ValueError)):
        tnp.array([[1, 2], [3]])
