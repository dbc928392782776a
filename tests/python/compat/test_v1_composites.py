"""Sparse and ragged tensors as programs of TensorFlow 1 feed, fetch and combine them."""

import numpy as np
import pytest

import penstock as tf
from penstock.compat.v1._session_values import IndexedSlicesValue

v1 = tf.compat.v1


def value(sparse):
    return [part.tolist() for part in sparse.numpy()]


@pytest.fixture(name="session")
def open_session():
    with tf.Graph().as_default(), v1.Session() as session:
        yield session


def test_a_sparse_placeholder_takes_the_parts_of_a_tensor(session):
    x = v1.sparse_placeholder(tf.float32, shape=[2, 3], name="x")
    assert [t.name for t in (x.indices, x.values, x.dense_shape)] == [
        "x/indices:0",
        "x/values:0",
        "x/shape:0",
    ]
    assert x.shape == (2, 3)
    total = tf.sparse.reduce_sum(x, 1)
    fed = v1.SparseTensorValue([[0, 1]], [3.0], [2, 3])
    for given in (fed, tuple(fed), tf.SparseTensorValue(*fed) if hasattr(tf, "SparseTensorValue") else fed):
        assert session.run(total, {x: given}).tolist() == [3, 0]
    # The shape of the placeholder is that of the value, too.
    assert session.run(total, {x.indices: [[1, 0]], x.values: [2.0]}).tolist() == [0, 2]
    unknown = v1.sparse_placeholder(tf.int32)
    assert unknown.shape.rank is None
    found = session.run(unknown, {unknown: ([[0, 0]], [1], [1, 1])})
    assert isinstance(found, v1.SparseTensorValue)
    assert found.dense_shape.tolist() == [1, 1]
    partly = v1.sparse_placeholder(tf.int32, [None, 3])
    assert partly.shape.as_list() == [None, 3]
    with pytest.raises(ValueError, match="2 parts for a SparseTensor, which has 3"):
        session.run(unknown, {unknown: ([[0, 0]], [1])})
    with pytest.raises(TypeError, match="no tensor of a graph"):
        session.run(unknown, {3: 1})


def test_a_placeholder_is_of_a_graph():
    with pytest.raises(RuntimeError, match="eager"):
        v1.sparse_placeholder(tf.float32)
    with pytest.raises(RuntimeError, match="eager"):
        v1.ragged.placeholder(tf.float32, 1)


def test_what_is_of_several_arrays_is_fetched_as_one_value(session):
    sparse = tf.SparseTensor([[0]], [1.0], [2])
    ragged = tf.ragged.constant([[[1], []], [[2, 3]]])
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([3]))
    found = session.run({"a": sparse, "b": [ragged, slices], "c": sparse.values})
    assert [part.tolist() for part in found["a"]] == [[[0]], [1.0], [2]]
    assert found["b"][0] == v1.ragged.constant_value([[[1], []], [[2, 3]]])
    assert found["b"][1] == IndexedSlicesValue(1.0, 3, None)
    assert found["c"].tolist() == [1.0]


def test_a_ragged_placeholder_takes_a_value(session):
    x = v1.ragged.placeholder(tf.int32, 2, value_shape=[2], name="x")
    assert x.flat_values.name == "x/flat_values:0"
    assert x.shape.as_list() == [None, None, None, 2]
    fed = v1.ragged.constant_value([[[[1, 2]], []], []], np.int32, ragged_rank=2, inner_shape=[2])
    assert fed.ragged_rank == 2
    assert fed.shape == (2, None, None, 2)
    assert session.run(x, {x: fed}) == fed
    assert session.run(tf.reduce_sum(x), {x: fed}) == 3
    assert str(fed) == "<tf.RaggedTensorValue [[[[1, 2]], []], []]>"
    plain = v1.ragged.placeholder(tf.float32, 0, [2])
    assert session.run(plain, {plain: [1.0, 2.0]}).tolist() == [1, 2]
    assert v1.ragged.constant_value([1, 2]).tolist() == [1, 2]
    with pytest.raises(TypeError, match="row_splits"):
        v1.ragged.RaggedTensorValue(np.array([1]), np.array([0.0]))


def test_tensors_are_fed_in_tuples_and_by_a_callable(session):
    a, b = v1.placeholder(tf.int32, []), v1.placeholder(tf.int32, [])
    difference = tf.subtract(a, b, name="difference")
    assert session.run(difference, {(a, b): (5, 3)}) == 2
    call = session.make_callable([difference, a], [a, b])
    assert call(7, 3) == [4, 7]
    with pytest.raises(ValueError, match="takes 2 values, got 1"):
        call(7)
    # The name of an operation is one to run.
    assert session.run("difference", {a: 1, b: 1}) is None


# What follows was compared with TensorFlow 2.21.

A = ([[0, 0], [1, 1]], [1.0, 0.5], [2, 2])
B = ([[0, 0], [1, 0]], [-1.0, 2.0], [2, 2])


def test_a_threshold_is_for_elements_that_both_sides_have():
    a, b = tf.SparseTensor(*A), tf.SparseTensor(*B)
    assert value(v1.sparse_add(a, b)) == [[[0, 0], [1, 0], [1, 1]], [0.0, 2.0, 0.5], [2, 2]]
    for small in (0.1, 0.6):
        due = [[[1, 0], [1, 1]], [2.0, 0.5], [2, 2]]
        assert value(v1.sparse_add(a, b, thresh=small)) == due
        assert value(v1.sparse.add(a, b, small)) == due
        assert value(tf.sparse.add(a, b, small)) == due
    assert v1.sparse_add(a, tf.ones([2, 2])).numpy().tolist() == [[2, 1], [1, 1.5]]
    with pytest.raises(ValueError, match="'threshold' and 'thresh'"):
        v1.sparse_add(a, b, 1, 1)


def test_sparse_tensors_are_joined_and_cut():
    a, b = tf.SparseTensor(*A), tf.SparseTensor(*B)
    assert value(v1.sparse_concat(1, [a, b])) == [[[0, 0], [0, 2], [1, 1], [1, 2]], [1, -1, 0.5, 2], [2, 4]]
    assert value(v1.sparse_concat(None, [a, b], concat_dim=0))[2] == [4, 2]
    wide = tf.SparseTensor([[0, 0]], [1.0], [1, 3])
    assert value(v1.sparse_concat(0, [a, wide], expand_nonconcat_dim=True))[2] == [3, 3]
    assert value(v1.sparse.concat(0, [a, wide], expand_nonconcat_dims=True))[2] == [3, 3]
    parts = v1.sparse_split(sp_input=a, num_split=2, axis=0)
    assert [value(part) for part in parts] == [[[[0, 0]], [1.0], [1, 2]], [[[0, 1]], [0.5], [1, 2]]]
    assert len(v1.sparse.split(sp_input=a, num_split=2, split_dim=1)) == 2
    with pytest.raises(ValueError, match="by their names"):
        v1.sparse_split(a, 2, 0)
    with pytest.raises(ValueError, match="'axis' must be given"):
        v1.sparse_concat(None, [a, b])


def test_reductions_that_stay_sparse():
    a = tf.SparseTensor(*A)
    assert value(v1.sparse_reduce_sum_sparse(a, 1)) == [[[0], [1]], [1.0, 0.5], [2]]
    found = v1.sparse_reduce_max_sparse(a, reduction_axes=[0], keep_dims=True)
    assert value(found) == [[[0, 0], [0, 1]], [1.0, 0.5], [1, 2]]
    assert v1.sparse_reduce_sum(a, reduction_axes=[0], keep_dims=True).numpy().tolist() == [[1, 0.5]]
    assert v1.sparse.reduce_max(a).numpy() == 1


def test_ids_become_places():
    ids = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [2, 1, 0], [2, 2])
    weights = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [0.5, 1.0, 2.0], [2, 2])
    assert value(v1.sparse_merge(ids, weights, 5)) == [[[0, 2], [1, 0], [1, 1]], [0.5, 2, 1], [2, 5]]
    assert value(v1.sparse_merge(ids, weights, 5, already_sorted=True))[0] == [[0, 2], [1, 1], [1, 0]]
    assert value(v1.sparse_merge([ids, ids], weights, [5, 6]))[0] == [[0, 2, 2], [1, 0, 0], [1, 1, 1]]
    with pytest.raises(ValueError, match="'vocab_size'"):
        v1.sparse_merge([ids], weights, [5, 6])
    assert v1.sparse_matmul([[1.0, 0.0]], [[2.0, 3.0]], transpose_b=True, a_is_sparse=True).numpy() == 2


def test_strings_are_split_to_sparse_tensors(session):
    found = session.run(v1.strings.split([["a b"], [" c "]]))
    assert found.indices.tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert found.values.tolist() == [b"a", b"b", b"c"]
    assert found.dense_shape.tolist() == [2, 1, 2]
    assert session.run(v1.strings.split("a,b,", ",")).values.tolist() == [b"a", b"b", b""]
    ragged = v1.strings.split(source=["a b", "c"], result_type="RaggedTensor")
    assert session.run(ragged).to_list() == [[b"a", b"b"], [b"c"]]
    with pytest.raises(ValueError, match="'result_type'"):
        v1.strings.split(["a"], result_type="list")


def test_the_difference_of_lists(session):
    out, places = session.run(v1.setdiff1d([1, 2, 3, 2], [2]))
    assert (out.tolist(), places.tolist()) == ([1, 3], [0, 2])
    assert places.dtype == np.int32
    assert session.run(v1.setdiff1d([1], [2], tf.int64)).idx.dtype == np.int64


def test_values_stay_sparse_where_they_are():
    found = v1.convert_to_tensor_or_sparse_tensor(v1.SparseTensorValue([[0]], [1.0], [2]))
    assert isinstance(found, tf.SparseTensor)
    assert v1.convert_to_tensor_or_sparse_tensor([1], tf.float32).dtype == tf.float32
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    assert v1.convert_to_tensor_or_indexed_slices(slices) is slices
    with pytest.raises(RuntimeError, match="must be of int32"):
        v1.convert_to_tensor_or_indexed_slices(slices, tf.int32)


def test_all_elements_of_a_sparse_tensor_of_unknown_rank_are_summed():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.sparse_placeholder(tf.float32)
        value = v1.SparseTensorValue([[0, 1], [1, 0]], [2.0, 3.0], [2, 3])
        assert session.run(v1.sparse_reduce_sum(x), {x: value}) == 5.0
        assert session.run(tf.sparse.reduce_max(x), {x: value}) == 3.0
