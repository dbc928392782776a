"""Scopes, loops and layers as TensorFlow 1 has them."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


@pytest.fixture(name="session")
def open_session():
    with tf.Graph().as_default(), v1.Session() as session:
        yield session


def opened(*args, **kwargs):
    with v1.name_scope(*args, **kwargs) as scope:
        return scope


# As in TensorFlow 2.21.
def test_a_scope_takes_its_default_name(session):
    x = tf.constant(1.0)
    assert [opened("a"), opened("a"), opened(None, "d", [x]), opened("b", "d", [x])] == [
        "a/",
        "a_1/",
        "d/",
        "b/",
    ]
    with v1.name_scope("q"):
        assert [opened(None), opened(""), opened("q/"), opened("x", values=[x])] == ["", "", "q/", "q/x/"]
        assert tf.add(x, x, name="sum").name == "q/sum:0"
    with v1.op_scope([x], None, "o") as scope:
        assert scope == "o/"
    with v1.variable_op_scope([x], None, "layer"), v1.container("c"):
        assert v1.get_variable("w", [2]).name == "layer/w:0"
    with pytest.raises(ValueError, match="'name' and 'default_name'"):
        opened(None, None, [x])
    with pytest.raises(TypeError, match="must be a string"):
        opened(3)


def test_a_loop_of_one_value_gives_it(session):
    def below(i):
        return i < 3

    def more(i):
        return i + 1

    assert session.run(v1.while_loop(below, more, [tf.constant(0)])) == 3
    assert session.run(v1.while_loop(below, more, [tf.constant(0)], return_same_structure=True)) == [3]
    a, b = v1.while_loop(lambda i, j: i < j, lambda i, j: (i + 1, j), (0, 2), maximum_iterations=1)
    assert session.run([a, b]) == [1, 2]


def test_a_loop_outside_of_graphs_keeps_the_list():
    assert v1.while_loop(lambda i: i < 3, lambda i: [i + 1], [tf.constant(0)])[0].numpy() == 3


def test_layers_as_functions():
    x, w, b = tf.constant([[1.0, -2.0]]), tf.ones([2, 1]), tf.constant([0.5])
    assert v1.nn.xw_plus_b(x, w, b).numpy().tolist() == [[-0.5]]
    assert v1.nn.relu_layer(x, w, b, name="layer").numpy().tolist() == [[0]]
    np.testing.assert_allclose(v1.clip_by_average_norm([3.0, 4.0], 1.0), [1.2, 1.6], rtol=1e-6)


@pytest.mark.parametrize("padding", ["SAME", "VALID", [[0, 0], [1, 0], [0, 1], [0, 0]]])
def test_gradients_of_convolutions(padding):
    x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    w = tf.reshape(tf.range(4.0), [2, 2, 1, 1])
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = tf.nn.conv2d(x, w, 1, padding)
        loss = tf.reduce_sum(y * y)
    by_x, by_w = tape.gradient(loss, [x, w])
    ones = [1, 1, 1, 1]
    np.testing.assert_allclose(v1.nn.conv2d_backprop_filter(x, [2, 2, 1, 1], 2 * y, ones, padding), by_w)
    np.testing.assert_allclose(v1.nn.conv2d_backprop_input([1, 4, 4, 1], w, 2 * y, ones, padding), by_x)
    with pytest.raises(ValueError, match="'filter'"):
        v1.nn.conv2d_backprop_input([1, 4, 4, 1], w, y, ones, "SAME", filters=w)


def test_a_function_decides_what_a_recurrent_network_does(session):
    cell = v1.nn.rnn_cell.BasicRNNCell(2)
    x = tf.constant(np.random.default_rng(1).normal(size=(4, 3, 5)).astype(np.float32))
    lengths = tf.constant([4, 0, 2])

    def step(time, output, state, own):
        state = cell.zero_state(3, tf.float32) if output is None else state
        own = tf.constant(0) if own is None else own + 1
        return time >= lengths, x[tf.minimum(time, 3)], state, output, own

    outputs, state, own = v1.nn.raw_rnn(cell, step)
    due, last = v1.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32, time_major=True)
    session.run(v1.global_variables_initializer())
    found = session.run([outputs.stack(), state, own, due, last])
    np.testing.assert_allclose(found[0], found[3], rtol=1e-6)
    np.testing.assert_allclose(found[1], found[4], rtol=1e-6)
    assert found[2] == 4
    with pytest.raises(TypeError, match="'loop_fn'"):
        v1.nn.raw_rnn(cell, None)


def test_what_a_recurrent_network_gives_out_may_be_another_thing():
    cell = v1.nn.rnn_cell.GRUCell(2)

    def step(time, output, state, own):
        if output is None:
            return (
                tf.fill([3], False),
                tf.ones([3, 4]),
                cell.zero_state(3, tf.float32),
                tf.zeros([], tf.int32),
                None,
            )
        return tf.fill([3], time >= 2), tf.ones([3, 4]), state, tf.fill([3], time), None

    outputs, _, own = v1.nn.raw_rnn(cell, step)
    assert outputs.stack().numpy().tolist() == [[1, 1, 1], [2, 2, 2]]
    assert own is None


def test_parts_of_tables_are_taken_in_turn():
    parts = [tf.constant([[0.0], [2.0]]), tf.constant([[1.0], [3.0]])]
    ids = tf.SparseTensor([[0, 0], [0, 1]], tf.constant([1, 2], tf.int64), [1, 2])
    assert v1.nn.embedding_lookup_sparse(parts, ids, None, combiner="sum").numpy().tolist() == [[3.0]]
    assert v1.nn.embedding_lookup_sparse(parts, ids, None, "div").numpy().tolist() == [[1.5]]


def test_losses_take_tables_in_parts():
    rows = tf.reshape(tf.range(12.0), [6, 2]) / 10.0
    biases, labels, inputs = (
        tf.range(6.0) / 10.0,
        tf.constant([[1], [4]], tf.int64),
        tf.constant([[1.0, 2.0], [0.5, 1.0]]),
    )
    drawn = (tf.constant([0, 3], tf.int64), tf.fill([2, 1], 0.5), tf.fill([2], 0.25))
    for loss, due in (
        (v1.nn.nce_loss, tf.nn.nce_loss),
        (v1.nn.sampled_softmax_loss, tf.nn.sampled_softmax_loss),
    ):
        expected = due(rows, biases, labels, inputs, 2, 6, sampled_values=drawn)
        for parts, strategy in (
            (rows, "mod"),
            ([rows], "mod"),
            ([rows[::2], rows[1::2]], "mod"),
            ([rows[:3], rows[3:]], "div"),
        ):
            found = loss(parts, biases, labels, inputs, 2, 6, 1, drawn, partition_strategy=strategy)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        found = loss(rows, [biases[::2], biases[1::2]], labels, inputs, 2, 6, 1, drawn)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        with pytest.raises(ValueError, match="'partition_strategy'"):
            loss(rows, biases, labels, inputs, 2, 6, partition_strategy="by name")
    ids = tf.SparseTensor([[0, 0], [0, 1]], [1, 4], [2, 2])
    for parts, strategy in (([rows[::2], rows[1::2]], "mod"), ([rows[:3], rows[3:]], "div")):
        found = v1.nn.safe_embedding_lookup_sparse(parts, ids, partition_strategy=strategy)
        np.testing.assert_allclose(found, [[0.5, 0.6], [0, 0]], rtol=1e-6)


def test_names_of_modules_that_are_elsewhere_now():
    assert v1.manip.tile([1], [2]).numpy().tolist() == [1, 1]
    assert v1.nn.avg_pool_v2 is tf.nn.avg_pool
    assert v1.debugging.assert_equal is v1.assert_equal
    v1.debugging.assert_equal([1], [1], ["data"])
    assert v1.random.poisson([1.0], [3]).shape == (3, 1)
    assert v1.sets.set_size is tf.sets.size
    assert v1.VERSION == tf.version.VERSION


def test_records_of_a_file(tmp_path):
    path = str(tmp_path / "records")
    options = v1.python_io.TFRecordOptions(v1.python_io.TFRecordCompressionType.GZIP)
    for given in (None, options):
        with v1.python_io.TFRecordWriter(path, given) as writer:
            writer.write(b"one")
            writer.write(b"two")
        assert list(v1.io.tf_record_iterator(path, given)) == [b"one", b"two"]
    with tf.Graph().as_default():
        assert list(v1.python_io.tf_record_iterator(path, "GZIP")) == [b"one", b"two"]


# Values of TensorFlow 2.21.
def test_images_are_resized_with_a_margin():
    image = np.arange(8.0, dtype=np.float32).reshape(2, 4, 1)
    rows = [[0, 0, 0, 0], [0, 1, 2, 3], [4, 5, 6, 7], [0, 0, 0, 0]]
    assert v1.image.resize_image_with_pad(image, 4, 4)[..., 0].numpy().tolist() == rows
    for method in (v1.image.ResizeMethod.BILINEAR, v1.image.ResizeMethod.NEAREST_NEIGHBOR):
        found = v1.image.resize_image_with_pad(image[None], 3, 2, method)
        assert found[0, ..., 0].numpy().tolist() == [[0, 0], [0, 2], [0, 0]]
    assert v1.image.transpose_image(image).shape == (4, 2, 1)
    with pytest.raises(ValueError, match="rank 3 or 4"):
        v1.image.resize_image_with_pad([1.0], 2, 2)


def test_a_session_lists_its_graph(session):
    v1.placeholder(tf.float32, [], name="x")
    assert [node.name for node in session.graph_def.node] == ["x"]
    v = tf.Variable(0)
    assert v1.count_up_to(v, 1).shape == ()
