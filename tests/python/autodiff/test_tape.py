"""Gradient tapes, custom gradients, and gradients through functions and control flow."""

import numpy as np
import pytest
from support import assert_same, gradient

import penstock as tf


def test_the_gradient_of_a_square_and_its_own_gradient():
    x = tf.Variable(3.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**2
        first = inner.gradient(y, x)
    second = outer.gradient(first, x)
    assert first.numpy() == 6
    assert second.numpy() == 2


def test_the_third_derivative_of_a_fourth_power():
    x = tf.constant(2.0)
    tapes = [tf.GradientTape() for _ in range(3)]
    for tape in tapes:
        tape.__enter__()
        tape.watch(x)
    y = x * x * x * x
    for tape in reversed(tapes):
        tape.__exit__(None, None, None)
        y = tape.gradient(y, x)
    assert y.numpy() == 48


def test_constants_are_watched_on_demand_only():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None
    assert gradient(lambda t: t * t, 3.0)[0].numpy() == 6


def test_variables_that_are_not_trainable_or_not_to_be_watched_have_no_gradient():
    v, frozen = tf.Variable(2.0), tf.Variable(2.0, trainable=False)
    with tf.GradientTape() as tape:
        y = v * frozen
    assert tape.gradient(y, [v, frozen])[1] is None
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(frozen)
        y = v * frozen
    dv, df = tape.gradient(y, [v, frozen])
    assert dv is None
    assert df.numpy() == 2


def test_a_tape_gives_gradients_once_unless_it_is_persistent():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        z = y * y
    assert tape.gradient(y, x).numpy() == 6
    assert tape.gradient(z, x).numpy() == 108
    assert tape.gradient(z, y).numpy() == 18


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("method", ["gradient", "jacobian", "batch_jacobian"])
def test_a_tape_that_was_never_entered_says_so(persistent, method):
    x = tf.ones([2, 2])
    tape = tf.GradientTape(persistent=persistent)
    tape.watch(x)
    with pytest.raises(RuntimeError, match=f"GradientTape.{method} .*recorded nothing"):
        getattr(tape, method)(x * x, x)


def test_structures_of_sources_and_targets():
    x, y = tf.Variable(2.0), tf.Variable(5.0)
    with tf.GradientTape() as tape:
        targets = [x * y, {"a": x + y}]
    found = tape.gradient(targets, {"x": x, "rest": (y,)})
    assert found["x"].numpy() == 6
    assert found["rest"][0].numpy() == 3


def test_output_gradients_weigh_the_targets():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x, output_gradients=tf.constant([10.0, 100.0])).numpy().tolist() == [20, 400]


def test_a_variable_is_a_target():
    v, other = tf.Variable([1.0, 2.0]), tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        inside = tape.gradient(v, v)
    assert inside.numpy().tolist() == [1, 1]
    assert tape.gradient([v, other], [v, other])[1].numpy() == 1
    assert tape.gradient(v, other) is None
    assert tape.jacobian(v, v).numpy().tolist() == [[1, 0], [0, 1]]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        pass
    assert tape.gradient(v, v) is None


def test_powers_with_the_exponent_zero_are_constant():
    x, y = tf.constant([0.0, 2.0, -1.0, float("inf")]), tf.zeros([4])
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = x**y
    assert tape.gradient(z, x).numpy().tolist() == [0, 0, 0, 0]


def test_unconnected_sources():
    x, other = tf.Variable(1.0), tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y = x * 2.0
    assert tape.gradient(y, other) is None
    zero = tape.gradient(y, other, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert zero.numpy().tolist() == [0, 0]
    assert tape.gradient(y, other, unconnected_gradients="zero").numpy().tolist() == [0, 0]
    with pytest.raises(ValueError):
        tape.gradient(y, other, unconnected_gradients="nothing")
    with pytest.raises(TypeError, match="sources"):
        tape.gradient(y, 3)


def test_recording_can_stop_and_start_anew():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            y2 = y * x
        z = y + y2
    assert tape.gradient(z, x).numpy() == 4
    with tf.GradientTape() as tape:
        y = x * x
        tape.reset()
        z = x * 3.0
    assert tape.gradient([y, z], x).numpy() == 3


def test_stop_gradient_and_grad_pass_through():
    assert gradient(lambda x: x * tf.stop_gradient(x), 3.0)[0].numpy() == 3
    assert gradient(tf.grad_pass_through(tf.round), 3.4)[0].numpy() == 1


def test_gradients_of_integers_are_none():
    x = tf.constant([1.5, 2.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(x, tf.int32)
    with pytest.warns(UserWarning, match="int32"):
        assert tape.gradient(y, x) is None


def test_the_gradient_through_a_function_inside_and_outside_of_the_tape():
    w = tf.Variable([[1.0], [2.0]])

    @tf.function
    def loss(x):
        return tf.reduce_sum(tf.square(tf.matmul(x, w)))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            value = loss(x)
        return tape.gradient(value, w)

    x = tf.constant([[1.0, 3.0], [0.0, 1.0]])
    with tf.GradientTape() as tape:
        value = loss(x)
    outside = tape.gradient(value, w)
    expected = 2 * x.numpy().T @ (x.numpy() @ w.numpy())
    assert_same(outside.numpy(), expected)
    assert_same(step(x).numpy(), expected)


def test_second_order_through_a_function():
    @tf.function
    def cube(x):
        return x * x * x

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = cube(x)
        first = inner.gradient(y, x)
    assert first.numpy() == 12
    assert outer.gradient(first, x).numpy() == 12


def test_gradients_go_through_the_branch_that_ran():
    @tf.function
    def f(x):
        return tf.cond(x > 0.0, lambda: x * x, lambda: -x)

    assert [gradient(f, v)[0].numpy() for v in (3.0, -2.0)] == [6, -1]


def test_gradients_go_through_loops():
    @tf.function
    def f(x, n):
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (0, x))[1]

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, tf.constant(2))
    assert y.numpy() == 27
    assert tape.gradient(y, x).numpy() == 27


def test_custom_gradients():
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))

    assert gradient(log1pexp, 100.0)[0].numpy() == 1

    @tf.custom_gradient
    def swapped(a, b):
        return (a + b, a * b), lambda da, db: (db, da)

    with tf.GradientTape() as tape:
        a, b = tf.constant(1.0), tf.constant(2.0)
        tape.watch([a, b])
        s, p = swapped(a, b)
        total = 3.0 * s + 5.0 * p
    assert [g.numpy() for g in tape.gradient(total, [a, b])] == [5, 3]


def test_custom_gradients_inside_a_function():
    @tf.custom_gradient
    def tenfold(x):
        return x * 2.0, lambda d: d * 10.0

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tenfold(x)
        return tape.gradient(y, x)

    assert inside(tf.constant(1.0)).numpy() == 10

    @tf.function
    def forward(x):
        return tenfold(x) + 1.0

    assert gradient(forward, 1.0)[0].numpy() == 10


def test_a_custom_gradient_of_the_wrong_length_is_an_error():
    @tf.custom_gradient
    def bad(x):
        return x, lambda d: (d, d)

    with pytest.raises((ValueError, RuntimeError), match="gradient"):
        gradient(bad, 1.0)


def numeric(function, values, k, eps=1e-6):
    """The gradient of the sum of the result in respect of one operand, by central differences."""
    out = np.zeros_like(values[k])
    for i in np.ndindex(out.shape):
        sides = []
        for sign in (1, -1):
            moved = [v.copy() for v in values]
            moved[k][i] += sign * eps
            sides.append(float(tf.reduce_sum(function(*map(tf.constant, moved))).numpy()))
        out[i] = (sides[0] - sides[1]) / (2 * eps)
    return out


RNG = np.random.default_rng(11)
A, B, P = RNG.uniform(0.3, 1.7, (2, 3)), RNG.uniform(0.3, 1.7, (3, 2)), RNG.uniform(0.3, 1.7, (2, 1))
COMPOSED = {
    "pad reflect": (lambda x: tf.pad(x, [[1, 1], [2, 1]], "REFLECT") ** 2, [A]),
    "roll": (lambda x: tf.roll(x, 1, 1) * x, [A]),
    "repeat": (lambda x: tf.repeat(x, [1, 0, 2], 1) ** 2, [A]),
    "tile": (lambda x: tf.tile(x, [2, 2]) ** 2, [A]),
    "einsum": (lambda x, y: tf.einsum("ij,jk->ki", x, y) ** 2, [A, B]),
    "einsum of a diagonal": (lambda x: tf.einsum("ii->i", x @ tf.transpose(x)) ** 2, [A]),
    "tensordot": (lambda x, y: tf.tensordot(x, y, [[1], [0]]) ** 2, [A, B]),
    "norm": (lambda x: tf.norm(x, axis=1), [A]),
    "diag": (lambda x: tf.linalg.diag(x) @ tf.linalg.diag(x), [A[0]]),
    "set_diag": (lambda x, y: tf.linalg.set_diag(x, y[:, 0]) ** 2, [A, P]),
    "trace": (lambda x: tf.linalg.trace(x @ tf.transpose(x)), [A]),
    "boolean_mask": (lambda x: tf.boolean_mask(x, x > 1.0) ** 2, [A]),
    "dynamic_stitch": (lambda x: tf.dynamic_stitch([[1, 0]], [x]) ** 2, [A]),
    "linspace": (lambda x, y: tf.linspace(x, y, 4) ** 2, [A[0], A[1]]),
    "clip_by_norm": (lambda x: tf.clip_by_norm(x, 1.0), [A]),
    "gelu": (tf.nn.gelu, [A]),
    "silu": (tf.nn.silu, [A]),
    "moments": (lambda x: tf.nn.moments(x, [1])[1], [A]),
    "sigmoid cross entropy": (
        lambda x: tf.nn.sigmoid_cross_entropy_with_logits(tf.zeros_like(x) + 0.3, x),
        [A],
    ),
    "weighted cross entropy": (
        lambda x: tf.nn.weighted_cross_entropy_with_logits(tf.zeros_like(x) + 0.3, x, 2.0),
        [A],
    ),
    "softmax cross entropy": (
        lambda x: tf.nn.softmax_cross_entropy_with_logits([[0.2, 0.3, 0.5]] * 2, x),
        [A],
    ),
    "sparse cross entropy": (lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([0, 2], x), [A]),
    "segment_mean": (lambda x: tf.math.segment_mean(x, [0, 0]) ** 2, [A]),
    "segment_max": (lambda x: tf.math.segment_max(x, [0, 0]) ** 2, [A]),
    "reduce_std": (lambda x: tf.math.reduce_std(x, 1), [A]),
    "broadcasting": (lambda x, y: x * y + y, [A, P]),
    "gather by batch": (lambda x: tf.gather(x, [[0, 2], [1, 1]], batch_dims=1) ** 2, [A]),
    "split": (lambda x: tf.split(x, [1, 2], 1)[1] ** 2, [A]),
    "where": (lambda x: tf.where(x > 1.0, x**2, x), [A]),
    "cross": (lambda x: tf.linalg.cross(x, x[::-1]) ** 2, [A]),
    "space_to_depth": (
        lambda x: tf.nn.space_to_depth(tf.reshape(tf.concat([x, x[:, :1]], 1), [1, 2, 4, 1]), 2) ** 2,
        [A],
    ),
}


@pytest.mark.parametrize("case", COMPOSED)
def test_gradients_of_composed_functions_agree_with_differences(case):
    function, operands = COMPOSED[case]
    traced = tf.function(lambda *t: function(*t))
    for f in (function, traced):
        found = gradient(f, *operands)
        for k in range(len(operands)):
            np.testing.assert_allclose(found[k].numpy(), numeric(function, operands, k), rtol=1e-5, atol=1e-7)


TABLE = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def test_gradients_of_rows_read_in_a_function_are_rows():
    table = tf.Variable(TABLE)
    other = tf.Variable([10.0, 20.0])

    @tf.function
    def once(ids):
        return tf.reduce_sum(tf.gather(table, ids) * other)

    @tf.function
    def twice(ids):
        return tf.reduce_sum(tf.gather(table, ids) * other) + tf.reduce_sum(tf.gather(table, ids[:1]))

    @tf.function
    def given(table, ids):
        return tf.reduce_sum(tf.nn.embedding_lookup(table, ids) * other)

    ids = tf.constant([2, 0, 2])
    for loss, dense in (
        (once, [[10.0, 20.0], [0.0, 0.0], [20.0, 40.0]]),
        (twice, [[10.0, 20.0], [0.0, 0.0], [21.0, 41.0]]),
        (lambda ids: given(table, ids), [[10.0, 20.0], [0.0, 0.0], [20.0, 40.0]]),
    ):
        with tf.GradientTape() as tape:
            y = loss(ids)
        grad, plain = tape.gradient(y, [table, other])
        assert isinstance(plain, tf.Tensor)
        assert isinstance(grad, tf.IndexedSlices)
        np.testing.assert_allclose(tf.convert_to_tensor(grad), dense)
    x = tf.constant(TABLE)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = given(x, ids)
    rows = tape.gradient(y, x)
    assert isinstance(rows, tf.IndexedSlices)
    assert rows.indices.numpy().tolist() == [2, 0, 2]
    assert rows.values.numpy().tolist() == [[10.0, 20.0]] * 3


def test_rows_of_a_function_join_other_gradients():
    table = tf.Variable(TABLE)
    read = tf.function(lambda ids: tf.gather(table, ids))
    ids = tf.constant([1, 1])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(read(ids)) + tf.reduce_sum(tf.gather(table, [0]))
    rows = tape.gradient(y, table)
    assert isinstance(rows, tf.IndexedSlices)
    assert tf.convert_to_tensor(rows).numpy().tolist() == [[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(read(ids)) + tf.reduce_sum(table * 3.0)
    assert tape.gradient(y, table).numpy().tolist() == [[3.0, 3.0], [5.0, 5.0], [3.0, 3.0]]
    # Again by a tape around: the gradient of the gradient.
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(read(ids) ** 3)
        slope = tf.reduce_sum(tf.convert_to_tensor(tape.gradient(y, table)))
    np.testing.assert_allclose(
        tf.convert_to_tensor(outer.gradient(slope, table)), [[0, 0], [36.0, 48.0], [0, 0]]
    )


@pytest.mark.parametrize("how", ["a tape outside", "a tape inside", "gradients of the graph"])
def test_rows_read_in_a_call_of_a_call_are_rows(how):
    table = tf.Variable(TABLE)
    read = tf.function(lambda ids: tf.gather(table, ids))

    @tf.function
    def loss(ids):
        return tf.reduce_sum(read(ids) ** 2) + tf.reduce_sum(read(ids[:1]))

    def by_tape(ids):
        with tf.GradientTape() as tape:
            y = loss(ids)
        return tape.gradient(y, table)

    run = {
        "a tape outside": by_tape,
        "a tape inside": tf.function(by_tape),
        "gradients of the graph": tf.function(lambda ids: tf.gradients(loss(ids), table)[0]),
    }[how]
    rows = run(tf.constant([2, 0, 2]))
    assert isinstance(rows, tf.IndexedSlices)
    assert rows.dense_shape.numpy().tolist() == [3, 2]
    due, values = np.zeros([3, 2]), np.array(TABLE)
    np.add.at(due, [2, 0, 2], 2 * values[[2, 0, 2]])
    due[2] += 1.0
    np.testing.assert_allclose(tf.convert_to_tensor(rows), due)


def test_an_optimizer_updates_only_the_rows_that_a_function_read():
    table = tf.Variable(tf.ones([4, 2]))
    loss = tf.function(lambda ids: tf.reduce_sum(tf.gather(table, ids)))
    with tf.GradientTape() as tape:
        y = loss(tf.constant([1, 3]))
    tf.optimizers.SGD(0.5).apply_gradients([(tape.gradient(y, table), table)])
    assert table.numpy().tolist() == [[1.0, 1.0], [0.5, 0.5], [1.0, 1.0], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (tf.nn.relu, [4]),
        (tf.nn.relu6, [4]),
        (lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), [1, 4, 4, 1]),
    ],
)
def test_second_derivative_of_what_is_linear_in_pieces_is_zeros(function, shape):
    x = tf.constant(np.linspace(-2.0, 8.0, int(np.prod(shape)), dtype=np.float32).reshape(shape))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        first = inner.gradient(y, x)
    second = outer.gradient(first, x)
    assert second is not None
    np.testing.assert_array_equal(second, np.zeros(shape))
    assert np.any(np.asarray(first))


@pytest.mark.parametrize("shape", [[6], [5000], [70, 80]])
def test_the_gradient_of_padding_and_tiles_does_not_depend_on_the_size(shape):
    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            p = tf.pad(x, [[2, 2]] * len(shape))
            y = tf.reduce_sum(tf.tile(p * p, [1] * len(shape))) + tf.reduce_sum(x)
        return tape.gradient(y, x)

    np.testing.assert_array_equal(gradient(tf.ones(shape)), np.full(shape, 3.0, np.float32))


def test_a_list_of_tensors_keeps_its_derivative_within_a_device() -> None:
    v = tf.Variable(1.0)
    with tf.device("CPU:0"), tf.GradientTape() as tape:
        both = tf.convert_to_tensor([v * 1.0, v * 2.0])
    assert float(tape.gradient(both, v)) == 3.0
