"""Tapes, jacobians, rows for gradients, and gradients of the traced graph."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import assert_same
from support.derivative_cases import both, rosenbrock, rosenbrock_hessian, wrapped

import penstock as tf

RNG = np.random.default_rng(5)
A = RNG.uniform(0.3, 1.7, (2, 3))
V = RNG.uniform(-1.0, 1.0, 4)


vectorised = pytest.mark.parametrize("pfor", [False, True])


# --- tapes ---


def test_a_tape_lists_the_variables_it_watches_in_order():
    a, b, frozen = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        _ = b * frozen + a + b
    assert [v is w for v, w in zip(tape.watched_variables(), (b, a), strict=True)] == [True, True]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([frozen, tf.constant(1.0)])
        _ = a + frozen
    assert len(tape.watched_variables()) == 1
    tape.reset()
    assert tape.watched_variables() == ()


def test_misuse_of_a_tape():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        with pytest.raises(ValueError, match="already"):
            tape.__enter__()
    with pytest.raises(RuntimeError, match="not recording"), tape.stop_recording():
        pass
    with pytest.raises(TypeError, match="target"):
        tape.gradient(None, x)
    with pytest.raises(ValueError, match="output_gradients"):
        tape.gradient(y, x, output_gradients=[1.0, 2.0])
    with pytest.raises(ValueError, match="output_gradients"):
        tape.gradient(y, x, output_gradients=tf.constant([1.0, 2.0]))
    # What failed has not used the tape up.
    assert tape.gradient(y, x).numpy() == 4
    for use in (tape.gradient, tape.jacobian, tape.batch_jacobian):
        with pytest.raises((RuntimeError, ValueError)):
            use(y, x)
    with pytest.raises(ValueError, match="Passed in object 'a'"):
        tape.watch("a")
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    with pytest.raises(TypeError, match="'output_gradients' has dtype float64 for a target of dtype float32"):
        tape.gradient(y, x, output_gradients=tf.constant(1.0, tf.float64))
    with pytest.raises(TypeError, match="'target' must be floating point or complex, got string"):
        tape.jacobian("a", x)


@both
def test_what_cannot_have_a_gradient_is_warned_of(traced):
    """Integers may be watched and be targets, which does nothing."""

    @wrapped(traced)
    def f(n, x):
        with tf.GradientTape(persistent=True) as tape:
            with pytest.warns(UserWarning, match="watched tensor must be floating point or complex .* int32"):
                tape.watch([x, n])
            y = tf.cast(x * x, tf.int32) + n
        for sources in (x, [x, n]):
            with pytest.warns(UserWarning, match="'target' must be floating point or complex .* int32"):
                assert set(tf.nest.flatten(tape.gradient(y, sources))) == {None}
        with pytest.warns(UserWarning, match="primal must be floating point or complex .* int32"):
            tf.autodiff.ForwardAccumulator(n, n)
        return x

    f(tf.constant(3), tf.constant(2.0))


def test_gradients_taken_within_a_persistent_tape_are_recorded_themselves():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * x
        slope = tape.gradient(y, x)
    assert slope.numpy() == 27
    assert tape.gradient(slope, x).numpy() == 18


def test_nothing_comes_of_nothing():
    x = tf.Variable(np.zeros((0, 3), np.float32))
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(x * x)
        z = x * 2.0
    assert tape.gradient(y, x).shape == (0, 3)
    assert tape.jacobian(z, x).shape == (0, 3, 0, 3)
    assert tape.gradient([], x) is None


def test_the_backward_function_is_traced_once_for_a_signature():
    count = []

    @tf.custom_gradient
    def counted(x):
        def grad(dy):
            count.append(1)
            return dy * 3.0

        return x * 3.0, grad

    @tf.function
    def f(x):
        return counted(x) ** 2

    for _ in range(4):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert tape.gradient(y, x).numpy() == 36
    assert len(count) == 1
    assert f.experimental_get_tracing_count() == 1


# --- jacobians ---


@both
@vectorised
def test_the_jacobian_has_the_shapes_of_target_and_source(traced, pfor):
    w = tf.Variable(A)

    @wrapped(traced)
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.tanh(tf.linalg.matvec(w, x))
        return tape.jacobian(y, [x, w], experimental_use_pfor=pfor)

    x = V[:3]
    dx, dw = f(tf.constant(x))
    slope = 1 - np.tanh(A @ x) ** 2
    np.testing.assert_allclose(dx.numpy(), slope[:, None] * A)
    expected = np.einsum("i,ij,k->ijk", slope, np.eye(2), x)
    np.testing.assert_allclose(dw.numpy(), expected)


@both
@vectorised
def test_the_batch_jacobian_is_the_diagonal_of_the_jacobian(traced, pfor):
    @wrapped(traced)
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.stack([tf.reduce_prod(x, axis=1), tf.reduce_sum(x * x, axis=1)], axis=1)
        return tape.batch_jacobian(y, x, experimental_use_pfor=pfor), tape.jacobian(y, x)

    rows, full = f(tf.constant(A))
    assert rows.shape == (2, 2, 3)
    np.testing.assert_allclose(rows.numpy(), np.einsum("bibj->bij", full.numpy()))


def test_jacobians_of_what_is_unconnected():
    x, other = tf.Variable([[1.0, 2.0]]), tf.Variable([[3.0]])
    with tf.GradientTape(persistent=True) as tape:
        y = x * 2.0
    assert tape.jacobian(y, other) is None
    assert tape.batch_jacobian(y, other).numpy().tolist() == [[[0.0], [0.0]]]
    assert tape.jacobian(y, other, unconnected_gradients="zero").shape == (1, 2, 1, 1)
    assert tape.batch_jacobian(y, other, unconnected_gradients="zero").shape == (1, 2, 1)


def test_jacobians_refuse_what_does_not_fit():
    x = tf.Variable([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x, axis=0)
    with pytest.raises(ValueError, match="rank at least 2"):
        tape.batch_jacobian(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        tape.jacobian(y, x, experimental_use_pfor=False)
    with pytest.raises(TypeError, match="one tensor"):
        tape.jacobian([y], x)


@both
def test_a_jacobian_of_a_gradient_is_a_hessian(traced):
    @wrapped(traced)
    def hessian(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = rosenbrock(x)
            slope = inner.gradient(y, x)
        return outer.jacobian(slope, x)

    np.testing.assert_allclose(hessian(tf.constant(V)).numpy(), rosenbrock_hessian(V), rtol=1e-12)


def test_a_jacobian_through_a_branch_and_a_call():
    @tf.function
    def inner(x):
        if tf.reduce_sum(x) > 0.0:
            return x * x
        return -x

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(x[0] > 0.0, lambda: inner(x), lambda: x * 5.0)
        return tape.jacobian(y, x)

    assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [[2, 0], [0, 4]]
    assert f(tf.constant([1.0, -2.0])).numpy().tolist() == [[-1, 0], [0, -1]]
    assert f(tf.constant([-1.0, 2.0])).numpy().tolist() == [[5, 0], [0, 5]]


def test_a_jacobian_can_be_differentiated():
    x = tf.constant(V)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        total = tf.reduce_sum(inner.jacobian(y, x))
    np.testing.assert_allclose(outer.gradient(total, x).numpy(), 6 * V)


# --- rows ---


@both
def test_the_gradient_of_reading_rows_is_rows(traced):
    table = tf.Variable(np.arange(12.0).reshape(4, 3))

    @wrapped(traced)
    def f():
        with tf.GradientTape() as tape:
            y = tf.nn.embedding_lookup(table, [[0, 3], [3, 3]]) * 2.0
            z = tf.gather(table, tf.constant([1]))
        g = tape.gradient([y, z], table)
        assert isinstance(g, tf.IndexedSlices)
        assert g.dtype == tf.float64
        assert g.shape.as_list() == [4, 3]
        return g.values, g.indices, tf.convert_to_tensor(g), (-g).values, g.dense_shape

    values, indices, dense, negative, shape = f()
    expected = np.zeros((4, 3))
    np.add.at(expected, indices.numpy(), values.numpy())
    assert sorted(indices.numpy().tolist()) == [0, 1, 3, 3, 3]
    assert_same(dense.numpy(), expected)
    assert_same(dense.numpy()[:, 0], np.array([2.0, 1.0, 0.0, 6.0]))
    assert_same(negative.numpy(), -values.numpy())
    assert shape.numpy().tolist() == [4, 3]


def test_rows_and_dense_gradients_add_up_densely():
    table = tf.Variable([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table, [1, 1])) + tf.reduce_sum(table * table)
    assert tape.gradient(y, table).numpy().tolist() == [[2], [6]]


def test_rows_are_dense_where_arithmetic_needs_them():
    x = tf.constant([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.gather(x * x, [1])
    assert tape.gradient(y, x).numpy().tolist() == [[0], [4]]
    for axis in (1, -1):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.gather(x, [0], axis=axis)
        assert tape.gradient(y, x).numpy().tolist() == [[1], [1]]
    g = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([1, 1]), tf.constant([2, 1]))
    assert (x * g).numpy().tolist() == [[0], [6]]
    with pytest.raises(ValueError, match="dense_shape"):
        tf.convert_to_tensor(tf.IndexedSlices(g.values, g.indices))


def test_rows_as_output_gradients_and_under_an_outer_tape():
    x = tf.Variable([[1.0], [2.0], [3.0]])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.gather(x, [2, 0]) ** 3
        g = inner.gradient(y, x)
        total = tf.reduce_sum(g.values)
    assert tf.convert_to_tensor(outer.gradient(total, x)).numpy().tolist() == [[6], [0], [18]]
    assert tf.convert_to_tensor(g).numpy().tolist() == [[3], [0], [27]]
    with tf.GradientTape() as tape:
        y = x * 1.0
    assert tape.gradient(y, x, output_gradients=g).numpy().tolist() == [[3], [0], [27]]


def test_the_specification_of_rows():
    g = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([1, 1]), tf.constant([2, 1]))
    spec = g._type_spec
    assert spec.is_compatible_with(g)
    assert spec == tf.IndexedSlicesSpec([2, 1], tf.float32, tf.int32, tf.int32, [2])
    assert spec.is_subtype_of(tf.IndexedSlicesSpec([None, 1], tf.float32, tf.int32, tf.int32))
    assert not spec.is_compatible_with(tf.IndexedSlicesSpec([2, 1], tf.float64, tf.int32))
    again = spec._from_components(spec._to_components(g))
    assert tf.convert_to_tensor(again).numpy().tolist() == [[0], [3]]
    described = [
        c.is_compatible_with(v) for c, v in zip(spec._component_specs, spec._to_components(g), strict=True)
    ]
    assert described == [True] * 3


# --- gradients of the graph ---


def test_gradients_in_a_graph():
    w = tf.Variable(3.0)

    @tf.function
    def f(x):
        a = x * w
        b = a * a
        plain = tf.gradients(b, [x, w, a])
        weighted = tf.gradients([a, b], x, grad_ys=[tf.constant(10.0), None])
        cut = tf.gradients(a + b, [x, a, b], stop_gradients=[a, b])
        free = tf.gradients(a, tf.constant(1.0))
        zero = tf.gradients(a, [tf.ones([2])], unconnected_gradients="zero")
        assert free == [None]
        assert cut[0] is None
        return plain, weighted, cut[1:], zero

    plain, weighted, cut, zero = f(tf.constant(2.0))
    assert [g.numpy() for g in plain] == [36, 24, 12]
    assert weighted[0].numpy() == 66
    assert [g.numpy() for g in cut] == [1, 1]
    assert zero[0].numpy().tolist() == [0, 0]


def test_gradients_outside_of_a_graph_and_of_the_wrong_length():
    with pytest.raises(RuntimeError, match="GradientTape"):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))

    @tf.function
    def f(x):
        return tf.gradients(x, x, grad_ys=[1.0, 2.0])

    with pytest.raises(ValueError, match="grad_ys"):
        f(tf.constant(1.0))

    @tf.function
    def g(x, seed, *xs):
        return tf.gradients(x * x, [x, *xs], grad_ys=seed)

    one = tf.constant(1.0)
    with pytest.raises(ValueError, match=r"'grad_ys' has shape \(3,\) for a target of shape \(\)"):
        g(one, tf.ones([3]))
    with pytest.raises(TypeError, match="'grad_ys' has dtype float64"):
        g(one, tf.constant(1.0, tf.float64))
    with pytest.raises(TypeError, match="'xs' must hold tensors or variables, got str"):
        g(one, one, "b")


def test_gradients_of_gradients_and_rows_in_a_graph():
    @tf.function
    def f(x):
        (first,) = tf.gradients(x**3, x)
        (second,) = tf.gradients(first, x)
        (rows,) = tf.gradients(tf.gather(x, [1, 1]), x)
        return second, rows.indices, rows.values

    second, indices, values = f(tf.constant([1.0, 2.0]))
    assert second.numpy().tolist() == [6, 12]
    assert (indices.numpy().tolist(), values.numpy().tolist()) == ([1, 1], [1, 1])


def test_a_tape_around_gradients_of_the_graph():
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            (first,) = tf.gradients(tf.sin(x), x)
        return tape.gradient(first, x)

    np.testing.assert_allclose(f(tf.constant(0.5)).numpy(), -np.sin(0.5), rtol=1e-6)


def test_hessians():
    @tf.function
    def f(x, y):
        return tf.hessians(rosenbrock(x) + tf.reduce_sum(y * x[0]), [x, y])

    hx, hy = f(tf.constant(V), tf.constant(V))
    np.testing.assert_allclose(hx.numpy(), rosenbrock_hessian(V), rtol=1e-12)
    assert_same(hy.numpy(), np.zeros((4, 4)))

    @tf.function
    def unconnected(x):
        return tf.hessians(tf.constant(1.0), x)

    with pytest.raises(ValueError, match="depends"):
        unconnected(tf.constant(1.0))


# --- complex numbers ---


def test_complex_gradients_follow_the_convention():
    """The gradient of a real result points uphill; that of a holomorphic one is the conjugate derivative."""
    z = tf.constant(1.0 + 2.0j, tf.complex128)
    for function, expected in (
        (lambda z: tf.math.real(z * tf.math.conj(z)), 2.0 + 4.0j),
        (lambda z: z * z, 2.0 - 4.0j),
        (tf.exp, np.conj(np.exp(1.0 + 2.0j))),
        (tf.math.real, 1.0),
        (tf.math.imag, 1.0j),
    ):
        with tf.GradientTape() as tape:
            tape.watch(z)
            y = function(z)
        np.testing.assert_allclose(tape.gradient(y, z).numpy(), expected)


# --- what the guides show ---


@pytest.mark.parametrize("pfor", [True, False])
@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (0, 0)])
def test_the_batch_jacobian_of_nothing_has_a_gradient(shape, pfor):
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def traced(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x * x
            found = inner.batch_jacobian(y, x, experimental_use_pfor=pfor)
        return found, outer.gradient(found, x)

    found, slope = traced(tf.zeros(shape))
    assert (found.shape, slope.shape) == ((shape[0], shape[1], shape[1]), shape)


@pytest.mark.parametrize(("at", "slope"), [(0.5, 0.5), (3.0, 1 / 3.0), (-3.0, -1 / 3.0)])
def test_host_code_with_a_kink_is_differentiable_on_both_sides(at, slope):
    def log_huber(x, m):
        if abs(x) <= m:
            return x**2 / 2.0
        return m**2 / 2.0 * (1.0 + 2.0 * tf.math.log(abs(x)) - 2.0 * tf.math.log(m))

    x, m = tf.constant(at), tf.constant(1.0)
    for f in (
        lambda x, m: tf.py_function(log_huber, [x, m], tf.float32),
        tf.function(lambda x, m: tf.py_function(log_huber, [x, m], tf.float32)),
    ):
        with tf.GradientTape() as tape:
            tape.watch([x, m])
            y = f(x, m)
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), slope, rtol=1e-6)


# --- random compositions ---

# Known only when the graph runs, and not moved by a difference.
WHICH = tf.Variable(1)


@tf.function
def left_early(x):
    y = x
    for i in tf.range(10):
        y = y + x * x * 0.1
        if i > WHICH:
            break
        y = tf.sin(y)
    return y


STEPS = {
    "sin": lambda x: tf.sin(x),
    "tanh": lambda x: tf.tanh(x),
    "square": lambda x: x * x,
    "softmax": lambda x: tf.nn.softmax(x),
    "exp": lambda x: tf.exp(-x * x),
    "sum": lambda x: x + tf.reduce_sum(x, axis=-1, keepdims=True),
    "matmul": lambda x: tf.matmul(x, tf.transpose(x)) @ x,
    "reverse": lambda x: tf.reverse(x, [0]) * x,
    "gather": lambda x: tf.gather(x, [1, 0]) + x,
    "cumsum": lambda x: tf.cumsum(x, axis=1),
    "pad": lambda x: tf.pad(x, [[0, 0], [1, 0]])[:, :-1] + x,
    "where": lambda x: tf.where(x > 0.3, x, x * 0.1),
    "mean": lambda x: x - tf.reduce_mean(x),
    "logsumexp": lambda x: x * tf.reduce_logsumexp(x),
    "concat": lambda x: tf.concat([x[:, 1:], x[:, :1]], 1) * 0.5,
    "sqrt": lambda x: tf.sqrt(x * x + 1.0),
    "product": lambda x: x + tf.reduce_prod(x, axis=1, keepdims=True),
    "cumprod": lambda x: tf.math.cumprod(x, axis=1, reverse=True),
    "quotient": lambda x: x / (2.0 + tf.reduce_sum(x * x, axis=0)),
    "norm": lambda x: tf.nn.l2_normalize(x + 2.0, -1),
    "moments": lambda x: x * tf.nn.moments(x, [0])[1],
    "branch": lambda x: tf.cond(WHICH > 0, lambda: tf.sin(x), lambda: x * x - x),
    "switch": lambda x: tf.switch_case(WHICH, [lambda: x * 0.5, lambda: x * x * 0.1]),
    "loop": lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) + x * 0.1), (0, x))[1],
    "early exit": lambda x: left_early(x),
    "map": lambda x: tf.map_fn(lambda row: tf.cumsum(row) * row, x),
    "scan": lambda x: tf.scan(lambda a, row: a * row + 0.5, x),
    "callback": lambda x: tf.reshape(tf.py_function(lambda t: tf.sin(t) * t, [x], tf.float64), [2, 3]),
    "recomputed": lambda x: tf.recompute_grad(lambda t: tf.exp(-t * t) * t)(x),
}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6), st.integers(0, 1000))
def test_every_mode_agrees_on_random_compositions(names, seed):
    rng = np.random.default_rng(seed)
    x, v = (tf.constant(rng.uniform(-1.0, 1.0, (2, 3))) for _ in range(2))

    def f(t):
        for name in names:
            t = STEPS[name](t)
        return t

    for g in (f, tf.function(f)):
        with tf.autodiff.ForwardAccumulator(x, v) as acc, tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = g(x)
        jacobian = tape.jacobian(y, x).numpy().reshape(6, 6)
        forward = acc.jvp(y).numpy().reshape(6)
        np.testing.assert_allclose(forward, jacobian @ v.numpy().reshape(6), rtol=1e-8, atol=1e-9)
        total = tape.gradient(y, x)
        np.testing.assert_allclose(
            tf.convert_to_tensor(total).numpy().reshape(6), jacobian.sum(0), rtol=1e-8, atol=1e-9
        )
        # The Hessian times a vector, both ways round.
        with tf.GradientTape() as outer, tf.autodiff.ForwardAccumulator(x, v) as acc:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = g(x)
            slope = tf.convert_to_tensor(tape.gradient(y, x))
            along = tf.reduce_sum(slope * v)
        over = acc.jvp(slope, unconnected_gradients="zero")
        back = outer.gradient(along, x, unconnected_gradients="zero")
        np.testing.assert_allclose(over.numpy(), tf.convert_to_tensor(back).numpy(), rtol=1e-7, atol=1e-8)
    eps = 1e-6
    there, back = f(x + eps * v).numpy(), f(x - eps * v).numpy()
    np.testing.assert_allclose(forward, ((there - back) / (2 * eps)).reshape(6), rtol=1e-4, atol=1e-5)
