"""Python control flow in traced functions: what becomes part of the graph, and what stays Python's."""

# The traced functions are written as users write them.
# ruff: noqa: B905, C417, PERF401, PERF402, PT018, SIM905

from __future__ import annotations

import contextlib
import functools
import inspect
import linecache
import logging
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import autograph


def value(tensor: Any) -> Any:
    return tensor.numpy().tolist()


# --- the examples of the guides, in other words ---


def steps_to_one(n: Any) -> Any:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps = steps + 1
    return steps


def test_collatz_runs_as_one_loop() -> None:
    f = tf.function(steps_to_one)
    assert [value(f(tf.constant(n))) for n in (1, 6, 27)] == [0, 8, 111]
    assert f.experimental_get_tracing_count() == 1
    assert [steps_to_one(n) for n in (1, 6, 27)] == [0, 8, 111]
    operators = {node.op for node in f.get_concrete_function(tf.constant(1)).graph.as_graph_def().node}
    assert any("While" in op for op in operators)


def test_huber_chooses_a_branch_when_it_runs() -> None:
    limit = 1.0

    @tf.function
    def huber(a: Any) -> Any:
        if tf.abs(a) <= limit:
            loss = a * a / 2
        else:
            loss = limit * (tf.abs(a) - limit / 2)
        return loss

    assert value(huber(tf.constant(0.5))) == 0.125
    assert value(huber(tf.constant(-9.0))) == 8.5
    assert huber.experimental_get_tracing_count() == 1


def test_fizzbuzz_traces_every_branch_once(capsys: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def fizzbuzz(n: Any) -> None:
        for i in tf.range(1, n + 1):
            print("loop")
            if i % 15 == 0:
                print("both")
                tf.print("fizzbuzz")
            elif i % 3 == 0:
                print("three")
                tf.print("fizz")
            elif i % 5 == 0:
                print("five")
                tf.print("buzz")
            else:
                print("other")
                tf.print(i)

    fizzbuzz(tf.constant(5))
    captured = capsys.readouterr()
    assert captured.out.split() == ["loop", "both", "three", "five", "other"]
    assert captured.err.split() == ["1", "2", "fizz", "4", "buzz"]
    fizzbuzz(tf.constant(15))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.split() == "1 2 fizz 4 buzz fizz 7 8 fizz buzz 11 fizz 13 14 fizzbuzz".split()


def test_nested_branch_and_loop_with_a_trace_time_print(capsys: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def up_to_five(n: Any) -> Any:
        if n >= 0:
            while n < 5:
                n += 1
                print("traced")
        return n

    assert [value(up_to_five(tf.constant(n))) for n in (-3, 2, 9)] == [-3, 5, 9]
    assert capsys.readouterr().out == "traced\n"


def test_tanh_until_the_sum_is_small() -> None:
    def shrink(x: Any) -> Any:
        while tf.reduce_sum(x) > 1:
            x = tf.tanh(x)
        return x

    x = tf.constant([0.5, 0.9, 0.3])
    np.testing.assert_allclose(tf.function(shrink)(x).numpy(), shrink(x).numpy(), rtol=1e-6)


def test_assert_stops_the_run() -> None:
    @tf.function
    def square(x: Any) -> Any:
        assert x != 0, "do not pass zero!"
        return x * x

    assert value(square(tf.constant(3))) == 9
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not pass zero!"):
        square(tf.constant(0))


def test_an_assert_shows_the_values_in_its_message() -> None:
    @tf.function
    def check(x: Any, text: str) -> Any:
        assert x < 3, ("too large:", x, text)
        return x

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[too large:\] \[7\] \[m\]"):
        check(tf.constant(7), "m")


def test_a_list_grows_in_a_loop() -> None:
    @tf.function
    def declared(n: Any) -> Any:
        z = []
        autograph.set_element_type(z, tf.int32)
        for i in range(n):
            z.append(i * i)
        return autograph.stack(z)

    @tf.function
    def undeclared(n: Any) -> Any:
        z = []
        for i in tf.range(n):
            z.append(i * i)
        return tf.stack(z), len(z)

    assert value(declared(tf.constant(4))) == [0, 1, 4, 9]
    assert value(declared(tf.constant(0))) == []
    rows, length = undeclared(tf.constant(3))
    assert value(rows) == [0, 1, 4] and value(length) == 3


def test_a_python_number_of_steps_is_unrolled(capsys: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def train(steps: Any) -> Any:
        print("traced")
        total = 0
        for _ in tf.range(steps):
            total += 1
        return total

    assert [value(train(n)) for n in (2, 3)] == [2, 3]
    assert [value(train(tf.constant(n))) for n in (2, 3)] == [2, 3]
    assert capsys.readouterr().out == "traced\n" * 3


def test_a_python_side_effect_happens_while_tracing() -> None:
    seen: list[Any] = []

    @tf.function
    def f(x: Any) -> Any:
        if x > 0:
            seen.append("positive")
        else:
            seen.append("other")
        return x

    for n in (1, 2, -1):
        f(tf.constant(n))
    assert seen == ["positive", "other"]


# --- statements ---


def test_return_from_within_loops() -> None:
    @tf.function
    def find(x: Any) -> Any:
        for i in tf.range(10):
            for j in tf.range(10):
                if i * j > x:
                    return i, j
        return -1, -1

    assert value(tf.stack(find(tf.constant(20)))) == [3, 7]
    assert value(tf.stack(find(tf.constant(99)))) == [-1, -1]


def test_else_of_loops() -> None:
    @tf.function
    def first_divisor(n: Any) -> Any:
        found = 0
        for k in tf.range(2, n):
            if n % k == 0:
                found = k
                break
        else:
            found = -1
        i = 0
        while i < n:
            i += 1
            if i == 7:
                break
        else:
            i = -i
        return found, i

    assert value(tf.stack(first_divisor(tf.constant(9)))) == [3, 7]
    assert value(tf.stack(first_divisor(tf.constant(5)))) == [-1, -5]


def test_return_in_a_loop_and_in_its_else() -> None:
    @tf.function
    def first_above(x: Any, limit: Any) -> Any:
        for i, element in enumerate(x):
            if element > limit:
                return i
        else:
            return -1

    @tf.function
    def doubled_to(x: Any, limit: Any) -> Any:
        if limit > 0:
            while x < 100:
                x *= 2
                if x == limit:
                    return x
            else:
                return -x
        else:
            return limit

    assert value(first_above(tf.constant([1, 5, 2]), tf.constant(4))) == 1
    assert value(first_above(tf.constant([1, 5, 2]), tf.constant(6))) == -1
    assert value(first_above(tf.constant([], tf.int32), tf.constant(6))) == -1
    assert [value(doubled_to(tf.constant(3), tf.constant(n))) for n in (48, 49, -5)] == [48, -192, -5]


def test_break_that_depends_on_a_tensor_in_a_python_loop() -> None:
    @tf.function
    def f(x: Any) -> Any:
        total = 0
        for i in [1, 2, 3, 4]:
            if i > x:
                break
            total += i
        return total

    assert [value(f(tf.constant(n))) for n in (0, 2, 9)] == [0, 3, 10]


def test_iteration_over_rows_enumerate_zip_and_reversed() -> None:
    @tf.function
    def f(a: Any, b: Any) -> Any:
        total = 0.0
        for i, (row, other) in enumerate(zip(a, b), 1):
            for x, y in row:
                total += x * y * tf.cast(i, tf.float32) + other
        for x in reversed(b):
            total = total * 10.0 + x
        return total

    a = tf.constant([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    expected = (1 * 2 + 3 * 4) + (5 * 6 + 7 * 8) * 2 + 2 * 1.0 + 2 * 2.0
    assert value(f(a, tf.constant([1.0, 2.0]))) == expected * 100 + 21


def test_ranges_with_steps_and_other_dtypes() -> None:
    @tf.function
    def f(a: Any, b: Any, c: Any) -> Any:
        out = []
        for i in range(a, b, c):
            out.append(i)
        return tf.stack(out)

    for args in [(0, 7, 2), (7, 0, -3), (5, 5, 1), (3, -1, 1)]:
        got = f(*map(tf.constant, args)) if range(*args) else None
        if got is not None:
            assert value(got) == list(range(*args))

    @tf.function
    def g(n: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for i in tf.range(n):
            total += i
        return total

    assert value(g(tf.constant(5, tf.int64))) == 10


def test_match_on_values() -> None:
    @tf.function
    def name(x: Any) -> Any:
        match x:
            case 0:
                return "none"
            case 1 | 2:
                return "few"
            case n if n > 50:
                return "many"
            case _:
                return "some"

    assert [name(tf.constant(k)).numpy() for k in (0, 2, 7, 60)] == [b"none", b"few", b"some", b"many"]


def test_raise_happens_when_its_branch_runs() -> None:
    def checked(x: Any) -> Any:
        if x > 5:
            raise KeyError("too large")
        return x

    @tf.function
    def f(x: Any) -> Any:
        for i in tf.range(3):
            x = checked(x) + i
        return x

    assert value(f(tf.constant(1))) == 4
    with pytest.raises(KeyError, match="too large"):
        f(tf.constant(6))
    assert value(f(tf.constant(2))) == 5


def test_try_and_with_around_control_flow() -> None:
    order: list[str] = []

    @contextlib.contextmanager
    def noted(name: str) -> Any:
        order.append(f"enter {name}")
        try:
            yield name
        finally:
            order.append(f"exit {name}")

    @tf.function
    def f(x: Any) -> Any:
        with noted("a") as name:
            try:
                if x > 0:
                    return x
                x = x - len(name)
            finally:
                order.append("finally")
        try:
            raise ValueError
        except ValueError as error:
            x = x * (1 if isinstance(error, ValueError) else 0)
        return x * 10

    assert [value(f(tf.constant(n))) for n in (3, -2)] == [3, -30]
    assert order == ["enter a", "finally", "exit a"]


def test_assignment_to_items_of_a_local_tensor() -> None:
    @tf.function
    def f(x: Any, n: Any) -> Any:
        for i in tf.range(n):
            x[i] = i * 10
            x[-1] += 1
        return x

    x = tf.constant([7, 7, 7])
    assert value(f(x, tf.constant(2))) == [0, 10, 9]
    assert value(x) == [7, 7, 7]
    with pytest.raises(TypeError):
        f.python_function(x, tf.constant(2))


def test_items_of_dicts_and_lists_in_branches() -> None:
    @tf.function
    def f(x: Any) -> Any:
        d = {"a": x, "b": 2}
        items = [x, x]
        same = items
        if x > 0:
            d["a"] = x * 10
            items[1] = x + 5
        else:
            d["b"] = x
        return d, items, same is items

    d, items, same = f(tf.constant(3))
    assert (value(d["a"]), value(d["b"]), [value(i) for i in items], bool(same)) == (30, 2, [3, 8], True)
    d, items, _ = f(tf.constant(-3))
    assert (value(d["a"]), value(d["b"]), [value(i) for i in items]) == (-3, -3, [-3, -3])


# --- expressions ---


def test_logic_is_short_circuit_when_the_graph_runs() -> None:
    @tf.function
    def f(x: Any, i: Any) -> Any:
        return i < 3 and x[i] > 1, i >= 3 or x[i] > 1, not i, 0 < i <= 2, i if i > 1 else x[0]

    x = tf.constant([1, 2, 3])
    assert [value(v) for v in f(x, tf.constant(1))] == [True, True, False, True, 1]
    assert [value(v) for v in f(x, tf.constant(9))] == [False, True, False, False, 9]


def test_python_values_keep_python_semantics() -> None:
    calls: list[str] = []

    def note(name: str, result: Any) -> Any:
        calls.append(name)
        return result

    @tf.function
    def f(x: Any) -> Any:
        a = note("a", []) or note("b", "text")
        b = note("c", 0) and note("d", 1)
        c = note("e", 3) < note("f", 2) < note("g", 9)
        d = (n := 5) if note("h", True) else note("i", None)
        assert (a, b, c, d, n) == ("text", 0, False, 5, 5)
        return x

    f(tf.constant(1))
    assert calls == ["a", "b", "c", "e", "f", "h"]


def test_builtins_of_tensors() -> None:
    @tf.function
    def f(x: Any, n: Any) -> Any:
        return (
            [
                len(x),
                abs(x[0]),
                max(x),
                min(x),
                sum(x),
                max(n, 3),
                min(n, 3, 9),
                int(2.0 * tf.cast(n, tf.float32)),
            ],
            [any(x > 2), all(x > 2), bool(n), any([n > 100, n < 100]), float(n)],
            [v * 2 for v in x if True],
            list(map(lambda v: v if v > 0 else -v, x)),
        )

    x = tf.constant([-1, 2, 3])
    first, second, third, fourth = f(x, tf.constant(7))
    assert [int(v) for v in first] == [3, 1, 3, -1, 4, 7, 3, 14]
    assert [float(v) for v in second] == [1.0, 0.0, 1.0, 1.0, 7.0]
    assert [value(v) for v in third] == [-2, 4, 6]
    assert [value(v) for v in fourth] == [1, 2, 3]


# --- functions ---


def test_callees_closures_methods_and_super_are_converted() -> None:
    class Base:
        def shift(self, x: Any) -> Any:
            if x > 10:
                return x - 10
            return x

    class Layer(Base):
        def __init__(self) -> None:
            self.__scale = 3
            self.last: Any = 0

        def shift(self, x: Any) -> Any:
            if x > 0:
                y = super().shift(x) * self.__scale
                self.last = y
            else:
                y = self.__scale - x
            return y

        def __call__(self, x: Any) -> Any:
            return self.shift(x)

    layer = Layer()
    power = functools.partial(lambda n, x: x if n == 1 else x * power_of(n - 1, x), 3)

    def power_of(n: int, x: Any) -> Any:
        return x if n == 1 else x * power_of(n - 1, x)

    @tf.function
    def f(x: Any) -> Any:
        count = 0

        def bump(by: Any) -> Any:
            nonlocal count
            if by > 0:
                count += by
            return count

        bump(x)
        if x > 2:
            bump(x)
        return layer(x), count, power(x)

    assert [value(v) for v in f(tf.constant(12))] == [6, 24, 1728]
    assert [value(v) for v in f(tf.constant(-1))] == [4, 0, -1]
    assert value(tf.function(layer.shift)(tf.constant(2))) == 6
    assert [value(tf.function(g)(tf.constant(-4))) for g in (lambda x: x if x > 0 else -x, lambda x: x)] == [
        4,
        -4,
    ]


def test_classes_and_generators_within_a_function() -> None:
    @tf.function
    def f(x: Any) -> Any:
        class Scale:
            factor = 3

            def of(self, v: Any) -> Any:
                if v > 0:
                    return v * self.factor
                return v

        def numbers() -> Any:
            yield from range(3)

        total = Scale().of(x)
        for i in numbers():
            if x > i:
                total += i
        a, (b, c) = total, tf.stack([x, x + 1])
        return a, b, c

    assert [value(v) for v in f(tf.constant(2))] == [7, 2, 3]
    assert [value(v) for v in f(tf.constant(-2))] == [-2, -2, -1]


COUNT = 0


def test_globals_and_callees_that_assign_them() -> None:
    def bump(by: Any) -> None:
        global COUNT
        COUNT = COUNT + by

    @tf.function
    def f(n: Any) -> Any:
        global COUNT
        COUNT = 0
        for i in tf.range(n):
            if i % 2 == 0:
                bump(i)
        return COUNT

    try:
        assert value(f(tf.constant(6))) == 6
    finally:
        globals()["COUNT"] = 0


def test_do_not_convert_leaves_alone_what_it_is_given() -> None:
    class Model:
        def sign(self, x: Any, *, scale: int = 1) -> Any:
            if x > 0:
                return x * scale
            return -x

    model = Model()
    plain = autograph.experimental.do_not_convert(model.sign)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(plain)(tf.constant(-3))
    assert plain(2, scale=5) == 10
    assert inspect.signature(plain) == inspect.signature(model.sign)
    assert int(tf.function(model.sign)(tf.constant(-3))) == 3


def test_do_not_convert_leaves_a_function_to_python() -> None:
    @autograph.experimental.do_not_convert
    def plain(x: Any) -> Any:
        return x if x > 0 else -x

    @tf.function
    def f(x: Any) -> Any:
        return plain(x)

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        f(tf.constant(1))
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(lambda x: x if x > 0 else -x, autograph=False)(tf.constant(1))


def test_a_function_without_source_runs_as_it_is() -> None:
    namespace: dict[str, Any] = {}
    exec("def double(x):\n    return x + x\ndef choose(x):\n    return x if x > 0 else -x\n", namespace)
    with pytest.warns(UserWarning, match="double is traced without conversion") as warned:
        assert value(tf.function(namespace["double"])(tf.constant(2))) == 4
    assert (warned[0].filename, warned[0].lineno) == ("<string>", 1)
    with (
        pytest.warns(UserWarning, match="choose is traced without conversion"),
        pytest.raises(tf.errors.OperatorNotAllowedInGraphError),
    ):
        tf.function(namespace["choose"])(tf.constant(2))


def test_async_functions_are_refused() -> None:
    async def f(x: Any) -> Any:
        return x

    with pytest.raises(TypeError, match="async"):
        tf.function(f)(tf.constant(1))


def test_threads_trace_at_the_same_time() -> None:
    def work(k: int, out: list[Any]) -> None:
        @tf.function
        def f(x: Any) -> Any:
            for i in tf.range(x):
                if i > k:
                    return i
            return -1

        out.append(value(f(tf.constant(20))) == k + 1)

    results: list[Any] = []
    threads = [threading.Thread(target=work, args=(k, results)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [True] * 8


def test_variables_are_updated_in_branches_and_loops() -> None:
    v = tf.Variable(0)

    @tf.function
    def f(n: Any) -> Any:
        while v < n:
            if v % 2 == 0:
                v.assign_add(3)
            else:
                v.assign_add(1)
        return v

    assert value(f(tf.constant(10))) == 11
    assert value(v.read_value()) == 11


def test_gradient_of_a_branch() -> None:
    @tf.function
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            if x > 0:
                y = x * x
            else:
                y = -3.0 * x
        return tape.gradient(y, x)

    assert [value(f(tf.constant(x))) for x in (4.0, -4.0)] == [8.0, -3.0]


# --- options, and the functions of the module ---


def test_options_of_loops() -> None:
    @tf.function
    def doubled(x: Any, n: Any) -> Any:
        for _ in tf.range(n):
            autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None]))])
            x = tf.concat([x, x], 0)
        return x

    @tf.function
    def limited(n: Any) -> Any:
        i = 0
        while i < n:
            autograph.experimental.set_loop_options(maximum_iterations=5)
            i += 1
        return i

    assert value(doubled(tf.constant([1]), tf.constant(2))) == [1, 1, 1, 1]
    assert [value(limited(tf.constant(n))) for n in (3, 30)] == [3, 5]


def test_converted_functions_and_their_code() -> None:
    converted = autograph.to_graph(steps_to_one)
    assert converted(27) == 111
    assert converted(tf.constant(27)) == 111
    assert value(tf.function(converted, autograph=False)(tf.constant(27))) == 111
    for entity in (steps_to_one, tf.function(steps_to_one)):
        code = autograph.to_code(entity)
        for line in ("def steps_to_one(n: Any) -> Any:", "    # carries: n, steps", "    while n != 1:"):
            assert line in code.splitlines()

    @autograph.convert()
    def choose(x: Any) -> Any:
        if x > 0:
            return x
        return -x

    assert (choose(-3), value(tf.function(choose, autograph=False)(tf.constant(-3)))) == (3, 3)
    with pytest.raises(TypeError, match="entity"):
        autograph.to_code(3)
    with pytest.raises(ValueError, match="source"):
        autograph.to_code(eval("lambda x: x"))


def test_trace_and_verbosity(capsys: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def f(x: Any) -> Any:
        autograph.trace("tracing", x.shape)
        return x

    f(tf.constant(1))
    f(tf.constant(2))
    assert capsys.readouterr().out == "tracing ()\n"
    autograph.set_verbosity(1, True)
    try:
        tf.function(lambda x: x + 1)(tf.constant(1))
        assert "converted" in capsys.readouterr().out
    finally:
        autograph.set_verbosity(0)
        logging.getLogger("penstock.autograph").setLevel(logging.NOTSET)
    with pytest.raises(ValueError, match="level"):
        autograph.set_verbosity(-1)
    features = autograph.experimental.Feature
    assert features.LISTS not in features.all_but(features.LISTS) and features.LISTS in features.all()


def nested(depth: int) -> Callable[..., Any]:
    """A function with loops and branches in each other."""
    lines = ["def f(x):"]
    for i in range(depth):
        pad = "    " * (i + 1)
        lines.append(pad + (f"if x > {i}:" if i % 2 else f"for k{i} in tf.range(2):"))
    lines += ["    " * (depth + 1) + "x += 1", "    return x", ""]
    file = f"<nested {depth}>"
    source = "\n".join(lines)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"tf": tf}
    exec(compile(source, file, "exec"), namespace)
    return namespace["f"]  # type: ignore[no-any-return]


def test_deep_nesting_is_traced_once_per_level() -> None:
    f = tf.function(nested(18))
    assert value(f(tf.constant(100))) == 100 + 2**9
    text = f.get_concrete_function(tf.constant(0)).graph.to_text()
    assert text.count("= while") == 9


class Account:
    def __init__(self, total: Any) -> None:
        self.total = total

    @property
    def double(self) -> Any:
        return self.total * 2 % 31

    @double.setter
    def double(self, value: Any) -> None:
        self.total = value // 2


def test_a_property_is_set_where_a_tensor_decides() -> None:
    def run(a: Any, times: Any) -> Any:
        account = Account(a)
        for i in times:
            account.double += i + 3
        if a > 2:
            account.double = 9
        return account.total

    traced = tf.function(run)
    for a in (0, 5):
        assert int(traced(tf.constant(a), tf.range(3))) == run(a, range(3))


@pytest.mark.parametrize("count", [0, 2])
def test_a_variable_that_only_functions_of_the_loop_see_needs_no_iteration(count: int) -> None:
    @tf.function
    def run(n: Any) -> Any:
        total = 0
        for i in tf.range(n):
            double = i * 2
            total += sum(map(lambda x: x + double, [1, 2]))
        return total

    assert int(run(tf.constant(count))) == (10 if count else 0)


def test_a_function_that_is_kept_needs_an_iteration() -> None:
    @tf.function
    def run(n: Any) -> Any:
        for i in tf.range(n):
            double = i * 2
            last = lambda: double + 1  # noqa: B023, E731
        return last()

    assert int(run(tf.constant(3))) == 5
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least once"):
        run(tf.constant(0))
