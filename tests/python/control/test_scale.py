"""Long loops: they can be interrupted, and hold no more memory than short ones."""

from __future__ import annotations

import linecache
import resource
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf


def after_alarm(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function, in which an alarm goes off."""
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    return function(*args)


def test_an_endless_loop_can_be_interrupted() -> None:
    started = threading.Event()

    def note() -> None:
        started.set()

    @tf.function
    def forever(step: Any) -> Any:
        tf.py_function(note, [], [])
        i = tf.constant(0, tf.int64)
        while i >= 0:
            i = (i + step) % 1000
        return i

    def interrupt() -> None:
        started.wait()
        signal.raise_signal(signal.SIGINT)

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        forever(tf.constant(1, tf.int64))
    watcher.join()

    @tf.function
    def after(x: Any) -> Any:
        while x < 10:
            x += 1
        return x

    assert after(tf.constant(0)).numpy() == 10


def test_an_endless_loop_of_numbers_can_be_interrupted() -> None:
    @tf.function
    def forever(i: Any) -> Any:
        while i >= 0:
            i = (i * 3 + 1) % 1000
        return i

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    forever(tf.constant(-1))
    before = signal.signal(signal.SIGALRM, interrupted)
    try:
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                after_alarm(forever, tf.constant(1))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert forever(tf.constant(-5)).numpy() == -5


@pytest.mark.parametrize("depth", [1, 4, 8])
def test_the_innermost_of_nested_loops_is_traced_twice_whatever_the_depth(depth: int) -> None:
    traced = 0

    @tf.autograph.experimental.do_not_convert
    def note() -> int:
        nonlocal traced
        traced += 1
        return 1

    lines = ["def nested(x, n):", "    total = 0"]
    for level in range(depth):
        lines += [
            "    " * (level + 1) + line
            for line in (
                f"for i{level} in tf.range(n):",
                f"    seen{level} = total + i{level}",
                f"    if seen{level} > x:",
                f"        return seen{level}",
            )
        ]
    lines += ["    " * (depth + 1) + "total += note()", "    return -total"]
    source = "\n".join(lines)
    file = f"<loops nested {depth} deep>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict[str, Any] = {"tf": tf, "note": note}
    exec(compile(source, file, "exec"), names)
    plain = names["nested"]
    run = tf.function(plain)
    results = [int(run(tf.constant(x), tf.constant(2))) for x in (1, 5, 10**6)]
    assert traced == 2
    assert results == [int(plain(tf.constant(x), tf.constant(2))) for x in (1, 5, 10**6)]


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_nested_loops_have_as_many_instructions_for_each_level(order: int) -> None:
    def loops(depth: int, x: Any) -> Any:
        if depth == 0:
            return tf.sin(x)
        body = lambda i, v: (i + 1, loops(depth - 1, tf.sin(v)))  # noqa: E731
        return tf.while_loop(lambda i, _: i < 2, body, (0, x))[1]

    def derivative(depth: int, order: int) -> Any:
        def run(x: Any) -> Any:
            y = loops(depth, x)
            for _ in range(order):
                y = tf.gradients(y, x)[0]
            return y

        return tf.function(run)

    x, step = tf.constant(0.7, tf.float64), 1e-5
    sizes = [
        len(str(derivative(depth, order).get_concrete_function(x).graph).splitlines())
        for depth in (6, 9, 12, 15)
    ]
    assert len(set(np.diff(sizes))) == 1
    below = derivative(4, order - 1)
    slope = (below(x + step) - below(x - step)) / (2 * step)
    np.testing.assert_allclose(derivative(4, order)(x), slope, rtol=1e-6)


# It measures the process, which has the queue of the emulated device, too.
@pytest.mark.of_host
def test_memory_is_flat() -> None:
    @tf.function
    def f(n: Any) -> Any:
        x = tf.ones([1000])
        for i in tf.range(n):
            x = x * 0.5 + tf.cast(i % 3, tf.float32)
            if i % 2 == 0:
                x = x - 1.0
        return tf.reduce_sum(x)

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    f(tf.constant(1000))
    before = peak()
    # 400 MB would be held if each iteration kept its array.
    f(tf.constant(100_000))
    assert peak() - before < 40_000


def test_a_large_graph_that_is_made_ready_can_be_interrupted() -> None:
    def body(x: Any) -> Any:
        for _ in range(50_000):
            x = tf.sin(x * 2.0)
        return x

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    x = tf.ones([4])
    before = signal.signal(signal.SIGALRM, interrupted)
    try:
        plain = tf.function(body, autograph=False).get_concrete_function(x)
        with pytest.raises(KeyboardInterrupt):
            after_alarm(plain, x)
        taped = tf.function(body, autograph=False).get_concrete_function(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            with pytest.raises(KeyboardInterrupt):
                after_alarm(taped, x)
            y = taped(x)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            tape.gradient(y, x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert np.isfinite(plain(x).numpy()).all()


def nested(kind: str, depth: int, x: Any) -> Any:
    """`x + depth`, doubled, inside of so many conditionals, loops, or both in turn."""
    if depth == 0:
        return x * 2.0
    if kind == "cond" or (kind == "mixed" and depth % 2):
        return tf.cond(x > 0, lambda: nested(kind, depth - 1, x + 1.0), lambda: x)
    body = lambda i, v: (i + 1, nested(kind, depth - 1, v + 1.0))  # noqa: E731
    return tf.while_loop(lambda i, _: i < 1, body, (0, x))[1]


@pytest.mark.parametrize("kind", ["cond", "while", "mixed"])
@pytest.mark.parametrize("depth", [10, 60, 100])
@pytest.mark.parametrize("kib", [128, 256, 400])
@pytest.mark.parametrize("autograph", [True, False])
def test_deep_nests_end_in_a_result_or_an_error_in_threads_with_a_small_stack(
    kind: str, depth: int, kib: int, autograph: bool
) -> None:
    found: list[Any] = []

    def work() -> None:
        try:
            run = tf.function(lambda x: nested(kind, depth, x), autograph=autograph)
            found.append(float(run(tf.constant(1.0))))
            str(run.get_concrete_function(tf.constant(1.0)).graph)
            slope = tf.function(lambda x: tf.gradients(nested(kind, depth, x), x)[0], autograph=autograph)
            found.append(float(slope(tf.constant(1.0))))
            with tf.autodiff.ForwardAccumulator(x := tf.constant(1.0), tf.constant(1.0)) as accumulator:
                y = run(x)
            found.append(float(accumulator.jvp(y)))
            found.append(float(tf.vectorized_map(run, tf.ones([3]))[2]))
        except (tf.errors.ResourceExhaustedError, RecursionError) as error:
            found.append(error)

    before = threading.stack_size(kib << 10)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    results = [2.0 * (1.0 + depth), 2.0, 2.0, 2.0 * (1.0 + depth)]
    assert found == results or isinstance(found[-1], Exception), found
    assert depth > 10 or kib < 256 or found == results
