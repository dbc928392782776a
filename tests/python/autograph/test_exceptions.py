"""Exceptions in traced functions, and what is said of code that is left as it is."""

# The traced functions are written as users write them.
# ruff: noqa: PT018

from __future__ import annotations

import contextlib
import linecache
import sys
from collections.abc import Callable
from typing import Any

import pytest
from support import as_lists

import penstock as tf
from penstock.errors import OperatorNotAllowedInGraphError

FILE = __file__


def line_of(text: str) -> int:
    """The only line of this file that ends with a text."""
    (found,) = [i for i, line in enumerate(linecache.getlines(FILE), 1) if line.rstrip().endswith(text)]
    return found


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


class Held:
    """A value with a property that branches."""

    def __init__(self, x: Any) -> None:
        self.x = x

    @property
    def size(self) -> Any:
        if self.x > 0:
            return self.x
        return -self.x


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

    left_as_it_is(lambda x: Held(x).size, "Held.size", "properties", "tf.autograph.convert()")
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
    assert as_lists(f(tf.constant(-3))) == [3, 2] and as_lists(f(tf.constant(5))) == [5, 5]
