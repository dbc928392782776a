"""Functions of sparse operands: what they give is that of dense ones, and sparse where most of it is zero."""

import numpy as np
import pytest

import penstock as tf

keras = tf.keras
layers, ops = keras.layers, keras.ops


def sparse(array):
    return tf.sparse.from_dense(tf.constant(array))


def slices(array, rows):
    array = tf.constant(array)
    return tf.IndexedSlices(tf.gather(array, rows), tf.constant(rows), tf.constant(array.shape.as_list()))


def dense(x):
    return ops.convert_to_numpy(x)


A = np.array([[0.0, 0.5, 0.0, -0.5], [0.0, 0.0, 0.0, 0.0], [0.25, 0.0, 0.0, 0.75]], "float32")
B = np.array([[0.0, 2.0, 1.0, 0.0], [0.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, -1.0]], "float32")
WHOLE = np.arange(1.0, 13.0, dtype="float32").reshape(3, 4)
KINDS = {
    "SparseTensor": (sparse(A), sparse(B)),
    "IndexedSlices": (slices(A, [0, 2]), slices(B, [0, 1, 2])),
}


@pytest.fixture(params=[False, True], ids=["eagerly", "traced"])
def run(request):
    return (
        (lambda function, *args: tf.function(function)(*args)) if request.param else lambda f, *args: f(*args)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["absolute", "arctan", "expm1", "negative", "relu", "round", "square", "tanh"]
)
def test_a_function_of_which_zero_is_zero_keeps_places(kind, name, run):
    function, (x, _) = getattr(ops, name), KINDS[kind]
    made = run(function, x)
    if kind == "SparseTensor":
        assert isinstance(made, tf.SparseTensor)
        np.testing.assert_array_equal(made.indices.numpy(), x.indices.numpy())
    np.testing.assert_allclose(dense(made), dense(function(dense(x))), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["cos", "exp", "sigmoid", "softmax", "isfinite", "flip"])
def test_another_function_fills_up_with_zeros(kind, name, run):
    function, (x, _) = getattr(ops, name), KINDS[kind]
    made = run(function, x)
    assert type(made) is tf.Tensor
    np.testing.assert_allclose(dense(made), dense(function(dense(x))), rtol=1e-6)


# Whether the result is sparse or dense: of two sparse operands, of one and a tensor, of one and a number, and
# the last two in the other order.
SPARSENESS = {
    "add": "sdddd",
    "subtract": "sdddd",
    "maximum": "sdddd",
    "minimum": "sdddd",
    "multiply": "sssss",
    "divide": "dssdd",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SPARSENESS)
def test_functions_of_two_operands(kind, name, run):
    function, (x, y) = getattr(ops, name), KINDS[kind]
    pairs = [(x, y), (x, tf.constant(WHOLE)), (x, 2.0), (tf.constant(WHOLE), x), (2.0, x)]
    for (a, b), expected in zip(pairs, SPARSENESS[name], strict=True):
        made = run(function, a, b)
        assert (type(made).__name__ == kind) == (expected == "s"), (a, b)
        whole = [dense(v) if not isinstance(v, float) else v for v in (a, b)]
        np.testing.assert_allclose(dense(made), dense(function(*whole)), rtol=1e-6)


def test_dtypes_of_elements_are_promoted():
    made = ops.multiply(tf.cast(sparse(B), "int32"), sparse(A))
    assert (type(made), made.dtype) == (tf.SparseTensor, tf.float32)
    np.testing.assert_allclose(dense(made), A * B)
    assert ops.divide(tf.cast(sparse(B), "int32"), 2).dtype == tf.float32


def test_a_tensor_is_spread_over_a_sparse_one_and_the_other_way():
    row, column = WHOLE[0], WHOLE[:, :1]
    for x in (sparse(B), slices(B, [0, 1, 2])):
        for other in (row, WHOLE[:1], column):
            made = ops.multiply(x, other)
            assert type(made) is type(x)
            np.testing.assert_allclose(dense(made), B * other)
    for x in (sparse(B[:, 1:2]), slices(B[:, 1:2], [0])):
        made = ops.multiply(x, WHOLE)
        assert type(made) is tf.Tensor
        np.testing.assert_allclose(dense(made), B[:, 1:2] * WHOLE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_divisor_that_is_zero_or_no_number_shows(kind, run):
    divisor = np.where(WHOLE == 6, np.nan, np.where(WHOLE % 5 == 0, 0, WHOLE)).astype("float32")
    with np.errstate(all="ignore"):
        expected = A / divisor
    made = run(ops.divide, KINDS[kind][0], tf.constant(divisor))
    assert type(made).__name__ == kind
    np.testing.assert_allclose(dense(made), expected)


def test_slices_of_one_index_count_as_their_sum(run):
    x = tf.IndexedSlices([[1.0], [2.0], [4.0]], [3, 1, 3], [5, 1])
    np.testing.assert_allclose(dense(run(ops.square, x)).ravel(), [0, 4, 0, 25, 0])
    np.testing.assert_allclose(dense(run(ops.add, x, x)).ravel(), [0, 4, 0, 10, 0])
    np.testing.assert_allclose(dense(run(ops.multiply, x, x)).ravel(), [0, 4, 0, 25, 0])
    np.testing.assert_allclose(dense(run(ops.negative, x)).ravel(), [0, -2, 0, -5, 0])


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(axis, keepdims):
    for name in ("sum", "mean"):
        expected = getattr(np, name)(A, axis=axis, keepdims=keepdims)
        made = getattr(ops, name)(sparse(A), axis=axis, keepdims=keepdims)
        assert isinstance(made, tf.SparseTensor)
        np.testing.assert_allclose(dense(made), expected, rtol=1e-6)
        made = getattr(ops, name)(slices(A, [0, 2]), axis=axis, keepdims=keepdims)
        np.testing.assert_allclose(dense(made), expected, rtol=1e-6)


def test_arrangements_keep_a_sparse_tensor():
    x = np.arange(24.0, dtype="float32").reshape(2, 3, 4) % 5
    for function in (
        lambda x: ops.reshape(x, (6, -1)),
        lambda x: ops.transpose(x, (2, 0, 1)),
        lambda x: ops.expand_dims(x, (0, 2)),
        lambda x: ops.squeeze(ops.expand_dims(x, 1)),
        lambda x: ops.concatenate([x, x], axis=-1),
    ):
        made = function(sparse(x))
        assert isinstance(made, tf.SparseTensor)
        np.testing.assert_array_equal(dense(made), dense(function(x)))
    assert type(ops.concatenate([sparse(x), x])) is tf.Tensor
    with pytest.raises(ValueError, match="Cannot squeeze axis=1"):
        ops.squeeze(sparse(x), 1)


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)], ids=str)
def test_products_of_sparse_matrices(shape, run):
    rng = np.random.default_rng(0)
    a, b = rng.random((*shape, 3, 4)).astype("float32"), rng.random((*shape, 4, 5)).astype("float32")
    a, b = a * (a < 0.5), b * (b < 0.5)
    for x, y in ((sparse(a), b), (a, sparse(b)), (sparse(a), sparse(b))):
        made = run(ops.matmul, x, y)
        assert isinstance(made, tf.SparseTensor) == (
            isinstance(x, tf.SparseTensor) and x is not y and isinstance(y, tf.SparseTensor)
        )
        np.testing.assert_allclose(dense(made), a @ b, rtol=1e-5, atol=1e-6)


def test_products_with_vectors_and_of_integers():
    x = sparse(np.array([[0, 2], [3, 0]]))
    assert dense(ops.matmul(x, np.array([1, 5]))).tolist() == [10, 3]
    assert dense(ops.matmul(x, x)).tolist() == [[6, 0], [0, 6]]
    assert ops.matmul(x, np.array([[0.5], [1.5]], "float32")).dtype == tf.float32


def test_gradients_of_sparse_products():
    x, w = sparse(A), tf.Variable(np.ones((4, 2), "float32"))
    with tf.GradientTape() as tape:
        tape.watch(x.values)
        loss = ops.sum(ops.matmul(x, w) * np.array([1.0, 2.0], "float32"))
    of_values, of_w = tape.gradient(loss, (x.values, w))
    np.testing.assert_allclose(of_values.numpy(), [3, 3, 3, 3])
    assert isinstance(of_w, tf.IndexedSlices)
    np.testing.assert_allclose(dense(of_w), A.sum(0)[:, None] * [1, 2])


def test_classes_and_counts_are_sparse_where_they_are_asked_to_be(run):
    classes = np.array([[1, -1, 3], [0, 0, 7]])
    for axis in (0, 1, -1):
        made = run(lambda axis=axis: ops.one_hot(classes, 4, axis=axis, sparse=True))
        assert isinstance(made, tf.SparseTensor)
        np.testing.assert_array_equal(dense(made), dense(ops.one_hot(classes, 4, axis=axis)))
    made = run(lambda: ops.multi_hot(classes, 4, sparse=True))
    assert isinstance(made, tf.SparseTensor)
    np.testing.assert_array_equal(dense(made), [[0, 1, 0, 1], [1, 0, 0, 0]])
    counts = ops.bincount(np.array([1, 1, 3]), weights=np.array([0.5, 1.0, 2.0], "float32"), sparse=True)
    assert (type(counts), counts.dtype) == (tf.SparseTensor, tf.float32)
    np.testing.assert_array_equal(dense(counts), [0, 1.5, 0, 2])


def test_specifications_of_symbolic_sparse_operands():
    from keras.src.backend import compute_output_spec  # once `tf.keras` has chosen the backend

    x = keras.KerasTensor((None, 3, 4), sparse=True)
    found = compute_output_spec(
        lambda x: (
            ops.tanh(x),
            ops.reshape(x, (-1, 12)),
            ops.matmul(x, np.ones((4, 2), "float32")),
            ops.exp(x),
        ),
        x,
    )
    assert [(y.shape, y.sparse) for y in found[:2]] == [((None, 3, 4), True), ((None, 12), True)]
    assert [(y.shape, y.sparse) for y in found[2:]] == [((None, 3, 2), False), ((None, 3, 4), False)]


def trained(name, run, filled):
    v = keras.Variable(np.ones((40, 2), "float32"))
    optimizer = getattr(keras.optimizers, name)(0.1)
    optimizer.build([v])

    def step(indices):
        gradient = tf.IndexedSlices(tf.ones([3, 2]), indices, [40, 2])
        optimizer.apply([tf.convert_to_tensor(gradient) if filled else gradient], [v])

    for indices in ([1, 5, 1], [5, 7, 30]):
        run(step, tf.constant(indices))
    return v.numpy()


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "Adam", "RMSprop"])
def test_an_optimizer_changes_the_rows_of_slices_as_those_of_a_tensor(name, run):
    np.testing.assert_allclose(trained(name, run, False), trained(name, run, True), rtol=1e-6)
