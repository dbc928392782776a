"""Arguments of a wrong class are errors that name them."""

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: tf.einsum(31), "equation"),
        (lambda: tf.strings.format(True, 1), "template"),
        (lambda: tf.strings.format("{}", 1, placeholder=2), "placeholder"),
        (lambda: tf.data.experimental.cardinality(3), "dataset"),
        (lambda: tf.data.experimental.get_single_element(None), "dataset"),
        (lambda: tf.data.NumpyIterator([1]), "dataset"),
        (lambda: tf.data.Dataset.list_files([1.0]), "file_pattern"),
        (lambda: tf.pad([1], [[0, 1]], mode=3), "mode"),
        (lambda: tf.Module(name=3), "name"),
        (lambda: tf.random.Generator(copy_from=3), "copy_from"),
        (lambda: tf.RaggedTensor([1], [0, 1]), "values"),
        (lambda: tf.TensorSpec.from_spec(3), "spec"),
        (lambda: tf.TensorSpec.from_tensor(3.0), "tensor"),
        (lambda: tf.Variable([[1.0]]).batch_scatter_update(3), "sparse_delta"),
        (lambda: tf.compat.v1.assign(3, 4), "ref"),
        (lambda: tf.compat.v1.assign_add(np.ones(2), 4), "ref"),
        (lambda: tf.optimizers.SGD(0.1).build([3]), "variables"),
        (lambda: tf.optimizers.SGD(0.1).exclude_from_weight_decay([3]), "var_list"),
        (lambda: tf.optimizers.Adam().apply([tf.ones([2])], [tf.ones([2])]), "grads_and_vars"),
    ],
)
def test_an_argument_of_a_wrong_class_is_named(call, argument):
    with pytest.raises(TypeError, match=f"argument '{argument}'"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.linalg.diag(1),
        lambda: tf.signal.fft(tf.constant(1j)),
        lambda: tf.linalg.lstsq([1.0], [1.0], fast=False),
        lambda: tf.linalg.pinv(1.0),
        lambda: tf.linalg.matrix_rank([1.0]),
        lambda: tf.vectorized_map(lambda x: x, 2.5),
    ],
)
def test_a_rank_that_is_too_low_is_an_error_about_values(call):
    with pytest.raises(ValueError, match=r"dimension|rank|matrix"):
        call()


def test_a_symbolic_ragged_tensor_has_no_rows_to_give():
    with pytest.raises(ValueError, match="symbolic"):
        tf.function(lambda: tf.ragged.constant([[1], [2, 3]]).to_list())()


def test_no_shape_is_a_subtype_of_what_is_no_shape():
    assert not tf.TensorShape([2]).is_subtype_of(np.ones(2))
