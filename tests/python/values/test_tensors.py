"""Tensors: how they are made, what they share with NumPy and others, operators, indexing, text, errors."""

import copy
import gc
import operator
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import assert_same, both_ways

import penstock as tf

NUMPY_DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (1, tf.int32, []),
        (2**31, tf.int64, []),
        (2**63, tf.uint64, []),
        (1.5, tf.float32, []),
        (True, tf.bool, []),
        (1j, tf.complex128, []),
        ("a", tf.string, []),
        (b"a", tf.string, []),
        ([1, 2], tf.int32, [2]),
        ([1, 2.5], tf.float32, [2]),
        ([[1], [2]], tf.int32, [2, 1]),
        ([], tf.float32, [0]),
        ([[], []], tf.float32, [2, 0]),
        ((1, 2), tf.int32, [2]),
        (range(3), tf.int32, [3]),
        ([True, False], tf.bool, [2]),
        (np.zeros([2, 3], "uint8"), tf.uint8, [2, 3]),
        (np.float64(1.5), tf.float64, []),
        (np.array(7), tf.int64, []),
        ([np.int64(1), 2], tf.int64, [2]),
    ],
)
def test_python_values_get_the_dtype_and_shape_of_their_kind(value, dtype, shape):
    tensor = tf.constant(value)
    assert tensor.dtype == dtype
    assert tensor.shape == shape


def test_a_dtype_that_is_asked_for_is_met():
    for dtype in NUMPY_DTYPES[1:]:
        assert tf.constant([1, 2], dtype).dtype == tf.as_dtype(dtype)
    assert tf.constant(1, tf.float16).numpy() == 1
    assert tf.constant(np.array([1.7]), tf.int32).numpy().tolist() == [1]


def test_constant_fills_or_reshapes_to_a_shape():
    assert tf.constant(3, shape=[2, 2]).numpy().tolist() == [[3, 3], [3, 3]]
    assert tf.constant([1, 2, 3, 4], shape=[2, 2]).numpy().tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="reshape"):
        tf.constant([1, 2, 3], shape=[2, 2])


@pytest.mark.parametrize(
    ("value", "dtype", "error", "text"),
    [
        (object(), None, TypeError, "object"),
        ([1, [2]], None, ValueError, "non-rectangular"),
        ([[1, 2], [3]], None, ValueError, "non-rectangular"),
        ([1, "a"], None, ValueError, "mixed"),
        (1.5, tf.int32, TypeError, "int32"),
        ("a", tf.float32, TypeError, "float32"),
        (1, tf.bool, TypeError, "bool"),
        (300, tf.uint8, ValueError, "300"),
        (-1, tf.uint64, ValueError, "-1"),
        (2**64, None, ValueError, "18446744073709551616"),
        (None, None, ValueError, "None"),
        ({"a": 1}, None, TypeError, "dict"),
        ([1, None], None, ValueError, "None"),
    ],
)
def test_values_that_are_no_tensors_are_errors(value, dtype, error, text):
    with pytest.raises(error, match=text):
        tf.constant(value, dtype)


def test_dtypes_of_tensors_are_never_converted_implicitly():
    with pytest.raises(TypeError, match=r"add.*int32.*float32"):
        tf.constant(1.0) + tf.constant(1)
    with pytest.raises(ValueError, match="float64"):
        tf.convert_to_tensor(tf.constant(1.0), tf.float64)
    assert (tf.constant(1, tf.int64) + 1).dtype == tf.int64
    assert (tf.constant(1.0, tf.float16) * 2).dtype == tf.float16
    assert (2 - tf.constant(1.0, tf.float64)).dtype == tf.float64
    with pytest.raises(TypeError, match="int32"):
        tf.constant(1) + 1.5


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)])
def test_arrays_come_back_as_they_went(dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    tensor = tf.constant(array)
    assert tensor.dtype.as_numpy_dtype == np.dtype(dtype)
    back = np.asarray(tensor.numpy())
    assert back.dtype == np.dtype(dtype)
    assert back.dtype.char == np.dtype(dtype).char  # `long long` is another int64, shown with its name
    assert_same(back, array)
    assert_same(np.asarray(tensor), array)
    assert_same(np.array(tensor), array)


@pytest.mark.parametrize(
    "view",
    [lambda a: a.T, lambda a: a[::2], lambda a: a[:, 1:3], lambda a: a[::-1], lambda a: np.asfortranarray(a)],
)
def test_arrays_of_any_layout_are_read_right(view):
    array = view(np.arange(20.0).reshape(4, 5))
    assert_same(tf.constant(array).numpy(), array)


def test_bfloat16_crosses_by_ml_dtypes():
    import ml_dtypes

    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    tensor = tf.constant(array)
    assert tensor.dtype == tf.bfloat16
    assert tensor.numpy().dtype == array.dtype
    assert tf.cast(tensor, tf.float32).numpy().tolist() == [1.5, -2.0]


def test_strings_come_back_as_bytes():
    tensor = tf.constant([["a", "é"], ["", "b\0c"]])
    assert tensor.numpy().tolist() == [[b"a", "é".encode()], [b"", b"b\0c"]]
    assert (tensor.tolist()[1], tensor[0, 0].tolist()) == ([b"", b"b\0c"], b"a")
    assert tf.constant(np.array(["x", "yz"])).numpy().tolist() == [b"x", b"yz"]
    assert tf.constant(np.array([b"x", b"yz"], object)).numpy().tolist() == [b"x", b"yz"]


def test_numpy_gives_a_read_only_view_that_keeps_the_memory():
    tensor = tf.range(100000) + 0
    view = tensor.numpy()
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    del tensor
    gc.collect()
    fillers = [tf.fill([100000], 7) for _ in range(4)]
    assert view[99999] == 99999
    del fillers


def test_the_buffer_protocol_gives_a_read_only_view():
    tensor = tf.constant([[1, 2, 3], [4, 5, 6]], tf.int16)
    view = memoryview(tensor)
    assert view.readonly
    assert view.shape == (2, 3)
    assert view.format == "h"
    del tensor
    gc.collect()
    assert view.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("shape", [[], [1], [3], [2, 2], [0]])
def test_an_array_of_bfloat16_has_its_values_not_its_bits(shape):
    tensor = tf.fill(shape, tf.constant(1.5, tf.bfloat16))
    for array in (np.asarray(tensor), np.array(tensor), tensor.numpy()):
        assert array.dtype.name == "bfloat16"
        assert_same(array.astype(np.float32), np.full(shape, 1.5, np.float32))
    with pytest.raises(BufferError, match="no format for bfloat16"):
        memoryview(tensor)


@pytest.mark.of_host
def test_dlpack_shares_memory_both_ways():
    array = np.arange(1024.0)
    tensor = tf.experimental.dlpack.from_dlpack(array)
    assert_same(tensor.numpy(), array)
    back = np.from_dlpack(tf.range(10))
    assert back.tolist() == list(range(10))
    capsule = tf.experimental.dlpack.to_dlpack(tf.constant([1.5, 2.5]))
    assert tf.experimental.dlpack.from_dlpack(capsule).numpy().tolist() == [1.5, 2.5]
    with pytest.raises((ValueError, TypeError, BufferError)):
        tf.experimental.dlpack.from_dlpack(capsule)


def test_a_borrowed_array_lives_as_long_as_its_tensor():
    class Array(np.ndarray):
        pass

    array = np.arange(4096.0).view(Array)
    gone = weakref.ref(array)
    tensor = tf.experimental.dlpack.from_dlpack(array)
    del array
    gc.collect()
    assert tensor.numpy()[4095] == 4095
    del tensor
    gc.collect()
    assert gone() is None


def test_a_tensor_does_not_change_with_the_array_that_it_came_from():
    array = np.arange(100000.0)
    tensor = tf.constant(array)
    array[:] = -1
    assert tensor.numpy()[5] == 5


OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "/": operator.truediv,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("dtype", ["float64", "int32", "int64"])
def test_operators_agree_with_numpy_from_both_sides(symbol, dtype):
    apply = OPERATORS[symbol]
    x, y = np.array([[1, 5, 7]], dtype), np.array([[2], [3]], dtype)
    expected = apply(x, y)
    assert_same(both_ways(apply, x, y).numpy(), expected)
    assert_same(apply(tf.constant(x), y).numpy(), expected)
    assert_same(apply(x, tf.constant(y)).numpy(), expected)
    assert_same(both_ways(lambda t: apply(t, 2), x).numpy(), apply(x, np.array(2, dtype)))
    assert_same(both_ways(lambda t: apply(2, t), x).numpy(), apply(np.array(2, dtype), x))


def test_logical_and_bitwise_operators():
    p, q = np.array([True, True, False]), np.array([True, False, False])
    for apply in (operator.and_, operator.or_, operator.xor):
        assert_same(both_ways(apply, p, q).numpy(), apply(p, q))
        m, n = np.array([6, 12], "int32"), np.array([3, 10], "int32")
        assert_same(both_ways(apply, m, n).numpy(), apply(m, n))
    assert_same(both_ways(lambda a: ~a, p).numpy(), ~p)
    assert_same(both_ways(lambda a: ~a, np.array([1, 2], "int8")).numpy(), ~np.array([1, 2], "int8"))
    assert_same(both_ways(lambda a: -a, np.array([1.5])).numpy(), np.array([-1.5]))
    assert_same(both_ways(abs, np.array([-1.5])).numpy(), np.array([1.5]))


def test_matmul_operator():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    assert_same(both_ways(lambda x, y: x @ y, a, b).numpy(), a @ b)
    assert_same((a @ tf.constant(b)).numpy(), a @ b)


def test_python_numbers_of_scalars():
    assert int(tf.constant(3)) == 3
    assert float(tf.constant(1.5)) == 1.5
    assert complex(tf.constant(1j)) == 1j
    assert bool(tf.constant(True))
    assert [10, 20, 30][tf.constant(1)] == 20
    assert len(tf.zeros([3, 2])) == 3
    assert [x.numpy() for x in tf.constant([1, 2])] == [1, 2]
    assert f"{tf.constant(1.25):.1f}" == "1.2"
    with pytest.raises((TypeError, ValueError)):
        bool(tf.constant([True, False]))
    with pytest.raises(TypeError):
        len(tf.constant(1))
    with pytest.raises(TypeError):
        iter(tf.constant(1)).__next__()


def test_hash_is_refused_and_ref_stands_in():
    t = tf.constant(1)
    with pytest.raises(TypeError, match="hash"):
        hash(t)
    assert {t.ref(): "x"}[t.ref()] == "x"
    assert t.ref() != tf.constant(1).ref()
    assert t.ref().deref() is t


def test_a_reference_is_a_weak_key():
    t, other = tf.constant(1), tf.constant(1)
    reference = t.ref()
    kept = weakref.WeakKeyDictionary({reference: "x"})
    assert kept[t.ref()] == "x"
    assert other.ref() not in kept
    del reference
    assert len(kept) == 0


def test_a_tensor_that_is_converted_is_itself():
    def check(t):
        assert tf.convert_to_tensor(t) is t
        assert tf.convert_to_tensor(t, t.dtype) is t
        assert tf.convert_to_tensor(t, dtype_hint=tf.int64) is t
        return t

    check(tf.constant([1.0, 2.0]))
    check(tf.constant("a"))
    tf.function(check)(tf.constant([1.0, 2.0]))


def test_copies_and_pickles_are_equal():
    for value in ([1.5, 2.5], ["a", "b"], [], 7):
        t = tf.constant(value)
        for other in (copy.copy(t), copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
            assert other.dtype == t.dtype
            assert_same(other.numpy(), t.numpy())


# --- indexing, judged by NumPy ---

DIMS = (3, 4, 5)
ARRAY = np.arange(60).reshape(DIMS)
BOUND = st.none() | st.integers(-7, 7)
STEP = st.none() | st.integers(-3, 3).filter(bool)


@st.composite
def keys(draw):
    """A key of ints, slices, new axes and at most one ellipsis."""
    out, dimension = [], 0
    while dimension < draw(st.integers(0, 3)):
        kind = draw(st.sampled_from(["int", "slice", "new"]))
        if kind == "new":
            out.append(None)
            if len(out) > 6:
                break
            continue
        size = DIMS[dimension]
        out.append(
            draw(st.integers(-size, size - 1))
            if kind == "int"
            else slice(draw(BOUND), draw(BOUND), draw(STEP))
        )
        dimension += 1
    if draw(st.booleans()):
        out.append(Ellipsis)
        rest = 3 - dimension
        if rest and draw(st.booleans()):
            out.append(draw(st.integers(0, DIMS[2] - 1)))
    return tuple(out)


@settings(max_examples=300, deadline=None)
@given(keys())
def test_indexing_agrees_with_numpy(key):
    expected = ARRAY[key]
    assert_same(tf.constant(ARRAY)[key].numpy(), expected)


@settings(max_examples=25, deadline=None)
@given(keys())
def test_traced_indexing_agrees_with_numpy(key):
    assert_same(both_ways(lambda t: t[key], ARRAY).numpy(), ARRAY[key])


def test_indices_may_be_tensors():
    x = tf.constant(ARRAY)
    i = tf.constant(2)
    assert_same(x[i].numpy(), ARRAY[2])
    assert_same(x[tf.constant(1) : i, ..., i].numpy(), ARRAY[1:2, ..., 2])
    assert_same(both_ways(lambda t, k: t[k, k:], ARRAY, np.array(1, "int32")).numpy(), ARRAY[1, 1:])
    assert_same(x[x > 30].numpy(), ARRAY[ARRAY > 30])


def test_an_index_outside_of_the_tensor_is_an_error():
    x = tf.constant([1, 2, 3])
    for key in (3, -4):
        for error in (IndexError, tf.errors.InvalidArgumentError):
            with pytest.raises(error, match=r"index -?[34] of dimension 0 out of bounds"):
                x[key]
    with pytest.raises((IndexError, ValueError)):
        x[0, 0]
    with pytest.raises((ValueError, TypeError)):
        x[::0]
    with pytest.raises((TypeError, IndexError)):
        x["a"]
    with pytest.raises((TypeError, IndexError)):
        x[1.5]


# --- text ---


@pytest.mark.parametrize(
    ("value", "dtype", "shown", "plain"),
    [
        (1, "int32", "1", "1"),
        (250, "uint8", "250", "250"),
        (0.1, "float32", "0.10000000149011612", "0.1"),
        (0.1, "float64", "0.1", "0.1"),
        (1e10, "float32", "10000000000.0", "1e+10"),
        (1 / 3, "float16", "0.333251953125", "0.3333"),
        (0.333984375, "bfloat16", "0.333984375", "0.333984"),
        (float("-inf"), "float32", "-inf", "-inf"),
        (1 + 2j, "complex64", "(1+2j)", "(1+2j)"),
        (True, "bool", "True", "True"),
        ("\xe9'", "string", """b"\\xc3\\xa9'\"""", """b"\\xc3\\xa9'\""""),
    ],
)
def test_a_scalar_is_shown_as_python_shows_it_and_printed_in_the_digits_of_its_dtype(
    value, dtype, shown, plain
):
    tensor = tf.constant(value, dtype)
    assert repr(tensor) == f"<tf.Tensor: shape=(), dtype={dtype}, numpy={shown}>"
    assert str(tensor) == f"tf.Tensor({plain}, shape=(), dtype={dtype})"
    assert f"{tensor}" == shown
    assert (
        repr(tf.Variable(value, name="v", dtype=dtype))
        == f"<tf.Variable 'v:0' shape=() dtype={dtype}, numpy={shown}>"
    )


def test_text_of_more_than_one_line_starts_on_a_line_of_its_own():
    matrix = tf.constant([[1.5, 2.0], [3.0, -4.0]])
    array = "array([[ 1.5,  2. ],\n       [ 3. , -4. ]], dtype=float32)"
    assert repr(matrix) == f"<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\n{array}>"
    assert str(matrix) == "tf.Tensor(\n[[ 1.5  2. ]\n [ 3.  -4. ]], shape=(2, 2), dtype=float32)"
    assert f"{matrix}" == "[[ 1.5  2. ]\n [ 3.  -4. ]]"
    variable = tf.Variable(matrix, name="w")
    assert str(variable) == f"<tf.Variable 'w:0' shape=(2, 2) dtype=float32, numpy=\n{array}>"
    many = str(tf.reshape(tf.range(4000), [40, 100]))
    assert many.startswith("tf.Tensor(\n[[   0    1    2 ...   97   98   99]\n")
    assert len(many.splitlines()) == 8


def test_vectors_are_shown_on_one_line():
    assert (
        repr(tf.constant([1, 2])) == "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>"
    )
    assert repr(tf.constant([1], tf.int64)) == "<tf.Tensor: shape=(1,), dtype=int64, numpy=array([1])>"
    assert str(tf.constant([[1.0]])) == "tf.Tensor([[1.]], shape=(1, 1), dtype=float32)"
    assert str(tf.zeros([0])) == "tf.Tensor([], shape=(0,), dtype=float32)"
    assert str(tf.constant(["a", "\0"])) == "tf.Tensor([b'a' b'\\x00'], shape=(2,), dtype=string)"


def test_a_format_is_that_of_the_value():
    assert f"{tf.constant(2.5):.3f}" == "2.500"
    assert f"{tf.constant(7):>4d}" == "   7"
    assert f"{tf.constant(2.5)!r:>4}" == repr(tf.constant(2.5))
    for value in (tf.constant([1.0]), tf.constant("a")):
        with pytest.raises(TypeError, match="unsupported format string"):
            f"{value:.3f}"


def test_symbolic_tensors_are_shown_by_name():
    texts = []

    @tf.function
    def f(x):
        texts.extend([repr(x), str(x)])
        return x

    f.get_concrete_function(tf.TensorSpec([None, 2], tf.float32, "x"))
    assert texts == [
        "<tf.Tensor 'x:0' shape=(None, 2) dtype=float32>",
        'Tensor("x:0", shape=(None, 2), dtype=float32)',
    ]


def test_dtype_properties():
    assert repr(tf.float32) == "tf.float32"
    assert tf.float32.is_floating
    assert not tf.float32.is_integer
    assert tf.uint8.max == 255
    assert tf.int8.min == -128
    assert tf.bfloat16.name == "bfloat16"
    assert tf.as_dtype("int64") is tf.int64 or tf.as_dtype("int64") == tf.int64
    assert tf.as_dtype(np.float16) == tf.float16
    for dtype in (tf.float32, tf.string, tf.bfloat16, tf.bool):
        assert tf.as_dtype(dtype.as_datatype_enum) == dtype
    for other in (0, -1, 1000, 2**70, True):
        with pytest.raises(TypeError, match="to a DType"):
            tf.as_dtype(other)
    assert tf.double == tf.float64
    assert tf.half == tf.float16
    assert tf.float32 == "float32"
    assert hash(tf.int32) == hash(tf.as_dtype("int32"))
    with pytest.raises(TypeError):
        tf.as_dtype("float33")


def test_conversion_functions_can_be_registered():
    class Celsius:
        def __init__(self, degrees):
            self.degrees = degrees

    def convert(value, dtype=None, name=None, as_ref=False):
        return tf.constant(value.degrees, dtype or tf.float32)

    tf.register_tensor_conversion_function(Celsius, convert)
    assert tf.convert_to_tensor(Celsius(21.5)).numpy() == np.float32(21.5)
    assert tf.add(Celsius(1.0), 2.0).numpy() == 3
    with pytest.raises(TypeError, match="conversion_func"):
        tf.register_tensor_conversion_function(Celsius, 3)


def test_objects_may_convert_themselves():
    class Own:
        def __tf_tensor__(self, dtype=None, name=None):
            return tf.constant([1, 2])

    assert tf.reduce_sum(Own()).numpy() == 3


def test_a_known_shape_is_a_vector_of_its_sizes():
    x = tf.ones([2, 3])
    assert tf.convert_to_tensor(x.shape).dtype == tf.int32
    assert tf.constant(x.shape, tf.int64).numpy().tolist() == [2, 3]
    assert tf.constant(tf.TensorShape([2**31])).dtype == tf.int64
    assert tf.concat([x.shape, [4]], 0).numpy().tolist() == [2, 3, 4]
    assert tf.stack([x.shape, x.shape]).shape == [2, 2]
    assert tf.reduce_prod(x.shape).numpy() == 6
    assert tf.function(lambda a: a.shape)(x).numpy().tolist() == [2, 3]
    assert tf.constant(tf.TensorShape([])).shape == [0]
    for unknown in (tf.TensorShape([None, 2]), tf.TensorShape(None)):
        with pytest.raises(ValueError, match="partially known"):
            tf.convert_to_tensor(unknown)


@pytest.mark.parametrize(
    ("dtype", "two"), [("float16", 2), ("float32", 2.0), ("float64", 2), ("complex64", 2), ("int32", 2)]
)
def test_a_power_that_is_written_as_2_is_a_product(dtype, two):
    x = (100 * np.random.default_rng(1).normal(size=500)).astype(dtype)
    product = tf.square(x)
    np.testing.assert_array_equal(tf.constant(x) ** two, product)
    np.testing.assert_array_equal(tf.function(lambda x: x**two)(x), product)
    np.testing.assert_array_equal(tf.Variable(x) ** two, product)


@pytest.mark.parametrize(
    "size", [3, np.int64(3), np.array(3), tf.constant(3), tf.constant(3, tf.int64), tf.Variable(3)]
)
def test_a_scalar_shape_is_that_of_a_vector(size):
    assert tf.zeros(size).numpy().tolist() == [0, 0, 0]
    assert tf.ones(size, tf.int32).shape == [3]
    assert tf.fill(size, 7).numpy().tolist() == [7, 7, 7]
    assert tf.reshape([1, 2, 3], size).shape == [3]
    assert tf.broadcast_to(1, size).shape == [3]
    assert tf.random.uniform(size).shape == [3]
    assert tf.random.Generator.from_seed(1).normal(size).shape == [3]
    assert tf.zeros_initializer()(size).shape == [3]
    if isinstance(size, tf.Tensor):
        assert tf.function(lambda n: tf.zeros(n))(size).numpy().tolist() == [0, 0, 0]


def test_a_tensor_has_a_dict_when_somebody_asks_and_cycles_through_it_are_collected():
    tensors = [tf.constant([float(i)]) for i in range(100)]
    assert all(vars(t) == {} for t in tensors[::2])
    for t in tensors:
        t.itself = t
    references = [weakref.ref(t) for t in tensors]
    assert all(r().itself is r() for r in references)
    del tensors, t
    gc.collect()
    assert all(r() is None for r in references)
