"""Sequences turned round, coordinates, bins, names of devices, critical sections, messages of tensors."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as tf

RNG = np.random.default_rng(4)


@settings(max_examples=30, deadline=None)
@given(st.permutations([0, 1, 2]), st.integers(0, 4), st.integers(0, 3))
def test_sequences_are_turned_round(axes: list[int], longest: int, batch: int) -> None:
    along, across, _ = axes
    shape = [2, 2, 2]
    shape[along], shape[across] = longest, batch
    x = RNG.integers(0, 99, shape)
    lengths = RNG.integers(0, longest + 1, batch)
    due = x.copy()
    rows, turned = np.moveaxis(x, (across, along), (0, 1)), np.moveaxis(due, (across, along), (0, 1))
    for i, n in enumerate(lengths):
        turned[i, :n] = rows[i, :n][::-1]
    assert np.array_equal(tf.reverse_sequence(x, lengths, along, across).numpy(), due)


def test_a_sequence_needs_dimensions_that_differ() -> None:
    with pytest.raises(ValueError, match="argument 'seq_axis' is needed"):
        tf.reverse_sequence([[1]], [1])
    with pytest.raises(ValueError, match="must differ"):
        tf.reverse_sequence([[1]], [1], seq_axis=0)


@pytest.mark.parametrize("indices", [[], [0, 5, 23], 7])
def test_coordinates_of_flat_places(indices: Any) -> None:
    indices = np.array(indices, dtype="int64")
    got = tf.unravel_index(indices, [2, 3, 4]).numpy()
    assert np.array_equal(got, np.stack(np.unravel_index(indices, (2, 3, 4))))


def test_places_outside_are_errors() -> None:
    for place in (-1, 24):
        with pytest.raises(tf.errors.InvalidArgumentError, match="'indices' is out of range"):
            tf.unravel_index([place], [2, 3, 4])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.unravel_index([0], [2, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_values_are_counted_in_equal_bins(dtype: str) -> None:
    values = RNG.normal(scale=4, size=(5, 20)).astype(dtype)
    due = np.clip(np.floor((values - -3.0) / 6.0 * 7), 0, 6)
    got = tf.histogram_fixed_width_bins(values, np.array([-3, 3], dtype), 7)
    assert np.array_equal(got.numpy(), due)
    counts = tf.histogram_fixed_width(values, np.array([-3, 3], dtype), 7, tf.int64)
    assert counts.dtype == tf.int64
    assert np.array_equal(counts.numpy(), np.bincount(due.astype(int).ravel(), minlength=7))
    for nbins in (float("inf"), 2.0, [2, 3], "3"):
        with pytest.raises(TypeError, match="argument 'nbins' must be an integer"):
            tf.histogram_fixed_width([1.0], [0.0, 5.0], nbins)
    with pytest.raises(ValueError, match="argument 'nbins' must be at least 1"):
        tf.histogram_fixed_width([1.0], [0.0, 1.0], 0)


def test_names_of_devices_are_taken_apart_and_joined() -> None:
    for name in ("/job:worker/replica:1/task:2/device:GPU:3", "/device:CPU:0", "/task:1", ""):
        assert tf.DeviceSpec.from_string(name).to_string() == name
    spec = tf.DeviceSpec.from_string("/gpu:1")
    assert (spec.device_type, spec.device_index, spec.job) == ("GPU", 1, None)
    merged = tf.DeviceSpec("ps", task=1).make_merged_spec(spec)
    assert merged == tf.DeviceSpec("ps", task=1, device_type="GPU", device_index=1)
    assert hash(merged) == hash(merged.replace())
    assert merged.replace(task=2).task == 2
    for wrong in ("/nonsense", "/task:x", "/job:a:b"):
        with pytest.raises(ValueError, match="names no device"):
            tf.DeviceSpec.from_string(wrong)


def test_threads_take_turns_in_a_critical_section() -> None:
    section, total = tf.CriticalSection(), tf.Variable(0)

    def add() -> None:
        for _ in range(100):
            section.execute(lambda: total.assign(total + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int(total) == 400
    with pytest.raises(ValueError, match="executed within itself"):
        section.execute(lambda: section.execute(lambda: 1))
    assert int(tf.function(lambda: section.execute(lambda: total.assign_add(1)))()) == 401


def test_tensors_are_messages_and_back() -> None:
    for value in (np.arange(6).reshape(2, 3), np.float32(1.5), [b"a", b""], [True, False], np.zeros([0, 2])):
        message = tf.make_tensor_proto(value)
        again = type(message)()
        again.ParseFromString(message.SerializeToString())
        assert np.array_equal(tf.make_ndarray(again), np.asarray(value))
    assert tf.make_ndarray(tf.make_tensor_proto(3.0, shape=[2], allow_broadcast=True)).tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="do not fill shape"):
        tf.make_tensor_proto([1, 2], shape=[3])
    with pytest.raises(TypeError, match="must have shape"):
        tf.make_tensor_proto([1, 2], shape=[2, 1], verify_shape=True)
