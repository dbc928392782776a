"""A debugger that goes through traced functions line by line."""

import bdb
import io
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import penstock as tf
from penstock.autograph import _graph_debugger

THIS = __file__


@pytest.fixture(autouse=True)
def _no_breakpoints_of_others():
    """Python's debuggers share their breakpoints."""
    bdb.Breakpoint.clearBreakpoints()
    yield
    bdb.Breakpoint.clearBreakpoints()


@pytest.fixture
def own_breakpoints(monkeypatch):
    """`breakpoint()` is Python's own, as outside of pytest; it gets a debugger that reads these commands."""
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)

    def use(commands):
        out = io.StringIO()
        debugger = tf.debugging.experimental.Debugger(io.StringIO(lines(commands)), out)
        monkeypatch.setattr(_graph_debugger.debuggers, "current", debugger)
        return out

    return use


def lines(commands):
    return commands.replace("; ", "\n") + "\n"


def debug(commands, function, *args, **kwargs):
    """The result of a function in a debugger, and what that wrote."""
    out = io.StringIO()
    debugger = tf.debugging.experimental.Debugger(io.StringIO(lines(commands)), out)
    return debugger.runcall(function, *args, **kwargs), out.getvalue()


def texts(out):
    """The lines of the program that the debugger has shown."""
    shown = [line.removeprefix("-> ") for line in out.splitlines() if line.startswith("-> ")]
    return [line.partition("  #")[0] for line in shown]


def values(out):
    return [float(value) for value in re.findall(r"numpy=([-\d.]+)>", out)]


def helper(v):
    w = v * 2.0
    return w + 1.0


@tf.function
def total(x, n):
    found = x
    for i in tf.range(n):
        found = found + helper(x)
        if found > 5.0:
            found = found - tf.cast(i, tf.float32)
    return found


def test_it_goes_through_loops_and_branches_as_the_graph_does():
    result, out = debug("next; " * 10 + "continue", total, tf.constant(1.0), tf.constant(2))
    assert float(result) == 6.0
    assert texts(out) == [
        "found = x",
        "for i in tf.range(n):",
        "found = found + helper(x)",
        "if found > 5.0:",
        "for i in tf.range(n):",
        "found = found + helper(x)",
        "if found > 5.0:",
        "found = found - tf.cast(i, tf.float32)",
        "return found",
        "return found",
    ]
    assert out.count("--Return--") == 1


def test_values_are_those_of_the_iteration():
    commands = "next; next; next; p found; next; next; next; p found; p i; next; next; p found; continue"
    _, out = debug(commands, total, tf.constant(1.0), tf.constant(2))
    assert values(out) == [4.0, 7.0, 1.0, 6.0]


def test_step_goes_into_functions_and_up_shows_the_caller():
    _, out = debug(
        "step; step; step; step; where; args; up; p x; continue", total, tf.constant(1.0), tf.constant(1)
    )
    assert "--Call--" in out
    assert re.search(r"test_stepping.py\(\d+\)total\(\)\n-> found = found \+ helper\(x\)\n> ", out)
    assert "v = <tf.Tensor: shape=(), dtype=float32, numpy=1.0>" in out
    assert texts(out)[-1] == "found = found + helper(x)"
    assert "penstock/" not in out.partition("(Pdb)")[2].replace("tests/python", "")


def test_a_traced_function_that_is_called_is_stepped_into():
    @tf.function(input_signature=[tf.TensorSpec([], tf.float64)])
    def inner(v):
        doubled = v * 2.0
        return doubled  # noqa: RET504 -- a line of its own

    @tf.function
    def outer(x):
        return inner(x) + inner(3.0)

    result, out = debug(
        "step; step; p v; next; next; next; step; step; p v; c", outer, tf.constant(1.0, tf.float64)
    )
    assert float(result) == 8.0
    assert values(out)[0] == 1.0
    assert values(out)[-1] == 3.0


def test_breakpoints_stop_at_lines_and_functions_under_conditions():
    line = helper.__code__.co_firstlineno + 2
    commands = f"break {THIS}:{line} if w > 3.0; continue; p w; clear 1; "
    commands += "break helper; continue; p v; clear 2; continue"
    _, out = debug(commands, lambda: [total(tf.constant(float(x)), tf.constant(2)) for x in (1, 2, 3)])
    stops = [text for text in texts(out) if "w" in text]
    assert stops == ["return w + 1.0", "w = v * 2.0"]
    assert values(out) == [4.0, 2.0]


def test_a_breakpoint_of_a_traced_function_stops_in_it():
    _, out = debug("break total; continue; p x; continue", lambda: total(tf.constant(7.0), tf.constant(0)))
    assert texts(out)[-1] == "found = x"
    assert values(out) == [7.0]


def test_a_temporary_breakpoint_stops_once():
    line = total.python_function.__code__.co_firstlineno + 4
    _, out = debug(f"tbreak {line}; continue; continue", total, tf.constant(1.0), tf.constant(3))
    assert texts(out).count("found = found + helper(x)") == 1


def test_until_leaves_a_loop_and_return_leaves_a_function():
    line = total.python_function.__code__.co_firstlineno + 7
    _, out = debug(
        f"next; next; until {line}; p found; return; continue", total, tf.constant(1.0), tf.constant(1)
    )
    assert texts(out)[-2:] == ["return found", "return found"]
    assert values(out)[0] == 4.0


def test_what_a_branch_or_an_iteration_has_set_last_is_shown_behind_it():
    @tf.function
    def f(x):
        for i in tf.range(3):
            part = x * tf.cast(i, tf.float32)  # noqa: F841 -- the debugger shows it
        if x > 0.0:
            sign = 1.0 * x
        else:
            sign = -1.0 * x  # noqa: F841 -- the debugger shows it
        return x

    _, out = debug(
        f"break {f.python_function.__code__.co_firstlineno + 8}; c; p part; p sign; c", f, tf.constant(2.0)
    )
    assert values(out) == [4.0, 2.0]


def test_early_returns_jumps_and_python_loops():
    @tf.function
    def f(x):
        while x < 100.0:
            if x > 10.0:
                return x
            for j in [1, 2]:
                if x > 5.0:
                    continue
                x += j
            x = x * 2.0
        return -x

    result, out = debug("next; " * 40, f, tf.constant(1.0))
    assert float(result) == float(f(tf.constant(1.0))) == 16.0
    shown = texts(out)
    assert shown.count("while x < 100.0:") == 3
    assert shown.count("continue") == 2
    assert shown[-2:] == ["return x", "return x"]
    assert "return -x" not in shown


def test_gradients_and_functions_of_loops_are_stepped_through():
    @tf.function
    def f(x):
        def square(v):
            r = v * v
            return r  # noqa: RET504 -- a line of its own

        y = tf.map_fn(square, x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = tf.reduce_sum(square(x))
        g = tape.gradient(z, x)
        return y + g

    x = tf.constant([1.0, 2.0])
    result, out = debug("step; " * 40, f, x)
    np.testing.assert_allclose(result.numpy(), f(x).numpy())
    assert texts(out).count("r = v * v") == 3


def test_methods_make_their_variables_once():
    class Counter(tf.Module):
        def __init__(self):
            self.count = None

        @tf.function
        def add(self, x):
            if self.count is None:
                self.count = tf.Variable(10.0)
            self.count.assign_add(x)
            return self.count.read_value()

    counter = Counter()
    result, out = debug("next; next; p self.count; continue", counter.add, tf.constant(1.0))
    assert float(result) == float(counter.count) == 11.0
    assert values(out) == [11.0]
    assert float(counter.add(tf.constant(1.0))) == 12.0


def test_an_error_of_the_graph_stops_at_its_line_with_the_values():
    @tf.function
    def f(x):
        place = x + 3
        return tf.gather([1, 2], place)

    out = io.StringIO()
    debugger = tf.debugging.experimental.Debugger(io.StringIO("next\nnext\np place\ncontinue\n"), out)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
        debugger.runcall(f, tf.constant(1))
    assert "InvalidArgumentError: gather" in out.getvalue()
    assert values(out.getvalue()) == [4.0]


def test_python_that_calls_traced_functions_is_stepped_through_on_both_sides():
    def program(x):
        first = total(x, tf.constant(1))
        second = first * 2.0
        return second  # noqa: RET504 -- a line of its own

    result, out = debug(
        "step; step; step; return; next; p first; next; p second; continue", program, tf.constant(1.0)
    )
    assert float(result) == 8.0
    assert texts(out)[:3] == ["first = total(x, tf.constant(1))", "def total(x, n):", "found = x"]
    assert values(out)[-2:] == [4.0, 8.0]
    _, out = debug("next; next; continue", program, tf.constant(1.0))
    assert texts(out) == ["first = total(x, tf.constant(1))", "second = first * 2.0", "return second"]


def host(v):
    more = v + 1.0
    return more  # noqa: RET504 -- a line of its own


def test_python_that_a_graph_calls_is_stepped_into_and_out_of():
    @tf.function
    def f(x):
        y = tf.py_function(host, [x], tf.float32)
        return y * 2.0

    _, out = debug("step; step; step; p v; return; next; p y; continue", f, tf.constant(1.0))
    assert texts(out)[1:4] == ["def host(v):", "more = v + 1.0", "return more"]
    assert texts(out)[-1] == "return y * 2.0"
    assert values(out)[-1] == 2.0
    _, out = debug("next; continue", f, tf.constant(1.0))
    assert texts(out) == ["y = tf.py_function(host, [x], tf.float32)", "return y * 2.0"]


def test_quit_ends_the_function():
    result, out = debug("next; quit", total, tf.constant(1.0), tf.constant(2))
    assert result is None
    assert len(texts(out)) == 2


def test_functions_run_as_before_once_it_has_ended():
    before = total.experimental_get_tracing_count()
    debug("continue", total, tf.constant(1.0), tf.constant(2))
    assert not tf.config.functions_run_eagerly()
    assert float(total(tf.constant(1.0), tf.constant(2))) == 6.0
    assert total.experimental_get_tracing_count() <= before + 1


def test_there_is_one_debugger_at_a_time():
    def nested():
        tf.debugging.experimental.Debugger(io.StringIO("c\n"), io.StringIO()).runcall(total, 1.0, 1)

    with pytest.raises(tf.errors.FailedPreconditionError, match="a debugger runs"):
        debug("continue", nested)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="argument 'func' must be callable, got 3"):
        tf.debugging.experimental.step(3)


def test_without_a_terminal_an_error_says_what_to_do(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("next\n"))
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"no terminal.*stdin.*PYTHONBREAKPOINT=0"):
        tf.debugging.experimental.step(total, tf.constant(1.0), tf.constant(1))
    assert "for i in tf.range(n):" in capsys.readouterr().out


# --- breakpoint() ---------------------------------------------------------------


def test_from_a_breakpoint_the_graph_is_stepped_through(own_breakpoints):
    @tf.function
    def f(x, n):
        for i in tf.range(n):
            if i > 1:
                breakpoint()
            x = helper(x)
        return x

    @tf.function
    def around(x):
        before = x * 3.0
        return f(before, tf.constant(3))

    out = own_breakpoints("p i, x; next; next; p x; continue")
    result = around(tf.constant(1.0))
    assert float(result) == 31.0
    assert texts(out.getvalue()) == ["breakpoint()", "x = helper(x)", "return x"]
    assert values(out.getvalue()) == [2.0, 15.0, 31.0]
    assert float(f(tf.constant(1.0), tf.constant(1))) == 3.0


def test_a_breakpoint_shows_the_functions_that_led_there(own_breakpoints):
    def inner(v):
        w = v + 1.0
        breakpoint()
        return w

    @tf.function
    def outer(x):
        half = x / 2.0
        return inner(half)

    out = own_breakpoints("p w; up; p half; step; step; continue")
    assert float(outer(tf.constant(4.0))) == 3.0
    assert values(out.getvalue())[:2] == [3.0, 2.0]
    assert texts(out.getvalue())[:2] == ["breakpoint()", "return inner(half)"]


SET_TRACE = """
import pdb
import penstock as tf

@tf.function
def f(x):
    y = x + 1.0
    pdb.set_trace(header="look")
    return y * 2.0

print(float(f(tf.constant(1.0))))
"""


def test_set_trace_of_pdb_stops_in_a_graph_and_reads_what_is_piped_in(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(SET_TRACE)
    run = subprocess.run(
        [sys.executable, str(program)],
        input="p y\nnext\ncontinue\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "look" in run.stdout
    assert values(run.stdout) == [2.0]
    assert texts(run.stdout)[-1] == "return y * 2.0"
    assert run.stdout.rstrip().endswith("4.0")


# What a kernel of Jupyter does when it starts, and how it runs a cell.
IN_A_NOTEBOOK = """
import pdb, sys, types
import penstock as tf

class Coloured(pdb.Pdb):
    def message(self, text):
        super().message("coloured " + text)

def set_trace(frame=None, header=None):
    raise RuntimeError("stopped while tracing")

set_trace.__module__ = "IPython.core.debugger"
pdb.Pdb, pdb.set_trace = Coloured, set_trace

sys.modules["debugpy"] = types.SimpleNamespace(is_client_connected=lambda: False)

def hook():
    print("passed by")

hook.__module__ = "debugpy._vendored.force_pydevd"
sys.breakpointhook = hook

@tf.function
def f(x):
    y = x + 1.0
    pdb.set_trace()
    z = y * 2.0
    breakpoint()
    return z

shell = {"__name__": "IPython.core.interactiveshell", "run": lambda: f(tf.constant(1.0))}
exec("def run_code(): return run()", shell)
print(float(shell["run_code"]()))
sys.modules["debugpy"].is_client_connected = lambda: True
print(float(tf.function(f.python_function)(tf.constant(1.0))))
"""


def test_in_notebooks_it_stops_in_the_graph_too(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(IN_A_NOTEBOOK)
    run = subprocess.run(
        [sys.executable, str(program)],
        input="p y\nwhere\ncontinue\np z\ncontinue\np y\ncontinue\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "coloured" not in run.stdout
    assert values(run.stdout) == [2.0, 4.0, 2.0]
    # Where an editor is connected, its debugger gets what `breakpoint()` stops at.
    assert run.stdout.count("passed by") == 1
    assert re.search(r"4\.0\n.*passed by\n4\.0\n$", run.stdout, flags=re.DOTALL)
    # Frames of the kernel are not shown.
    assert "<lambda>()" in run.stdout
    assert "run_code()" not in run.stdout


def test_a_breakpoint_after_an_error_shows_no_frames_of_before(own_breakpoints):
    @tf.function
    def f(x):
        breakpoint()
        return tf.gather([1, 2], x)

    out = own_breakpoints("continue; where; continue")
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant(5))
    assert int(f(tf.constant(1))) == 2
    assert out.getvalue().count("f()\n-> breakpoint()") == 3


def test_breakpoints_of_other_threads_stop_there(own_breakpoints):
    @tf.function
    def f(x):
        breakpoint()
        return x

    out = own_breakpoints("p x; continue")
    thread = threading.Thread(target=f, args=(tf.constant(3.0),))
    thread.start()
    thread.join()
    assert values(out.getvalue()) == [3.0]


@tf.function
def halved_and_stopped(v):
    w = v / 2.0
    breakpoint()
    return w


def _calls_it(y):
    return halved_and_stopped(y)


def _straight(x):
    twice = x * 2.0
    return halved_and_stopped(twice)


def _in_a_loop(x):
    twice = x * 2.0
    for _ in tf.range(2):
        twice = halved_and_stopped(twice)
    return twice


def _in_a_branch(x):
    twice = x * 2.0
    if twice > 1.0:
        twice = halved_and_stopped(twice)
    return twice


def _in_a_branch_of_cond(x):
    twice = x * 2.0
    return tf.cond(twice > 1.0, lambda: _calls_it(twice), lambda: twice)


def _in_a_helper(x):
    twice = x * 2.0
    return _calls_it(twice)


def _by_another_traced_function(x):
    twice = x * 2.0
    return tf.function(_calls_it)(twice)


@pytest.mark.parametrize(
    "function",
    [_straight, _in_a_loop, _in_a_branch, _in_a_branch_of_cond, _in_a_helper, _by_another_traced_function],
)
def test_a_breakpoint_in_a_traced_function_shows_the_traced_functions_that_call_it(function, own_breakpoints):
    up = "up; " * (2 if function in (_in_a_branch_of_cond, _in_a_helper, _by_another_traced_function) else 1)
    out = own_breakpoints(f"p w; {up}p twice; continue; " * 2)
    result = float(tf.function(function)(tf.constant(4.0)))
    assert result == (2.0 if function is _in_a_loop else 4.0)
    assert values(out.getvalue())[:2] == [4.0, 8.0]
    assert texts(out.getvalue())[0] == "breakpoint()"
    if function is _in_a_loop:
        assert values(out.getvalue()) == [4.0, 8.0, 2.0, 4.0]


def test_a_breakpoint_of_a_helper_shows_the_traced_functions_around_it(own_breakpoints):
    def helper(v):
        w = v + 1.0
        breakpoint()
        return w

    @tf.function
    def inner(y):
        return helper(y * 10.0)

    class Model(tf.Module):
        @tf.function
        def run(self, y):
            return self.through(y)

        def through(self, y):
            return inner(y)

    model = Model()

    @tf.function
    def outer(x):
        half = x / 2.0
        return model.run(half)

    out = own_breakpoints("p w; up; p y; up; up; up; p half; continue")
    assert float(outer(tf.constant(4.0))) == 21.0
    assert values(out.getvalue()) == [21.0, 2.0, 2.0]


def test_a_traced_function_that_stops_is_traced_without_its_callers_when_it_is_called_alone(own_breakpoints):
    outer = tf.function(_straight)
    out = own_breakpoints("continue; where; continue")
    outer(tf.constant(4.0))
    halved_and_stopped(tf.constant(4.0))
    assert "_straight()" not in out.getvalue().split("-> breakpoint()")[2]


def test_after_the_function_its_callers_are_gone_through(own_breakpoints):
    out = own_breakpoints("return; next; where; continue")
    assert float(tf.function(_straight)(tf.constant(4.0))) == 4.0
    assert "_straight()->" in out.getvalue()
