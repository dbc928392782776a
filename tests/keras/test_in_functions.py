"""Keras's layers, models, losses, metrics and optimizers within functions, loops and branches of the user."""

import numpy as np
import pytest

import penstock as tf

keras = tf.keras
layers = keras.layers


def test_a_model_is_trained_in_a_loop_of_the_user(digits):
    (x, y), (test_x, test_y) = digits
    model = keras.Sequential([layers.Flatten(), layers.Dense(32, activation="relu"), layers.Dense(10)])
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Adam(3e-3)
    accuracy = keras.metrics.SparseCategoricalAccuracy()

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = loss_of(y, logits)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        accuracy.update_state(y, logits)
        return loss

    batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(2000, seed=1).batch(50)
    for _ in range(10):
        accuracy.reset_state()
        for images, labels in batches:
            step(images, labels)
    assert accuracy.result() > 0.95
    assert np.mean(model(test_x).numpy().argmax(1) == test_y) > 0.9
    assert step.experimental_get_tracing_count() == 1


def test_layers_are_called_in_loops_and_branches_that_are_converted():
    cell = layers.Dense(4, activation="tanh")
    other = layers.Dense(4)
    cell.build([None, 4])
    other.build([None, 4])

    @tf.function
    def repeated(x, n):
        for i in tf.range(n):
            x = cell(x) if i % 2 == 0 else other(x)
        return x

    x = tf.random.stateless_normal([3, 4], seed=[1, 2])
    expected = x
    for i in range(5):
        expected = cell(expected) if i % 2 == 0 else other(expected)
    np.testing.assert_allclose(repeated(x, tf.constant(5)), expected, rtol=1e-5)


def test_a_layer_makes_its_weights_in_the_first_call_of_a_function():
    layer = layers.Dense(2)

    @tf.function
    def applied(x):
        return layer(x)

    first = applied(tf.ones([1, 3]))
    assert len(layer.weights) == 2
    np.testing.assert_array_equal(applied(tf.ones([1, 3])), first)


def test_a_metric_is_updated_in_a_function():
    mean = tf.metrics.Mean()

    @tf.function
    def seen(x):
        mean.update_state(x)
        return mean.result()

    seen(2.0)
    assert seen(4.0).numpy() == 3.0
    assert tf.losses.MeanSquaredError()([[1.0]], [[3.0]]).numpy() == 4.0


def test_gradients_are_taken_by_variables_of_keras():
    layer = layers.Dense(1, use_bias=False)
    layer.build([None, 2])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant([[1.0, 2.0]])))
    (gradient,) = tape.gradient(loss, layer.trainable_weights)
    np.testing.assert_array_equal(gradient, [[1.0], [2.0]])


def test_steps_of_optimizers_are_of_64_bits():
    optimizer = keras.optimizers.SGD()
    assert optimizer.iterations.dtype == "int64"
    assert keras.Variable(1, dtype="int").dtype == keras.backend.standardize_dtype(int) == "int64"
    assert keras.ops.convert_to_tensor(1).dtype == tf.int32
    assert (keras.ops.arange(3) + 1).dtype == tf.int32
    warm = tf.constant(4, tf.int64)
    assert int(tf.minimum(optimizer.iterations, warm)) == 0


def test_loops_of_keras_give_and_take_tensors_eagerly_too():
    total = keras.ops.fori_loop(0, 4, lambda i, total: total + tf.cast(i, total.dtype), 0)
    assert tf.is_tensor(total)
    assert int(total) == int(tf.function(lambda: keras.ops.fori_loop(0, 4, lambda i, t: t + i, 0))()) == 6


def test_shapes_of_variables_of_keras_are_tensorshapes():
    layer = keras.layers.Dense(3)
    layer.build((None, 2))
    assert layer.kernel.shape == (2, 3)
    assert layer.kernel.shape.as_list() == [2, 3]
    assert layer.kernel.shape.num_elements() == 6
    metric = keras.metrics.Mean()
    assert metric.variables[0].shape.rank == 0


def test_keras_operations_run_on_tensors_of_both_kinds():
    @tf.function
    def mixed(x):
        return keras.ops.softmax(tf.square(x)) + tf.reduce_max(keras.ops.cumsum(x))

    x = tf.constant([1.0, 2.0])
    expected = np.exp([1.0, 4.0]) / np.exp([1.0, 4.0]).sum() + 3
    np.testing.assert_allclose(mixed(x), expected, rtol=1e-6)


def test_a_layer_that_preprocesses_is_built_in_a_function():
    layer = layers.Normalization(mean=[1.0, 3.0], variance=[4.0, 1.0])

    @tf.function
    def normalized(x):
        return layer(x, training=True)

    for _ in range(2):
        np.testing.assert_allclose(normalized(tf.constant([[3.0, 3.0]])), [[1.0, 0.0]])


def test_a_function_reads_what_a_layer_has_adapted_to():
    layer = layers.Normalization()
    layer.adapt(np.float32([[1.0], [3.0]]))

    @tf.function
    def normalized(x):
        return layer(x)

    np.testing.assert_allclose(normalized(tf.constant([[3.0]])), [[1.0]])
    np.testing.assert_allclose(normalized(tf.constant([[5.0]])), layer(tf.constant([[5.0]])))


def test_each_row_of_a_data_set_has_random_numbers_of_the_layer():
    def rows():
        layer = layers.RandomBrightness(0.5, value_range=(0.0, 1.0), seed=3)
        data = tf.data.Dataset.from_tensors(tf.fill([2, 2, 3], 0.5)).repeat(4)
        return [float(x[0, 0, 0]) for x in data.map(lambda x: layer(x, training=True))]

    first = rows()
    assert len(set(first)) == 4
    assert first == rows()


def test_a_layer_preprocesses_within_a_data_set():
    layer = layers.Rescaling(0.5, offset=1.0)
    data = tf.data.Dataset.from_tensor_slices(np.arange(4, dtype=np.float32)).batch(2).map(layer)
    assert [batch.numpy().tolist() for batch in data] == [[1.0, 1.5], [2.0, 2.5]]


def test_dropout_draws_anew_in_each_call_of_a_function():
    layer = layers.Dropout(0.5, seed=1)

    @tf.function
    def dropped(x):
        return layer(x, training=True)

    x = tf.ones([200])
    first, second = dropped(x).numpy(), dropped(x).numpy()
    assert set(np.unique(first)) == {0.0, 2.0}
    assert (first != second).any()
    np.testing.assert_array_equal(layer(x, training=False), x)


def test_an_optimizer_takes_a_variable_that_is_an_argument_of_a_function():
    variable = tf.Variable(2.0)
    optimizer = keras.optimizers.SGD(0.5)

    @tf.function
    def step(v, factor):
        with tf.GradientTape() as tape:
            loss = factor * v
        optimizer.apply_gradients(zip(tape.gradient(loss, [v]), [v], strict=True))

    step(variable, tf.constant(1.0))
    step(variable, tf.constant(1.0))
    step(variable, 2.0)
    optimizer.apply_gradients([(tf.constant(1.0), variable)])
    assert variable.numpy() == 2.0 - 0.5 - 0.5 - 1.0 - 0.5
    assert optimizer.iterations == 4


def test_an_optimizer_refuses_a_variable_that_it_was_not_built_for():
    optimizer = keras.optimizers.SGD(0.5)
    step = tf.function(lambda v: optimizer.apply_gradients([(tf.constant(1.0), v)]))
    step(tf.Variable(2.0))
    with pytest.raises(ValueError, match="Unknown variable"):
        step(tf.Variable(2.0))


def test_texts_are_standardized_by_a_function_of_tensors_within_a_data_set():
    def standardize(texts):
        return tf.strings.regex_replace(tf.strings.lower(texts), "!", "")

    vectorize = layers.TextVectorization(standardize=standardize, output_sequence_length=3)
    vectorize.adapt(["a b", "a"])
    texts = tf.data.Dataset.from_tensor_slices(["A b!", "B", "c A"]).batch(2)
    rows = [row.tolist() for batch in texts.map(vectorize) for row in batch.numpy()]
    assert rows == [[2, 3, 0], [3, 0, 0], [1, 2, 0]]
    assert vectorize(tf.constant(["A b!"])).numpy().tolist() == [[2, 3, 0]]


def test_texts_become_ragged_rows_of_numbers_where_that_is_asked_for():
    vectorize = layers.TextVectorization(ragged=True)
    vectorize.adapt(["a b", "a"])
    found = vectorize(tf.constant(["a b", "b"]))
    assert isinstance(found, tf.RaggedTensor)
    assert found.to_list() == [[2, 3], [3]]


def test_variables_of_keras_are_tensors_to_who_asks() -> None:
    assert tf.is_tensor(keras.Variable([1.0, 2.0]))
    assert not tf.is_tensor(keras.Input((2,)))
