"""`and` and `or`, names of inner functions, and what loops set, where tensors decide."""

# The traced functions are written as users write them.
# ruff: noqa: B007, C416, F841, PERF401, PT018, RUF021, RUF043

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest
from support import as_lists

import penstock as tf

BOTH: dict[str, Callable[..., Any]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "and of what costs": lambda a, b: a and tf.abs(b),
    "or of what costs": lambda a, b: a or tf.abs(b),
    "and with a number": lambda a, b: a and 5,
    "or with a number": lambda a, b: a or 5,
    "a number and": lambda a, b: 5 and b,
    "no number or": lambda a, b: 0 or b,
    "three": lambda a, b: a and b or 7,
}


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("dtype", [tf.int32, tf.float32, tf.bool])
def test_and_and_or_give_an_operand(kind: str, dtype: tf.DType) -> None:
    if dtype == tf.bool and "costs" in kind:
        pytest.skip("bools have no absolute value")
    f = tf.function(BOTH[kind])
    for a in (0, 3):
        for b in (0, 2):
            x, y = tf.constant(bool(a) if dtype == tf.bool else a, dtype), tf.cast(b, dtype)
            got, due = f(x, y).numpy(), BOTH[kind](x, y)
            due = due.numpy() if hasattr(due, "numpy") else due
            assert (
                got == due
                if dtype != tf.bool or "number" not in kind and kind != "three"
                else bool(due) == bool(got)
            )


def test_operands_of_different_dtypes_give_their_truth() -> None:
    f = tf.function(lambda n, flag: (n and flag, n or flag, flag and n, n and None, n or "text"))
    got = f(tf.constant(3), tf.constant(False))
    assert [g.dtype for g in got] == [tf.bool] * 5
    assert as_lists(got) == [False, True, False, False, True]


def test_only_operands_that_count_are_computed() -> None:
    @tf.function
    def f(n: Any) -> Any:
        return n and tf.py_function(seen, [n], tf.int32), n or tf.py_function(seen, [n], tf.int32)

    log: list[int] = []

    def seen(n: Any) -> Any:
        log.append(int(n))
        return n + 1

    assert as_lists(f(tf.constant(0))) == [0, 1] and as_lists(f(tf.constant(4))) == [5, 4]
    assert log == [0, 4]


def test_functions_that_both_branches_define() -> None:
    def f(x: Any) -> Any:
        if x > 0:

            def g(v: Any) -> Any:
                return v + 1
        else:
            g = tf.abs
        return g(x)

    with pytest.raises(
        TypeError, match=r"'g' must have one type .* the function g .* the function abs .* branches"
    ):
        tf.function(f)(tf.constant(1))
    with pytest.raises(TypeError, match="the conditional expression must .* call them in the branches"):
        tf.function(lambda x: (tf.abs if x > 0 else tf.sin)(x))(tf.constant(1.0))


def test_names_of_inner_functions_are_their_own() -> None:
    @tf.function
    def f(n: Any) -> Any:
        def body(i: Any, total: Any) -> Any:
            k = i * 2
            return total + k

        total = 0
        for i in tf.range(n):
            k = i
            total = body(i, total)
        return total

    # Neither `i` nor `k` is read after the loop, so that it need not iterate.
    assert f(tf.constant(0)) == 0 and f(tf.constant(4)) == 12


def test_names_that_inner_functions_read_are_kept() -> None:
    @tf.function
    def f(n: Any) -> Any:
        k, i = -1, -1

        def last(default: Any = 0) -> Any:
            squares = [i for i in range(3)]
            return k + i + default + len(squares)

        for i in tf.range(n):
            k = i * 10
        return last()

    assert f(tf.constant(0)) == 1 and f(tf.constant(4)) == 36


def test_the_shape_of_a_variable_that_starts_as_none() -> None:
    @tf.function
    def f(n: Any) -> Any:
        rows = None
        other = None
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(rows, tf.TensorShape([None]))])
            rows = tf.constant([0]) if rows is None else tf.concat([rows, [i]], 0)
            other = i
        return rows, other

    assert as_lists(f(tf.constant(4))) == [[0, 1, 2, 3], 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least once"):
        f(tf.constant(0))


def test_a_shape_for_what_the_loop_does_not_change() -> None:
    @tf.function
    def f(n: Any) -> Any:
        fixed = None
        while n > 0:
            tf.autograph.experimental.set_loop_options(shape_invariants=[(fixed, [None])])
            n -= 1
        return n

    with pytest.raises(
        ValueError, match="shape_invariants names None, which is no variable that the loop changes"
    ):
        f(tf.constant(3))


def test_the_hint_about_numbers_in_a_loop() -> None:
    @tf.function
    def f(x: Any) -> Any:
        total = 0
        for row in x:
            total += row
        return total

    with pytest.raises(TypeError) as caught:
        f(tf.constant([1.5, 2.0]))
    (note,) = caught.value.__notes__
    assert (
        note.count("'total' starts as 0 and is a tensor of dtype int32 in it") == 1
        and "in itint32" not in note
    )


def test_what_a_loop_sets_is_there_where_only_a_break_leads() -> None:
    @tf.function
    def by_for(xs: Any, limit: Any) -> Any:
        for i, x in enumerate(xs):
            twice = x * 2
            if twice > limit:
                break
        else:
            return -1, -1
        return i, twice

    @tf.function
    def by_while(n: Any) -> Any:
        while n > 0:
            half = n // 2
            n -= 3
            if n == half:
                break
        else:
            raise ValueError("none")
        return half

    empty = tf.zeros([0], tf.int32)
    unknown = tf.TensorSpec([None], tf.int32)
    found = by_for.get_concrete_function(unknown, tf.TensorSpec([], tf.int32))
    assert as_lists(found(empty, tf.constant(3))) == [-1, -1]
    assert as_lists(found(tf.constant([1, 2, 5]), tf.constant(3))) == [1, 4]
    assert by_while(tf.constant(6)) == 3
    with pytest.raises(ValueError, match="none"):
        by_while(tf.constant(0))

    @tf.function
    def read_otherwise(n: Any) -> Any:
        for i in tf.range(n):
            if i == 3:
                break
        else:
            return i + 100
        return i

    assert read_otherwise(tf.constant(2)) == 101 and read_otherwise(tf.constant(9)) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least once"):
        read_otherwise(tf.constant(0))


def test_nesting_of_loops_that_replace_none_is_no_burden() -> None:
    lines = ["def program(n):", "    best = None"]
    for depth in range(12):
        lines.append("    " * (depth + 1) + f"for i{depth} in tf.range(n):")
    lines.append("    " * 13 + "if best is None or i11 > best:")
    lines.append("    " * 14 + "best = i11")
    lines.append("    return best")
    source = "\n".join(lines) + "\n"
    file = "<loops in loops>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"tf": tf}
    exec(compile(source, file, "exec"), names)
    traced = tf.function(names["program"])
    assert traced(tf.constant(2)) == 1
    # Each loop stands there for its first iteration and for the others, at each depth.
    text = traced.get_concrete_function(tf.constant(2)).graph.to_text()
    assert text.count("= while ") < 200


def open_shape(*shape: int | None) -> tf.TensorSpec:
    return tf.TensorSpec(shape if shape != (-1,) else None, tf.int32)


@pytest.mark.parametrize("spec", [open_shape(1), open_shape(None), open_shape(1, None), open_shape(-1)])
def test_a_condition_may_have_dimensions_if_it_has_one_element(spec: tf.TensorSpec) -> None:
    @tf.function(input_signature=[spec])
    def f(t: Any) -> Any:
        count = 0
        if t == 3 and t < 5:
            count += 100
        while t > count % 100:
            count += 1
        assert t > 0
        chosen = 1000 if not t > 2 else 2000
        (loops,) = tf.while_loop(lambda i: t > i, lambda i: [i + 1], [tf.constant(0)])
        return count + chosen + loops * 10000 + tf.cond(t > 2, lambda: 0, lambda: 7)

    for n in (3, 2):
        shape = [1] * len(spec.shape) if spec.shape.rank else [1]
        due = n + (100 if n == 3 else 0) + (2000 if n > 2 else 1000) + n * 10000 + (0 if n > 2 else 7)
        assert int(f(tf.fill(shape, n))) == due
    if spec.shape.num_elements() is None:
        with pytest.raises(tf.errors.InvalidArgumentError):
            f(tf.ones([1, 2] if spec.shape.rank == 2 else [2], tf.int32))
