"""Gradients through loops, and through lists of tensors in them."""

import numpy as np
import pytest
from support import assert_same, slope

import penstock as tf
from penstock import raw_ops

EMPTY = np.array([], np.int64)


def differences(f, x):
    """Central differences of a scalar function of one array."""
    x = np.asarray(x, np.float64)
    units = np.eye(x.size).reshape(x.size, *x.shape)
    return np.reshape([slope(f, x, unit, 1e-5) for unit in units], x.shape)


def tape_gradient(f, x):
    x = tf.constant(x, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x).numpy()


def graph_gradient(f, x):
    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return inside(tf.constant(x, tf.float64)).numpy()


def both_ways(f, x):
    """The gradient outside and inside of a traced function, which must be that of differences."""
    outside, inside = tape_gradient(tf.function(f), x), graph_gradient(f, x)
    due = differences(tf.function(f), x)
    np.testing.assert_allclose(outside, due, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(inside, due, rtol=1e-5, atol=1e-7)


def jacobian_of(f, x, how, pfor):
    """The jacobian eagerly, in a traced function, or through a call of one."""

    def run(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = (tf.function(f) if how == "through a call" else f)(x)
        return tape.jacobian(y, x, experimental_use_pfor=pfor)

    return (tf.function(run) if how == "traced" else run)(tf.constant(x, tf.float64))


def written(x):
    def step(i, out, acc):
        acc = acc * x[i] + tf.sin(x[i])
        return i + 1, out.write(i, acc), acc

    start = (tf.constant(0), tf.TensorArray(tf.float64, 3), tf.constant(1.0, tf.float64))
    return tf.while_loop(lambda i, *_: i < 3, step, start)[1].stack()


def read(x):
    rows = tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(x)
    step = lambda i, y: (i + 1, y * rows.read(i) + rows.read(2 - i) * x)  # noqa: E731
    return tf.while_loop(lambda i, _: i < 3, step, (tf.constant(0), x))[1]


@tf.function(input_signature=[tf.TensorSpec([3], tf.float64), tf.TensorSpec([], tf.int32)])
def recursive(x, n):
    if n <= 0:
        return x
    return tf.sin(recursive(x * x[::-1], n - 1)) * x


VECTORS = {
    "a product of dynamic length": lambda x: tf.while_loop(
        lambda y: tf.reduce_sum(y) < 20.0, lambda y: (y * 1.5 + x * 0.1,), (x,)
    )[0],
    "rounds that are kept": lambda x: tf.while_loop(
        lambda i, _: i < 5, lambda i, y: (i + 1, tf.sin(y) * x + 1.0), (0, x)
    )[1],
    "rounds that are kept now and then": lambda x: tf.while_loop(
        lambda i, _: i < 5, lambda i, y: (i + 1, tf.sin(y) * x + 1.0), (0, x), checkpoint_every=2
    )[1],
    "scan": lambda x: tf.scan(lambda a, e: a * e + 1.0, x),
    "map_fn": lambda x: tf.map_fn(lambda e: tf.sin(e) * e, x),
    "a list that is written": written,
    "a list that is read": read,
    "pieces": lambda x: (
        tf.TensorArray(tf.float64, 2, infer_shape=False).write(0, x).write(1, x[:1] * x[1:]).concat()
    ),
    "recursion": lambda x: recursive(x, tf.constant(2)),
}


@pytest.mark.parametrize("pfor", [True, False])
@pytest.mark.parametrize("how", ["eager", "traced", "through a call"])
@pytest.mark.parametrize("name", VECTORS)
def test_jacobians_through_loops_and_lists(name, how, pfor):
    f, x = VECTORS[name], np.array([0.3, 0.7, 1.1])
    due = np.stack([differences(lambda t, j=j: f(t)[j], x) for j in range(f(tf.constant(x)).shape[0])])
    np.testing.assert_allclose(jacobian_of(f, x, how, pfor).numpy(), due, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", ["rounds that are kept", "scan", "a list that is written", "map_fn"])
def test_hessians_and_batch_jacobians_through_loops_and_lists(name, traced):
    f, x = VECTORS[name], np.array([0.3, 0.7, 1.1])

    def hessian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            g = inner_gradient(x)
        return tape.jacobian(g, x)

    def inner_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(f(x) ** 2)
        return tape.gradient(y, x)

    found = (tf.function(hessian) if traced else hessian)(tf.constant(x)).numpy()
    due = np.stack([differences(lambda t, j=j: inner_gradient(t)[j], x) for j in range(3)])
    np.testing.assert_allclose(found, due, rtol=1e-5, atol=1e-6)

    def rows(xs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            ys = tf.map_fn(f, xs)
        return tape.batch_jacobian(ys, xs)

    xs = np.stack([x, x * 0.5])
    found = (tf.function(rows) if traced else rows)(tf.constant(xs)).numpy()
    due = np.stack([jacobian_of(f, row, "eager", True).numpy() for row in xs])
    np.testing.assert_allclose(found, due, rtol=1e-9)


def power(n):
    def f(x):
        _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (tf.constant(0), x))
        return y

    return f


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_loop_that_multiplies_is_a_power(n):
    both_ways(power(tf.constant(n)), 1.3)


def test_higher_derivatives_of_a_loop():
    x = tf.constant(1.5, tf.float64)

    @tf.function
    def f(x):
        return power(4)(x)  # x ** 5

    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = f(x)
            g = first.gradient(y, x)
        h = second.gradient(g, x)
    t = third.gradient(h, x)
    np.testing.assert_allclose([float(g), float(h), float(t)], [5 * 1.5**4, 20 * 1.5**3, 60 * 1.5**2])


def test_second_derivatives_inside_a_traced_function():
    @tf.function
    def f(x):
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = power(2)(x)
            g = first.gradient(y, x)
        return g, second.gradient(g, x)

    g, h = f(tf.constant(2.0, tf.float64))
    assert_same([float(g), float(h)], [12.0, 12.0])


def test_newton_iteration_until_it_converges():
    def root(a):
        return tf.while_loop(lambda x: tf.abs(x * x - a) > 1e-12, lambda x: (0.5 * (x + a / x),), (a,))[0]

    a = tf.constant(2.0, tf.float64)
    np.testing.assert_allclose(tape_gradient(tf.function(root), a), 0.5 / np.sqrt(2.0))
    np.testing.assert_allclose(graph_gradient(root, 2.0), 0.5 / np.sqrt(2.0))


def test_an_ode_solver_with_nested_loops_and_branches():
    def solve(x):
        def step(t, y):
            def inner(k, z):
                z = tf.cond(tf.reduce_sum(z) > 0, lambda: z + 0.1 * tf.sin(z), lambda: z - 0.1 * z * x)
                return k + 1, z

            _, y = tf.while_loop(lambda k, z: k < t, inner, (0, y))
            return t + 1, y

        _, y = tf.while_loop(lambda t, y: t < 4, step, (0, tf.cos(x)))
        return tf.reduce_sum(y * y)

    both_ways(solve, np.array([0.4, -1.2, 2.0]))


def test_converted_python_loops_with_break():
    @tf.function
    def f(x, n):
        total = x * 0.0
        for i in tf.range(n):
            if total > 10.0:
                break
            total = total + x * tf.cast(i, tf.float64)
        return total

    for n, due in [(0, 0.0), (1, 0.0), (4, 6.0), (10, 6.0)]:
        x = tf.constant(2.0, tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(n))
        assert float(tape.gradient(y, x)) == due


def rnn(xs, w, steps):
    """The states of a small recurrent net over rows of `xs`, on a list, and the last state."""
    states = raw_ops.list_new(tf.cast(steps, tf.int64), dtype=xs.dtype)
    first = tf.zeros_like(xs[0])

    def step(i, h, states):
        h = tf.tanh(tf.linalg.matvec(w, h) + tf.gather(xs, i))
        return i + 1, h, raw_ops.list_set(states, i, h)

    _, h, states = tf.while_loop(lambda i, h, s: i < steps, step, (tf.constant(0), first, states))
    return raw_ops.list_stack(states, tf.shape(first, tf.int64), dtype=xs.dtype), h


@pytest.mark.parametrize("steps", [1, 4])
def test_a_recurrent_net_of_dynamic_length_agrees_with_the_unrolled_one(steps):
    rng = np.random.default_rng(3)
    xs = rng.normal(size=(4, 3))
    w = tf.Variable(rng.normal(size=(3, 3)))

    @tf.function
    def loss(xs, steps):
        states, h = rnn(xs, w, steps)
        return tf.reduce_sum(states * states) + tf.reduce_sum(h)

    def unrolled(xs):
        h, total = tf.zeros_like(xs[0]), 0.0
        for i in range(steps):
            h = tf.tanh(tf.linalg.matvec(w, h) + xs[i])
            total = total + tf.reduce_sum(h * h)
        return total + tf.reduce_sum(h)

    x = tf.constant(xs)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, due = loss(x, tf.constant(steps)), unrolled(x)
    np.testing.assert_allclose(y, due)
    for _ in range(2):
        found, right = tape.gradient(y, [x, w]), tape.gradient(due, [x, w])
        for a, b in zip(found, right, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("backwards", [False, True])
def test_matrices_and_rows_in_a_loop_have_the_gradients_of_the_unrolled_one(steps, backwards):
    rng = np.random.default_rng(steps)
    given = [tf.constant(rng.normal(0.0, 0.5, shape)) for shape in ((6, 3, 4), (4, 5), (5, 5), (3, 5))]
    row = (lambda i: 5 - i) if backwards else (lambda i: i)

    def step(i, h, xs, w, u):
        return tf.tanh(tf.gather(xs, row(i)) @ w + h @ u)

    @tf.function
    def looped(xs, w, u, h):
        go = lambda i, h: (i + 1, step(i, h, xs, w, u))  # noqa: E731
        return tf.reduce_sum(tf.while_loop(lambda i, h: i < steps, go, (0, h))[1] ** 2)

    def unrolled(xs, w, u, h):
        for i in range(steps):
            h = step(i, h, xs, w, u)
        return tf.reduce_sum(h**2)

    def derivatives(f):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(given)
            with tf.GradientTape() as tape:
                tape.watch(given)
                y = f(*given)
            first = tape.gradient(y, given, unconnected_gradients="zero")
            assert f is unrolled or all(isinstance(g, tf.Tensor) for g in first)
            first = [tf.convert_to_tensor(g) for g in first]
            total = tf.add_n([tf.reduce_sum(g**2) for g in first])
        return first, outer.gradient(total, given, unconnected_gradients="zero")

    for found, due in zip(derivatives(looped), derivatives(unrolled), strict=True):
        for a, b in zip(found, due, strict=True):
            a, b = tf.convert_to_tensor(a).numpy(), tf.convert_to_tensor(b).numpy()
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_matrices_in_a_loop_over_rows_of_unknown_number(steps, rows):
    def net(xs, w, u):
        go = lambda i, h: (i + 1, tf.tanh(xs[i] @ w + h @ u))  # noqa: E731
        start = tf.zeros([tf.shape(xs)[1], 5], tf.float64)
        return tf.while_loop(lambda i, h: i < tf.shape(xs)[0], go, (0, start))[1]

    def gradients(xs, w, u):
        with tf.GradientTape() as tape:
            tape.watch([xs, w, u])
            y = tf.reduce_sum(net(xs, w, u) ** 2)
        return tape.gradient(y, [xs, w, u], unconnected_gradients="zero")

    rng = np.random.default_rng(rows)
    given = [tf.constant(rng.normal(0.0, 0.5, shape)) for shape in ((steps, rows, 4), (4, 5), (5, 5))]
    signature = [tf.TensorSpec(shape, tf.float64) for shape in ([None, None, 4], [4, 5], [5, 5])]
    unknown = tf.function(gradients, input_signature=signature)
    for found, due in zip(unknown(*given), gradients(*given), strict=True):
        np.testing.assert_allclose(found.numpy(), due.numpy(), rtol=1e-9, atol=1e-12)


def test_elements_that_are_read_and_written_in_loops():
    def f(x):
        values = raw_ops.list_from_tensor(x)
        out = raw_ops.list_new(tf.constant(0, tf.int64))

        def step(i, out):
            a = raw_ops.list_get(values, i, EMPTY, dtype=tf.float64)
            b = raw_ops.list_get(values, 2 - i, EMPTY, dtype=tf.float64)
            return i + 1, raw_ops.list_push(out, a * a * b)

        _, out = tf.while_loop(lambda i, out: i < 3, step, (tf.constant(0), out))
        return tf.reduce_sum(tf.sin(raw_ops.list_stack(out, EMPTY, dtype=tf.float64)))

    both_ways(f, np.array([0.3, -0.8, 1.4]))


def test_pieces_of_different_lengths():
    def f(x):
        lengths = tf.constant([2, 0, 3], tf.int64)
        pieces = raw_ops.list_split(x, lengths)
        last = raw_ops.list_get(pieces, 2, np.array([-1], np.int64), dtype=tf.float64)
        swapped = raw_ops.list_set(pieces, 0, last * 2.0)
        shape = np.array([-1], np.int64)
        sizes = raw_ops.list_lengths(swapped, shape)
        return tf.reduce_sum(tf.exp(raw_ops.list_concat(swapped, sizes, shape, dtype=tf.float64)))

    both_ways(f, np.array([0.3, -0.8, 1.4, 0.2, 0.1]))


def test_lists_keep_strings_and_say_what_is_wrong():
    words = raw_ops.list_from_tensor(tf.constant(["a", "b"]))
    assert words.dtype == tf.variant
    assert repr(words) == "<tf.Tensor: shape=(), dtype=variant, value=<list of 2 tensors>>"
    assert list(raw_ops.list_stack(words, EMPTY, dtype=tf.string).numpy()) == [b"a", b"b"]
    with pytest.raises(tf.errors.OutOfRangeError, match="index 2 of a list of 2"):
        raw_ops.list_get(words, 2, EMPTY, dtype=tf.string)
    with pytest.raises(tf.errors.OutOfRangeError, match="cannot grow"):
        raw_ops.list_set(words, 5, tf.constant("c"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not set"):
        raw_ops.list_get(raw_ops.list_new(3), 1, np.array([-1], np.int64), dtype=tf.float32)
    with pytest.raises(TypeError, match="list of tensors"):
        words.numpy()
    with pytest.raises(TypeError):
        tf.constant(1, tf.variant)


def test_integers_in_the_state_have_no_gradient():
    @tf.function
    def f(x, k):
        return tf.while_loop(lambda i, x, k: i < 3, lambda i, x, k: (i + 1, x * x, k + 1), (0, x, k))[1:]

    x, k = tf.constant(1.1, tf.float64), tf.constant(2)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, _ = f(x, k)
    dx, dk = tape.gradient(y, [x, k])
    np.testing.assert_allclose(dx, 8 * 1.1**7)
    assert dk is None


def test_maximum_iterations_and_state_that_grows():
    def f(x):
        (y,) = tf.while_loop(
            lambda y: True,
            lambda y: (tf.concat([y, tf.sin(y[:1])], 0),),
            (tf.reshape(x, [1]),),
            shape_invariants=(tf.TensorShape([None]),),
            maximum_iterations=3,
        )
        return tf.reduce_sum(y)

    both_ways(f, 0.9)


@pytest.mark.parametrize("steps", [50, 5000])
def test_gradients_of_long_loops_are_right(steps):
    both = tape_gradient(
        tf.function(
            lambda x: tf.while_loop(
                lambda i, y: i < steps, lambda i, y: (i + 1, y * x), (0, tf.ones_like(x))
            )[1]
        ),
        1.0001,
    )
    np.testing.assert_allclose(both, steps * 1.0001 ** (steps - 1), rtol=1e-9)


@pytest.mark.parametrize("every", [1, 3, 7, 100])
def test_a_loop_that_keeps_its_state_now_and_then_has_the_same_gradient(every):
    w = tf.Variable(1.1, dtype=tf.float64)

    def run(checkpoint_every):
        @tf.function
        def f(x, n):
            return tf.while_loop(
                lambda i, y: i < n,
                lambda i, y: (i + 1, tf.sin(y * w) + x),
                (0, x),
                checkpoint_every=checkpoint_every,
            )[1]

        x = tf.constant(0.4, tf.float64)
        grads = []
        for n in (0, 1, 10):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x, tf.constant(n))
            grads += [g if g is None else g.numpy() for g in tape.gradient(y, [x, w])]
        return grads

    for a, b in zip(run(every), run(None), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_checkpoints_as_an_option_of_a_converted_loop():
    def run(every):
        @tf.function
        def f(x):
            y = x
            for _ in tf.range(10):
                tf.autograph.experimental.set_loop_options(checkpoint_every=every)
                y = tf.sin(y * 1.3)
            return y

        return tape_gradient(f, 0.7)

    np.testing.assert_allclose(run(4), run(None), rtol=1e-14)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="must be positive"):
        run(0)


@pytest.mark.parametrize("writes", [False, True])
def test_a_loop_keeps_what_it_reads_of_a_variable_only_where_it_writes_it(writes):
    weights = tf.Variable([0.5, -0.3])

    def gradient(x, rounds):
        with tf.GradientTape() as tape:

            def body(i, y):
                read = weights.read_value()
                if writes:
                    weights.assign(read * 1.5)
                return i + 1, y * read

            _, y = tf.while_loop(lambda i, _: i < rounds, body, (0, x))
            loss = tf.reduce_sum(y)
        weights.assign([9.0, 9.0])
        return tape.gradient(loss, weights)

    traced = tf.function(gradient, autograph=False)
    start, x = np.array([0.5, -0.3]), tf.constant([2.0, 3.0])
    for rounds in range(4):
        weights.assign(start)
        got = traced(x, tf.constant(rounds))
        reads = [start * (1.5**k if writes else 1) for k in range(rounds)]
        wanted = x.numpy() * np.prod(reads, axis=0) * np.sum([1 / read for read in reads], axis=0)
        np.testing.assert_allclose(got, np.broadcast_to(wanted, 2), rtol=1e-5)
    text = traced.get_concrete_function(x, tf.constant(1)).graph.to_text()
    # The other factor is kept in both cases.
    assert text.count("= list_push ") == (2 if writes else 1)
