"""Higher derivatives by a tape that is asked while it records, through calls of traced functions."""

import numpy as np
import pytest

import penstock as tf

V = tf.Variable(3.0)
X = tf.constant(2.0)
COUNT = tf.Variable(0.0)

multiplied = tf.function(lambda a: a * a * V)


def loop():
    y = tf.constant(1.0)
    for _ in tf.range(3):
        y = y * V * X
    return y


def branch():
    return tf.cond(X > 1.0, lambda: V * V * V * X, lambda: V * X)


def counting():
    y = V * V * V * tf.exp(X / 2)
    COUNT.assign_add(1.0)
    return y


def updating():
    COUNT.assign_add(V * V)
    total = COUNT.read_value() * V
    return total * total * X


def growing():
    y = V * 1.0
    kept = tf.TensorArray(tf.float32, 3)
    for i in tf.range(3):
        y = y * X
        kept = kept.write(i, y * y)
    return tf.reduce_sum(kept.stack() ** 2)


PROGRAMS = {
    "a variable": lambda: V * V * V * X**0,
    "a variable and a tensor": lambda: V * V * X * X * X,
    "calls": lambda: multiplied(V) * multiplied(X),
    "functions": lambda: tf.exp(V * X / 6) * tf.sin(V),
    "rows": lambda: tf.reduce_sum(tf.gather(tf.stack([V * V, X * X * V, V]), [0, 1, 1]) ** 2),
    "host code": lambda: tf.py_function(lambda a, b: a * a * a * b, [V, X], tf.float32),
    "loop": loop,
    "branch": branch,
    "counting": counting,
    "updating": updating,
    "growing": growing,
}


def nested(program, orders):
    """The derivatives by X and by V of each order, along V, from tapes of one use each; and the last one."""
    if not orders:
        return [], program()
    with tf.GradientTape() as tape:
        tape.watch(X)
        found, last = nested(program, orders - 1)
    by_v, by_x = tape.gradient(last, [V, X], unconnected_gradients="zero")
    return [*found, by_x, by_v], by_v


def by_one_tape(program):
    """The same three orders from one persistent tape, each within its context."""
    found = []
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        last = program()
        for _ in range(3):
            last, by_x = tape.gradient(last, [V, X], unconnected_gradients="zero")
            found += [by_x, last]
    return found


def numbers(make):
    COUNT.assign(0.0)
    return [t.numpy() for t in make()]


each_program = pytest.mark.parametrize("name", PROGRAMS)
traced_or_not = pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
called_or_not = pytest.mark.parametrize("called", [False, True], ids=["inline", "called"])


@each_program
@traced_or_not
@called_or_not
def test_a_persistent_tape_gives_within_its_context_what_nested_tapes_give(name, traced, called):
    program = tf.function(PROGRAMS[name]) if called else PROGRAMS[name]
    found = tf.function(lambda: by_one_tape(program)) if traced else lambda: by_one_tape(program)
    np.testing.assert_allclose(numbers(found), numbers(lambda: nested(PROGRAMS[name], 3)[0]), rtol=1e-5)


@each_program
@traced_or_not
@called_or_not
def test_a_jacobian_taken_within_the_context_is_differentiated(name, traced, called):
    program = tf.function(PROGRAMS[name]) if called else PROGRAMS[name]

    def rows(run):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(X)
            y = run()
            by_v = tape.jacobian(tf.stack([y, y * X]), V, unconnected_gradients="zero")
        return [by_v, *tape.gradient(by_v, [V, X], unconnected_gradients="zero")]

    found = tf.function(lambda: rows(program)) if traced else lambda: rows(program)
    # The jacobian is [dy, X dy], and the sum of its elements (1 + X) dy.
    COUNT.assign(0.0)
    (_, by_v, by_vx, by_vv), _ = nested(PROGRAMS[name], 2)
    expected = [[by_v, by_v * X], (1 + X) * by_vv, (1 + X) * by_vx + by_v]
    for a, b in zip(numbers(found), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_values_of_variables_are_those_of_the_call():
    w = tf.Variable(3.0)
    cube = tf.function(lambda: w * w * w)
    with tf.GradientTape(persistent=True) as tape:
        y = cube()
        w.assign(7.0)
        first = tape.gradient(y, w)
        w.assign(9.0)
    assert first.numpy() == 27
    assert tape.gradient(first, w).numpy() == 18


def test_an_accumulator_around_a_persistent_tape_and_the_reverse():
    f = tf.function(lambda: V * V * X * X * X)
    with tf.autodiff.ForwardAccumulator(X, tf.constant(1.0)) as acc, tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        by_v = tape.gradient(f(), V)
        by_vv = tape.gradient(by_v, V)
    assert acc.jvp(by_v).numpy() == 2 * 3 * 3 * 4
    assert acc.jvp(by_vv).numpy() == 2 * 3 * 4
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        with tf.autodiff.ForwardAccumulator(X, tf.constant(1.0)) as acc:
            y = f()
        along = acc.jvp(y)
        by_v = tape.gradient(along, V)
        by_vv = tape.gradient(by_v, V)
    assert [t.numpy() for t in (along, by_v, by_vv)] == [108, 72, 24]


def test_a_function_with_effects_runs_once_and_refuses_orders_that_nobody_kept():
    drawn = tf.function(lambda: V * V * V * tf.random.uniform([], 1.0, 1.0 + 1e-6))
    ran = []

    @tf.function
    def told():
        tf.py_function(lambda: ran.append(1), [], [])
        return V**5

    with tf.GradientTape(persistent=True) as tape:
        second = tape.gradient(tape.gradient(drawn(), V), V)
        last = told()
        for _ in range(3):
            last = tape.gradient(last, V)
    assert abs(second.numpy() - 18) < 1e-3
    assert abs(last.numpy() - 60 * 9) < 1e-2
    assert ran == [1]


def test_rows_of_a_called_function_stay_rows_on_a_persistent_tape():
    table = tf.Variable(tf.ones([5, 2]))
    read = tf.function(lambda i: tf.reduce_sum(tf.gather(table, i) ** 2))
    with tf.GradientTape(persistent=True) as tape:
        y = read(tf.constant([1, 3, 1]))
    assert isinstance(tape.gradient(y, table), tf.IndexedSlices)


@pytest.mark.parametrize("called", [False, True], ids=["inline", "called"])
def test_a_tape_around_gradients_of_a_graph_sees_all_that_they_depend_on(called):
    inner = tf.function(lambda a, b: a * a * b) if called else lambda a, b: a * a * b

    @tf.function
    def mixed():
        with tf.GradientTape() as tape:
            tape.watch(X)
            (by_v,) = tf.gradients(inner(V, X), [V])
        return tape.gradient(by_v, [V, X])

    @tf.function
    def through_an_intermediate():
        with tf.GradientTape() as tape:
            tape.watch(X)
            h = X * X
            found = tf.gradients(inner(h, X), [X, h])
        return tape.gradient(found[0], X), found[0], found[1]

    @tf.function
    def of_an_intermediate():
        with tf.GradientTape() as tape:
            tape.watch(X)
            h = X * X
            (by_h,) = tf.gradients(inner(h, X), [h])
        return tape.gradient(by_h, X)

    assert [t.numpy() for t in mixed()] == [4, 6]
    # X⁵, and 2 h X = 2 X³.
    assert [t.numpy() for t in through_an_intermediate()] == [20 * 8, 5 * 16, 2 * 8]
    assert of_an_intermediate().numpy() == 6 * 4
