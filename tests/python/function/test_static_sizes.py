"""What is known of sizes while a function is traced: all that follows from static shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as tf

CASES: dict[str, tuple[Callable[[Any], Any], list[int | None]]] = {
    "a slice to a size": (lambda x: x[:, : tf.shape(x)[1] - 1], [6, 7]),
    "a slice from a size": (lambda x: x[tf.shape(x)[0] // 2 :], [3, 8]),
    "a slice with a new axis": (lambda x: x[: tf.shape(x)[0] - 1, tf.newaxis], [5, 1, 8]),
    "slice with computed sizes": (lambda x: tf.slice(x, [1, 1], tf.shape(x) - 1), [5, 7]),
    "strided_slice": (lambda x: tf.strided_slice(x, [0, 0], tf.shape(x) - 1), [5, 7]),
    "reshape": (lambda x: tf.reshape(x, [-1, tf.shape(x)[1] // 2]), [12, 4]),
    "a sum of extents": (lambda x: tf.zeros(tf.shape(x) + 1), [7, 9]),
    "the number of elements": (lambda x: tf.zeros([tf.size(x)]), [48]),
    "the rank": (lambda x: tf.zeros([tf.rank(x)]), [2]),
    "a product": (lambda x: tf.zeros([tf.reduce_prod(tf.shape(x))]), [48]),
    "gathered extents": (lambda x: tf.zeros(tf.gather(tf.shape(x), [1, 0])), [8, 6]),
    "one of several results": (lambda x: tf.zeros(tf.split(tf.shape(x), 2)[0]), [6]),
    "limited extents": (lambda x: tf.zeros(tf.clip_by_value(tf.shape(x), 1, 5)), [5, 5]),
    "by way of floats": (lambda x: tf.zeros(tf.cast(tf.math.ceil(tf.shape(x) / 2), tf.int32)), [3, 4]),
    "a range": (lambda x: tf.range(1, tf.shape(x)[0]), [5]),
    "a range of floats": (lambda x: tf.range(tf.cast(tf.shape(x)[0], tf.float32)), [6]),
    "rows of a range": (lambda x: tf.gather(x, tf.range(tf.shape(x)[0] - 1)), [5, 8]),
    "as many of the greatest": (lambda x: tf.math.top_k(x, tf.shape(x)[1] - 1)[0], [6, 7]),
    "as often as a size": (lambda x: tf.repeat(x, tf.shape(x)[0], axis=0), [36, 8]),
    "a mask of sequences": (lambda x: tf.sequence_mask([1, 2]), [2, 2]),
    "an inverse permutation": (lambda x: tf.math.invert_permutation([2, 0, 1]), [3]),
    "an inverse permutation of axes": (lambda x: tf.math.invert_permutation(tf.range(tf.rank(x))), [2]),
    "stitched rows": (
        lambda x: tf.dynamic_stitch([[0, 1], [2]], [tf.ones([2, 3]), tf.ones([1, 3])]),
        [3, 3],
    ),
    "counts": (lambda x: tf.math.bincount([[1, 2]], axis=-1, minlength=4, maxlength=4), [1, 4]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_follows_from_static_shapes_is_known(case: str) -> None:
    make, due = CASES[case]
    seen: list[Any] = []

    @tf.function
    def function(x: Any) -> Any:
        made = make(x)
        seen.append(made.shape.as_list())
        return made

    made = function(tf.random.normal([6, 8]))
    assert seen == [due]
    assert made.shape.as_list() == due


def test_known_extents_stay_known_beside_unknown_ones() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 8])])
    def function(x: Any) -> Any:
        part = x[:, 1 : tf.shape(x)[1] // 2]
        assert part.shape.as_list() == [None, 3]
        return part

    assert function(tf.ones([2, 8])).shape.as_list() == [2, 3]
