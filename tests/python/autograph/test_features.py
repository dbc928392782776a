"""What converted code may hold, item by item: each gives traced what it gives in plain Python."""

# The traced functions are written as users write them.
# ruff: noqa: B905, C416, C417, E731, PT018, SIM117, SIM201

from __future__ import annotations

import functools
import io
import linecache
import pdb
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support import as_lists

import penstock as tf

FILE = __file__


def agree(function: Callable[..., Any], *cases: Any) -> None:
    """Calls a function of numbers plainly, and traced with tensors, and compares."""
    traced = tf.function(function)
    for case in cases:
        args = case if isinstance(case, tuple) else (case,)
        expected = as_lists(function(*args))
        assert as_lists(traced(*[tf.constant(a) for a in args])) == expected, args


# --- statements ---


def test_elif_chains_and_nested_branches() -> None:
    def f(x: Any) -> Any:
        if x < 0:
            if x < -10:
                y = 1
            else:
                y = 2
        elif x == 0:
            y = 3
        elif x < 10:
            y = 4
            if x == 5:
                y += 100
        else:
            y = 5
        return y

    agree(f, -20, -5, 0, 5, 7, 50)


def test_break_continue_and_return_at_any_depth() -> None:
    def f(n: Any) -> Any:
        total = 0
        for i in range(n):
            j = 0
            while True:
                j += 1
                if j % 3 == 0:
                    continue
                if j > i:
                    break
                total += j
                if total > 40:
                    return total * 1000 + i
            if i == 8:
                break
        return total

    agree(f, 0, 3, 6, 20)


def test_else_of_loops_and_jumps_within() -> None:
    def f(n: Any, k: Any) -> Any:
        for i in range(n):
            if i == k:
                break
        else:
            return -1
        while n > 0:
            n -= 1
            if n == k:
                continue
        else:
            k += 100
        return k

    agree(f, (5, 3), (5, 9), (0, 0))


def test_break_in_a_python_loop_and_in_while_true() -> None:
    def f(x: Any) -> Any:
        seen = 0
        for step in [1, 2, 3, 4]:
            if x > 10:
                break
            if x == 5:
                x += 2
                continue
            x += step
            seen += 1
        while True:
            if x > 20:
                return x, seen
            x += 7

    agree(f, 0, 2, 5, 9, 50)


def test_unpacking_of_rows_and_nested_targets() -> None:
    @tf.function
    def f(pairs: Any, nested: Any) -> Any:
        total = 0
        for a, b in pairs:
            total += a * b
        for i, (a, b) in enumerate(pairs):
            total += i * (a - b)
        for (a, b), c in zip(pairs, nested):
            total += a + b + c
        first, (second, third) = nested[0], pairs[1]
        return total + first + second + third

    pairs, nested = [[1, 2], [3, 4], [5, 6]], [10, 20, 30]
    expected = sum(a * b for a, b in pairs) + sum(i * (a - b) for i, (a, b) in enumerate(pairs))
    expected += sum(map(sum, pairs)) + sum(nested) + 10 + 3 + 4
    assert f(tf.constant(pairs), tf.constant(nested)).numpy() == expected


def test_walrus_in_conditions() -> None:
    def f(x: Any) -> Any:
        total = 0
        while (half := x // 2) > 0:
            total += half
            x = half
        if (y := total * 2) > 10:
            return y + total
        return y

    agree(f, 1, 7, 100)


def test_walrus_behind_and_and_or() -> None:
    def f(x: Any) -> Any:
        count = y = z = 0
        while x > 0 and (y := x % 5) != 3:
            x -= 2
            count += 1
            if count > 4:
                break
        if x > 100 or (z := x * 2) > 4:
            return count, y, z
        return -count, y, z

    agree(f, 0, 3, 7, 11, 200)


def test_match_with_guards_alternatives_and_captures() -> None:
    def f(x: Any) -> Any:
        match x:
            case 0 | 1:
                y = 10
            case 2 if x > 5:
                y = 20
            case n if n < 0:
                y = -n
            case _:
                y = 30
        match y:
            case 10:
                return y + 1
            case other:
                return other * 2

    agree(f, 0, 1, 2, -4, 9)


def test_match_on_structures_stays_python() -> None:
    @tf.function
    def f(command: Any, x: Any) -> Any:
        match command:
            case ["add", value] if x > 0:
                return x + value
            case {"scale": factor}:
                return x * factor
            case str():
                return x
        return -x

    with pytest.raises(TypeError):
        # A guard that depends on a tensor, under a pattern that the graph cannot test.
        f(["add", 5], tf.constant(2))
    assert f({"scale": 3}, tf.constant(2)).numpy() == 6
    assert f("nothing", tf.constant(2)).numpy() == 2


def test_try_except_finally_and_with() -> None:
    log: list[str] = []

    @contextmanager
    def noted(name: str) -> Iterator[None]:
        log.append(f"enter {name}")
        yield
        log.append(f"exit {name}")

    def f(x: Any) -> Any:
        with noted("a") as _, noted("b"):
            try:
                if x > 0:
                    y = x
                else:
                    y = -x
                raise KeyError("here")
            except KeyError:
                y = y + 1
            else:
                y = y + 100
            finally:
                log.append("finally")
            return y

    traced = tf.function(f)
    assert traced(tf.constant(-3)).numpy() == 4
    assert log == ["enter a", "enter b", "finally", "exit b", "exit a"]
    assert traced(tf.constant(5)).numpy() == 6 and len(log) == 5


def test_global_nonlocal_del_and_augmented_assignment() -> None:
    def f(x: Any) -> Any:
        total = 0

        def add(y: Any) -> None:
            nonlocal total
            total += y

        if x > 2:
            add(x)
        else:
            add(-x)
        for _ in range(3):
            add(x)
        temporary = total
        temporary *= 2
        temporary //= 3
        temporary -= 1
        temporary %= 17
        result = temporary
        del temporary
        return result

    agree(f, 1, 5)


def test_assertions() -> None:
    @tf.function
    def f(x: Any) -> Any:
        assert x > 0, f"x must be positive, not {'that'}"
        assert x < 10
        return x

    assert f(tf.constant(1)).numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="x must be positive, not that"):
        f(tf.constant(0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="assert"):
        f(tf.constant(10))


def test_raise_fires_only_where_its_branch_runs() -> None:
    class Negative(ValueError):
        pass

    @tf.function
    def f(x: Any) -> Any:
        for i in tf.range(3):
            if x - i < 0:
                raise Negative("too far")
        return x

    assert f(tf.constant(5)).numpy() == 5
    with pytest.raises(Negative, match="too far"):
        f(tf.constant(1))


def test_a_loop_that_only_raise_ends() -> None:
    @tf.function
    def f(x: Any) -> Any:
        while True:
            x += 1
            if x > 10:
                raise StopAsyncIteration("at last")

    with pytest.raises(StopAsyncIteration, match="at last"):
        f(tf.constant(1))


# --- expressions ---


def test_logic_comparisons_and_conditional_expressions() -> None:
    def f(a: Any, b: Any) -> Any:
        first = (a > 0 and b > 0) or not a == b
        second = 0 < a < b <= 10
        third = (a if a > b else b) if first else -1
        return (1 if first else 0) + (10 if second else 0) + third

    agree(f, (1, 2), (-1, -1), (5, 5), (3, 11), (-2, 4))


def test_operands_are_evaluated_as_python_does() -> None:
    calls: list[str] = []

    def note(name: str, value: Any) -> Any:
        calls.append(name)
        return value

    @tf.function
    def f(x: Any) -> Any:
        return note("a", False) and note("b", x > 0), note("c", 1) or note("d", x)

    f(tf.constant(1))
    assert calls == ["a", "c"]


def test_builtins_of_tensors() -> None:
    @tf.function
    def f(v: Any, x: Any) -> Any:
        return {
            "len": len(v),
            "sum": sum(v),
            "min": min(v),
            "max": max(v),
            "both": (min(x, 3), max(x, 3, 1)),
            "any": any(v > 3),
            "all": all(v > 0),
            "abs": abs(-x),
            "int": int(tf.cast(x, tf.float32) + 0.5),
            "float": float(x),
            "reversed": [y for y in reversed(v)],
            "list": list(v),
            "zip": [a * b for a, b in zip(v, v)],
            "enumerate": [i * y for i, y in enumerate(v)],
            "map": list(map(lambda y: y + 1, v)),
            "pow": pow(x, 2),
            "bool": bool(x),
        }

    found = as_lists(f(tf.constant([3, 1, 2]), tf.constant(4)))
    assert found == {
        "len": 3, "sum": 6, "min": 1, "max": 3, "both": [3, 4], "any": False, "all": True, "abs": 4,
        "int": 4, "float": 4.0, "reversed": [2, 1, 3],
        "list": [3, 1, 2], "zip": [9, 1, 4], "enumerate": [0, 1, 4], "map": [4, 2, 3],
        "pow": 16, "bool": True,
    }  # fmt: skip


def test_sorted() -> None:
    @tf.function
    def f(v: Any) -> Any:
        return sorted(v), sorted(v, reverse=True)

    assert as_lists(f(tf.constant([3, 1, 2]))) == [[1, 2, 3], [3, 2, 1]]


def test_generators_and_comprehensions_over_tensors() -> None:
    @tf.function
    def f(v: Any) -> Any:
        squares = [y * y for y in v]
        table = {i: y for i, y in enumerate(v)}
        total = sum(y for y in v)
        flags = any(y > 2 for y in v), all(y > 2 for y in v)

        def pairs() -> Iterator[Any]:
            for y in v:
                yield y + 1

        return squares, table, total, flags, [y for y in pairs()], max(y for y in v)

    found = as_lists(f(tf.constant([1, 2, 3])))
    assert found == [[1, 4, 9], {0: 1, 1: 2, 2: 3}, 6, [True, False], [2, 3, 4], 3]


def test_items_of_a_local_tensor() -> None:
    @tf.function
    def f(x: Any, i: Any) -> Any:
        x[i] = 10
        x[-1] += 5
        for k in tf.range(2):
            x[k] *= 2
        return x

    assert f(tf.constant([1, 2, 3, 4]), tf.constant(1)).numpy().tolist() == [2, 20, 3, 9]

    @tf.function
    def g(m: Any) -> Any:
        m[1] = [7, 8]
        m[0, 1] = 5
        return m

    assert g(tf.constant([[1, 2], [3, 4]])).numpy().tolist() == [[1, 5], [7, 8]]


def test_lambdas_closures_partials_and_callables() -> None:
    def f(x: Any) -> Any:
        clip = lambda v: v if v < 5 else 5
        scale = 3

        def scaled(v: Any, by: Any = scale) -> Any:
            return v * by if v > 0 else v

        class Adder:
            def __init__(self, n: int) -> None:
                self.n = n

            def __call__(self, v: Any) -> Any:
                if v > self.n:
                    return v + self.n
                return v - self.n

        return clip(x) + scaled(x) + functools.partial(scaled, by=10)(x) + Adder(2)(x)

    agree(f, -3, 1, 8)


def test_decorated_functions() -> None:
    def doubled(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any) -> Any:
            result = function(*args)
            return result * 2 if result > 0 else result

        return run

    @doubled
    @doubled
    def f(x: Any) -> Any:
        if x > 10:
            return x
        return -x

    agree(f, 11, 3, -5)


class Base:
    def value(self, x: Any) -> Any:
        return x if x > 0 else -x


class Derived(Base):
    scale = 2

    @tf.function
    def value(self, x: Any) -> Any:
        base = super().value(x)
        if base > self.__limit():
            return base * self.scale
        return base

    @staticmethod
    def __limit() -> int:
        return 3

    @property
    def half(self) -> float:
        return 0.5

    @classmethod
    def of(cls, x: Any) -> Any:
        return x + cls.scale if x < 0 else x


def test_methods_super_private_names_and_properties() -> None:
    assert [Derived().value(tf.constant(x)).numpy() for x in (-7, 2, 4)] == [14, 2, 8]
    assert [tf.function(Derived.of)(tf.constant(x)).numpy() for x in (-7, 2)] == [-5, 2]


# --- where functions come from ---


def test_lambdas_on_one_line() -> None:
    fs = [tf.function(lambda x: x if x > 0 else -x), tf.function(lambda x: 1 if x > 0 else 2)]
    assert [f(tf.constant(-3)).numpy() for f in fs] == [3, 2]


def test_source_that_linecache_knows() -> None:
    source = "def f(x):\n    if x > 0:\n        return x\n    return -x\n"
    name = "<ipython-input-1>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile(source, name, "exec"), space)
    assert tf.function(space["f"])(tf.constant(-2)).numpy() == 2


def test_without_source_control_flow_on_tensors_says_how_to_go_on() -> None:
    space: dict[str, Any] = {"tf": tf}
    exec("def nowhere(x):\n    if x > 0:\n        return x\n    return -x\n", space)
    with pytest.warns(UserWarning, match="nowhere is traced without conversion.*tf.cond"):
        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=r"tf\.cond"):
            tf.function(space["nowhere"])(tf.constant(1))


def test_async_functions_are_refused() -> None:
    async def f(x: Any) -> Any:
        return x

    with pytest.raises(TypeError, match="async"):
        tf.function(f)(tf.constant(1))


# --- the public interface ---


def test_interface() -> None:
    def f(x: Any) -> Any:
        if x > 0:
            return x
        return -x

    graph = tf.autograph.to_graph(f)
    assert tf.function(graph, autograph=False)(tf.constant(-3)).numpy() == 3
    assert "# sets: result" in tf.autograph.to_code(f)
    assert tf.function(tf.autograph.convert()(f), autograph=False)(tf.constant(-4)).numpy() == 4
    features = tf.autograph.experimental.Feature
    options = tf.function(f, experimental_autograph_options=(features.EQUALITY_OPERATORS, features.ALL))
    assert options(tf.constant(-5)).numpy() == 5

    @tf.autograph.experimental.do_not_convert
    def not_converted(x: Any) -> Any:
        return x if x > 0 else -x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(lambda x: not_converted(x))(tf.constant(1))


def test_list_of_the_announcement() -> None:
    @tf.function
    def f(n: Any) -> Any:
        z: Any = []
        tf.autograph.set_element_type(z, tf.int32)
        for i in tf.range(n):
            z.append(i)
        return tf.autograph.stack(z)

    assert f(tf.constant(3)).numpy().tolist() == [0, 1, 2]
    assert f(tf.constant(0)).numpy().tolist() == []


def test_options_of_loops() -> None:
    @tf.function
    def f(n: Any) -> Any:
        x = tf.constant([0])
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(
                maximum_iterations=3, shape_invariants=[(x, tf.TensorShape([None]))]
            )
            x = tf.concat([x, [i]], 0)
        return x

    assert f(tf.constant(2)).numpy().tolist() == [0, 0, 1]
    assert f(tf.constant(9)).numpy().tolist() == [0, 0, 1, 2]


# --- debuggers ---


def test_breakpoints_of_pdb() -> None:
    def f(x: Any) -> Any:
        total = 0
        for i in tf.range(x):
            if i > 1:
                total += i  # a breakpoint is set here
        return total

    import inspect

    lines, start = inspect.getsourcelines(f)
    line = start + next(i for i, text in enumerate(lines) if "a breakpoint" in text)
    commands = io.StringIO("continue\np 'at ' + str(type(i).__name__)\n" + "continue\n" * 9)
    out = io.StringIO()
    debugger = pdb.Pdb(stdin=commands, stdout=out, nosigint=True, readrc=False)
    debugger.set_break(FILE, line)
    try:
        assert debugger.runcall(tf.function(f), tf.constant(4)).numpy() == 5
    finally:
        debugger.clear_all_breaks()
        sys.settrace(None)
    assert "'at Tensor'" in out.getvalue() and "total += i" in out.getvalue()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with Python 3.12")
def test_monitoring_sees_the_lines() -> None:
    def f(x: Any) -> Any:
        y = 0
        if x > 0:
            y = 1
        return y

    monitoring = sys.monitoring
    seen: set[int] = set()
    monitoring.use_tool_id(4, "test")
    try:
        monitoring.register_callback(
            4,
            monitoring.events.LINE,
            lambda code, line: seen.add(line) if code.co_filename == FILE and code.co_name == "f" else None,
        )
        monitoring.set_events(4, monitoring.events.LINE)
        tf.function(f)(tf.constant(1))
    finally:
        monitoring.set_events(4, 0)
        monitoring.free_tool_id(4)
    first = f.__code__.co_firstlineno
    assert {first + 1, first + 2, first + 3, first + 4} <= seen


# --- errors of runs ---


def test_an_error_in_a_loop_names_the_iteration() -> None:
    def f(v: Any) -> Any:
        total = 0
        for i in tf.range(3):
            for j in tf.range(4):
                total += v[i * 4 + j]
        return total

    traced = tf.function(f)
    assert traced(tf.range(12)).numpy() == 66
    line = f.__code__.co_firstlineno + 4
    message = rf"(?s)line {line}, in f.*in iteration 2 of the loop, iteration 3 of the loop in it"
    with pytest.raises(tf.errors.OpError, match=message):
        traced(tf.range(6))


def test_tracebacks_of_traced_calls_within_traced_functions() -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.reshape(x, [7])

    @tf.function
    def outer(x: Any) -> Any:
        if tf.reduce_sum(x) > 0:
            x = inner(x)
        return x

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        outer(tf.constant([1, 2]))
    files = []
    tb = caught.value.__traceback__
    while tb is not None:
        files.append((tb.tb_frame.f_code.co_filename, tb.tb_frame.f_code.co_name))
        tb = tb.tb_next
    assert [name for _, name in files][1:] == ["outer", "inner"]
    assert {name for name, _ in files} == {FILE}
