"""Specifications, and what element types are named by."""

import pickle

import numpy as np
import pytest

import penstock as tf


def test_none_has_a_specification():
    spec = tf.NoneTensorSpec()
    assert (spec, repr(spec)) == (tf.type_spec_from_value(None), "NoneTensorSpec()")
    assert len({spec, tf.NoneTensorSpec(), tf.TensorSpec([])}) == 2
    assert spec.is_compatible_with(None)
    assert not spec.is_compatible_with(tf.constant(1))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert spec.is_subtype_of(tf.NoneTensorSpec())
    assert not spec.is_subtype_of(tf.TensorSpec([]))


def test_data_sets_have_none_in_their_elements():
    ds = tf.data.Dataset.from_tensors((1, None)).repeat(2)
    assert ds.element_spec == (tf.TensorSpec([], tf.int32), tf.NoneTensorSpec())
    assert [(int(x), y) for x, y in ds.map(lambda x, y: (x + 1, y))] == [(2, None)] * 2


def test_ragged_specifications_take_what_is_known_of_the_values():
    values = tf.TensorSpec([None, 2], tf.int32)
    spec = tf.RaggedTensorSpec(None, None, 1, flat_values_spec=values)
    assert (spec.shape.as_list(), spec.dtype) == ([None, None, 2], tf.int32)
    assert tf.RaggedTensorSpec([3, None, None], tf.int32, 1, flat_values_spec=values).shape.as_list() == [
        3,
        None,
        2,
    ]
    assert spec.is_compatible_with(tf.RaggedTensor.from_row_lengths([[1, 2], [3, 4]], [2, 0]))
    with pytest.raises(ValueError, match="'dtype' must be that of 'flat_values_spec', int32"):
        tf.RaggedTensorSpec([None, None, 2], ragged_rank=1, flat_values_spec=values)
    with pytest.raises(ValueError, match="'flat_values_spec' must have the inner extents"):
        tf.RaggedTensorSpec([None, None, 3], None, 1, flat_values_spec=values)
    with pytest.raises(TypeError, match="'flat_values_spec'"):
        tf.RaggedTensorSpec([None, None], None, 1, flat_values_spec=3)


@pytest.mark.parametrize("given", ["int32", tf.int32, np.int32, np.dtype("int32"), 3])
def test_element_types_are_found_by_what_names_them(given):
    assert tf.as_dtype(given) == tf.int32 == tf.dtypes.as_dtype(type_value=given)


def test_what_names_no_element_type_is_refused():
    with pytest.raises(TypeError):
        tf.as_dtype("foo")


def test_partitions_take_what_follows_from_their_splits():
    splits = tf.constant([0, 2, 4])
    partition = tf.experimental.RowPartition(splits, uniform_row_length=2, nvals=4, internal=object())
    assert int(partition.nrows()) == 2
    assert int(partition.uniform_row_length()) == 2


def test_constants_are_made_in_parts():
    value = np.arange(12.0).reshape(3, 4)
    make = tf.constant_initializer(value, support_partition=True)
    part = make([3, 4], tf.float32, partition_shape=(2, 4), partition_offset=(1, 0))
    assert part.numpy().tolist() == value[1:].tolist()
    assert tf.constant_initializer(2.0)([3, 4], partition_shape=(1, 4)).numpy().tolist() == [[2.0] * 4]
    with pytest.raises(ValueError, match="support_partition=True"):
        tf.constant_initializer(value)([3, 4], partition_shape=(2, 4), partition_offset=(1, 0))


def test_managers_go_on_from_the_step_of_the_last_checkpoint(tmp_path):
    step = tf.Variable(5)
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(v=tf.Variable(1.0)),
        tmp_path,
        None,
        step_counter=step,
        checkpoint_interval=4,
        last_checkpoint_step=3,
    )
    assert manager.save() is None
    step.assign(7)
    assert manager.save() is not None


def test_shapes_are_written_as_messages_and_read():
    for dims in ([], [2, None], [0, 3], None):
        proto = tf.TensorShape(dims).as_proto()
        assert tf.TensorShape(proto) == tf.TensorShape(dims)
        assert tf.TensorShape(type(proto).FromString(proto.SerializeToString())) == tf.TensorShape(dims)
    assert [part.size for part in tf.TensorShape([2, None]).as_proto().dim] == [2, -1]
    assert tf.TensorShape(None).as_proto().unknown_rank
