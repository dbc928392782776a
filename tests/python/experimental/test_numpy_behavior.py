"""`experimental_enable_numpy_behavior`: it changes the whole process, so each test runs in one of its own."""

from __future__ import annotations

import pytest
from support import run_python

import penstock as tf
import penstock.experimental.numpy as tnp

START = """
import numpy as np
import pytest
import penstock as tf
import penstock.experimental.numpy as tnp

"""


def enabled(program: str, options: str = "") -> None:
    """Runs a program after NumPy's behavior has been enabled."""
    run_python(f"{START}tnp.experimental_enable_numpy_behavior({options})\n{program}")


def test_importing_the_package_does_not_load_it():
    run_python(
        "import sys, penstock as tf\n"
        "assert 'penstock.experimental.numpy' not in sys.modules and 'numpy' not in sys.modules\n"
        "assert tf.experimental.numpy.add(1, 2).dtype == tf.int64"
    )


def test_tensorflow_has_it_under_its_own_name():
    run_python(
        "import penstock.as_tensorflow\n"
        "penstock.as_tensorflow.install()\n"
        "import tensorflow.experimental.numpy as tnp\n"
        "from tensorflow.experimental.numpy import random\n"
        "assert tnp.sum([1, 2]) == 3 and random.rand(2).shape == [2]"
    )


def test_functions_alone_change_no_operator():
    with pytest.raises(tf.errors.DTypeError):
        tnp.array([1]) + tnp.array([1.5])
    assert not hasattr(tnp.array(1), "reshape")


def test_another_mode_is_refused():
    with pytest.raises(
        ValueError, match="'dtype_conversion_mode' must be one of 'off', 'legacy', 'all', 'safe'"
    ):
        tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="new")


def test_operators_promote_dtypes():
    enabled("""
x, y = tf.constant([1, 2]), tf.constant([0.5, 1.5])
assert (x + y).dtype == (y - x).dtype == tf.float64
assert (x + 2.5).dtype == (2.5 * x).dtype == tf.float64
assert (y + 1).dtype == (y * 2.5).dtype == tf.float32
assert (x // 2).dtype == tf.int32 and (x / 2).dtype == tf.float64
assert (x > 1.5).numpy().tolist() == [False, True]
assert (x == np.array([1.0, 2.5])).numpy().tolist() == [True, False]
assert (x == None) is False
assert (np.array(3.2, np.float16) + tf.constant(1, tf.int8)).dtype == tf.float16
assert (tf.Variable([1]) + 0.5).numpy().tolist() == [1.5]
assert (x @ [1, 2]).numpy() == 5 and ([1, 2] @ x).numpy() == 5
assert (x ** 0.5).dtype == tf.float64
assert (tf.constant([True]) + 1).dtype == tf.int64
assert (tf.constant("a") + "b").numpy() == b"ab"
with pytest.raises(TypeError):
    tf.constant("a") + 1
""")


def test_operators_promote_in_functions_and_have_gradients():
    enabled("""
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec([None], tf.int32)])
def scaled(x, n):
    return x * n * 2.5

x = tf.constant([1.0, 2.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = scaled(x, tf.constant([3, 4]))
assert y.dtype == tf.float64
gradient = tape.gradient(y, x)
assert gradient.dtype == tf.float32 and gradient.numpy().tolist() == [7.5, 10.0]
""")


def test_composite_values_keep_their_operators():
    enabled("""
ragged = tf.ragged.constant([[1, 2], [3]])
assert (tf.constant(1) + ragged).to_list() == [[2, 3], [4]]
assert (ragged + 1).to_list() == [[2, 3], [4]]
""")


def test_brackets_take_what_numpys_take():
    enabled("""
array = np.arange(24).reshape(2, 3, 4)
x = tnp.array(array)
for key in (
    [0, 1],
    [True, False],
    [[0, 1], [1, 0]],
    (1, np.newaxis, slice(1, 3), ...),
    (slice(None), (True, False, True)),
    (1, (0, 0, 1), [0, 1, 1]),
    ([0, 1], slice(None), [1, 2]),
    (slice(None), [0, 2], [1, 3]),
    (..., [3, -1]),
    ([], 0),
    [],
    True,
    False,
    np.array([1, 0]),
    array > 5,
    (array[..., 0] > 3, slice(0, 2)),
):
    np.testing.assert_array_equal(x[key], array[key])
np.testing.assert_array_equal(x[1, (0, 0, 1), tnp.asarray([0, 1, 1])], array[1, (0, 0, 1), [0, 1, 1]])
np.testing.assert_array_equal(x[x > 5], array[array > 5])
with pytest.raises(TypeError):
    x[0] = 1
with pytest.raises(IndexError):
    x[0, 0, 0, [0]]
""")


def test_tensors_have_methods_of_arrays():
    enabled("""
array = np.array([[3, 1], [2, 5], [4, 0]], np.int32)
x = tf.constant(array)
for name, args, options in (
    ("reshape", (2, 3), {}), ("reshape", ((3, -1),), {}), ("reshape", (-1,), {"order": "F"}),
    ("ravel", (), {}), ("flatten", ("F",), {}), ("transpose", (), {}), ("transpose", ((1, 0),), {}),
    ("clip", (1, 4), {}),
    ("max", (0,), {}), ("min", (), {"axis": 1}), ("mean", (), {}), ("astype", (np.float32,), {}),
):
    ours, theirs = getattr(x, name)(*args, **options), getattr(array, name)(*args, **options)
    np.testing.assert_array_equal(ours, theirs)
    assert np.asarray(ours).dtype == theirs.dtype
assert x.T.shape == [2, 3] and tnp.zeros((1, 2, 3)).T.shape == [3, 2, 1]
assert x.size == 6 and x.ndim == 2 and x.data is x and +x is x and x.tolist() == array.tolist()
assert round(tf.constant(1.26), 1).numpy() == np.float32(1.3)
with pytest.raises(ValueError, match="options"):
    x.reshape(6, casting=1)
""")


def test_floats_may_be_short():
    enabled(
        """
assert (tf.constant([1], tf.int8) + 1.5).dtype == tf.float32
assert tnp.asarray(1.0).dtype == tf.float32
""",
        "prefer_float32=True",
    )


def test_without_promotion_only_brackets_and_methods_change():
    enabled(
        """
with pytest.raises(tf.errors.DTypeError):
    tf.constant(1) + tf.constant(1.0)
assert tf.constant([1, 2]).reshape(2, 1).shape == [2, 1]
""",
        "dtype_conversion_mode='off'",
    )


def test_tensors_of_python_numbers_are_weak():
    enabled(
        """
w, f16 = tf.constant(1.2), tf.constant(3.0, tf.float16)
assert repr(w) == "<tf.Tensor: shape=(), dtype=float32, numpy=1.2000000476837158, weak=True>", repr(w)
assert str(tf.constant(5)) == "tf.Tensor(5, shape=(), dtype=int32, weak=True)"
assert (w + f16).dtype == (f16 * w).dtype == tf.float16
assert "weak" not in repr(w + f16)
for made in (w + 1, -w, abs(w), w / w, tf.sin(w), tf.add(1, 2), tnp.array(1), tnp.sum([1, 2]), w.reshape(1),
~tf.constant(5)):
    assert "weak=True" in repr(made), made
for made in (tf.constant(5, tf.int32), w > 1, tf.constant(np.array(1)), tf.constant(True), tf.ones([1]),
tf.cast(w, tf.float64)):
    assert "weak" not in repr(made), made
assert tnp.array(1).dtype == tf.int32 and tnp.array(1.0).dtype == tf.float32
assert (tf.constant(3, tf.int32) + 1.5).dtype == tf.float64
assert tf.add(tf.add(np.array(1, np.int8), tf.constant(1)), np.array(1, np.float16)).dtype == tf.float16
assert tf.matmul([[1]], [[2.0]]).dtype == tf.float32
assert tf.reduce_sum(tf.constant([1, 2], tf.int16)).dtype == tf.int16
assert tf.math.abs(x=-1).numpy() == 1
""",
        "dtype_conversion_mode='all'",
    )


def test_assignments_convert_what_the_variable_can_hold():
    enabled(
        """
v = tf.Variable(10)
assert v.assign_add(tf.constant(5, tf.int16)).numpy() == 15
assert v.assign(tf.constant(7)).numpy() == 7
with pytest.raises(TypeError, match="a variable keeps its dtype, int32"):
    v.assign(2.5)
assert tf.constant(tf.constant(10, tf.int16), tf.float32).numpy() == 10.0
""",
        "dtype_conversion_mode='all'",
    )


def test_the_safe_mode_refuses_what_may_lose_digits():
    enabled(
        """
assert (tf.constant(1, tf.int8) + tf.constant(1.0, tf.float16)).dtype == tf.float16
for a, b in ((tf.int32, tf.float32), (tf.int8, tf.uint32), (tf.float64, tf.complex64)):
    with pytest.raises(TypeError, match="not promoted in mode 'safe'"):
        tf.constant(1, a) + tf.constant(1, b)
with pytest.raises(TypeError, match="not promoted"):
    tf.add(tf.constant(1, tf.int32), tf.constant(1.0, tf.float32))
assert (tf.constant(1, tf.int64) + 1).dtype == tf.int64
""",
        "dtype_conversion_mode='safe'",
    )


def test_modes_can_be_changed():
    enabled(
        """
tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="legacy")
assert "weak" not in repr(tf.constant(1)) and tnp.array(1).dtype == tf.int64
assert (np.array(3.2, np.float16) + tf.constant(1, tf.int8) + tf.constant(50)).dtype == tf.float64
""",
        "dtype_conversion_mode='all'",
    )


def test_python_integers_of_the_lattice_must_be_short():
    enabled(
        """
with pytest.raises(OverflowError, match="must fit into int32"):
    tnp.array(2**40)
assert tnp.array(2**40, tnp.int64).dtype == tf.int64
""",
        "dtype_conversion_mode='all'",
    )
