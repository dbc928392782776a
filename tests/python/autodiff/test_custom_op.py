"""Operators written in Python."""

import gc
import weakref

import numpy as np
import pytest

import penstock as tf


def _cube():
    """x³, with all that an operator can have; and how often its kernels ran."""
    runs = {"one": 0, "many": 0}

    @tf.custom_op
    def cube(x):
        runs["one"] += 1
        return x**3

    @cube.shape
    def _(x):
        return x

    @cube.gradient
    def _(inputs, outputs, dy):
        return 3.0 * inputs[0] ** 2 * dy

    @cube.vmap
    def _(mapped, x):
        assert mapped == (True,)
        runs["many"] += 1
        return x**3

    return cube, runs


@pytest.mark.parametrize("traced", [False, True])
def test_an_operator_gives_the_results_of_its_kernel(traced):
    cube, _ = _cube()
    run = tf.function(cube) if traced else cube
    np.testing.assert_array_equal(run(tf.constant([1.0, -2.0])).numpy(), [1.0, -8.0])
    assert run(tf.zeros([0, 3])).shape == [0, 3]


@pytest.mark.parametrize("traced", [False, True])
def test_arguments_have_the_names_of_the_kernel(traced):
    @tf.custom_op(Tout=tf.float32)
    def weighted(x, y=3.0, z=5.0):
        """Add up with weights."""
        return x + 10 * y + 100 * z

    run = tf.function(lambda **given: weighted(**given)) if traced else weighted
    one, two = tf.constant(1.0), tf.constant(2.0)
    assert float(run(x=one)) == 531.0
    assert float(run(y=two, x=one)) == 521.0
    assert float(run(x=one, z=two)) == 231.0
    assert (weighted.__name__, weighted.__doc__) == ("weighted", "Add up with weights.")
    assert float(tf.function(weighted)(one, z=two)) == 231.0
    for call, message in (
        (lambda: weighted(one, w=two), "weighted: got an unexpected keyword argument 'w'"),
        (lambda: weighted(y=two), "weighted: missing a required argument: 'x'"),
        (lambda: tf.custom_op(lambda x, *, y=1: x, tf.float32)(one, y=two), "for keywords alone"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


def test_its_shape_is_known_while_tracing():
    cube, _ = _cube()
    trace = tf.function(cube).get_concrete_function(tf.TensorSpec([None, 3]))
    assert trace.output_shapes.as_list() == [None, 3]
    assert any(node.name.startswith("cube/") for node in trace.graph.as_graph_def().node)


@pytest.mark.parametrize("traced", [False, True])
def test_gradients_of_any_order_follow_its_rule(traced):
    cube, _ = _cube()

    def slopes(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(cube(x))
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    first, second = (tf.function(slopes) if traced else slopes)(tf.constant([1.0, 2.0]))
    np.testing.assert_allclose(first.numpy(), [3.0, 12.0])
    np.testing.assert_allclose(second.numpy(), [6.0, 12.0])


def test_many_examples_are_computed_by_one_call_of_its_form_for_them():
    cube, runs = _cube()
    x = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    np.testing.assert_array_equal(tf.vectorized_map(cube, x).numpy(), x.numpy() ** 3)
    assert runs == {"one": 0, "many": 1}


def test_without_such_a_form_the_examples_go_one_after_the_other():
    op = tf.custom_op(lambda x: x[::-1], tf.TensorSpec([2], tf.float32))
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(tf.vectorized_map(op, tf.constant(x)).numpy(), x[:, ::-1])


def test_arguments_that_are_the_same_for_all_examples_have_no_axis():
    seen = []
    op = tf.custom_op(lambda x, y: x + y, tf.float32, name="plus")

    @op.vmap
    def _(mapped, x, y):
        seen.append((mapped, x.shape, y.shape))
        return x + y

    y = tf.constant(10.0)
    np.testing.assert_array_equal(tf.vectorized_map(lambda x: op(x, y), tf.range(3.0)).numpy(), [10, 11, 12])
    assert seen == [((True, False), (3,), ())]


def test_several_results_and_gradients_of_several_arguments():
    divide = tf.custom_op(lambda x, y: list(np.divmod(x, y)), [tf.float32, tf.float32], name="divide")

    @divide.gradient
    def _(inputs, outputs, d_quotient, d_rest):
        return d_rest, -outputs[0] * d_rest

    x, y = tf.Variable(7.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        quotient, rest = divide(x, y)
    assert (float(quotient), float(rest)) == (3.0, 1.0)
    assert [float(g) for g in tape.gradient(rest, [x, y])] == [1.0, -3.0]


def test_one_without_a_gradient_has_none():
    op = tf.custom_op(lambda x: x * 2, tf.float32)
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = op(x)
    assert tape.gradient(y, x) is None


def test_a_call_whose_result_is_not_used_does_not_run_unless_it_does_more():
    for stateful, due in ((False, 0), (True, 1)):
        runs = []
        op = tf.custom_op(lambda x, runs=runs: (runs.append(1), x)[1], tf.float32, stateful=stateful)

        @tf.function
        def f(x, op=op):
            op(x)
            return x

        f(tf.constant(1.0))
        assert len(runs) == due


def test_it_runs_in_loops_and_branches_of_the_graph():
    cube, _ = _cube()

    @tf.function
    def f(x, n):
        for _ in tf.range(n):
            if x < 100.0:
                x = cube(x)
        return x

    assert float(f(tf.constant(2.0), tf.constant(5))) == 512.0


def test_what_is_missing_or_wrong_is_named():
    bare = tf.custom_op(lambda x: x, name="bare")
    with pytest.raises(TypeError, match=r"'bare' does not say what its result is.*@bare\.shape"):
        bare(tf.constant(1.0))
    with pytest.raises(TypeError, match="argument 'kernel'"):
        tf.custom_op(3)
    wrong = tf.custom_op(lambda x: x.astype(np.int32), tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.function(wrong)(tf.constant([1.0]))
    shapeless = tf.custom_op(lambda x: x, name="shapeless")
    shapeless.shape(lambda x: None)
    with pytest.raises(TypeError, match="'shapeless' returned None"):
        shapeless(tf.constant(1.0))
    few = tf.custom_op(lambda x, y: x, tf.float32, name="few")
    few.gradient(lambda inputs, outputs, dy: dy)
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = few(x, x)
    with pytest.raises(ValueError, match="'few' returned 1 gradients for 2 arguments"):
        tape.gradient(y, x)


def test_an_error_of_a_form_for_many_examples_reaches_the_caller():
    op = tf.custom_op(lambda x: x, tf.float32)

    @op.vmap
    def _(mapped, x):
        raise KeyError("user")

    with pytest.raises(KeyError, match="user"):
        tf.vectorized_map(op, tf.range(3.0))


def test_an_operator_and_its_traces_are_collected():
    cube, _ = _cube()
    tf.function(lambda x, op=cube: tf.vectorized_map(op, x))(tf.ones([2, 2]))
    gone = weakref.ref(cube)
    del cube
    gc.collect()
    assert gone() is None


def test_a_function_of_an_operator_leaves_the_kernels_defaults_to_the_kernel():
    def scaled(x, by=2, *, plus=1):
        return x * by + plus

    operator = tf.custom_op(scaled, tf.TensorSpec([], tf.float32))
    assert float(tf.function(operator)(tf.constant(3.0))) == 7.0
