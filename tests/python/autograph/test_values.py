"""Python's containers, `and` and `or`, functions and exceptions where tensors decide."""

# The traced functions are written as users write them.
# ruff: noqa: B007, C416, F841, PERF401, PT018, RUF005, RUF021, RUF043, RUF060, SIM300

from __future__ import annotations

import contextlib
import linecache
import sys
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as tf
from penstock.errors import OperatorNotAllowedInGraphError

FILE = __file__


def line_of(text: str) -> int:
    """The only line of this file that ends with a text."""
    (found,) = [i for i, line in enumerate(linecache.getlines(FILE), 1) if line.rstrip().endswith(text)]
    return found


# --- elements by a tensor ---

CONTAINERS = {
    "list": [3, 5, 8],
    "tuple": (1.5, 2.5, -3.5),
    "mixed numbers": [1, 2.5, 3],
    "strings": ["a", "bc", ""],
    "vectors": [[1, 2], [3, 4], [5, 6]],
    "pairs": [(1, "x"), (2, "y"), (3, "z")],
    "range": range(10, 4, -2),
    "array": np.arange(6.0).reshape(3, 2),
    "bools": [True, False, True],
}


def plain(value: Any) -> Any:
    """A result as Python values."""
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    value = value.numpy() if hasattr(value, "numpy") else value
    value = value.tolist() if hasattr(value, "tolist") else value
    return value.decode() if isinstance(value, bytes) else value


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.int8])
def test_a_tensor_chooses_an_element(kind: str, dtype: tf.DType) -> None:
    values = CONTAINERS[kind]
    f = tf.function(lambda i: values[i])
    for i in range(-3, 3):
        assert plain(f(tf.constant(i, dtype))) == plain(values[i])
    for i in (-4, 3):
        with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError), match="ind(ex|ices)"):
            f(tf.constant(i, dtype))
    assert f.experimental_get_tracing_count() == 1


def test_a_truth_chooses_one_of_two() -> None:
    f = tf.function(lambda x: ["odd", "even"][x % 2 == 0])
    assert f(tf.constant(3)).numpy() == b"odd" and f(tf.constant(4)).numpy() == b"even"


def test_tensors_give_numbers_their_dtype() -> None:
    f = tf.function(lambda x, i: [x, 2, x * x][i])
    assert [f(tf.constant(3.0), tf.constant(i)).numpy() for i in range(3)] == [3.0, 2.0, 9.0]


def test_elements_in_a_loop_and_in_attributes() -> None:
    class Model:
        def __init__(self) -> None:
            self.sizes = [4, 9, 16]

        @tf.function
        def total(self, n: Any) -> Any:
            total = 0
            for i in tf.range(n):
                total += self.sizes[i] * (1, 10, 100)[-1 - i]
            return total

    assert Model().total(tf.constant(3)) == 4 * 100 + 9 * 10 + 16


def test_an_element_of_an_array_by_several_indices() -> None:
    table = np.arange(12).reshape(3, 4)
    f = tf.function(lambda i, j: table[i, j] + table[1, j] + table[i, 2])
    assert f(tf.constant(2), tf.constant(3)) == 11 + 7 + 10


def test_a_variable_chooses() -> None:
    v = tf.Variable(1)
    f = tf.function(lambda: [10, 20, 30][v])
    assert f() == 20
    v.assign(2)
    assert f() == 30


def test_assignment_to_an_element_of_a_list() -> None:
    @tf.function
    def count(xs: Any) -> Any:
        counts = [0, 0, 0]
        pairs = [(0.0, 1), (0.0, 2)]
        for x in xs:
            counts[x] += 1
            pairs[x % 4] = (tf.cast(x, tf.float32), x)
        return counts, pairs

    counts, pairs = count(tf.constant([0, 1, -3, 0]))
    assert plain(counts) == [3, 1, 0] and plain(pairs) == [[0.0, 0], [-3.0, -3]]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"pairs\[x % 4\] = .*: the index is not in a list of 2"
    ):
        count(tf.constant([1, 2]))


def test_items_among_several_targets() -> None:
    @tf.function
    def sort(x: Any) -> Any:
        for i in tf.range(tf.size(x)):
            for j in tf.range(tf.size(x) - i - 1):
                if x[j] > x[j + 1]:
                    x[j], x[j + 1] = x[j + 1], x[j]
        return x

    assert plain(sort(tf.constant([3, 1, 2, 9, 0]))) == [0, 1, 2, 3, 9]

    def order(x: Any) -> Any:
        i = 0
        x[i], i = 5, 2
        i, x[i] = 1, 7
        last = x[i + 1] = 9
        (x[3], *rest), [first] = [1, 2, 3], "a"
        names: dict[str, Any] = {}
        values = [4, 5]
        values[0], names["a"], names["b"] = values[1], i, first
        return x, i, last, rest, values, names

    got = tf.function(order)(tf.constant([0, 0, 0, 0]))
    assert plain(got[:5]) == plain(order([0, 0, 0, 0])[:5]) == [[5, 7, 9, 1], 1, 9, [2, 3], [5, 5]]
    assert plain([got[5]["a"], got[5]["b"]]) == [1, "a"]


def test_items_of_items() -> None:
    @tf.function
    def in_a_tuple(x: Any) -> Any:
        pair = (x, 1)
        pair[0][0] = 5
        return pair

    with pytest.raises(TypeError, match="'tuple' object does not support item assignment"):
        in_a_tuple(tf.constant([1, 2]))

    @tf.function
    def lists(n: Any) -> Any:
        x = tf.zeros([3, 3], tf.int32)
        rows = [[0, 0], [tf.zeros([2], tf.int32), 1]]
        for i in tf.range(n):
            x[i][n - 1 - i] = i + 1
            x[0][i] += 10
            rows[0][i % 2] += i
            rows[1][0][0] = i
        return x, rows

    x, rows = lists(tf.constant(3))
    assert plain(x) == [[10, 10, 11], [0, 2, 0], [3, 0, 0]]
    assert plain(rows) == [[2, 1], [[2, 0], 1]]


def refused(f: Callable[..., Any], *texts: str) -> None:
    with pytest.raises(OperatorNotAllowedInGraphError) as caught:
        tf.function(f)(tf.constant(1))
    for text in texts:
        assert text in str(caught.value)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].filename == FILE


def test_what_a_tensor_cannot_choose_from() -> None:
    table, unlike = {0: 1.0, 1: 2.0}, [tf.zeros([1]), tf.zeros([2])]
    calls = [abs, max]
    refused(lambda i: table[i], "table[i]", "keys of a mapping")
    refused(lambda i: "text"[i], '"text"[i]', "tf.strings.substr")
    refused(lambda i: unlike[i], "unlike[i]", "float32 of shape (1,), float32 of shape (2,)")
    refused(lambda i: calls[i], "calls[i]", "must be tensors, or numbers")
    refused(lambda i: [1, "a"][i], "one dtype and shape")
    refused(lambda i: [1, (2, 3)][i], "one structure")
    refused(lambda i: [1, 2][tf.cast(i, tf.float32)], "an integer without dimensions")
    refused(lambda i: [1, 2][[i, i] + tf.constant([0, 0])], "tf.gather")

    def assigned(i: Any) -> Any:
        values = [1, 2]
        values[i] = None
        return values

    refused(assigned, "values[i] = None", "None cannot take the place")
    with pytest.raises(IndexError, match=r"\[\]\[i\]: the list is empty"):
        tf.function(lambda i: [][i])(tf.constant(0))


def test_python_indices_stay_pythons() -> None:
    class Squares:
        def __getitem__(self, index: Any) -> Any:
            return "slice" if isinstance(index, slice) else index * index

    log: list[str] = []

    def noted(value: Any, name: str) -> Any:
        log.append(name)
        return value

    @tf.function
    def f(x: Any) -> Any:
        names = {"a": 1, ("b", 2): 3}
        key = "b"
        first = noted([7, 8, 9], "container")[noted(1, "index")]
        del names["a"]
        return first + names[key, 2] + Squares()[4], Squares()[x:2], Squares()[x], x[...], [1, 2, 3][-2:][0]

    got = f(tf.constant(5))
    assert plain(got) == [27, "slice", 25, 5, 2] and log == ["container", "index"]


# --- and, or ---

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
    assert plain(got) == [False, True, False, False, True]


def test_only_operands_that_count_are_computed() -> None:
    @tf.function
    def f(n: Any) -> Any:
        return n and tf.py_function(seen, [n], tf.int32), n or tf.py_function(seen, [n], tf.int32)

    log: list[int] = []

    def seen(n: Any) -> Any:
        log.append(int(n))
        return n + 1

    assert plain(f(tf.constant(0))) == [0, 1] and plain(f(tf.constant(4))) == [5, 4]
    assert log == [0, 4]


# --- functions ---


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


# --- exceptions ---


def notes(f: Callable[..., Any], kind: type[Exception]) -> str:
    traced = tf.function(f)
    assert traced(tf.constant(-1)) == -1
    for _ in range(2):
        with pytest.raises(kind) as caught:
            traced(tf.constant(1))
    return "\n".join(getattr(caught.value, "__notes__", []))


def test_an_except_that_a_graph_cannot_reach_is_named() -> None:
    def check(x: Any) -> None:
        if x > 0:
            raise ValueError("positive")

    def direct(x: Any) -> Any:
        try:
            if x > 0:
                raise KeyError("positive")
        except (ValueError, LookupError):  # the direct one
            x = x * 0
        return x

    def by_a_call(x: Any) -> Any:
        try:
            try:
                check(x)
            except KeyError:
                x = x * 0
        except:  # noqa: E722 -- the outer one
            x = x * 0
        return x

    note = notes(direct, KeyError)
    assert f"'except' at {FILE}:{line_of('# the direct one')} does not catch it" in note
    assert f"'except' at {FILE}:{line_of('-- the outer one')} does not catch it" in notes(
        by_a_call, ValueError
    )


def test_no_note_where_no_handler_would_catch_it() -> None:
    def other(x: Any) -> Any:
        try:
            if x > 0:
                raise ValueError("positive")
        except KeyError:
            x = x * 0
        return x

    def in_a_handler(x: Any) -> Any:
        try:
            int("no number")
        except ValueError:
            if x > 0:
                raise ValueError("positive") from None
        else:
            x = x * 0
        return x

    assert notes(other, ValueError) == "" and notes(in_a_handler, ValueError) == ""


def test_what_python_raises_is_caught() -> None:
    @tf.function
    def f(x: Any, n: int) -> Any:
        with contextlib.suppress(ZeroDivisionError):
            x = x + 1 // n
        for k in range(3):
            try:
                if n < k:
                    raise ValueError(k)
                x += 1
            except ValueError as error:
                x += 10 * error.args[0]
                if x > 25:
                    return x
        return x

    assert f(tf.constant(0), 1) == 23 and f(tf.constant(10), 0) == 41


def test_lines_of_a_try_run_in_their_order() -> None:
    def f(x: Any) -> Any:
        try:
            x = x + 1
            if x > 2:
                x = x * 2
            int("no number")
        except (
            ValueError,
            KeyError,
        ):
            x = x + 1
        finally:
            x = x - 1
        return x

    def lines(function: Callable[..., Any]) -> list[int]:
        seen: list[int] = []

        def trace(frame: Any, event: str, _: Any) -> Any:
            code = frame.f_code
            if code.co_filename == FILE and code.co_name == "f" and event == "line":
                seen.append(frame.f_lineno)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            assert function(4) == 10
        finally:
            sys.settrace(before)
        return seen

    plain_lines, converted_lines = lines(f), lines(tf.autograph.to_graph(f))
    # Leaving the body comes back to the line of its `try`.
    left = len(converted_lines) - 1 - converted_lines[::-1].index(plain_lines[0])
    assert converted_lines[:left] + converted_lines[left + 1 :] == plain_lines


# --- options of loops ---


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

    assert plain(f(tf.constant(4))) == [[0, 1, 2, 3], 3]
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


# --- membership ---


def test_a_tensor_is_looked_for_in_a_container() -> None:
    table, numbers = {1: "a", 4: "b"}, {2, 3}

    @tf.function
    def f(x: Any, row: Any) -> Any:
        return (
            x in [1, 2],
            x not in (1, 2),
            x in range(9, 0, -4),
            x in range(0),
            x in [],
            x in table,
            x in numbers,
            x in row,
            3 in row,
            3 in [x, 5, None],
            0 < x in row,
            None in [x],
        )

    row = [3, 5]
    for x in (-1, 1, 2, 3, 4, 5, 9):
        due = [
            x in [1, 2],
            x not in (1, 2),
            x in (9, 5, 1),
            False,
            False,
            x in table,
            x in numbers,
            x in row,
            True,
            x == 3,
            0 < x and x in row,
            False,
        ]
        assert plain(f(tf.constant(x), tf.constant(row))) == due


def test_strings_and_grown_lists_are_looked_through() -> None:
    @tf.function
    def f(word: Any, n: Any) -> Any:
        found = []
        for i in tf.range(n):
            found.append(i * i)
        if word not in ("and", "or") and 16 in found:
            return 1
        return 0

    assert f(tf.constant("not"), tf.constant(5)) == 1 and f(tf.constant("or"), tf.constant(5)) == 0
    assert f(tf.constant("not"), tf.constant(4)) == 0
    assert tf.function(lambda: "a" in "cat" and 1 in {1: 2})() == True  # noqa: E712


# --- lists of objects, constructors ---


class Stack:
    """A list that methods change."""

    def __init__(self, first: Any) -> None:
        if first > 5:
            first = first - 5
        self.items = [first]

    def push(self, x: Any) -> None:
        self.items.append(x)

    def pop(self) -> Any:
        return self.items.pop()

    @property
    def top(self) -> Any:
        if self.items[0] > 0:
            return self.items[0]
        return -self.items[0]

    @property
    def pairs(self) -> Any:
        return [(0, 0)]


def test_methods_that_change_a_list_of_their_object() -> None:
    @tf.function
    def f(n: Any) -> Any:
        stack = Stack(n * 0)
        for i in tf.range(n):
            stack.push(i * 2)
            stack.pairs.append((i, i))
            if i % 3 == 0:
                stack.push(i)
                stack.pop()
        count, total = len(stack.items), 0
        while len(stack.items) > 0:
            total += stack.pop()
        return count, total

    assert plain(f(tf.constant(5))) == [6, 20] and plain(f(tf.constant(0))) == [1, 0]
    assert f.experimental_get_tracing_count() == 1


def test_constructors_are_converted() -> None:
    class Named(Stack):
        def __init__(self, x: Any, name: str = "b") -> None:
            super().__init__(x)
            self.size = 1 if x > 0 else 2
            self.name = name

    @tf.function
    def f(x: Any) -> Any:
        named = Named(x, name="a")
        return named.items[0], named.size, named.name

    assert plain(f(tf.constant(8))) == [3, 1, "a"] and plain(f(tf.constant(-1))) == [-1, 2, "a"]
    with pytest.raises(TypeError, match="argument"):
        tf.function(lambda x: Named())(tf.constant(1))


# --- what is left as it is ---


def left_as_it_is(f: Callable[..., Any], *texts: str) -> None:
    with pytest.raises(OperatorNotAllowedInGraphError) as caught:
        tf.function(f)(tf.constant(1))
    (note,) = caught.value.__notes__
    for text in texts:
        assert text in note


def test_errors_say_why_code_was_not_converted() -> None:
    def items(x: Any) -> Any:
        if x > 0:
            yield 1
        yield 2

    @tf.autograph.experimental.do_not_convert
    def kept(x: Any) -> Any:
        return x if x > 0 else -x

    left_as_it_is(lambda x: Stack(x).top, "Stack.top", "properties", "tf.autograph.convert()")
    left_as_it_is(lambda x: sum(items(x)), "items", "generator")
    left_as_it_is(lambda x: kept(x), "kept", "or it is marked so")


def test_convert_decorates_what_python_calls() -> None:
    class Model:
        def __init__(self, x: Any) -> None:
            self.x = x

        @property
        @tf.autograph.convert()
        def size(self) -> Any:
            if self.x > 0:
                return self.x
            return -self.x

        @tf.autograph.convert()
        def __add__(self, other: Any) -> Any:
            return other if other > self.x else self.x

    f = tf.function(lambda x: (Model(x).size, Model(x) + 2))
    assert plain(f(tf.constant(-3))) == [3, 2] and plain(f(tf.constant(5))) == [5, 5]


# --- loops that find something, or nothing ---


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
    assert plain(found(empty, tf.constant(3))) == [-1, -1]
    assert plain(found(tf.constant([1, 2, 5]), tf.constant(3))) == [1, 4]
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


class Rows(NamedTuple):
    rows: Any
    count: Any


def test_lists_in_a_named_tuple_change_in_place() -> None:
    @tf.function
    def f(n: Any) -> Any:
        made = Rows([n * 0, n * 0], n * 0)
        i = tf.constant(0)
        while i < n:
            made.rows[0] += i
            if i > 1:
                made.rows[1] = i
            last = Rows([i, i + 1], {"i": i})
            i += 1
        return made, last

    result = tf.nest.map_structure(int, f(tf.constant(4)))
    assert result == (Rows([6, 3], 0), Rows([3, 4], {"i": 3}))

    @tf.function
    def grows(n: Any) -> Any:
        made = Rows([n], 0)
        for i in tf.range(n):
            made.rows.append(i)
        return made

    with pytest.raises(TypeError, match="'made.rows' cannot change its length"):
        grows(tf.constant(3))
