"""Tensors that stay between the runs of sessions."""

from __future__ import annotations

import gc

import pytest

import penstock as tf
from penstock.compat.v1 import _session_handles

v1 = tf.compat.v1


def test_a_tensor_stays_between_runs() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        handle, plain = session.run([v1.get_session_handle(tf.constant([1.0, 2.0]) * 2.0), tf.constant(1)])
        assert plain == 1
        assert handle.eval().tolist() == [2.0, 4.0]
        assert handle.dtype == tf.float32
        holder, x = v1.get_session_tensor(handle.handle, tf.float32)
        assert session.run(x + 1.0, {holder: handle.handle}).tolist() == [3.0, 5.0]
        assert session.run(x + 1.0, {holder: handle}).tolist() == [3.0, 5.0]


def test_a_handle_is_fed_for_the_tensor() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2])
        handle = session.run(v1.get_session_handle(tf.constant([1.0, 2.0])))
        assert session.run(x + 1.0, {x: handle}).tolist() == [2.0, 3.0]


def test_a_tensor_that_was_deleted_is_gone() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        make = v1.get_session_handle(tf.constant(1.0))
        handle = session.run(make)
        holder, x = v1.get_session_tensor(handle.handle, tf.float32)
        handle.delete()
        with pytest.raises(tf.errors.InvalidArgumentError, match="no tensor of the handle"):
            session.run(x, {holder: handle.handle})
        with pytest.raises(tf.errors.InvalidArgumentError, match="no tensor of the handle"):
            handle.delete()


def test_a_tensor_goes_with_its_handle_unless_the_text_was_taken() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        make = v1.get_session_handle(tf.constant(1.0))
        text = session.run(make).handle
        gc.collect()
        holder, x = v1.get_session_tensor(text, tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(x, {holder: text})
        raw = session.run(make).get_raw_handle()
        gc.collect()
        assert session.run(x, {holder: raw}) == 1.0
        deleted, deleter = v1.delete_session_tensor(raw)
        session.run(deleter, {deleted: raw})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(x, {holder: raw})


def test_what_is_no_tensor_of_a_graph_is_refused() -> None:
    with (
        tf.Graph().as_default(),
        pytest.raises(TypeError, match=r"'data' must be a tensor of a graph, got 1\.0"),
    ):
        v1.get_session_handle(1.0)


def test_a_handle_may_end_while_a_tensor_is_kept() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        ends = [session.run(v1.get_session_handle(tf.constant(1.0)))]

        class Value:
            def copy(self) -> str:
                ends.clear()
                return "kept"

        assert _session_handles._value(_session_handles._keep(Value())) == "kept"
    assert not ends
