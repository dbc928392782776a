"""Dataclasses that take themselves apart as elements of data sets."""

from __future__ import annotations

import dataclasses
from typing import Any

import penstock as tf


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any

    def __tf_flatten__(self) -> tuple[tuple[()], tuple[Any, Any]]:
        return (), (self.left, self.right)

    @classmethod
    def __tf_unflatten__(cls, metadata: tuple[()], components: tuple[Any, Any]) -> Pair:
        return cls(*components)


def values(pairs: Any) -> list[tuple[Any, Any]]:
    assert all(type(pair) is Pair for pair in pairs)
    return [(pair.left.numpy().tolist(), pair.right.numpy().tolist()) for pair in pairs]


def test_slices_and_whole_tensors_are_dataclasses() -> None:
    pair = Pair(tf.constant([1, 2]), tf.constant([3, 4]))
    assert values(tf.data.Dataset.from_tensor_slices(pair)) == [(1, 3), (2, 4)]
    assert values(tf.data.Dataset.from_tensors(pair)) == [([1, 2], [3, 4])]


def test_map_takes_and_returns_dataclasses_and_batch_keeps_them() -> None:
    rows = tf.data.Dataset.range(4).map(lambda i: Pair(i, i * 2))
    assert values(rows.batch(2)) == [([0, 1], [0, 2]), ([2, 3], [4, 6])]
    assert [int(t) for t in rows.map(lambda pair: pair.left + pair.right)] == [0, 3, 6, 9]


def test_reduce_keeps_a_dataclass_as_its_state() -> None:
    start = Pair(tf.constant(0, tf.int64), tf.constant(1, tf.int64))
    last = tf.data.Dataset.range(3).reduce(start, lambda state, i: Pair(state.left + i, state.right * 2))
    assert values([last]) == [(3, 8)]
