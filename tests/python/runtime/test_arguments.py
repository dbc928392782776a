"""Arguments of a wrong class are errors that name them."""

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: tf.einsum(31), "equation"),
        (lambda: tf.add(1, 2, name=3), "name"),
        (lambda: tf.reduce_sum([1, 2], name=b"sum"), "name"),
        (lambda: tf.concat([[1], [2]], 0, name=["a"]), "name"),
        (lambda: tf.function(lambda x: tf.nn.moments(x, [0], name=3))([1.0, 2.0]), "name"),
        (lambda: tf.function(lambda x: tf.convert_to_tensor(x, name=3))([1.0, 2.0]), "name"),
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
        (lambda: tf.RaggedTensorSpec([None, None], ragged_rank="a"), "ragged_rank"),
        (lambda: tf.RaggedTensor.from_nested_row_splits([1], 3), "nested_row_splits"),
        (lambda: tf.RaggedTensor.from_nested_row_lengths([1], 3), "nested_row_lengths"),
        (lambda: tf.RaggedTensor.from_nested_value_rowids([1], 3), "nested_value_rowids"),
        (lambda: tf.data.Dataset.choose_from_datasets(3, tf.data.Dataset.range(2)), "datasets"),
        (lambda: tf.data.Dataset.sample_from_datasets(3), "datasets"),
        (lambda: tf.data.experimental.CsvDataset(["a"], 3), "record_defaults"),
        (lambda: tf.data.experimental.CsvDataset(["a"], [1.0], select_cols=3), "select_cols"),
        (lambda: tf.DeviceSpec(task=object()), "task"),
        (lambda: tf.io.TFRecordWriter(3), "path"),
        (lambda: tf.io.gfile.GFile(3), "name"),
        (lambda: tf.io.gfile.rename("a", 3), "dst"),
        (lambda: tf.linalg.LinearOperatorBlockDiag(3), "operators"),
        (lambda: tf.TensorSpec.from_tensor(3.0), "tensor"),
        (lambda: tf.Variable([[1.0]]).batch_scatter_update(3), "sparse_delta"),
        (lambda: tf.compat.v1.assign(3, 4), "ref"),
        (lambda: tf.compat.v1.assign_add(np.ones(2), 4), "ref"),
        (lambda: tf.optimizers.SGD(0.1).build([3]), "variables"),
        (lambda: tf.optimizers.SGD(0.1).exclude_from_weight_decay([3]), "var_list"),
        (lambda: tf.optimizers.Adam().apply([tf.ones([2])], [tf.ones([2])]), "grads_and_vars"),
        (lambda: tf.Variable(1.0, name=1), "name"),
        (lambda: tf.summary.write("a", 1.0, step=1, metadata=3), "metadata"),
        (lambda: tf.array_api.arange(0, range(3)), "stop"),
        (lambda: tf.TensorArray(tf.float32, 2).read(1.5), "index"),
        (lambda: tf.RaggedTensor.from_uniform_row_length([1.0, 2.0], 1e308), "uniform_row_length"),
        (lambda: tf.test.is_cpu_target_available([1]), "target"),
        (lambda: tf.test.compute_gradient(lambda *a: a, [1.0, 2.0]), "f"),
        (lambda: tf.distribute.launch(print, float("inf")), "num_workers"),
        (lambda: tf.distribute.broadcast_variables([], tf.ones([2])), "group"),
        (lambda: tf.distribute.DistributedGradientTape(3), "group"),
        (lambda: tf.distribute.MultiWorkerMirroredStrategy(communication_options=3), "communication_options"),
        (lambda: tf.train.load_variable("", 3), "name"),
        (lambda: tf.nn.with_space_to_batch([1.0], [2], "VALID", print, data_format=[1]), "data_format"),
    ],
)
def test_an_argument_of_a_wrong_class_is_named(call, argument):
    with pytest.raises(TypeError, match=f"argument '{argument}'"):
        call()


# What makes each, and what is no shape, whatever the rest is.
SHAPED = {
    "TensorShape.dims": tf.TensorShape,
    "TensorSpec.shape": tf.TensorSpec,
    "RaggedTensorSpec.shape": tf.RaggedTensorSpec,
    "SparseTensorSpec.shape": tf.SparseTensorSpec,
    "IndexedSlicesSpec.shape": tf.IndexedSlicesSpec,
    "IndexedSlicesSpec.indices_shape": lambda shape: tf.IndexedSlicesSpec(None, indices_shape=shape),
    "TensorArraySpec.element_shape": tf.TensorArraySpec,
    "TensorArray.element_shape": lambda shape: tf.TensorArray(tf.float32, 2, element_shape=shape),
    "DatasetSpec.dataset_shape": lambda shape: tf.data.DatasetSpec(tf.TensorSpec([]), shape),
    "Variable.shape": lambda shape: tf.Variable(1.0, shape=shape),
}
NO_SHAPES = ["a", ["a"], 3.5, [2, 3.5], object(), -7, [2, -7], np.ones([2, 2]), tf.ones([2, 2])]


@pytest.mark.parametrize("made", SHAPED)
@pytest.mark.parametrize("shape", NO_SHAPES, ids=[str(i) for i in range(len(NO_SHAPES))])
def test_what_is_no_shape_is_named_by_its_argument(made, shape):
    with pytest.raises((TypeError, ValueError), match=rf"^argument '{made.partition('.')[2]}'"):
        SHAPED[made](shape)


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


def test_more_items_than_there_is_memory_for_are_an_error():
    with pytest.raises(tf.errors.ResourceExhaustedError, match="argument 'size'"):
        tf.slice([1, 2, 3], [1], range(2**50))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="TensorArray"):
        tf.TensorArray(tf.float32, 2, dynamic_size=True).write(tf.constant(2**60, tf.int64), 1.0)


def test_the_number_of_strides_is_checked_before_they_are_read():
    with pytest.raises(ValueError, match="argument 'strides' must have 1, 2 or 4 values"):
        tf.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([1, 1, 1, 1]), range(2**40), "SAME")


def test_a_shape_has_no_more_dimensions_than_a_tensor_may_have():
    with pytest.raises(ValueError, match="at most 254 dimensions"):
        tf.TensorSpec(range(2**40))
    assert tf.TensorShape(range(254)).rank == 254


def test_transforms_of_more_axes_than_there_are_are_errors():
    xp = tf.array_api
    with pytest.raises(ValueError, match="argument 's'"):
        xp.fft.fftn(xp.ones((2, 3)), s=(2, 2, 2))
    assert xp.fft.fftn(xp.ones((2, 3)), s=(2,)).shape == (2, 2)


def test_a_table_from_a_file_that_is_not_there_is_an_error_of_the_engine(tmp_path):
    with pytest.raises(tf.errors.NotFoundError):
        tf.lookup.TextFileInitializer(tmp_path / "none", tf.string, 0, tf.int64, 1)
    with pytest.raises(tf.errors.FailedPreconditionError):
        tf.lookup.TextFileInitializer(tmp_path, tf.string, 0, tf.int64, 1)


def test_what_is_no_tensor_is_not_serialized():
    with pytest.raises(TypeError, match="Dataset"):
        tf.io.serialize_tensor(tf.data.Dataset.range(2))
