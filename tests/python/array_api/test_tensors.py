"""Tensors of the array API namespace: promotion by operators, indexing with arrays, DLPack."""

from __future__ import annotations

import itertools
import operator

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as npst

import penstock as tf
from penstock import array_api as xp

NUMERIC = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMERIC += ["float32", "float64", "complex64", "complex128"]


def strict_type(a: str, b: str) -> str | None:
    try:
        return str(strict.result_type(getattr(strict, a), getattr(strict, b))).rpartition(".")[2]
    except TypeError:
        return None


@pytest.mark.parametrize(("a", "b"), list(itertools.product([*NUMERIC, "bool"], repeat=2)))
def test_dtypes_promote_by_the_standard(a, b):
    due = strict_type(a, b)
    x, y = (xp.ones(2, dtype=getattr(xp, d)) for d in (a, b))
    if due is None:
        with pytest.raises(TypeError, match=f"{a} and {b}"):
            xp.result_type(x, y)
        with pytest.raises(TypeError):
            x + y
        return
    assert xp.result_type(x, y).name == due
    assert xp.result_type(x.dtype, y.dtype).name == due
    if a != "bool":
        assert xp.add(x, y).dtype.name == due
        assert (x + y).dtype.name == due
        assert (x * y - y).dtype.name == due
    assert (x == y).tolist() == [True, True]


def test_operators_of_other_tensors_do_not_promote():
    a, b = tf.constant([1], tf.int32), tf.constant([1], tf.int64)
    with pytest.raises(TypeError, match=r"int32.*int64|int64.*int32"):
        a + b
    assert (xp.asarray(a) + b).dtype == tf.int64
    assert (b + xp.asarray(a)).dtype == tf.int64
    # What operators make of an array promotes too, and so do its parts.
    for x in (-xp.asarray(a), xp.asarray(a)[0], xp.asarray(a) + 1, next(iter(xp.asarray(a)))):
        assert (x + b).dtype == tf.int64


def test_operators_promote_in_traced_functions():
    @tf.function
    def f(x, y):
        return xp.asarray(x) + y

    assert f(tf.constant([1], tf.int8), tf.constant([2], tf.int16)).dtype == tf.int16


def test_a_complex_number_makes_a_real_array_complex():
    assert (xp.asarray([1.0]) + 1j).dtype == xp.complex64
    assert (1j * xp.asarray([1.0], dtype=xp.float64)).dtype == xp.complex128
    assert xp.multiply(xp.asarray([1.0]), 2j).tolist() == [2j]
    with pytest.raises(TypeError):
        xp.asarray([1]) + 1j


SYMBOLS = [operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor]


@pytest.mark.parametrize(
    "apply", [*SYMBOLS, operator.lshift, operator.rshift, operator.floordiv, operator.mod]
)
@pytest.mark.parametrize(
    ("a", "b"), [("int8", "int16"), ("uint8", "int8"), ("int32", "int32"), ("uint32", "uint8")]
)
def test_operators_agree_with_the_standard_on_mixed_integers(apply, a, b):
    x, y = np.array([[7, 5, 100]], a), np.array([[1], [3]], b)
    expected = apply(strict.asarray(x), strict.asarray(y))
    got = apply(xp.asarray(x), xp.asarray(y))
    assert got.dtype.name == str(expected.dtype).rpartition(".")[2]
    assert got.tolist() == np.asarray(expected).tolist()


def test_in_place_operators_bind_the_name_anew():
    x = y = xp.asarray([1, 2])
    x += 1
    assert (x.tolist(), y.tolist()) == ([2, 3], [1, 2])
    x <<= 2
    assert x.tolist() == [8, 12]
    with pytest.raises(TypeError, match="assignment"):
        x[0] = 1


def test_shifts():
    x = tf.constant([1, 2])
    assert (x << 3).numpy().tolist() == [8, 16]
    assert (1 << x).numpy().tolist() == [2, 4]
    assert (x >> 1).numpy().tolist() == [0, 1]
    assert (8 >> x).numpy().tolist() == [4, 2]
    with pytest.raises((TypeError, ValueError)):
        tf.constant(1.0) << 1


def test_matrix_products_of_vectors():
    m, v = xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 1])
    assert (m @ v).tolist() == [3, 7]
    assert (v @ m).tolist() == [4, 6]
    assert (v @ v).tolist() == 2
    with pytest.raises(ValueError, match="x1"):
        xp.asarray(1) @ v
    with pytest.raises(ValueError, match="matrix or a batch"):
        tf.constant([1, 1]) @ tf.constant([1, 1])


def test_python_scalars_of_arrays():
    assert complex(xp.asarray(1.5)) == 1.5
    assert [10, 20][xp.asarray(1, dtype=xp.uint8)] == 20
    with pytest.raises(TypeError):
        operator.index(xp.asarray(1.0))
    with pytest.raises(TypeError):
        int(xp.zeros(2))


# --- indexing with arrays ---

DIMS = (3, 4, 2, 3)
ARRAY = np.arange(72).reshape(DIMS)


@st.composite
def keys(draw):
    """Ints, slices, new axes, an ellipsis, masks, and arrays of indices that broadcast."""
    arrays = draw(npst.mutually_broadcastable_shapes(num_shapes=4, max_dims=2, max_side=3)).input_shapes
    out, axis = [], 0
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["int", "slice", "new", "array", "array", "ellipsis"]))
        if kind == "new":
            out.append(None)
        elif kind == "ellipsis":
            if Ellipsis not in [k for k in out if not isinstance(k, np.ndarray)]:
                out.append(Ellipsis)
                axis = max(axis, 2)
        elif axis < 4:
            n = DIMS[axis] if Ellipsis not in [k for k in out if not isinstance(k, np.ndarray)] else 2
            if kind == "int":
                out.append(draw(st.integers(-n, n - 1)))
            elif kind == "slice":
                bound = st.none() | st.integers(-4, 4)
                out.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1]))))
            else:
                elements = st.integers(-n, n - 1)
                out.append(draw(npst.arrays("int64", arrays[axis], elements=elements)))
            axis += 1
    return tuple(out)


def indexed(array, key):
    try:
        return array[key]
    except IndexError:
        return None


@settings(max_examples=300, deadline=None)
@given(keys())
def test_indexing_with_arrays_agrees_with_numpy(key):
    expected = indexed(ARRAY, key)
    own = tuple(xp.asarray(k) if isinstance(k, np.ndarray) else k for k in key)
    if expected is None:
        with pytest.raises((IndexError, ValueError)):
            xp.asarray(ARRAY)[own]
    else:
        np.testing.assert_array_equal(xp.asarray(ARRAY)[own].numpy(), expected, strict=True)


@pytest.mark.parametrize(
    "key",
    [
        (np.array([0, -1]),),
        (np.array([[0, 1], [2, 0]]), 1),
        (slice(None), np.array([3, 0]), np.array([1, 0])),
        (np.array([0, 1]), slice(None), np.array([1, 0])),
        (..., np.array([0, 2])),
        (np.array([1]), None, np.array([2])),
        (None, np.array([0, 0]), 0, 0, ..., 0),
        (slice(None), np.array([0, 1]), 0, ..., 0),
    ],
)
def test_traced_indexing_with_arrays_agrees_with_numpy(key):
    @tf.function(input_signature=[tf.TensorSpec([None] * 4, tf.int64)])
    def f(x):
        return x[key]

    np.testing.assert_array_equal(f(tf.constant(ARRAY)).numpy(), ARRAY[key], strict=True)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 4).flatmap(lambda n: npst.arrays("bool", DIMS[:n])))
def test_masks_agree_with_numpy(mask):
    np.testing.assert_array_equal(xp.asarray(ARRAY)[xp.asarray(mask)].numpy(), ARRAY[mask], strict=True)


def test_masks_and_arrays_together():
    mask = np.array([True, False, True])
    x = xp.asarray(ARRAY)
    np.testing.assert_array_equal(x[xp.asarray(mask), 1].numpy(), ARRAY[mask, 1])
    np.testing.assert_array_equal(x[..., xp.asarray(mask)].numpy(), ARRAY[..., mask])
    np.testing.assert_array_equal(
        x[1, xp.asarray([0, 1]), :, xp.asarray(mask)].numpy(), ARRAY[1, [0, 1], :, mask]
    )


@pytest.mark.parametrize(
    "key",
    [
        (np.array([True, False]),),
        (..., np.array([True, False])),
        (0, ..., np.array([True, False, True]), 0),
        (np.ones([3, 4, 2, 3, 1], "bool"),),
        (np.array([1.0]),),
        (np.array([0, 1]), np.array([0, 1, 2])),
        (np.array([0]),) * 5,
        (np.array([3]),),
        (np.array([-4]), 0),
    ],
)
def test_arrays_that_cannot_index_are_errors(key):
    with pytest.raises((IndexError, ValueError, TypeError)):
        xp.asarray(ARRAY)[tuple(xp.asarray(k) if isinstance(k, np.ndarray) else k for k in key)]


def test_gradients_go_through_indices():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x[tf.constant([-1, 0, -1])]
    assert tape.gradient(y, x).numpy().tolist() == [1, 0, 2]


# --- DLPack ---


def test_dlpack_says_that_memory_is_read_only():
    x = xp.arange(1000)
    view = np.from_dlpack(x)
    assert not view.flags.writeable
    assert view.tolist() == list(range(1000))
    copied = np.from_dlpack(x, copy=True)
    assert copied.flags.writeable
    copied[0] = -1
    assert x[0] == 0


def test_dlpack_imports_read_only_arrays():
    array = np.arange(100.0)
    array.flags.writeable = False
    assert xp.from_dlpack(array).tolist() == array.tolist()


def test_a_function_sees_what_the_owner_of_shared_memory_writes():
    memory = np.ones((64, 40), np.float16)
    weights = xp.from_dlpack(memory)
    product = tf.function(lambda x: tf.matmul(x, weights))
    x = tf.ones((8, 64), tf.float16)
    assert (product(x).numpy() == 64).all()
    memory[:] = 2
    assert (product(x).numpy() == 128).all()


def test_a_copy_by_dlpack_shares_nothing():
    array = np.arange(100.0)
    shared, copied = xp.from_dlpack(array), xp.from_dlpack(array, copy=True)
    array[0] = -1
    assert (shared[0], copied[0]) == (-1, 0)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3)])
@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 2)])
def test_dlpack_takes_every_version(shape, version):
    x = xp.ones(shape, dtype=xp.int16)
    capsule = x.__dlpack__(max_version=version)
    assert xp.from_dlpack(tf.experimental.dlpack.from_dlpack(capsule)).tolist() == x.tolist()


def test_dlpack_refuses_what_it_cannot_do():
    x = xp.ones(3)
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(ValueError, match="stream"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="dl_device"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="string"):
        tf.constant(["a"]).__dlpack__()
