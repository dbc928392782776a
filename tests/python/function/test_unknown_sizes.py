"""Functions traced for sizes that are unknown: each call gives what its sizes alone would have given."""

import gc
import os
import re
import resource
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf

UNKNOWN = tf.TensorSpec([None, None])
Program = Callable[..., Any]


def numbers(*shape: int) -> tf.Tensor:
    return tf.constant(np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32))


def outcome(f: Program, *args: Any) -> list[Any] | tuple[type, str]:
    """What a call gives, or how it fails."""
    try:
        return [np.asarray(x) for x in tf.nest.flatten(f(*args))]
    except tf.errors.OpError as error:
        return type(error), str(error).partition("\n")[0]


def check(program: Program, *calls: tuple[Any, ...], specs: list[Any]) -> None:
    """One trace for all calls, in order and once more in the opposite one, gives what each gives eagerly."""
    traced = tf.function(program, input_signature=specs)
    for args in (*calls, *reversed(calls)):
        due, got = outcome(program, *args), outcome(traced, *args)
        if isinstance(due, tuple) or isinstance(got, tuple):
            assert (type(due), due[0]) == (type(got), got[0]), (args, due, got)
            continue
        for a, b in zip(due, got, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
    assert traced.experimental_get_tracing_count() == 1


def sums(x: Any, y: Any) -> Any:
    return x + y, tf.reduce_sum(x * y, axis=0)


def gradients_of_sums(x: Any, y: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch((x, y))
        z = tf.reduce_mean(tf.tanh(x + y) * y)
    return tape.gradient(z, [x, y])


def second_gradients(x: Any, y: Any) -> Any:
    with tf.GradientTape() as outer:
        outer.watch((x, y))
        with tf.GradientTape() as inner:
            inner.watch((x, y))
            z = tf.reduce_sum(tf.sin(x * y) / (1.0 + y * y))
        first = inner.gradient(z, x)
    return outer.gradient(first, [x, y])


def normalised(x: Any, y: Any) -> Any:
    x -= tf.reduce_mean(x, axis=-1, keepdims=True)
    return tf.nn.softmax(x) * tf.reduce_max(y), tf.math.reduce_std(x, axis=0), tf.shape(x)[0] * tf.size(y)


def reshaped(x: Any, y: Any) -> Any:
    n, m = tf.shape(x)[0], tf.shape(x)[1]
    flat = tf.reshape(x, [n * m])
    return (
        tf.reshape(flat, [m, n]),
        tf.concat([x, x], 0)[: n + 1],
        tf.pad(x, [[0, n], [1, 0]]),
        tf.tile(y, [n, 1]),
    )


def branches(x: Any, y: Any) -> Any:
    if tf.shape(x)[0] == tf.shape(y)[0] and tf.shape(x)[1] == tf.shape(y)[1]:
        z = x * y
    elif tf.shape(x)[1] == tf.shape(y)[0]:
        z = x @ y
    else:
        z = tf.zeros([0, tf.shape(y)[1]])
    return z


def loop(x: Any, y: Any) -> Any:
    h = tf.zeros([tf.shape(x)[0], 3])
    total = tf.zeros([tf.shape(x)[0]])
    kept = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for t in tf.range(tf.shape(x)[1]):
        h = tf.tanh(h + x[:, t][:, None])
        total += tf.reduce_sum(h, axis=1) * tf.reduce_sum(y)
        kept = kept.write(t, h)
    return h, total, kept.stack()


def gradient_of_loop(x: Any, y: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch((x, y))
        h = tf.zeros([tf.shape(x)[0], 3])
        for t in tf.range(tf.shape(x)[1]):
            h = tf.tanh(h * tf.reduce_mean(y) + x[:, t][:, None])
        z = tf.reduce_sum(h * h)
    return tape.gradient(z, [x, y], unconnected_gradients=tf.UnconnectedGradients.ZERO)


def growing(x: Any, y: Any) -> Any:
    rows = x
    while tf.shape(rows)[0] < 9:
        rows = tf.concat([rows, y[:, :1] * tf.ones([1, tf.shape(x)[1]])], 0)
        if tf.shape(y)[0] == 0:
            break
    return rows


def called_back(x: Any, y: Any) -> Any:
    doubled = tf.py_function(lambda a: a + a, [x], tf.float32)
    return doubled * 1.0, tf.reduce_sum(tf.reshape(doubled, [-1])) + tf.reduce_sum(y)


@tf.function
def inner(x: Any, y: Any) -> Any:
    return tf.nn.relu(x) + tf.reduce_sum(y)


def nested(x: Any, y: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = tf.reduce_sum(inner(x, y) * inner(x[:, :1], y))
    return z, tape.gradient(z, x)


@tf.function(input_signature=[UNKNOWN, tf.TensorSpec([], tf.int32)])
def halves(x: Any, depth: Any) -> Any:
    if depth == 0 or tf.shape(x)[0] < 2:
        return tf.reduce_sum(x)
    n = tf.shape(x)[0] // 2
    return halves(x[:n], depth - 1) - halves(x[n:], depth - 1)


def recursive(x: Any, y: Any) -> Any:
    return halves(x, 3) + halves(y, 2)


def ragged(x: Any, y: Any) -> Any:
    rows = tf.RaggedTensor.from_tensor(x, lengths=tf.range(tf.shape(x)[0], dtype=tf.int64) % 3)
    return rows.to_tensor(), (rows * 2.0).flat_values, tf.reduce_sum(y)


def listed(x: Any, y: Any) -> Any:
    held = tf.TensorArray(tf.float32, 2, infer_shape=False, element_shape=[None, None])
    held = held.write(0, x).write(1, y)
    return held.read(1) * 2.0, held.read(0) - 1.0


SHAPES = [
    ((3, 4), (3, 4)), ((3, 4), (1, 4)), ((1, 4), (3, 4)), ((1, 1), (2, 5)), ((2, 1), (1, 3)),
    ((0, 4), (1, 4)), ((1, 1), (0, 2)), ((5, 5), (5, 5)), ((0, 0), (0, 0)), ((1, 1), (1, 1)),
    ((2, 3), (4, 5)), ((2, 3), (3, 2)), ((7, 2), (1, 1)),
]  # fmt: skip
CALLS = [(numbers(*a), numbers(*b)) for a, b in SHAPES]
PROGRAMS: list[Program] = [
    sums, gradients_of_sums, second_gradients, normalised, reshaped, branches, loop, gradient_of_loop,
    growing, called_back, nested, recursive, ragged, listed,
]  # fmt: skip


@pytest.fixture(params=["", "-exact_sizes", "-exact_sizes,-size_patterns"])
def switches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_PASSES", request.param)


@pytest.mark.usefixtures("switches")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_trace_for_unknown_sizes_gives_what_each_size_gives(program: Program) -> None:
    check(program, *CALLS, specs=[UNKNOWN, UNKNOWN])


@pytest.mark.parametrize("program", [sums, gradients_of_sums, loop], ids=lambda p: p.__name__)
def test_inputs_of_unknown_rank(program: Program) -> None:
    check(program, *CALLS, specs=[tf.TensorSpec(None)] * 2 if program is sums else [UNKNOWN, UNKNOWN])


def test_more_sizes_than_are_kept_give_what_each_gives() -> None:
    calls = [(numbers(n, 3), numbers(1 if n % 5 else n, 3)) for n in [*range(1, 60), *range(1, 40)]]
    check(gradients_of_sums, *calls, specs=[UNKNOWN, UNKNOWN])


def test_an_error_that_sizes_bring_names_the_line_of_the_user() -> None:
    @tf.function(input_signature=[UNKNOWN, UNKNOWN])
    def product(x: Any, y: Any) -> Any:
        z = x @ y
        return z + 1.0

    line = product.python_function.__code__.co_firstlineno + 2
    assert product(numbers(2, 3), numbers(3, 2)).shape == [2, 2]
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError, match="matmul") as raised:
            product(numbers(2, 3), numbers(2, 3))
        assert re.search(rf"{re.escape(__file__)}\", line {line}, in product", str(raised.value))
    assert product(numbers(2, 3), numbers(3, 1)).shape == [2, 1]


def test_what_a_branch_that_is_not_taken_would_reject_is_no_error() -> None:
    @tf.function(input_signature=[UNKNOWN, UNKNOWN, tf.TensorSpec([], tf.bool)])
    def choose(x: Any, y: Any, add: Any) -> Any:
        return tf.cond(add, lambda: tf.reduce_sum(x + y), lambda: tf.reduce_sum(x) - tf.reduce_sum(y))

    x, y = numbers(2, 3), numbers(4, 3)
    np.testing.assert_allclose(choose(x, y, False), tf.reduce_sum(x) - tf.reduce_sum(y), rtol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
        choose(x, y, True)
    np.testing.assert_allclose(choose(x, x, True), 2 * tf.reduce_sum(x), rtol=1e-5)


def test_effects_before_what_sizes_make_fail_happen() -> None:
    seen = tf.Variable(0)

    @tf.function(input_signature=[UNKNOWN, UNKNOWN])
    def f(x: Any, y: Any) -> Any:
        seen.assign_add(1)
        z = tf.reduce_sum(x + y)
        seen.assign_add(10)
        return z

    for k in range(1, 4):
        with pytest.raises(tf.errors.InvalidArgumentError):
            f(numbers(2, 3), numbers(4, 3))
        assert int(seen) == k
    f(numbers(2, 3), numbers(2, 3))
    assert int(seen) == 14


def test_a_variable_of_unknown_shape() -> None:
    state = tf.Variable(tf.zeros([0, 2]), shape=[None, 2])

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def append(x: Any) -> Any:
        state.assign(tf.concat([state, x], 0))
        return tf.reduce_sum(state), tf.shape(state)[0]

    due = np.zeros([0, 2], np.float32)
    for n in (3, 3, 1, 0, 2, 3):
        due = np.concatenate([due, numbers(n, 2)])
        total, rows = append(numbers(n, 2))
        np.testing.assert_allclose(total, due.sum(), rtol=1e-4, atol=1e-5)
        assert int(rows) == len(due)


def test_eager_tapes_over_traced_calls() -> None:
    @tf.function(input_signature=[UNKNOWN, UNKNOWN])
    def f(x: Any, y: Any) -> Any:
        return tf.reduce_sum(tf.tanh(x + y) * x)

    for a, b in [
        ((3, 4), (3, 4)),
        ((3, 4), (1, 4)),
        ((1, 4), (3, 4)),
        ((0, 4), (1, 4)),
        ((1, 1), (1, 1)),
    ] * 2:
        x, y = numbers(*a), numbers(*b)
        found = []
        for g in (f, f.python_function):
            with tf.GradientTape() as tape:
                tape.watch((x, y))
                z = g(x, y)
            found.append(tape.gradient(z, [x, y]))
        for got, due in zip(*found, strict=True):
            assert got.shape == due.shape
            np.testing.assert_allclose(got, due, rtol=1e-5, atol=1e-6)


def test_threads_call_with_sizes_of_their_own() -> None:
    @tf.function(input_signature=[UNKNOWN, UNKNOWN])
    def f(x: Any, y: Any) -> Any:
        return tf.reduce_sum(gradients_of_sums(x, y)[0], axis=1)

    wrong: list[Any] = []

    def call(first: int) -> None:
        for n in [first, first + 1, 1, *range(2, 20)] * 3:
            x, y = numbers(n, 2), numbers(1, 2)
            got, due = np.asarray(f(x, y)), np.asarray(f.python_function(x, y))
            if got.shape != due.shape or not np.allclose(got, due, rtol=1e-4, atol=1e-6):
                wrong.append((n, got, due))

    threads = [threading.Thread(target=call, args=(k,)) for k in (3, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.of_host
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_brings_new_sizes() -> None:
    f = tf.function(sums, input_signature=[UNKNOWN, UNKNOWN])
    f(numbers(2, 3), numbers(2, 3))
    child = os.fork()
    if child == 0:
        ok = all(np.asarray(f(numbers(n, 3), numbers(1, 3))[0]).shape == (n, 3) for n in (2, 3, 4, 2, 3))
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_thousand_sizes_keep_memory_flat() -> None:
    f = tf.function(gradients_of_sums, input_signature=[UNKNOWN, UNKNOWN])

    def peak() -> int:
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    x = numbers(1100, 3)
    for n in range(1, 100):
        f(x[:n], x[:1])
    before = peak()
    for n in range(100, 1100):
        f(x[:n], x[:1])
    assert peak() - before < 16 << 10  # KiB
