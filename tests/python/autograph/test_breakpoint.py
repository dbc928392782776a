"""`breakpoint()` in traced functions."""

import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as tf


@pytest.fixture
def stops(monkeypatch):
    """Where the debugger would have been: the line, the local variables, and the arguments."""
    found = []

    def hook(*args, **kwargs):
        frame = sys._getframe(1)
        assert Path(frame.f_code.co_filename) == Path(__file__)
        found.append((frame.f_lineno, dict(frame.f_locals), args, kwargs))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    return found


def _first_line(function):
    return function.python_function.__code__.co_firstlineno


def test_it_stops_at_its_line_each_time_that_the_graph_runs(stops):
    @tf.function
    def f(x):
        y = x + 1.0
        breakpoint()
        return y

    assert float(f(tf.constant(1.0))) == 2.0
    assert float(f(tf.constant(5.0))) == 6.0
    assert [line for line, *_ in stops] == [_first_line(f) + 3] * 2
    assert [(float(v["x"]), float(v["y"])) for _, v, *_ in stops] == [(1.0, 2.0), (5.0, 6.0)]


def test_in_loops_and_branches_the_values_are_those_of_the_iteration(stops):
    @tf.function
    def f(x, n, factor=2.0):
        for i in tf.range(n):  # noqa: B007 -- the debugger shows it
            y = x * factor
            if y > 2.0:
                x = x + y
                breakpoint()
        return x

    assert float(f(tf.constant(2.0), tf.constant(2))) == 18.0
    seen = [{name: float(v[name]) for name in ("i", "n", "x", "y", "factor")} for _, v, *_ in stops]
    assert seen == [
        {"i": 0.0, "n": 2.0, "x": 6.0, "y": 4.0, "factor": 2.0},
        {"i": 1.0, "n": 2.0, "x": 18.0, "y": 12.0, "factor": 2.0},
    ]
    assert not any(name.startswith("ag__") for _, v, *_ in stops for name in v)


def test_tensors_in_nests_have_values_and_other_objects_stay(stops):
    variable, model = tf.Variable(3.0), object()

    @tf.function
    def f(x):
        nest = {"a": [x, (x * 2.0, "text")]}
        held = variable, model
        breakpoint()
        return nest["a"][0], held[0].read_value()

    f(tf.constant(1.0))
    values = stops[0][1]
    assert float(values["nest"]["a"][1][0]) == 2.0
    assert values["nest"]["a"][1][1] == "text"
    assert values["held"][0] is variable
    assert values["held"][1] is model


def test_what_a_debugger_is_given_reaches_it(stops):
    @tf.function
    def f(x):
        breakpoint("here", header="stop")
        return x

    f(tf.constant(1.0))
    assert stops[0][2:] == (("here",), {"header": "stop"})


def test_called_functions_stop_with_their_own_variables(stops):
    def inner(value):
        twice = value * 2.0
        breakpoint()
        return twice

    @tf.function
    def outer(x):
        other = x + 1.0
        return inner(other)

    outer(tf.constant(1.0))
    assert {name: float(value) for name, value in stops[0][1].items()} == {"value": 2.0, "twice": 4.0}


def test_gradients_and_results_are_those_without_it(stops):
    @tf.function
    def f(x):
        y = tf.sin(x)
        breakpoint()
        return y * y

    x = tf.constant(0.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * np.sin(0.5) * np.cos(0.5), rtol=1e-6)
    assert len(stops) == 1


def test_the_environment_can_turn_it_off(monkeypatch):
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")

    @tf.function
    def f(x):
        breakpoint()
        return x

    assert float(f(tf.constant(1.0))) == 1.0


def test_an_eager_function_stops_as_in_python(stops):
    def f(x):
        y = x + 1
        breakpoint()
        return y

    tf.autograph.to_graph(f)(1)
    assert {"x": 1, "y": 2}.items() <= stops[0][1].items()
