"""Tensors go when nobody has them: no call leaves a cycle that keeps them until garbage is collected."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import penstock as tf


@tf.function
def doubled(parts: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    return tf.nest.map_structure(lambda x: x * 2.0, parts)


def reduced(x: tf.Tensor) -> Any:
    group = tf.distribute.ProcessGroup(["127.0.0.1:0"], 0)
    found = group.all_reduce({"a": x, "b": [x, x]})
    group.leave()
    return found


def differentiated(x: tf.Tensor) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x)
    return tape.gradient(y, {"a": x})


CALLS: dict[str, Callable[[tf.Tensor], Any]] = {
    "flatten": lambda x: tf.nest.flatten({"a": x, "b": [x]}),
    "pack": lambda x: tf.nest.pack_sequence_as({"a": 0, "b": [0]}, [x, x]),
    "map": lambda x: tf.nest.map_structure(lambda y: y + 1.0, [x, (x,)]),
    "a traced function": lambda x: doubled({"a": x}),
    "a gradient": differentiated,
    "a composite": lambda x: tf.nest.flatten(
        tf.RaggedTensor.from_row_lengths(x, [1, 2]), expand_composites=True
    ),
    "printed text": lambda x: tf.strings.format("{}", x),
    "a data set": lambda x: list(tf.data.Dataset.from_tensor_slices({"a": x}).batch(2)),
    "map_fn": lambda x: tf.map_fn(lambda y: y * 2.0, x),
    "a loop": lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + 1.0), (0, x)),
    "a reduction over processes": reduced,
}


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_keeps_none_of_its_tensors(name: str, no_collection: None) -> None:
    # The first call may make what stays: traces, caches.
    CALLS[name](tf.constant([1.0, 2.0, 3.0]))
    gc.collect()
    x = tf.constant([1.0, 2.0, 3.0])
    results = CALLS[name](x)
    kept = [weakref.ref(x)]
    kept += [weakref.ref(y) for y in tf.nest.flatten(results) if isinstance(y, tf.Tensor)]
    del x, results
    assert [ref for ref in kept if ref() is not None] == []
