"""`tf.data.experimental`: sparse batches, elements of one key made one, padding, tables of data sets."""

import numpy as np
import pytest

import penstock as tf

experimental = tf.data.experimental


def test_batches_are_sparse():
    ds = tf.data.Dataset.from_tensor_slices([3, 0, 2]).map(tf.range)
    first, second = ds.sparse_batch(2, [4])
    assert (first.shape.as_list(), second.shape.as_list()) == ([2, 4], [1, 4])
    assert first.indices.numpy().tolist() == [[0, 0], [0, 1], [0, 2]]
    assert tf.sparse.to_dense(second).numpy().tolist() == [[0, 1, 0, 0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="row_shape"):
        list(ds.sparse_batch(2, [2]))
    with pytest.raises(ValueError, match="row_shape"):
        ds.sparse_batch(2, [2, 2])
    with pytest.raises(TypeError, match="one tensor"):
        tf.data.Dataset.zip((ds, ds)).sparse_batch(2, [4])


def test_elements_of_a_key_are_made_one():
    mean = experimental.Reducer(
        lambda key: (tf.constant(0.0), tf.constant(0.0)),
        lambda state, x: (state[0] + tf.cast(x, tf.float32), state[1] + 1.0),
        lambda total, count: total / count,
    )
    unpacked = experimental.Reducer(mean.init_func, mean.reduce_func, lambda state: state[0] / state[1])
    ds = tf.data.Dataset.range(6).apply(experimental.group_by_reducer(lambda x: x % 3, unpacked))
    assert [float(x) for x in ds] == [1.5, 2.5, 3.5]


def test_data_sets_are_padded():
    ds = tf.data.Dataset.from_tensor_slices({"a": [[1, 2]], "b": ["x"]})
    padded = list(ds.apply(experimental.pad_to_cardinality(2, "there")))
    assert [bool(x["there"]) for x in padded] == [True, False]
    assert padded[1]["a"].numpy().tolist() == [0, 0]
    assert padded[1]["b"].numpy() == b""
    with pytest.raises(ValueError, match="number of elements"):
        ds.apply(experimental.pad_to_cardinality(0))
    with pytest.raises(ValueError, match="dicts"):
        tf.data.Dataset.range(2).apply(experimental.pad_to_cardinality(3))


def test_tables_of_data_sets():
    words = tf.data.Dataset.from_tensor_slices(["a", "b", "c"])
    table = experimental.index_table_from_dataset(words, vocab_size=2)
    assert table.lookup(tf.constant(["b", "c"])).numpy().tolist() == [1, -1]
    buckets = experimental.index_table_from_dataset(words, num_oov_buckets=2)
    assert int(buckets.lookup(tf.constant(["z"]))[0]) in (3, 4)
    pairs = tf.data.Dataset.from_tensor_slices((["a", "b"], [5, 6]))
    assert experimental.table_from_dataset(pairs, default_value=0).lookup(tf.constant("b")).numpy() == 6
    with pytest.raises(ValueError, match="default_value"):
        experimental.table_from_dataset(pairs)
    with pytest.raises(TypeError, match="key_dtype"):
        experimental.table_from_dataset(pairs, default_value=0, key_dtype=tf.int64)
    with pytest.raises(ValueError, match="pairs"):
        experimental.DatasetInitializer(words)


def test_older_names():
    ds = experimental.from_list([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    assert [(int(e["a"]), e["b"].numpy()) for e in ds] == [(1, b"x"), (2, b"y")]
    with pytest.raises(ValueError, match="'elements'"):
        experimental.from_list([])
    assert experimental.get_structure(iter(ds)) == ds.element_spec
    iterator = iter(tf.data.Dataset.range(1))
    assert int(experimental.get_next_as_optional(iterator).get_value()) == 0
    assert not experimental.get_next_as_optional(iterator).has_value()
    again = experimental.from_variant(experimental.to_variant(ds), ds.element_spec)
    assert [int(e["a"]) for e in again] == [1, 2]
    np.testing.assert_array_equal(
        [int(x) for x in tf.data.Dataset.range(2).apply(experimental.copy_to_device("/cpu:0"))], [0, 1]
    )


def test_a_tensor_that_is_larger_than_its_padded_shape_is_data_that_is_lost():
    ds = tf.data.Dataset.from_tensor_slices([1, 3]).map(tf.range)
    for made in (ds.padded_batch(1, [2]), ds.map(lambda x: (x, "a")).padded_batch(1, ([2], []))):
        elements = iter(made)
        next(elements)
        with pytest.raises(tf.errors.DataLossError, match=r"shape \[3\] to the smaller shape \[2\]"):
            next(elements)
