"""IndexedSlices as values of programs: arguments, results, loop variables, callbacks."""

import numpy as np
import pytest

import penstock as tf

TABLE = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def slices(values=((1.0, 2.0), (3.0, 4.0)), indices=(2, 0)):
    return tf.IndexedSlices(tf.constant(values), tf.constant(indices), tf.constant([3, 2]))


def dense(value):
    return tf.convert_to_tensor(value).numpy().tolist()


def test_a_function_returns_the_gradient_of_rows():
    table = tf.Variable(TABLE)

    @tf.function
    def grads(ids):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, ids) ** 2)
        return {"y": y, "g": tape.gradient(y, table)}

    found = grads(tf.constant([0, 2, 0]))
    assert isinstance(found["g"], tf.IndexedSlices)
    assert found["g"].indices.numpy().tolist() == [0, 2, 0]
    assert dense(found["g"]) == [[4.0, 8.0], [0.0, 0.0], [10.0, 12.0]]


def test_functions_take_slices_and_share_a_trace_by_type():
    @tf.function
    def f(s):
        return tf.reduce_sum(s.values), s, tf.convert_to_tensor(s)

    total, same, full = f(slices())
    assert float(total) == 10.0
    assert isinstance(same, tf.IndexedSlices)
    assert full.numpy().tolist() == [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]
    f(slices(indices=(1, 1)))
    assert f.experimental_get_tracing_count() == 1
    f(slices(values=((1.0, 2.0),), indices=(1,)))
    assert f.experimental_get_tracing_count() == 2


def test_slices_in_signatures():
    spec = tf.IndexedSlicesSpec([3, 2], tf.float32, tf.int32, tf.int32)
    f = tf.function(lambda s: s.values * 2.0, input_signature=[spec])
    assert f(slices()).numpy().tolist() == [[2.0, 4.0], [6.0, 8.0]]
    with pytest.raises(ValueError, match="must be IndexedSlicesSpec"):
        f(3.0)


def test_slices_in_loops_and_branches():
    @tf.function
    def f(n, s):
        for _ in tf.range(n):
            s = tf.IndexedSlices(s.values * 2.0, s.indices, s.dense_shape)
        return tf.cond(n > 2, lambda: s, lambda: -s)

    assert f(tf.constant(3), slices()).values.numpy().tolist() == [[8.0, 16.0], [24.0, 32.0]]
    assert f(tf.constant(1), slices()).values.numpy().tolist() == [[-2.0, -4.0], [-6.0, -8.0]]


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_callbacks_take_and_give_slices(wrap):
    spec = tf.IndexedSlicesSpec([3, 2], tf.float32, tf.int32, tf.int32)

    def body(s):
        assert isinstance(s, tf.IndexedSlices)
        return {
            "sum": tf.reduce_sum(s.values),
            "twice": tf.IndexedSlices(s.values * 2.0, s.indices, s.dense_shape),
        }

    f = wrap(lambda s: tf.py_function(body, [s], {"sum": tf.float32, "twice": spec}))
    found = f(slices())
    assert float(found["sum"]) == 10.0
    assert isinstance(found["twice"], tf.IndexedSlices)
    assert dense(found["twice"]) == [[6.0, 8.0], [0.0, 0.0], [2.0, 4.0]]


def test_gradients_go_through_slices_of_a_callback():
    spec = tf.IndexedSlicesSpec([3, 2], tf.float32, tf.int32, tf.int32)
    body = lambda x: tf.IndexedSlices(x * x, tf.constant([2, 0]), tf.constant([3, 2]))  # noqa: E731

    @tf.function
    def grad(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.convert_to_tensor(tf.py_function(body, [x], spec)) * 3.0)
        return tape.gradient(y, x)

    np.testing.assert_allclose(grad(tf.constant([[1.0, 2.0], [3.0, 4.0]])), [[6.0, 12.0], [18.0, 24.0]])


def test_optimizers_in_functions_take_returned_slices():
    table = tf.Variable(tf.ones([3, 2]))
    rows = tf.function(lambda: tf.gradients(tf.reduce_sum(tf.gather(table, [1])), table)[0])
    optimizer = tf.optimizers.SGD(0.5)
    step = tf.function(lambda: optimizer.apply_gradients([(rows(), table)]))
    step()
    assert table.numpy().tolist() == [[1.0, 1.0], [0.5, 0.5], [1.0, 1.0]]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", ["SGD", "Adagrad", "Adam", "AdamW", "RMSprop"])
def test_optimizers_take_slices_without_a_dense_shape(name, traced):
    rows = tf.IndexedSlices(tf.ones([2, 2]), tf.constant([1, 1]))
    whole = tf.constant([[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]])
    found = []
    for gradient in (rows, whole):
        table, optimizer = tf.Variable(tf.ones([3, 2])), getattr(tf.optimizers, name)(0.5)
        step = lambda g, o=optimizer, v=table: o.apply_gradients([(g, v)])  # noqa: E731
        (tf.function(step) if traced else step)(gradient)
        found.append(table.numpy().tolist())
    assert found[0] == found[1]


def test_slices_that_do_not_fit_the_variable_are_errors():
    table, optimizer = tf.Variable(tf.ones([3, 2])), tf.optimizers.SGD(0.5)
    with pytest.raises(ValueError, match="has shape"):
        optimizer.apply_gradients([(tf.IndexedSlices(tf.ones([1, 5]), tf.constant([1])), table)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="7"):
        optimizer.apply_gradients([(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([7])), table)])
    assert table.numpy().tolist() == [[1.0, 1.0]] * 3


def test_nests_take_slices_apart_where_they_are_told_to():
    s = slices()
    assert tf.nest.flatten(s) == [s]
    parts = tf.nest.flatten([s], expand_composites=True)
    assert [p.shape.as_list() for p in parts] == [[2, 2], [2], [2]]
    again = tf.nest.pack_sequence_as([s], parts, expand_composites=True)
    assert dense(again[0]) == dense(s)


def test_slices_are_clipped_as_slices():
    rows = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([1, 1]), tf.constant([5, 1]))
    other = tf.constant([12.0])
    assert tf.linalg.global_norm([rows, None, other]).numpy() == 13
    for clip in (tf.clip_by_global_norm, tf.function(tf.clip_by_global_norm)):
        (clipped, dense, nothing), norm = clip([rows, other, None], 6.5)
        assert isinstance(clipped, tf.IndexedSlices)
        assert (norm.numpy(), nothing, dense.numpy().tolist()) == (13, None, [6])
        assert clipped.values.numpy().tolist() == [[1.5], [2]]
        assert clipped.indices.numpy().tolist() == [1, 1]
        assert clipped.dense_shape.numpy().tolist() == [5, 1]
    for clip in (tf.clip_by_norm, tf.function(tf.clip_by_norm)):
        clipped = clip(rows, 2.5)
        assert isinstance(clipped, tf.IndexedSlices)
        assert clipped.values.numpy().tolist() == [[1.5], [2]]
        assert clipped.indices.numpy().tolist() == [1, 1]
    for clip in (tf.clip_by_value, tf.function(tf.clip_by_value)):
        clipped = clip(rows, -1.0, 3.5)
        assert isinstance(clipped, tf.IndexedSlices)
        assert clipped.values.numpy().tolist() == [[3], [3.5]]


def test_slices_of_a_graph_have_the_operation_that_made_them():
    found = []

    @tf.function
    def f(x):
        slices = tf.IndexedSlices(tf.nn.relu(x), tf.constant([0, 1]))
        found.append((slices.op.type, slices.op.outputs[0].name == slices.values.name))
        return slices.values

    f(tf.constant([1.0, 2.0]))
    assert found == [("Relu", True)]


def test_the_dtype_of_slices_changes_without_filling_them_up():
    rows = tf.IndexedSlices(tf.constant([[1.5], [2.5]]), tf.constant([3, 3]), tf.constant([5, 1]))
    for cast in (tf.cast, tf.function(tf.cast)):
        made = cast(rows, tf.int32)
        assert isinstance(made, tf.IndexedSlices)
        assert (made.dtype, made.values.numpy().tolist()) == (tf.int32, [[1], [2]])
        assert made.indices.numpy().tolist() == [3, 3]


def test_parts_of_slices_may_be_lists_and_arrays():
    rows = tf.IndexedSlices([[1.0], [2.0]], np.array([0, 2]), (4, 1))
    assert rows.shape == (4, 1)
    assert dense(rows) == [[1], [0], [2], [0]]
    assert dense(tf.IndexedSlices([[1.0]], (1,), tf.constant([[0.0]] * 2).shape)) == [[0], [1]]
