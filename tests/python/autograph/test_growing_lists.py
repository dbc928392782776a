"""Lists that grow in traced loops, and names and attributes that loops set, are what they are in Python."""

# The traced functions are written as users write them.
# ruff: noqa: C416, PERF401, PERF402, PT018, RUF043

from __future__ import annotations

from typing import Any

import pytest
from support import as_lists

import penstock as tf


def test_lists_that_grow_and_shrink() -> None:
    @tf.function
    def f(n: Any) -> Any:
        evens, odds = [], []
        for i in tf.range(n):
            if i % 2 == 0:
                evens.append(i)
            else:
                odds.append(i * 10)
        last = odds.pop()
        return evens, odds, last, len(evens)

    evens, odds, last, count = f(tf.constant(7))
    assert evens.numpy().tolist() == [0, 2, 4, 6] and odds.numpy().tolist() == [10, 30]
    assert (last.numpy(), count.numpy()) == (50, 4)


def test_lists_that_grow_in_nested_loops() -> None:
    traced: list[int] = []

    @tf.function
    def f(n: Any) -> Any:
        found = []
        for i in tf.range(n):
            for j in tf.range(i):
                traced.append(1)
                found.append(i * 10 + j)
        return tf.stack(found)

    assert f(tf.constant(4)).numpy().tolist() == [10, 20, 21, 30, 31, 32]
    assert len(traced) <= 5


def test_what_can_be_done_with_a_list_that_grew() -> None:
    @tf.function
    def f(n: Any) -> Any:
        out: list[Any] = []
        for i in tf.range(n):
            out += [i, i + 1]
        out.extend([7])
        out[-1] = out[0] + 9
        total = 0
        for x in out:
            total += x
        return total, sum(out), max(out), out[1:3], len(out), any(out), [x for x in [1]]

    assert as_lists(f(tf.constant(3))) == [18, 18, 9, [1, 1], 7, True, [1]]

    @tf.function
    def g(n: Any) -> Any:
        out = [1, 2]
        if n > 0:
            out.append(n)
        return out

    assert [g(tf.constant(n)).numpy().tolist() for n in (3, -3)] == [[1, 2, 3], [1, 2]]

    @tf.function
    def h(n: Any) -> Any:
        out = [1]
        for i in tf.range(n):
            out.append(i)
        return [x + 1 for x in out]

    assert as_lists(h(tf.constant(3))) == [2, 1, 2, 3]


def test_a_list_that_grew_is_changed_as_in_python() -> None:
    def changed(n: Any) -> Any:
        out = [10, 20]
        for i in range(n):
            out.append(i)
        first, second, last = out.pop(0), out.pop(n // 2), out.pop(-1)
        out.insert(1, 7)
        out.insert(-100, 8)
        out.insert(100, 9)
        out.reverse()
        del out[1]
        del out[-1]
        out.extend(out)
        return first, second, last, out, out + [1], [2] + out  # noqa: RUF005 -- is what is tested

    for n in (4, 5, 9):
        assert as_lists(tf.function(changed)(tf.constant(n))) == list(changed(n))


def test_lists_as_queues() -> None:
    @tf.function
    def halves(n: Any) -> Any:
        waiting, seen = [n], 0
        while waiting:
            x = waiting.pop(0)
            seen += 1
            if x > 1:
                waiting.append(x // 2)
                waiting.append(x - x // 2)
        return seen

    assert halves(tf.constant(8)).numpy() == 15


def test_a_list_that_grew_is_true_where_it_has_elements() -> None:
    @tf.function
    def f(n: Any) -> Any:
        out = []
        for i in tf.range(n):
            out.append(i)
        kind = 0
        if out:
            kind = 1
        elif not out:
            kind = 2
        return kind, 5 if out else 6, not out, out and n > 1, n > 1 or out, bool(out)

    assert as_lists(f(tf.constant(3))) == [1, 5, False, True, True, True]
    assert as_lists(f(tf.constant(1))) == [1, 5, False, False, True, True]
    assert as_lists(f(tf.constant(0))) == [2, 6, True, False, False, False]

    @tf.function
    def drained(n: Any) -> Any:
        out, total = [n], 0
        while out:
            x = out.pop()
            total += x
            if x > 0:
                out.append(x - 1)
        assert not out
        return total

    assert drained(tf.constant(4)).numpy() == 10


def test_a_list_that_grew_has_derivatives_through_its_changes() -> None:
    @tf.function
    def f(x: Any, n: Any) -> Any:
        out = [x]
        for _ in tf.range(n):
            out.append(out[-1] * x)
        return out.pop(1) + out[1]

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = f(x, tf.constant(3))
    assert y.numpy() == 2.0**2 + 2.0**3
    assert tape.gradient(y, x).numpy() == 2 * 2.0 + 3 * 2.0**2


def test_a_list_that_grew_says_which_methods_it_has_not() -> None:
    @tf.function
    def f(n: Any) -> Any:
        out = [1]
        for i in tf.range(n):
            out.append(i)
        out.sort()
        return out

    with pytest.raises(AttributeError, match=r"a list that grows in the graph has no 'sort': .*tf.stack"):
        f(tf.constant(3))

    @tf.function
    def g(n: Any) -> Any:
        out = [1]
        for i in tf.range(n):
            out.append(i)
        return out.pop(10)

    with pytest.raises(tf.errors.OutOfRangeError, match="10"):
        g(tf.constant(3))


def test_lists_as_stacks() -> None:
    @tf.function
    def depth_first(children: Any, root: Any) -> Any:
        stack = [root]
        tf.autograph.set_element_type(stack, tf.int32)
        order = []
        while len(stack) > 0:
            node = stack.pop()
            order.append(node)
            for child in children[node]:
                if child >= 0:
                    stack.append(child)
        return order

    children = tf.constant([[1, 2], [3, -1], [-1, -1], [-1, -1]])
    assert depth_first(children, tf.constant(0)).numpy().tolist() == [0, 2, 1, 3]


def test_elements_of_different_sizes() -> None:
    @tf.function
    def f(n: Any) -> Any:
        parts = []
        for i in tf.range(n):
            parts.append(tf.range(i))
        return parts[2], parts[-1]

    assert [t.numpy().tolist() for t in f(tf.constant(4))] == [[0, 1], [0, 1, 2]]


def test_a_name_first_set_in_a_loop() -> None:
    @tf.function
    def f(n: Any) -> Any:
        for i in tf.range(n):
            last = i
        return last

    assert f(tf.constant(3)).numpy() == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="must iterate at least once.*'last'"):
        f(tf.constant(0))


def test_attributes_of_objects() -> None:
    class Box:
        value: Any = 0

    @tf.function
    def f(x: Any) -> Any:
        box = Box()
        box.value = x
        if x > 0:
            box.value = x * 2
        while box.value < 50:
            box.value += 20
        return box.value

    assert [f(tf.constant(x)).numpy() for x in (-5, 5, 30)] == [55, 50, 60]
