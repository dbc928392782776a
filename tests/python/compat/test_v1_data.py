"""Iterators of data sets in graphs of TensorFlow 1."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def rest(sess: Any, following: Any, feed_dict: Any = None) -> list[Any]:
    """What a session gets until the end."""
    found = []
    while True:
        try:
            found.append(sess.run(following, feed_dict))
        except tf.errors.OutOfRangeError:
            return found
        gc.collect()


def test_each_session_begins_a_one_shot_iterator_by_itself() -> None:
    with tf.Graph().as_default():
        rows = tf.data.Dataset.from_tensor_slices({"x": np.arange(4.0), "y": np.arange(4)})
        iterator = v1.data.make_one_shot_iterator(rows.map(lambda row: (row["x"] * 2, row["y"])).batch(3))
        x, y = iterator.get_next("rows")
        assert x.name.startswith("rows/")
        total = v1.Variable(0.0, dtype=tf.float64)
        step = total.assign_add(tf.reduce_sum(x) + tf.cast(tf.size(y), tf.float64))
        init = v1.global_variables_initializer()
        for _ in range(2):
            with v1.Session() as sess:
                sess.run(init)
                assert rest(sess, step) == [9.0, 16.0]
                assert sess.run(total) == 16.0
        assert v1.global_variables() == [total]
        with pytest.raises(ValueError, match="does not have an initializer"):
            _ = iterator.initializer


def test_an_initializable_iterator_begins_with_what_is_fed() -> None:
    with tf.Graph().as_default():
        n = v1.placeholder(tf.int64, [])
        iterator = v1.data.make_initializable_iterator(tf.data.Dataset.range(n).map(lambda i: i * n))
        following = iterator.get_next()
        with v1.Session() as sess:
            with pytest.raises(tf.errors.FailedPreconditionError):
                sess.run(following)
            for size in (3, 2):
                sess.run(iterator.initializer, {n: size})
                assert rest(sess, following) == [i * size for i in range(size)]


def test_one_iterator_begins_with_several_data_sets() -> None:
    first, second = tf.data.Dataset.range(2), tf.data.Dataset.range(5, 8)
    types, shapes = v1.data.get_output_types(first), v1.data.get_output_shapes(first)
    with tf.Graph().as_default():
        iterator = v1.data.Iterator.from_structure(types, shapes)
        assert (iterator.output_types, iterator.output_shapes) == (tf.int64, [])
        assert iterator.output_classes is tf.Tensor
        following = iterator.get_next()
        begins = [iterator.make_initializer(d, name=n) for d, n in ((first, "a"), (second, "b"))]
        with pytest.raises(TypeError, match="argument 'dataset' must have elements of"):
            iterator.make_initializer(first.batch(2))
        with v1.Session() as sess:
            for begin, due in zip([*begins, begins[0]], ([0, 1], [5, 6, 7], [0, 1]), strict=True):
                sess.run(begin)
                assert rest(sess, following) == due


def test_a_handle_that_is_fed_chooses_the_iterator() -> None:
    with tf.Graph().as_default():
        which = v1.placeholder(tf.string, [])
        following = v1.data.Iterator.from_string_handle(which, tf.int64, []).get_next() * 10
        one = v1.data.make_one_shot_iterator(tf.data.Dataset.range(3))
        other = v1.data.make_initializable_iterator(tf.data.Dataset.range(100, 102))
        handles = one.string_handle(), other.string_handle()
        with v1.Session() as sess:
            sess.run(other.initializer)
            a, b = sess.run(handles)
            assert [sess.run(following, {which: h}) for h in (a, b, a)] == [0, 1000, 10]
            assert rest(sess, following, {which: b}) == [1010]
            with pytest.raises(tf.errors.InvalidArgumentError, match="no handle of an iterator: 'zzz'"):
                sess.run(following, {which: "zzz"})
            with pytest.raises(tf.errors.FailedPreconditionError, match="is gone"):
                sess.run(following, {which: "999999999"})


def test_outside_of_graphs() -> None:
    numbers = tf.data.Dataset.range(2)
    iterator = v1.data.make_one_shot_iterator(numbers)
    assert [int(iterator.get_next()), int(next(iterator))] == [0, 1]
    with pytest.raises(RuntimeError, match="make_initializable_iterator needs a graph"):
        v1.data.make_initializable_iterator(numbers)
    with pytest.raises(TypeError, match="argument 'dataset'"):
        v1.data.make_one_shot_iterator([1, 2])
    rows = tf.data.Dataset.from_tensors((tf.ragged.constant([[1], [2, 3]]), 1.5))
    assert v1.data.get_output_classes(rows) == (tf.RaggedTensor, tf.Tensor)
    assert v1.data.get_output_types(rows) == (tf.int32, tf.float32)


def test_a_handle_is_known_before_the_iterator_begins_and_stays_through_new_beginnings() -> None:
    with tf.Graph().as_default():
        which = v1.placeholder(tf.string, [])
        following = v1.data.Iterator.from_string_handle(which, tf.int64, []).get_next()
        training = v1.data.make_one_shot_iterator(tf.data.Dataset.range(10).repeat())
        validation = v1.data.make_initializable_iterator(tf.data.Dataset.range(100, 102))
        with v1.Session() as sess:
            a, b = sess.run([training.string_handle(), validation.string_handle()])
            with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
                sess.run(following, {which: b})
            found = []
            for _ in range(2):
                found.append([int(sess.run(following, {which: a})) for _ in range(3)])
                sess.run(validation.initializer)
                found.append([int(x) for x in rest(sess, following, {which: b})])
            assert found == [[0, 1, 2], [100, 101], [3, 4, 5], [100, 101]]


def test_data_sets_have_the_methods_of_version_1() -> None:
    rows = v1.data.Dataset.from_tensor_slices({"x": [1.0, 2.0, 3.0], "y": [b"a", b"b", b"c"]})
    made = rows.map(lambda row: (row["x"] * 2, row["y"])).batch(2).apply(lambda ds: ds.repeat(1))
    assert isinstance(made, v1.data.Dataset)
    assert isinstance(made, tf.data.Dataset)
    assert made.output_types == (tf.float32, tf.string)
    assert made.output_shapes == (tf.TensorShape([None]), tf.TensorShape([None]))
    assert made.output_classes == (tf.Tensor, tf.Tensor)
    assert not hasattr(tf.data.Dataset.range(2), "make_one_shot_iterator")
    with tf.Graph().as_default(), v1.Session() as sess:
        x, _ = made.make_one_shot_iterator().get_next()
        assert [values.tolist() for values in rest(sess, x)] == [[2.0, 4.0], [6.0]]
        n = v1.placeholder(tf.int64, [])
        iterator = v1.data.Dataset.range(n).make_initializable_iterator()
        sess.run(iterator.initializer, {n: 2})
        assert rest(sess, iterator.get_next()) == [0, 1]
    for iterator in (made.make_one_shot_iterator(), iter(made)):
        assert iterator.get_next()[1].numpy().tolist() == [b"a", b"b"]


@pytest.mark.parametrize("name", ["TextLineDataset", "TFRecordDataset"])
def test_data_sets_of_files_have_the_methods_of_version_1(name: str, tmp_path: Any) -> None:
    with tf.io.TFRecordWriter(str(tmp_path / "a.TFRecordDataset")) as writer:
        writer.write(b"one")
    (tmp_path / "a.TextLineDataset").write_bytes(b"one\n")
    with tf.Graph().as_default(), v1.Session() as sess:
        made = getattr(v1.data, name)(str(tmp_path / f"a.{name}"))
        assert isinstance(made, getattr(tf.data, name))
        assert isinstance(made.repeat(2), v1.data.Dataset)
        assert rest(sess, made.repeat(2).make_one_shot_iterator().get_next()) == [b"one", b"one"]


def test_experimental_functions_give_data_sets_of_version_1() -> None:
    experimental = v1.data.experimental
    ranges = [tf.data.Dataset.range(2), tf.data.Dataset.range(5, 7)]
    choice = tf.data.Dataset.from_tensor_slices(np.array([1, 0, 1]))
    with tf.Graph().as_default(), v1.Session() as sess:
        chosen = experimental.choose_from_datasets(ranges, choice)
        assert isinstance(chosen, v1.data.Dataset)
        following = chosen.make_one_shot_iterator().get_next()
        assert [int(sess.run(following)) for _ in range(3)] == [5, 0, 6]
        counted = experimental.Counter(3).apply(experimental.unique()).make_one_shot_iterator()
        assert int(sess.run(counted.get_next())) == 3


def test_experimental_files_are_data_sets_of_version_1(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("1,a\n2,b\n")
    with tf.Graph().as_default(), v1.Session() as sess:
        rows = v1.data.experimental.CsvDataset(str(path), [tf.int32, tf.string])
        following = rows.make_one_shot_iterator().get_next()
        assert [part.tolist() for part in map(np.asarray, sess.run(following))] == [1, b"a"]
    legacy = v1.data.experimental.map_and_batch_with_legacy_function(lambda x: x + 1, 2)
    assert [x.numpy().tolist() for x in v1.data.Dataset.range(2).apply(legacy)] == [[1, 2]]
