"""Functions of data sets that run as Python code."""

from typing import Any

import pytest

import penstock as tf
from penstock.data._debug import Mode


@pytest.fixture(autouse=True)
def _debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mode, "debug", False)
    tf.data.experimental.enable_debug_mode()


def test_functions_see_the_values_of_each_element() -> None:
    seen = []

    def doubled(x: Any) -> Any:
        if not x._is_symbolic:
            seen.append(int(x))
        return {"y": x * 2, "z": [x, x]}

    rows = list(tf.data.Dataset.range(4).map(doubled, num_parallel_calls=2).batch(2).prefetch(1))
    assert seen == [0, 1, 2, 3]
    assert [row["y"].numpy().tolist() for row in rows] == [[0, 2], [4, 6]]
    assert rows[0]["z"].shape == (2, 2)


def test_other_stages_run_their_functions_too() -> None:
    numbers = tf.data.Dataset.range(5)
    kept = numbers.filter(lambda x: x > 2)
    sums = numbers.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s + x))
    assert [int(x) for x in kept] == [3, 4]
    assert [int(x) for x in sums] == [0, 1, 3, 6, 10]
    assert int(numbers.reduce(tf.constant(0, tf.int64), lambda s, x: s + x)) == 10
    inner = tf.data.Dataset.range(3).flat_map(lambda x: tf.data.Dataset.range(x))
    assert [int(x) for x in inner] == [0, 0, 1]
    ragged = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[[1], [2, 3]], [[4]]]))
    assert [x.to_list() for x in ragged.map(lambda x: x * 2)] == [[[2], [4, 6]], [[8]]]


def test_what_a_function_gives_is_checked_for_each_element() -> None:
    def odd(x: Any) -> Any:
        return x if x._is_symbolic or int(x) < 2 else "none"

    rows = iter(tf.data.Dataset.range(4).map(odd))
    assert [int(next(rows)), int(next(rows))] == [0, 1]
    with pytest.raises(TypeError, match="the result of argument 'map_func'"):
        next(rows)


def test_data_sets_of_traced_functions_are_traced_with_them() -> None:
    @tf.function
    def total(rows: Any, n: Any) -> Any:
        s = tf.constant(0, tf.int64)
        for x in rows.map(lambda x: x * n):
            s += x
        return s

    assert [int(total(tf.data.Dataset.range(4), tf.constant(n, tf.int64))) for n in (2, 3)] == [12, 18]


def test_data_sets_made_before_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mode, "debug", False)
    calls = []
    before = tf.data.Dataset.range(3).map(lambda x: (calls.append(1), x)[1])
    tf.data.experimental.enable_debug_mode()
    assert [int(x) for x in before] == [0, 1, 2]
    assert len(calls) == 1
    with pytest.raises(ValueError, match="outside of traced functions"):
        tf.function(tf.data.experimental.enable_debug_mode)()
