"""Numbers of 8 bits and fewer: `ml_dtypes`, which defines them for NumPy, is what they are compared with."""

import copy
import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import penstock as tf

FLOATS = (
    "float4_e2m1fn",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
)
INTEGERS = ("int2", "int4", "uint2", "uint4")


def of(name: str) -> tf.DType:
    return getattr(tf.dtypes.experimental, name)


def in_numpy(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name))


def values(name: str) -> np.ndarray[Any, Any]:
    """Every number of a dtype."""
    count = 4 if name.endswith("int2") else 256 if name.startswith("float8") else 16
    return np.arange(count, dtype=np.uint8).view(in_numpy(name))


def same(found: Any, due: np.ndarray[Any, Any]) -> None:
    """Compare bytes."""
    array = np.asarray(found)
    assert array.dtype == due.dtype
    np.testing.assert_array_equal(array.view(np.uint8), np.asarray(due).view(np.uint8))


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_arrays_become_tensors_and_come_back(name: str) -> None:
    x = tf.constant(values(name))
    assert (
        x.dtype
        == of(name)
        == tf.as_dtype(name)
        == tf.as_dtype(in_numpy(name))
        == getattr(tf.experimental, name)
    )
    same(x.numpy(), values(name))
    assert x.dtype.as_numpy_dtype is in_numpy(name).type
    assert pickle.loads(pickle.dumps(x.dtype)) is copy.copy(x.dtype) is of(name)
    assert tf.as_dtype(of(name).as_datatype_enum) == of(name)


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
@pytest.mark.parametrize("to", ["float16", "float32", "float64", "bfloat16", "complex64"])
def test_numbers_are_exact_in_wider_floats(name: str, to: str) -> None:
    found = tf.cast(values(name), to).numpy()
    due = values(name).astype(np.float32)
    np.testing.assert_array_equal(found.astype(np.complex64), due.astype(np.complex64))
    signs = np.signbit(found.real.astype(np.float32)) == np.signbit(due)
    assert np.all(signs | np.isnan(due))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("source", ["float16", "bfloat16"])
@pytest.mark.parametrize("through", ["float32", "float64", None])
def test_every_float_of_16_bits_rounds_as_ml_dtypes_does(name: str, source: str, through: str | None) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16 if source == "bfloat16" else np.float16)
    with np.errstate(all="ignore"):
        due = x.astype(np.float32).astype(in_numpy(name))
        kept = ~np.isnan(x.astype(np.float32))
        x = x if through is None else x.astype(through)
    found = tf.cast(x, of(name)).numpy()
    same(found[kept], due[kept])
    undefined = tf.cast(found[~kept], tf.float32).numpy()
    assert np.all(undefined == 0) if name == "float4_e2m1fn" else np.all(np.isnan(undefined))


@pytest.mark.parametrize("name", FLOATS)
def test_a_double_is_rounded_once(name: str) -> None:
    exact = values(name).astype(np.float64)
    exact = np.unique(exact[np.isfinite(exact)])
    middle = (exact[1:] + exact[:-1]) / 2
    with np.errstate(all="ignore"):
        for x in (np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)):
            found = tf.cast(tf.cast(x, of(name)), tf.float64).numpy()
            due = np.where(x < middle, exact[:-1], exact[1:])
            np.testing.assert_array_equal(found, due)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_wrap_and_floats_are_clamped(name: str) -> None:
    x = np.arange(-300, 300)
    same(tf.cast(x, of(name)).numpy(), x.astype(in_numpy(name)))
    low, high = int(of(name).min), int(of(name).max)
    given = np.array([-1e9, -2.9, -0.5, 0.9, 1.5, 1e9, np.nan], np.float32)
    due = np.where(np.isnan(given), 0, np.trunc(np.clip(given, low, high)))
    np.testing.assert_array_equal(tf.cast(tf.cast(given, of(name)), tf.int32), due)
    np.testing.assert_array_equal(tf.cast(values(name), tf.int64), values(name).astype(np.int64))
    below = np.nextafter([1.0, -1.0], 0)
    np.testing.assert_array_equal(tf.cast(tf.cast(below, of(name)), tf.int32), [0, 0])


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_operators_that_move_elements_take_them(name: str) -> None:
    x = np.resize(values(name), (4, 3))
    t = tf.constant(x)

    def moved(t: tf.Tensor) -> list[tf.Tensor]:
        return [
            tf.reshape(t, [3, 4]),
            tf.transpose(t),
            t[1:, ::-1],
            tf.gather(t, [2, 0], axis=1),
            tf.concat([t, t], 0),
            tf.stack([t, t], 1),
            tf.tile(t, [1, 2]),
            tf.where([True, False, True], t, t[::-1]),
            tf.reverse(t, [0]),
            tf.pad(t, [[1, 0], [0, 1]]),
            tf.zeros_like(t),
            tf.expand_dims(t, 0),
            tf.cond(tf.reduce_any(True), lambda: t, lambda: t[::-1]),
            tf.tensor_scatter_nd_update(t, [[1]], t[:1]),
        ]

    due = [
        x.reshape(3, 4),
        x.T,
        x[1:, ::-1],
        x[:, [2, 0]],
        np.concatenate([x, x]),
        np.stack([x, x], 1),
        np.tile(x, (1, 2)),
        np.where([True, False, True], x.view(np.uint8), x[::-1].view(np.uint8)).view(x.dtype),
        x[::-1],
        np.pad(x.view(np.uint8), ((1, 0), (0, 1))).view(x.dtype),
        np.zeros_like(x),
        x[None],
        x,
        np.concatenate([x[:1], x[:1], x[2:]]),
    ]
    traced = tf.function(moved, input_signature=[tf.TensorSpec([None, None], of(name))])
    for found in (moved(t), traced(t)):
        for a, b in zip(found, due, strict=True):
            same(a.numpy(), b)


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_operators_that_compute_refuse_them(name: str) -> None:
    x = tf.constant(values(name))
    for compute in (lambda: x + x, lambda: tf.reduce_sum(x), lambda: tf.sort(x), lambda: tf.matmul([x], [x])):
        with pytest.raises((TypeError, tf.errors.InvalidArgumentError), match=name):
            compute()


def test_python_values_become_them() -> None:
    experimental = tf.dtypes.experimental
    assert tf.constant([1, 1.5], experimental.float8_e4m3fn).numpy().tolist() == [1, 1.5]
    assert tf.constant([-8, 7], experimental.int4).numpy().tolist() == [-8, 7]
    assert tf.zeros([2], experimental.float8_e5m2).numpy().tolist() == [0, 0]
    assert tf.ones([2], experimental.uint2).numpy().tolist() == [1, 1]
    assert tf.constant(2.5, experimental.float4_e2m1fn).numpy() == 2
    with pytest.raises(ValueError, match="int4"):
        tf.constant([8], experimental.int4)
    with pytest.raises(TypeError, match="uint4"):
        tf.constant([1.5], experimental.uint4)


def test_what_is_too_large_saturates_on_request() -> None:
    due = {"float8_e4m3fn": 448, "float8_e5m2": 57344, "float8_e4m3fnuz": 240}
    for name, most in due.items():
        found = tf.saturate_cast([1e9, -1e9, 8], of(name))
        np.testing.assert_array_equal(tf.cast(found, tf.float32), [most, -most, 8])


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_dtypes_describe_themselves(name: str) -> None:
    dtype = of(name)
    assert (repr(dtype), dtype.name, dtype.size) == (f"tf.{name}", name, 1)
    assert dtype.is_floating == (name in FLOATS)
    assert dtype.is_integer == (name in INTEGERS)
    assert dtype.is_unsigned == name.startswith("uint")
    assert not dtype.is_numeric
    assert not dtype.is_complex
    assert not dtype.is_bool
    info = (ml_dtypes.finfo if dtype.is_floating else ml_dtypes.iinfo)(in_numpy(name))
    assert float(dtype.max) == float(info.max)
    assert float(dtype.min) == float(info.min)
    with pytest.raises(ValueError, match=name):
        _ = dtype.limits


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_they_are_saved_and_printed(name: str, tmp_path: Path) -> None:
    x = tf.constant(values(name))
    same(tf.io.parse_tensor(tf.io.serialize_tensor(x), of(name)).numpy(), values(name))
    same(tf.make_ndarray(tf.make_tensor_proto(values(name))), values(name))
    variable = tf.Variable(x)
    path = tf.train.Checkpoint(x=variable).save(str(tmp_path / "checkpoint"))
    variable.assign(tf.zeros_like(x))
    tf.train.Checkpoint(x=variable).restore(path)
    same(variable.numpy(), values(name))

    module = tf.Module()
    module.held = tf.Variable(x)
    module.call = tf.function(lambda: tf.concat([module.held, x], 0), input_signature=[])
    tf.saved_model.save(module, str(tmp_path / "model"))
    same(tf.saved_model.load(str(tmp_path / "model")).call().numpy(), np.concatenate([values(name)] * 2))

    rows = tf.data.Dataset.from_tensor_slices(x)
    rows.save(str(tmp_path / "rows"))
    found = np.stack([row.numpy() for row in tf.data.Dataset.load(str(tmp_path / "rows"))])
    same(found, values(name))
    shown = tf.strings.as_string(x[:2]).numpy().tolist()
    assert len(shown) == 2
    assert name in repr(x)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_the_bits_of_whole_bytes_are_those_of_integers(name: str) -> None:
    bits = tf.bitcast(values(name), tf.uint8)
    np.testing.assert_array_equal(bits, np.arange(256))
    same(tf.bitcast(bits, of(name)).numpy(), values(name))
    same(
        tf.experimental.dlpack.from_dlpack(
            tf.experimental.dlpack.to_dlpack(tf.constant(values(name)))
        ).numpy(),
        values(name),
    )


def test_a_cast_passes_no_gradient() -> None:
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.cast(tf.cast(x, tf.dtypes.experimental.float8_e5m2), tf.float32) * x
    np.testing.assert_array_equal(tape.gradient(y, x), [1, 2])


def test_lists_beside_a_narrow_tensor_take_its_dtype() -> None:
    narrow = tf.dtypes.experimental
    small = tf.Variable(tf.constant([1, -1], narrow.int4))
    small.assign([-8, 7])
    assert tf.cast(small, tf.int32).numpy().tolist() == [-8, 7]
    with pytest.raises(ValueError, match="int4"):
        small.assign([8, 1])
    parts = tf.Variable(tf.constant([1.0, 2.0], narrow.float8_e5m2))
    parts.assign([0.5, 3])
    assert tf.cast(parts, tf.float32).numpy().tolist() == [0.5, 3]
    chosen = tf.where([True, False], parts, [1.0, 4.0])
    assert chosen.dtype == narrow.float8_e5m2
    assert tf.cast(chosen, tf.float32).numpy().tolist() == [0.5, 4]
    with pytest.raises((TypeError, ValueError)):
        small.assign([0.5, 1.0])
