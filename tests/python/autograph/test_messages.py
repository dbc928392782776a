"""What AutoGraph says when it cannot do what the code asks, and where it says it is."""

# The traced functions are written as users write them.
# ruff: noqa: C416, F821, F841, PERF402, PT018, RET503, RUF043

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import penstock as tf

FILE = __file__


def line_of(function: Callable[..., Any], text: str) -> int:
    """The line of a function's source that holds a text."""
    lines, start = inspect.getsourcelines(function)
    return start + next(i for i, line in enumerate(lines) if text in line)


def user_frames(error: BaseException) -> list[tuple[str, int]]:
    """The functions of this file in a traceback, with their lines, without the test's own."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(f.name, f.lineno or 0) for f in frames if f.filename == FILE and not f.name.startswith("test_")]


def own_frames(error: BaseException) -> list[str]:
    """The files of the conversion in a traceback."""
    return [f.filename for f in traceback.extract_tb(error.__traceback__) if "autograph/_" in f.filename]


def test_a_variable_that_one_branch_sets() -> None:
    def f(x: Any) -> Any:
        if x > 0:
            y = x
        return y

    with pytest.raises(UnboundLocalError) as caught:
        tf.function(f)(tf.constant(1))
    message = str(caught.value)
    assert "'y'" in message and "both branches" in message
    assert f"{FILE}:{line_of(f, 'if x > 0')}" in message and f"line {line_of(f, 'y = x')}" in message
    assert user_frames(caught.value) == [("f", line_of(f, "return y"))]


class Sum:
    """Makes its attributes when they are needed first."""

    def __init__(self) -> None:
        self.last: Any = None
        self.parts: list[Any] = [None]

    def add(self, x: Any) -> Any:
        if self.last is None:
            self.last = x * 0
        self.last = self.last + x
        return self.last

    def put(self, x: Any) -> None:
        self.parts[0] = x * 2

    def begin(self, x: Any) -> None:
        self.first = x * 2


def test_an_attribute_that_a_helper_makes_under_a_condition_is_named() -> None:
    def branch(x: Any) -> Any:
        s = Sum()
        if x > 0:
            s.add(x)
        return s.add(x)

    def nested(x: Any) -> Any:
        s = Sum()
        if x > 1:
            x += 1
        elif x > 0:
            s.add(x)
        return s.add(x)

    def grown(x: Any) -> Any:
        s, items = Sum(), [x]
        if x > 1:
            s.add(x)
        elif x > 0:
            items.append(x)
        return s.add(x) + len(items)

    for f, test in ((branch, "if x > 0"), (nested, "if x > 1"), (grown, "if x > 1")):
        with pytest.raises(tf.errors.InaccessibleTensorError) as caught:
            tf.function(f)(tf.constant(1))
        message = str(caught.value)
        assert "last' got a tensor within the 'if' at " in message and "a tensor before the 'if'" in message
        assert f"{FILE}:{line_of(f, test)}" in message
        assert f"line {line_of(Sum, 'self.last + x')}" in message


def test_a_list_in_which_a_helper_leaves_a_tensor_is_named() -> None:
    def f(x: Any) -> Any:
        s = Sum()
        if x > 0:
            s.put(x)
        return s.parts[0] + 1

    with pytest.raises(tf.errors.InaccessibleTensorError, match="parts' got a tensor within the 'if' at "):
        tf.function(f)(tf.constant(1))


def test_an_attribute_that_one_branch_sets() -> None:
    def f(x: Any) -> Any:
        s = Sum()
        if x > 0:
            s.begin(x)
        else:
            x = x + 1
        return s.first

    def by_itself(x: Any) -> Any:
        s = Sum()
        if x > 0:
            s.first = x
        return s.first

    with pytest.raises(ValueError, match=r"'s\.first' may have no value: the 'if' at ") as caught:
        tf.function(by_itself)(tf.constant(1))
    assert f"line {line_of(by_itself, 's.first = x')}" in str(caught.value)
    with pytest.raises(ValueError, match="first' got a tensor within the 'if' at "):
        tf.function(f)(tf.constant(1))


def test_a_variable_that_is_never_read_may_stay_undefined() -> None:
    @tf.function
    def f(x: Any) -> Any:
        if x > 0:
            unused = x
            other = 1.5
        else:
            other = "text"
        for i in tf.range(3):
            temporary = i
            x += temporary
        for temporary in tf.range(2):
            x += temporary
        return x

    assert f(tf.constant(1)).numpy() == 5


def test_types_that_differ_between_branches() -> None:
    def dtypes(x: Any) -> Any:
        if x > 0:
            y = x
        else:
            y = 1.5
        return y

    def structures(x: Any) -> Any:
        y = (x, x)
        if x > 0:
            y = (x, x, x)
        return y

    def nothing(x: Any) -> Any:
        if x > 0:
            return x

    with pytest.raises(TypeError) as caught:
        tf.function(dtypes)(tf.constant(1))
    message = str(caught.value)
    assert all(part in message for part in ("'y'", "int32", "float32", "tf.cast"))
    assert f"line {line_of(dtypes, 'y = x')}" in message and f"line {line_of(dtypes, 'y = 1.5')}" in message
    assert user_frames(caught.value) == [("dtypes", line_of(dtypes, "if x > 0"))]
    with pytest.raises(TypeError, match="'y' must have one type.* 3 .*2 elements|'y' must have one type"):
        tf.function(structures)(tf.constant(1))
    with pytest.raises(TypeError, match="every path") as caught:
        tf.function(nothing)(tf.constant(1))
    assert f"line {line_of(nothing, 'return x')}" in str(caught.value)


def test_numbers_take_on_the_dtype_of_tensors() -> None:
    @tf.function
    def f(x: Any) -> Any:
        if x > 0:
            y, z = 0, x
        else:
            y, z = x, 1
        if x > 1.0:
            x = 2
        w = 1 if x > 0 else 0.5
        return y, z, x, w

    assert [t.numpy() for t in f(tf.constant(-1.5))] == [-1.5, 1.0, -1.5, 0.5]
    assert all(t.dtype == tf.float32 for t in f(tf.constant(3.0)))


def test_types_that_change_in_a_loop() -> None:
    def dtype(n: Any) -> Any:
        y = 0.5
        for i in tf.range(n):
            y = i
        return y

    def hint(n: Any) -> Any:
        total = 0
        while total < n:
            total = total + tf.constant(1.5)
        return total

    def shape(x: Any) -> Any:
        for _ in tf.range(3):
            x = tf.concat([x, x], 0)
        return x

    def fixed(n: Any) -> Any:
        cast = abs
        for _ in tf.range(n):
            n = cast(n)
            cast = float
        return n

    with pytest.raises(TypeError) as caught:
        tf.function(dtype)(tf.constant(3))
    message = str(caught.value)
    assert all(
        part in message
        for part in ("'y'", "float32 before", "int32 after", "tf.cast", f"line {line_of(dtype, 'y = i')}")
    )
    with pytest.raises(TypeError) as caught:
        tf.function(hint)(tf.constant(3))
    assert "'total' starts as 0" in "".join(caught.value.__notes__)
    assert user_frames(caught.value) == [("hint", line_of(hint, "total = total"))]
    with pytest.raises(
        ValueError, match=r"'x' must keep its shape.*\(1,\) before.*\(2,\) after.*shape_invariants"
    ):
        tf.function(shape)(tf.constant([1]))
    with pytest.raises(TypeError, match="'cast' cannot change in the loop.*abs.*before.*float.*after"):
        tf.function(fixed)(tf.constant(3))


def test_a_variable_that_a_loop_sets_first() -> None:
    @tf.function
    def last(n: Any) -> Any:
        for i in tf.range(n):
            square = i * i
        return square

    def early(n: Any) -> Any:
        for i in tf.range(n):
            if i > 0:
                n += previous
            previous = i
        return n

    assert last(tf.constant(4)).numpy() == 9
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="must iterate at least once, to give 'square' a value"
    ):
        last(tf.constant(0))
    with pytest.raises(NameError, match="previous"):
        tf.function(early)(tf.constant(3))


def test_lists_whose_elements_differ() -> None:
    @tf.function
    def f(n: Any) -> Any:
        z = [tf.constant(0.5)]
        for i in tf.range(n):
            z.append(i)
        return z

    with pytest.raises(ValueError, match="the list 'z' changes its length.*float32.*int32"):
        f(tf.constant(3))


def test_conditions_with_more_than_one_element() -> None:
    @tf.function
    def f(x: Any) -> Any:
        if x > 0:
            x = -x
        return x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="ambiguous.*reduce_any"):
        f(tf.constant([1, 2]))
    with pytest.raises(TypeError, match="scalar"):
        tf.function(lambda x: [y for y in x])(tf.constant(1))


def fails(x: Any) -> Any:
    return tf.reshape(x, [2, 3])


def calls(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        for _ in tf.range(3):
            while tf.reduce_sum(x) < 10:
                x = fails(x)
    return x


def test_a_traceback_shows_the_lines_of_the_user() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.function(calls)(tf.constant([1, 2]))
    assert user_frames(caught.value) == [
        ("calls", line_of(calls, "x = fails(x)")),
        ("fails", line_of(fails, "return tf.reshape")),
    ]
    # One is the boundary of the traced call itself.
    assert len(own_frames(caught.value)) == 0


def test_a_traceback_shows_each_call_of_functions_whose_loops_call() -> None:
    layers = [lambda x: x, fails]

    def through(x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return x

    def twice(x: Any, depth: int) -> Any:
        for _ in range(2):
            if depth:
                x = twice(x, depth - 1)
            else:
                x = through(x)
        return x

    def outer(x: Any) -> Any:
        return twice(x, 1)

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.function(outer)(tf.constant([1, 2]))
    assert [name for name, _ in user_frames(caught.value)] == ["outer", "twice", "twice", "through", "fails"]


def test_filter_says_what_to_write_where_a_tensor_decides() -> None:
    @tf.function
    def large(x: Any) -> Any:
        return list(filter(lambda v: v > 1, x))

    @tf.function
    def comprehension(x: Any) -> Any:
        return [v for v in x if v > 1]

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="list comprehension"):
        large(tf.constant([1, 2, 3]))
    assert comprehension(tf.constant([1, 2, 3])).numpy().tolist() == [2, 3]
    assert tf.function(lambda: list(filter(None, [0, 1, 2])))()[1].numpy() == 2


def test_filtering_of_tracebacks_can_be_turned_off() -> None:
    tf.debugging.disable_traceback_filtering()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            tf.function(calls)(tf.constant([1, 2]))
    finally:
        tf.debugging.enable_traceback_filtering()
    assert len(own_frames(caught.value)) > 5


def test_an_error_of_a_run_names_the_line() -> None:
    def f(x: Any) -> Any:
        total = 0
        for i in tf.range(5):
            total += 10 // (x - i)
        return total

    g = tf.function(f)
    assert g(tf.constant(7)).numpy() == 10 // 7 + 10 // 6 + 10 // 5 + 10 // 4 + 10 // 3
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"line {line_of(f, 'total += 10')}"):
        g(tf.constant(3))


def test_an_error_in_a_condition_names_the_function_that_has_it() -> None:
    @tf.function
    def search(x: Any) -> Any:
        i = 0
        while tf.gather(x, i) > 0:
            i += 1
        return i

    @tf.function
    def choose(x: Any) -> Any:
        return tf.gather(x, 7) if x[0] > 0 else x[0]

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"in search\n"):
        search(tf.constant([1, 2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"in choose$"):
        choose(tf.constant([1, 2]))
    text = search.get_concrete_function(tf.TensorSpec([None], tf.int32)).graph.to_text()
    assert "<lambda>" not in text


def test_a_lambda_of_the_user_keeps_its_name() -> None:
    f = tf.function(lambda x: (lambda: tf.gather(x, 7))())
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"in <lambda>$"):
        f(tf.constant([1, 2]))


def test_debuggers_and_coverage_see_the_lines_of_the_source() -> None:
    def f(x: Any) -> Any:
        y = 0
        if x > 0:
            y = x
        else:
            y = -x
        while y < 10:
            y += 1
        return y

    seen: set[tuple[str, int]] = set()

    def watch(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename == FILE:
            if event == "line":
                seen.add((frame.f_code.co_name, frame.f_lineno))
            return watch
        return None

    first = line_of(f, "def f")
    old = sys.gettrace()
    sys.settrace(watch)
    try:
        tf.function(f)(tf.constant(1))
    finally:
        sys.settrace(old)
    lines = {line - first for name, line in seen if name == "f"}
    assert {1, 2, 3, 5, 6, 7, 8} <= lines
    assert lines <= set(range(9))


def test_an_exception_of_the_user_keeps_its_type_and_cause() -> None:
    class Custom(Exception):
        pass

    def f(x: Any) -> Any:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise Custom("outer") from error

    with pytest.raises(Custom) as caught:
        tf.function(f)(tf.constant(1))
    assert isinstance(caught.value.__cause__, KeyError)
    assert user_frames(caught.value) == [("f", line_of(f, "raise Custom"))]


def test_a_variable_that_an_iteration_reads_first_must_be_defined_before_the_loop() -> None:
    @tf.function
    def f(n: Any) -> Any:
        for i in tf.range(n):
            if i == 0:
                x = i
            else:
                x = x + i
        return x

    with pytest.raises(ValueError, match="'x' must be defined before the loop at .*test_messages.py"):
        f(tf.constant(3))

    @tf.function
    def g(n: Any) -> Any:
        i = tf.constant(0)
        while i < n:
            y = y + i
            i += 1
        return y

    with pytest.raises(UnboundLocalError, match="'y' must be defined before the loop"):
        g(tf.constant(3))


def appended(items: Any, n: Any) -> Any:
    items.append(n)
    return n


def appended_in_a_loop(items: Any, n: Any) -> Any:
    for i in tf.range(n):
        items.append(i)
    return n


def set_in_a_branch(items: Any, n: Any) -> Any:
    if n > 1:
        items[0] = n
    return n


def changed_by_a_helper(items: Any, n: Any) -> Any:
    return appended(items, n)


@pytest.mark.parametrize("autograph", [True, False])
@pytest.mark.parametrize("body", [appended, appended_in_a_loop, set_in_a_branch, changed_by_a_helper])
def test_a_list_among_the_arguments_is_not_to_be_changed(body: Any, autograph: bool) -> None:
    given = [tf.constant(1)]
    if not autograph and body in (appended_in_a_loop, set_in_a_branch):
        pytest.skip("control flow needs AutoGraph")
    with pytest.raises(ValueError, match=r"should not modify its Python input.*modified: items"):
        tf.function(body, autograph=autograph)(given, tf.constant(2))
    assert len(given) == 1


def test_containers_within_arguments_are_not_to_be_changed_but_copies_are() -> None:
    @tf.function
    def changes(table: Any, pair: Any = None) -> Any:
        if pair is not None:
            pair[1]["b"] = 3
        return table["a"]

    @tf.function
    def copies(table: Any, **more: Any) -> Any:
        table = {**table, "b": more.pop("b")}
        table["a"] += 1
        rows = [*table["rows"]]
        rows.append(table["b"])
        return table["a"] + len(rows)

    table = {"a": tf.constant(1), "rows": [tf.constant(2)]}
    assert int(changes(table)) == 1
    with pytest.raises(ValueError, match="modified: pair"):
        changes(table, pair=(1, {"b": tf.constant(2)}))
    assert int(copies(table, b=tf.constant(5))) == 4
