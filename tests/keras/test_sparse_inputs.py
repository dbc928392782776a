"""Sparse tensors as inputs of models: what they make is what the dense tensor makes."""

import numpy as np
import pytest
import scipy.sparse

import penstock as tf

keras = tf.keras
layers = keras.layers


@pytest.fixture
def rows():
    indices = [[0, 0], [0, 2], [1, 3], [4, 1], [5, 0], [5, 1]]
    return tf.SparseTensor(indices, [1.0, -2.0, 3.0, 0.5, 4.0, 1.0], [6, 4])


def model(*more):
    x = keras.Input(shape=(4,), sparse=True)
    y = x
    for layer in (*more, layers.Dense(3)):
        y = layer(y)
    return keras.Model(x, y)


def test_a_dense_layer_multiplies_a_sparse_tensor(rows):
    made = model()
    assert made.inputs[0].sparse
    assert not made.outputs[0].sparse
    expected = made(tf.sparse.to_dense(rows)).numpy()
    np.testing.assert_allclose(made(rows).numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(made.predict(rows, batch_size=2, verbose=0), expected, rtol=1e-6)
    np.testing.assert_allclose(tf.function(made)(rows).numpy(), expected, rtol=1e-6)


def test_integers_become_the_dtype_of_the_layer(rows):
    made = model()
    whole = tf.cast(rows, tf.int64)
    np.testing.assert_allclose(made(whole).numpy(), made(tf.sparse.to_dense(whole)).numpy(), rtol=1e-6)


def test_layers_before_a_dense_one_take_a_sparse_tensor(rows):
    made = model(layers.Flatten(), layers.Activation("tanh"))
    expected = made(tf.sparse.to_dense(rows)).numpy()
    np.testing.assert_allclose(made(rows).numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("as_data_set", [False, True])
def test_a_model_learns_from_sparse_tensors_as_from_dense_ones(rows, as_data_set):
    y = np.arange(18.0, dtype="float32").reshape(6, 3)
    losses = []
    for x in (rows, tf.sparse.to_dense(rows)):
        keras.utils.set_random_seed(1)
        made = model()
        made.compile(keras.optimizers.SGD(0.01), "mse")
        data = (tf.data.Dataset.from_tensor_slices((x, y)).batch(4),) if as_data_set else (x, y)
        options = {} if as_data_set else {"batch_size": 4, "shuffle": False}
        losses.append(made.fit(*data, epochs=3, verbose=0, **options).history["loss"])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    assert losses[0][-1] < losses[0][0]


def test_a_sparse_tensor_is_a_tensor_that_may_be_made_dense(rows):
    assert keras.ops.is_tensor(rows)
    assert keras.ops.convert_to_tensor(rows, "float64").dtype == tf.float64
    dense = keras.ops.convert_to_tensor(rows, sparse=False)
    np.testing.assert_array_equal(dense.numpy(), tf.sparse.to_dense(rows).numpy())
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(rows), dense.numpy())
    assert keras.ops.shape(rows) == (6, 4)
    np.testing.assert_array_equal(keras.ops.add(rows, 1).numpy(), dense.numpy() + 1)


def test_a_model_with_sparse_inputs_is_saved_and_loaded(rows, tmp_path):
    made = model(layers.ReLU())
    made.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.inputs[0].sparse
    np.testing.assert_allclose(again(rows).numpy(), made(rows).numpy(), rtol=1e-6)


def test_predictions_are_sparse_where_the_outputs_are(rows):
    x = keras.Input(shape=(4,), sparse=True)
    y = layers.Add()([x, x])
    assert y.sparse
    made = keras.Model(x, y).predict(rows, batch_size=4, verbose=0)
    assert isinstance(made, tf.SparseTensor)
    np.testing.assert_array_equal(tf.sparse.to_dense(made), 2 * tf.sparse.to_dense(rows).numpy())


def test_matrices_of_scipy_are_sparse_batches(rows):
    seen = []

    class Seeing(layers.Layer):
        def call(self, x):
            seen.append(type(x))
            return keras.ops.matmul(x, np.ones((4, 1), "float32"))

    matrix = scipy.sparse.coo_matrix(tf.sparse.to_dense(rows).numpy())
    x = keras.Input(shape=(4,), sparse=True)
    made = keras.Model(x, Seeing()(x))
    np.testing.assert_allclose(made.predict(matrix, batch_size=4, verbose=0), matrix.sum(1), rtol=1e-6)
    assert set(seen) == {tf.SparseTensor}


def test_targets_may_be_sparse(rows):
    histories = []
    for y in (rows, tf.sparse.to_dense(rows)):
        keras.utils.set_random_seed(1)
        made = keras.Sequential([keras.Input((2,)), layers.Dense(4)])
        made.compile("sgd", "mse", metrics=["mae"])
        x = np.ones((6, 2), "float32")
        histories.append(made.fit(x, y, batch_size=4, shuffle=False, verbose=0).history)
    for name in ("loss", "mae"):
        np.testing.assert_allclose(histories[0][name], histories[1][name], rtol=1e-6)
