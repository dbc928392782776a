"""Third derivatives through every form of control flow, by tapes and accumulators in any nesting."""

import pytest

import penstock as tf


def by_loop(x):
    y = x
    for _ in tf.range(3):
        y = y * x
    return y


def by_branch(x):
    if x > 0.0:
        y = x**4
    else:
        y = -x
    return y


def by_early_exit(x):
    written = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    y = x
    for i in tf.range(10):
        written = written.write(i, y)
        if i >= 3:
            break
        y = y * x
    return written.read(3)


@tf.function(input_signature=[tf.TensorSpec([]), tf.TensorSpec([], tf.int32)])
def power(x, n):
    if n == 0:
        return tf.constant(1.0)
    return x * power(x, n - 1)


def by_variable(x):
    state.assign(2.0)
    return x**4 * state * 0.5


@tf.custom_gradient
def by_custom_gradient(x):
    return x**4, lambda dy: dy * 4.0 * x**3


state = tf.Variable(0.0)
# Each is the fourth power; those under `TRACED` need AutoGraph.
TRACED = {"loop": by_loop, "branch": by_branch, "early exit": by_early_exit}
FORMS = {
    **TRACED,
    "switch": lambda x: tf.switch_case(tf.constant(1), [lambda: x, lambda: x**4]),
    "map": lambda x: tf.reduce_sum(tf.map_fn(lambda v: v**4, tf.stack([x, 0.0 * x]))),
    "scan": lambda x: tf.scan(lambda a, v: a * v, tf.stack([x] * 4))[-1],
    "fold": lambda x: tf.foldr(lambda a, v: a * v, tf.stack([x] * 4)),
    "recursion": lambda x: power(x, 4),
    "variable": by_variable,
    "callback": lambda x: tf.py_function(lambda t: t * t * t * t, [x], tf.float32),
    "custom gradient": by_custom_gradient,
    "recomputed": tf.recompute_grad(lambda x: x**4),
    "product": lambda x: tf.reduce_prod(tf.stack([x] * 4)),
    "running product": lambda x: tf.math.cumprod(tf.stack([x] * 4))[-1],
    "vectorised": lambda x: tf.reduce_sum(tf.vectorized_map(lambda v: v**4, tf.stack([x, 0.0 * x]))),
}


def reverse(f):
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return slope


def forward(f):
    def slope(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as acc:
            y = f(x)
        return acc.jvp(y)

    return slope


MODES = {"r": reverse, "f": forward}


@pytest.mark.parametrize("modes", ["rrr", "fff", "rfr", "frf", "ffr", "rrf"])
@pytest.mark.parametrize("name", FORMS)
def test_third_derivatives(name, modes):
    function = FORMS[name]
    for how in ("eager", "traced inside", "traced outside", "traced twice"):
        if how in ("eager", "traced outside") and name in TRACED:
            continue
        f = tf.function(function) if how in ("traced inside", "traced twice") else function
        for mode in modes:
            f = MODES[mode](f)
        if how in ("traced outside", "traced twice"):
            f = tf.function(f)
        assert f(tf.constant(2.0)).numpy() == pytest.approx(48.0), how
