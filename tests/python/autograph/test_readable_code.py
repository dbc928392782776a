"""`to_code` shows what a converted function does, in code that runs and that has the user's names."""

from __future__ import annotations

import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.programs import ARGUMENTS, Context, Number, Writer, compiled, named as with_names, numbers, wrap

import penstock as tf
from penstock.autograph import _operators


def sign(x):
    if x > 0:
        return 1
    return -1


def grade(x):
    if x > 10:
        name = "high"
    elif x > 5:
        name = "middle"
    else:
        name = "low"
    return name


def total_of_odd(n, most=10.0):
    """Add up."""
    total = 0.0
    for i in range(n):
        if i % 2 == 0:
            continue
        total += i
        if total > most:
            break
    return total


def root(x):
    y = x
    while abs(y * y - x) > 1e-3:
        y = (y + x / y) / 2
    return y


def first_above(values, limit=3):
    for i, x in enumerate(values):
        if x > limit and i > 1:
            return x
    raise ValueError("none")


def without_first(values, i):
    values[i] = 0
    values[0] += 2
    values[1:][0:1] = [3]
    return values


def squares(n):
    out = []
    for i in range(n):
        out.append(i * i)  # noqa: PERF401
    assert n > 0, "n"
    return [a for a in out if a < 5]


def pairs(n):
    return [(a, b) for a in range(n) for b in range(a) if a + b > 1 if b != 2]


def named(x):
    match x:
        case 0:
            return "none"
        case 1 | 2:
            return "few"
        case n if n < 0:
            return "debt"
        case _:
            return "many"


def chosen(x, y):
    return x if x > y and not (y == 1) else y or 3  # noqa: SIM201


def between(x, low=1, high=5):
    return low < x <= high, x in (1, 2), x not in (3, 4)


def tried(x):
    try:
        z = 10 // x
    except ZeroDivisionError as error:
        raise TypeError("zero") from error
    else:
        z += 1
    finally:
        x = 0
    return z, x


def adder(x):
    count = 0

    def inner(y):
        nonlocal count
        count += 1
        if y > 0:
            return y
        return x

    return inner(x) + inner(-x) + count


def magnitudes(values):
    for x in values:
        if x > 0:
            y = x
        else:
            y = -x
        yield y


def halved(x):
    while True:
        x //= 2
        if x < 3:
            break
    return x


def searched(values, x):
    for v in values:
        if v == x:
            found = "there"
            break
    else:
        found = "missing"
    return found


def walrus(values):
    if values and (first := values[0]) > 1 and (second := first * 2) > 5:
        return first, second
    return None


def drained(values):
    taken = []
    while values and (last := values.pop()) > 1:
        taken.append(last)
    return taken


def swapped(a, b, *rest, key="k", **others):
    (a, b), c = (b, a), key
    return a, b, c, rest, others


def joined(values):
    return ",".join(str(v) for v in values if v), sum(v * v for v in values), max(values, default=0)


shifted = lambda x: x + 1 if x > 0 else x  # noqa: E731

# Functions, with arguments.
FUNCTIONS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (sign, [(1,), (-2,)]),
    (grade, [(11,), (6,), (0,)]),
    (total_of_odd, [(3,), (50,), (9, 3.0)]),
    (root, [(2.0,)]),
    (first_above, [([1, 2, 3, 9],), ([1],), ([5, 5, 2, 4], 1)]),
    (without_first, [([1, 2, 3], 1)]),
    (squares, [(4,), (0,)]),
    (pairs, [(5,)]),
    (named, [(0,), (2,), (-1,), (8,)]),
    (chosen, [(1, 2), (3, 0), (3, 2)]),
    (between, [(0,), (2,), (4,)]),
    (tried, [(2,), (0,)]),
    (adder, [(3,), (-3,)]),
    (magnitudes, [([1, -2, 0],)]),
    (halved, [(40,)]),
    (searched, [([1, 2], 2), ([1], 2)]),
    (walrus, [([],), ([1],), ([2],), ([3],)]),
    (drained, [([1, 2, 3],), ([],)]),
    (swapped, [(1, 2), (1, 2, 3)]),
    (joined, [([1, 0, 2],)]),
    (shifted, [(1,), (-1,)]),
]


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a function gives, or raises, with the arguments as it leaves them."""
    args = copy.deepcopy(args)
    try:
        result = function(*args)
        return list(result) if isinstance(result, Iterator) else result, args
    except Exception as error:
        return type(error), args


def shown(function: Callable[..., Any], code: str) -> Callable[..., Any]:
    """The function that is shown."""
    namespace = dict(function.__globals__)
    if function.__name__ == "<lambda>":
        return eval(code, namespace)  # type: ignore[no-any-return]
    exec(code, namespace)
    return namespace[function.__name__]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("function", "calls"), FUNCTIONS, ids=lambda x: getattr(x, "__name__", ""))
def test_shown_code_runs_as_the_function_does(
    function: Callable[..., Any], calls: list[tuple[Any, ...]]
) -> None:
    code = tf.autograph.to_code(function)
    same = shown(function, code)
    for args in calls:
        assert outcome(same, args) == outcome(function, args), code


@pytest.mark.parametrize("function", [f for f, _ in FUNCTIONS], ids=lambda f: f.__name__)
def test_shown_code_has_no_names_of_the_conversion(function: Callable[..., Any]) -> None:
    code = tf.autograph.to_code(function)
    assert "__" not in code
    assert "nonlocal" not in code or function is adder
    assert inspect.signature(shown(function, code)) == inspect.signature(function)


def plain(text: str) -> str:
    return textwrap.dedent(text).strip()


def test_jumps_are_flags_and_comments_say_what_a_graph_carries() -> None:
    assert tf.autograph.to_code(total_of_odd) == plain(
        '''
        def total_of_odd(n, most=10.0):
            """Add up."""
            total = 0.0
            broken = False
            # carries: broken, total
            for i in range(n):
                # sets: broken, total
                if not i % 2 == 0:
                    total += i
                    # sets: broken
                    if total > most:
                        broken = True
                if broken:
                    break
            return total
        '''
    )


def collatz(x, n):
    while x != 1:
        if x % 2 == 0:
            x //= 2
        elif x < 0:
            return None
        else:
            x = 3 * x + 1
        if x > n:
            break
    return x


def test_flags_that_are_false_and_branches_that_do_nothing_are_not_shown() -> None:
    assert tf.autograph.to_code(collatz) == plain(
        """
        def collatz(x, n):
            returned = False
            broken = False
            # carries: broken, returned, result, x
            while not broken and (not returned) and (x != 1):
                # sets: returned, result, x
                if x % 2 == 0:
                    x //= 2
                elif x < 0:
                    result = None
                    returned = True
                else:
                    x = 3 * x + 1
                # sets: broken
                if not returned:
                    # sets: broken
                    if x > n:
                        broken = True
            # sets: result
            if not returned:
                result = x
            return result
        """
    )


class Account:
    def add(self, x):
        if x > 0:
            self.total = self.total + x
        else:
            self.count += 1
        return self.total


def test_attributes_that_are_changed_are_named() -> None:
    assert tf.autograph.to_code(Account().add) == plain(
        """
        def add(self, x):
            # changes: self.count, self.total
            # sets: self.count, self.total
            if x > 0:
                self.total = self.total + x
            else:
                self.count += 1
            return self.total
        """
    )


def test_names_of_the_conversion_avoid_the_users() -> None:
    def clash(result: int) -> int:
        if result > 3:
            return result
        returned = result + 1
        for i in range(returned):
            if i > result:
                return i
        return -1

    code = tf.autograph.to_code(clash)
    assert "result_2" in code
    assert "returned_2" in code
    same = shown(clash, code)
    assert [same(n) for n in range(6)] == [clash(n) for n in range(6)]


def test_options_of_loops_are_shown() -> None:
    def limited(n: Any) -> Any:
        i = 0
        while i < n:
            tf.autograph.experimental.set_loop_options(maximum_iterations=5)
            i += 1
        return i

    code = tf.autograph.to_code(limited)
    assert "tf.autograph.experimental.set_loop_options(maximum_iterations=5)" in code


@pytest.mark.parametrize("seed", range(40))
def test_shown_code_of_random_programs_runs_as_they_do(seed: int) -> None:
    source = Writer(seed).write()
    makers = {"tensor_range": range, "vector": lambda *v: list(v), "variable": Number}
    program = compiled(source, f"shown {seed}", **makers)
    code = tf.autograph.to_code(program)
    # What patterns with parts match, an operator says.
    assert code.count("ag__") == code.count("ag__.matched(")
    namespace: dict[str, Any] = {"context": Context, "wrap": wrap, "ag__": _operators, **makers}
    exec(with_names(code), namespace)
    for args in ARGUMENTS:
        try:
            expected: Any = numbers(program(*args))
        except Exception:
            continue
        assert numbers(namespace["program"](*args)) == expected, code
