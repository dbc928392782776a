"""Sparse tensors: `tf.sparse` beside NumPy and SciPy; in functions, loops and data sets."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings, strategies as st

import penstock as tf

SOME = settings(max_examples=15, deadline=None)


def dense(rank=2, dtype="float32"):
    """Arrays most of whose elements are 0, some without elements."""
    shapes = st.lists(st.integers(0, 4), min_size=rank, max_size=rank)
    values = st.sampled_from([0, 0, 0, 1, -2, 3])
    return shapes.flatmap(
        lambda shape: st.lists(values, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))).map(
            lambda flat: np.array(flat, dtype).reshape(shape)
        )
    )


def whole(x):
    return tf.sparse.to_dense(x).numpy()


def shuffled(x, seed=0):
    """The same elements in another order."""
    order = np.random.default_rng(seed).permutation(x.values.shape[0])
    return tf.SparseTensor(x.indices.numpy()[order], x.values.numpy()[order], x.dense_shape)


def in_graph(function, *arguments):
    """What a function makes of arguments whose extents its trace does not know."""
    specs = [tf.SparseTensorSpec([None] * x.shape.rank, x.dtype) for x in arguments]
    return tf.function(function, input_signature=specs)(*arguments)


@SOME
@given(dense(3))
def test_elements_go_into_sparse_tensors_and_back(a):
    x = tf.sparse.from_dense(a)
    np.testing.assert_array_equal(x.indices.numpy(), np.argwhere(a))
    np.testing.assert_array_equal(whole(x), a)
    assert x.shape == list(a.shape)
    again = tf.sparse.reorder(shuffled(x))
    np.testing.assert_array_equal(again.indices.numpy(), x.indices.numpy())
    np.testing.assert_array_equal(again.values.numpy(), x.values.numpy())
    np.testing.assert_array_equal(whole(in_graph(tf.sparse.reorder, shuffled(x))), a)


def test_other_elements_than_numbers():
    for a in ([["", "b"], ["c", ""]], [[True, False]]):
        np.testing.assert_array_equal(whole(tf.sparse.from_dense(a)), tf.constant(a).numpy())
    filled = tf.sparse.to_dense(tf.SparseTensor([[1]], ["b"], [2]), default_value="a")
    assert filled.numpy().tolist() == [b"a", b"b"]
    assert whole(tf.SparseTensor([], [], [0, 3])).shape == (0, 3)
    assert whole(tf.SparseTensor(np.zeros([1, 0], "int64"), [5], [])) == 5


def test_places_must_be_in_order_and_within():
    for indices in ([[1], [0]], [[1], [1]], [[3], [4]], [[-1], [0]]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="indices"):
            tf.sparse.to_dense(tf.SparseTensor(indices, [1, 2], [3]))
    with pytest.raises(ValueError, match="'indices' has 1 places"):
        tf.SparseTensor([[1]], [1, 2], [3])
    with pytest.raises(ValueError, match="2 dimensions"):
        tf.SparseTensor([[1, 2]], [1], [3])
    with pytest.raises(TypeError, match="int64"):
        tf.SparseTensor([[1.0]], [1], [3])


@SOME
@given(dense(3), st.permutations(range(3)), st.data())
def test_layout_is_that_of_arrays(a, perm, data):
    x = shuffled(tf.sparse.from_dense(a))
    np.testing.assert_array_equal(whole(tf.sparse.transpose(x, perm)), a.transpose(perm))
    np.testing.assert_array_equal(
        whole(in_graph(lambda x: tf.sparse.transpose(x, perm), x)), a.transpose(perm)
    )
    x = tf.sparse.from_dense(a)
    np.testing.assert_array_equal(whole(tf.sparse.reshape(x, [a.size])), a.reshape(-1))
    if a.size:
        shape = [a.shape[2], -1, a.shape[0]]
        np.testing.assert_array_equal(whole(tf.sparse.reshape(x, shape)), a.reshape(shape))
        np.testing.assert_array_equal(
            whole(in_graph(lambda x: tf.sparse.reshape(x, shape), x)), a.reshape(shape)
        )
    start = [data.draw(st.integers(0, n)) for n in a.shape]
    size = [data.draw(st.integers(0, 4)) for _ in a.shape]
    cut = a[tuple(slice(s, s + n) for s, n in zip(start, size, strict=True))]
    np.testing.assert_array_equal(whole(tf.sparse.slice(x, start, size)), cut)
    np.testing.assert_array_equal(whole(tf.sparse.expand_dims(x, 1)), a[:, None])
    np.testing.assert_array_equal(whole(tf.sparse.expand_dims(x)), a[..., None])
    np.testing.assert_array_equal(whole(tf.sparse.concat(1, [x, x, x])), np.concatenate([a, a, a], 1))
    parts = tf.sparse.split(x, 2, axis=2)
    np.testing.assert_array_equal(np.concatenate([whole(p) for p in parts], 2), a)
    assert parts[0].shape[2] - parts[1].shape[2] in (0, 1)
    np.testing.assert_array_equal(whole(x[:, 1:-1]), a[:, 1:-1])
    for i in range(a.shape[0]):
        np.testing.assert_array_equal(whole(x[i]), a[i])
        np.testing.assert_array_equal(whole(in_graph(lambda x, i=i: x[i - a.shape[0]], x)), a[i])


def test_a_wrong_layout_is_refused():
    x = tf.sparse.from_dense([[1, 2], [0, 4]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="'shape' must have 4 elements"):
        tf.sparse.reshape(x, [3])
    with pytest.raises(ValueError, match="'perm'"):
        tf.sparse.transpose(x, [0, 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="'axis'"):
        tf.sparse.concat(0, [x, tf.sparse.from_dense([[1, 2, 3]])])
    wide = tf.sparse.concat(0, [x, tf.sparse.from_dense([[1, 2, 3]])], expand_nonconcat_dims=True)
    assert whole(wide).tolist() == [[1, 2, 0], [0, 4, 0], [1, 2, 3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="'to_retain'"):
        tf.sparse.retain(x, [True])
    with pytest.raises(tf.errors.InvalidArgumentError, match="'new_shape'"):
        tf.sparse.reset_shape(x, [1, 2])
    with pytest.raises(TypeError, match="SparseTensor"):
        tf.sparse.reorder(tf.constant([1]))
    with pytest.raises(ValueError, match="steps of 1"):
        x[::2]


@SOME
@given(dense(2), st.sampled_from([None, 0, 1, -1, [0, 1]]), st.booleans())
def test_reductions_and_sums_are_those_of_arrays(a, axis, keepdims):
    x = tf.sparse.from_dense(a)
    axes = tuple(axis) if isinstance(axis, list) else axis
    want = a.sum(axis=axes, keepdims=keepdims)
    np.testing.assert_allclose(tf.sparse.reduce_sum(x, axis, keepdims).numpy(), want)
    np.testing.assert_allclose(whole(tf.sparse.reduce_sum(x, axis, keepdims, output_is_sparse=True)), want)
    np.testing.assert_allclose(in_graph(lambda x: tf.sparse.reduce_sum(x, axis, keepdims), x).numpy(), want)
    masked = np.ma.masked_equal(a, 0)
    want = np.ma.filled(masked.max(axis=axes, keepdims=keepdims), 0) if a.size else want
    np.testing.assert_allclose(tf.sparse.reduce_max(x, axis, keepdims).numpy(), want)
    b = np.roll(a, 1)
    y = tf.sparse.from_dense(b)
    np.testing.assert_allclose(whole(tf.sparse.add(x, y)), a + b)
    np.testing.assert_allclose(whole(in_graph(tf.sparse.add, x, y)), a + b)
    np.testing.assert_allclose(tf.sparse.add(b, x).numpy(), a + b)
    np.testing.assert_allclose(whole(tf.sparse.maximum(x, y)), np.maximum(a, b))
    np.testing.assert_allclose(whole(tf.sparse.minimum(x, y)), np.minimum(a, b))
    # The threshold is for elements that both have, as in TensorFlow.
    there = ((a != 0) | (b != 0)) & ((np.abs(a + b) >= 2) | (a == 0) | (b == 0))
    assert tf.sparse.add(x, y, threshold=2).values.numpy().tolist() == (a + b)[there].tolist()
    np.testing.assert_allclose(whole(x * 2.0), a * 2)
    np.testing.assert_allclose(whole(x / (np.abs(b) + 1)), a / (np.abs(b) + 1))


@SOME
@given(dense(2), st.integers(0, 3), st.booleans(), st.booleans())
def test_products_are_those_of_scipy(a, width, adjoint_a, adjoint_b):
    x = tf.sparse.from_dense(a)
    rows = a.shape[0] if adjoint_a else a.shape[1]
    b = np.arange(rows * width, dtype="float32").reshape([rows, width])
    turned_a = a.T if adjoint_a else a
    want = scipy.sparse.csr_array(turned_a) @ b if turned_a.size and width else turned_a @ b
    given_b = b.T.copy() if adjoint_b else b
    made = tf.sparse.sparse_dense_matmul(x, given_b, adjoint_a, adjoint_b)
    np.testing.assert_allclose(made.numpy(), want)
    turned = tf.sparse.sparse_dense_matmul(given_b, x, not adjoint_b, not adjoint_a)
    np.testing.assert_allclose(turned.numpy(), want.T)


def test_products_have_gradients():
    a = np.array([[0, 2.0, 0], [1, 0, 3]], "float32")
    x, b = tf.sparse.from_dense(a), tf.constant(np.arange(6.0, dtype="float32").reshape(3, 2))
    with tf.GradientTape() as tape:
        tape.watch([x.values, b])
        y = tf.reduce_sum(tf.sparse.sparse_dense_matmul(x, b) ** 2)
    by_values, by_b = tape.gradient(y, [x.values, b])
    outer = 2 * (a @ b.numpy())
    np.testing.assert_allclose(by_b.numpy(), a.T @ outer)
    np.testing.assert_allclose(by_values.numpy(), (outer @ b.numpy().T)[a != 0])
    z = tf.constant([[1 + 2j, 0]], tf.complex64)
    product = tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(z), [[1j]], adjoint_a=True)
    np.testing.assert_allclose(product.numpy(), [[2 + 1j], [0]])


def test_softmax_is_over_the_elements_that_there_are():
    a = np.array([[[0, 1.0, 800.0], [0, 0, 0]], [[-5, 0, 0], [1, 1, 1]]], "float32")
    x = tf.sparse.from_dense(a)
    made = tf.sparse.softmax(x)
    with np.errstate(invalid="ignore"):
        powers = np.where(a != 0, np.exp(a - a.max(-1, keepdims=True)), 0)
        want = np.nan_to_num(powers / powers.sum(-1, keepdims=True))
    np.testing.assert_allclose(whole(made), want)
    np.testing.assert_allclose(whole(in_graph(tf.sparse.softmax, x)), want)


def test_rows_are_filled_and_marked():
    x = tf.SparseTensor([[0, 1], [2, 0], [2, 1]], [5, 6, 7], [4, 3])
    filled, empty = tf.sparse.fill_empty_rows(x, -1)
    assert whole(filled).tolist() == [[0, 5, 0], [-1, 0, 0], [6, 7, 0], [-1, 0, 0]]
    assert empty.numpy().tolist() == [False, True, False, True]
    assert tf.sparse.to_indicator(x, 8).numpy().argmax(1).tolist() == [5, 0, 6, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="vocab_size"):
        tf.sparse.to_indicator(x, 7)
    with pytest.raises(ValueError, match="at least one"):
        tf.sparse.map_values(tf.add, 1, 2)


@SOME
@given(dense(2, "int32").map(np.abs), st.sampled_from([None, 2]), st.sampled_from([None, 5]))
def test_counts(a, most, least):
    counted = tf.sparse.bincount(a, axis=-1, minlength=least, maxlength=most)
    width = max(least or 0, min(int(a.max(initial=-1)) + 1, 99 if most is None else most))
    want = np.array([np.bincount(row, minlength=width)[:width] for row in a], "int64")
    if most is None:
        np.testing.assert_array_equal(whole(counted), want.reshape(len(a), width))
        x = tf.sparse.from_dense(a)
        rows = [np.bincount(row[row != 0], minlength=width) for row in a]
        ours = whole(tf.sparse.bincount(x, axis=-1, minlength=width))
        np.testing.assert_array_equal(ours, np.array(rows, "int64").reshape(len(a), width))
    flat = tf.sparse.bincount(a, maxlength=most, binary_output=True)
    known = np.unique(a[a < 99 if most is None else a < most])
    assert flat.indices.numpy()[:, 0].tolist() == known.tolist()
    weighted = tf.sparse.bincount([1, 1, 3], weights=[0.5, 0.25, 2.0])
    assert weighted.values.numpy().tolist() == [0.75, 2.0]


@pytest.mark.parametrize("function", ["segment_sum", "segment_mean", "segment_sqrt_n"])
def test_segments_of_chosen_rows(function):
    data = np.arange(8.0, dtype="float32").reshape(4, 2)
    indices, ids = [3, 0, 0, 2], [0, 0, 2, 2]
    groups = [data[[3, 0]], data[:0], data[[0, 2]]]
    scale = {"segment_sum": lambda n: 1, "segment_mean": max, "segment_sqrt_n": np.sqrt}[function]
    want = [
        g.sum(0) / (scale(len(g)) if function != "segment_mean" else max(len(g), 1)) if len(g) else g.sum(0)
        for g in groups
    ]
    made = getattr(tf.sparse, function)
    np.testing.assert_allclose(made(data, indices, ids).numpy(), want)
    np.testing.assert_allclose(made(data, indices, ids, num_segments=5).numpy()[:3], want)
    with pytest.raises(tf.errors.InvalidArgumentError, match="descend"):
        made(data, [0, 1], [1, 0])


def test_crosses_are_those_of_tensorflow():
    features = [tf.sparse.from_dense([["a", "b"], ["c", ""]]), tf.constant([["x"], ["y"]])]
    crossed = tf.sparse.cross(features)
    assert whole(crossed).tolist() == [[b"a_X_x", b"b_X_x"], [b"c_X_y", b""]]
    assert tf.sparse.cross(features, separator="-").values.numpy()[0] == b"a-x"
    # As TensorFlow 2's documentation of `tf.raw_ops.SparseCrossV2` has it for num_buckets=100.
    hashed = tf.sparse.cross_hashed([tf.constant([["batch1-FC1-F1"]]), tf.constant([["batch1-FC2-F1"]])])
    assert hashed.dtype == tf.int64
    bounded = tf.sparse.cross_hashed(features, num_buckets=10)
    assert bounded.shape == [2, 2]
    assert set(bounded.values.numpy().tolist()) <= set(range(10))
    assert tf.sparse.cross([tf.constant([[1, 2]]), tf.constant([[3]])]).values.numpy().tolist() == [
        b"1_X_3",
        b"2_X_3",
    ]


@SOME
@given(
    st.lists(st.tuples(*[st.lists(st.integers(0, 5), min_size=3, max_size=3)] * 2), min_size=1, max_size=3)
)
def test_sets_are_those_of_python(rows):
    a, b = ([row[k] for row in rows] for k in (0, 1))
    for function, want in (
        (tf.sets.union, lambda x, y: x | y),
        (tf.sets.intersection, lambda x, y: x & y),
        (tf.sets.difference, lambda x, y: x - y),
        (lambda a, b: tf.sets.difference(a, b, aminusb=False), lambda x, y: y - x),
    ):
        made = function(a, b)
        found = [[] for _ in rows]
        for (row, _), value in zip(made.indices.numpy(), made.values.numpy(), strict=True):
            found[row].append(value)
        wanted = [sorted(want(set(x), set(y))) for x, y in zip(a, b, strict=True)]
        assert found == wanted
        assert made.shape == [len(rows), max(map(len, wanted))]
        assert tf.sets.size(made).numpy().tolist() == [len(x) for x in wanted]
    words = tf.sets.intersection([["a", "b"]], [["b", "c"]])
    assert words.values.numpy().tolist() == [b"b"]


def test_sparse_tensors_go_through_functions_branches_and_loops():
    x = tf.sparse.from_dense([[0.0, 2.0], [3.0, 0.0]])

    @tf.function
    def doubled(x, flag):
        if flag:
            x = x.with_values(x.values * 2)
        return x

    assert whole(doubled(x, tf.constant(True))).tolist() == [[0, 4], [6, 0]]
    assert whole(doubled(x, tf.constant(False))).tolist() == [[0, 2], [3, 0]]
    assert doubled.experimental_get_tracing_count() == 1
    concrete = doubled.get_concrete_function(tf.SparseTensorSpec([None, 2]), tf.TensorSpec([], tf.bool))
    assert concrete.structured_outputs.shape.as_list() == [None, 2]

    @tf.function
    def grown(x):
        for _ in tf.range(3):
            x = tf.sparse.add(x, x)
        return x

    assert whole(grown(x)).tolist() == [[0, 16], [24, 0]]
    seen = tf.py_function(lambda s: s.with_values(s.values + 1), [x], tf.SparseTensorSpec([2, 2]))
    assert whole(seen).tolist() == [[0, 3], [4, 0]]
    assert tf.nest.flatten(x, expand_composites=True)[1] is x.values


def test_data_sets_hold_sparse_tensors(tmp_path):
    a = np.array([[0, 1, 0], [2, 0, 0], [0, 0, 0], [0, 4, 5]])
    ds = tf.data.Dataset.from_tensor_slices(tf.sparse.from_dense(a))
    assert ds.element_spec == tf.SparseTensorSpec([3], tf.int64)
    np.testing.assert_array_equal([whole(x) for x in ds], a)
    batches = list(ds.map(lambda x: x.with_values(x.values * 2)).batch(3))
    assert [b.shape.as_list() for b in batches] == [[3, 3], [1, 3]]
    np.testing.assert_array_equal(np.concatenate([whole(b) for b in batches]), a * 2)
    np.testing.assert_array_equal([whole(x) for x in ds.batch(2).unbatch()], a)
    ds.save(str(tmp_path / "saved"))
    np.testing.assert_array_equal([whole(x) for x in tf.data.Dataset.load(str(tmp_path / "saved"))], a)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
def test_embeddings_are_combined_by_row(combiner, weighted):
    table = np.arange(8.0, dtype="float32").reshape(4, 2)
    rows, weights = [[0, 3], [], [2, 2, 1]], [[1.0, 2.0], [], [0.5, 1.0, 3.0]]
    want = np.zeros([3, 2], "float32")
    for i, row in enumerate(rows):
        w = np.array(weights[i] if weighted else np.ones(len(row)))
        scale = {"sum": 1, "mean": w.sum(), "sqrtn": np.sqrt((w**2).sum())}[combiner]
        if row:
            want[i] = (table[row] * w[:, None]).sum(0) / scale
    ids, by = tf.ragged.constant(rows, tf.int64, ragged_rank=1), tf.ragged.constant(weights, tf.float32)
    for make in (lambda x: x, lambda x: x.to_sparse()):
        made = tf.nn.embedding_lookup_sparse(table, make(ids), make(by) if weighted else None, combiner)
        np.testing.assert_allclose(made.numpy(), want, rtol=1e-6)
        parts = [table[:2], table[2:]]
        safe = tf.nn.safe_embedding_lookup_sparse(parts, make(ids), make(by) if weighted else None, combiner)
        np.testing.assert_allclose(safe.numpy(), want, rtol=1e-6)
    variable = tf.Variable(table)
    with tf.GradientTape() as tape:
        y = tf.nn.embedding_lookup_sparse(variable, ids, None, "sum")
    gradient = tape.gradient(y, variable)
    np.testing.assert_array_equal(tf.convert_to_tensor(gradient).numpy()[:, 0], [1, 1, 2, 1])


def test_embeddings_of_invalid_numbers():
    table = tf.constant([[1.0], [2.0], [4.0]])
    ids = tf.SparseTensor([[0, 0, 0], [0, 0, 1], [1, 1, 0]], [2, -1, 0], [2, 2, 2])
    weights = tf.SparseTensor(ids.indices, [1.0, 1.0, 0.0], [2, 2, 2])
    made = tf.nn.safe_embedding_lookup_sparse(table, ids, weights, default_id=1)
    assert made.numpy().tolist() == [[[4.0], [2.0]], [[2.0], [2.0]]]
    assert tf.nn.safe_embedding_lookup_sparse(table, ids).numpy()[0, 1] == 0
    with pytest.raises(ValueError, match="combiner"):
        tf.nn.embedding_lookup_sparse(table, ids, None, "max")


# As TensorFlow shows it.
def test_a_sparse_tensor_is_shown_by_its_parts():
    tensor = tf.SparseTensor([[0, 1]], [1.0], [3, 4])
    assert (
        str(tensor)
        == repr(tensor)
        == (
            "SparseTensor(indices=tf.Tensor([[0 1]], shape=(1, 2), dtype=int64), "
            "values=tf.Tensor([1.], shape=(1,), dtype=float32), "
            "dense_shape=tf.Tensor([3 4], shape=(2,), dtype=int64))"
        )
    )
    with tf.Graph().as_default():
        placed = tf.compat.v1.placeholder(tf.int64, [None, 2], name="p")
        assert 'indices=Tensor("p:0", shape=(None, 2), dtype=int64)' in str(
            tf.SparseTensor(placed, [1.0], [3, 4])
        )


def test_extents_that_are_known_stay_known_while_a_function_is_traced():
    found = {}

    @tf.function(
        input_signature=[tf.SparseTensorSpec([None, 3, 4]), tf.SparseTensorSpec([2, None, 4])],
        autograph=False,
    )
    def shapes(x, y):
        made = {
            "expand_dims": tf.sparse.expand_dims(x, -1),
            "concat of rows": tf.sparse.concat(0, [x, y]),
            "concat of columns": tf.sparse.concat(1, [x, y]),
            "concat of other extents": tf.sparse.concat(1, [x, y], expand_nonconcat_dims=True),
            "reshape": tf.sparse.reshape(x, [-1, 12]),
            "reshape to a size": tf.sparse.reshape(x, [tf.shape(x)[0], 12]),
            "reduce_sum": tf.sparse.reduce_sum(x, 1, output_is_sparse=True),
        }
        found.update({name: value.shape.as_list() for name, value in made.items()})
        return made

    shapes.get_concrete_function()
    assert found == {
        "expand_dims": [None, 3, 4, 1],
        "concat of rows": [None, 3, 4],
        "concat of columns": [2, None, 4],
        "concat of other extents": [None, None, 4],
        "reshape": [None, 12],
        "reshape to a size": [None, 12],
        "reduce_sum": [None, 4],
    }
    x = tf.sparse.from_dense(np.arange(24).reshape(2, 3, 4))
    whole = tf.sparse.to_dense(tf.cast(x, tf.float32)).numpy()
    made = shapes(tf.cast(x, tf.float32), tf.cast(x, tf.float32))
    assert np.array_equal(tf.sparse.to_dense(made["reshape"]), whole.reshape(2, 12))
    assert np.array_equal(tf.sparse.to_dense(made["concat of rows"]), np.concatenate([whole, whole]))
