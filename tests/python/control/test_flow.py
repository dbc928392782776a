"""cond, switch_case, case and while_loop, eagerly and traced."""

import pytest
from support import ways

import penstock as tf


def test_cond_runs_one_branch():
    log = []

    def f(p):
        return tf.cond(p, lambda: tf.constant(1), lambda: tf.constant(2))

    for run in ways(f):
        assert run(tf.constant(True)).numpy() == 1
        assert run(tf.constant(False)).numpy() == 2

    def note(x):
        log.append(int(x))
        return x

    @tf.function
    def g(p):
        return tf.cond(
            p,
            lambda: tf.py_function(note, [tf.constant(1)], tf.int32),
            lambda: tf.py_function(note, [tf.constant(2)], tf.int32),
        )

    g(tf.constant(False))
    assert log == [2]


def test_branches_may_return_structures_and_use_outer_values():
    def f(p, x):
        return tf.cond(p, lambda: {"a": x, "b": [x * 2]}, lambda: {"a": -x, "b": [x]})

    for run in ways(f):
        result = run(tf.constant(False), tf.constant(3))
        assert (result["a"].numpy(), result["b"][0].numpy()) == (-3, 3)


def test_branches_that_differ_are_errors():
    @tf.function
    def dtypes(p):
        return tf.cond(p, lambda: tf.constant(1), lambda: tf.constant(1.0))

    with pytest.raises(TypeError, match="dtype"):
        dtypes(tf.constant(True))

    @tf.function
    def structures(p):
        return tf.cond(p, lambda: [tf.constant(1)], lambda: tf.constant(1))

    with pytest.raises((TypeError, ValueError), match="structure"):
        structures(tf.constant(True))
    with pytest.raises(TypeError, match="bool"):
        tf.cond(tf.constant(1), lambda: 1, lambda: 2)
    with pytest.raises(TypeError, match="callable"):
        tf.cond(tf.constant(True), 1, 2)


def test_branches_of_different_shapes():
    @tf.function
    def f(p):
        return tf.cond(p, lambda: tf.zeros([2]), lambda: tf.zeros([3]))

    assert f(tf.constant(True)).shape == [2]
    assert f(tf.constant(False)).shape == [3]


def test_switch_case_takes_the_last_or_the_default_for_other_indices():
    def f(i):
        return tf.switch_case(i, [lambda: 10, lambda: 20, lambda: 30])

    for run in ways(lambda i: tf.convert_to_tensor(f(i))):
        assert [run(tf.constant(i)).numpy() for i in (0, 1, 2, 5, -1)] == [10, 20, 30, 30, 30]

    def g(i):
        return tf.convert_to_tensor(tf.switch_case(i, {0: lambda: 1, 1: lambda: 2}, default=lambda: 9))

    for run in ways(g):
        assert [run(tf.constant(i)).numpy() for i in (0, 1, 7)] == [1, 2, 9]
    with pytest.raises(ValueError, match="branch_fns"):
        tf.switch_case(tf.constant(0), {0: lambda: 1, 2: lambda: 2})
    with pytest.raises(TypeError, match="branch_fns"):
        tf.switch_case(tf.constant(0), [])


def test_case_takes_the_first_that_holds():
    def f(x):
        return tf.case(
            [(x < 0, lambda: tf.constant(-1)), (x < 10, lambda: tf.constant(1))],
            default=lambda: tf.constant(100),
        )

    for run in ways(f):
        assert [run(tf.constant(v)).numpy() for v in (-5, 5, 50)] == [-1, 1, 100]
    with pytest.raises(TypeError, match="pred_fn_pairs"):
        tf.case([])


def test_case_says_where_no_predicate_or_several_are_true():
    def f(x):
        return tf.case([(x < 0, lambda: tf.constant(-1)), (x < 10, lambda: tf.constant(1))])

    def g(x):
        pairs = [(x > 0, lambda: tf.constant(1)), (x > 10, lambda: tf.constant(2))]
        return tf.case(pairs, default=lambda: tf.constant(0), exclusive=True)

    for run in ways(f):
        assert [run(tf.constant(v)).numpy() for v in (-5, 5)] == [-1, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="none of the predicates"):
            run(tf.constant(50))
    for run in ways(g):
        assert [run(tf.constant(v)).numpy() for v in (-5, 5)] == [0, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="more than one"):
            run(tf.constant(50))


def test_while_loop_counts():
    def f(n):
        return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (0, 0))

    for run in ways(f):
        assert [t.numpy() for t in run(tf.constant(10))] == [10, 45]
        assert [t.numpy() for t in run(tf.constant(0))] == [0, 0]


def test_collatz_takes_111_steps_from_27():
    @tf.function
    def steps(n):
        return tf.while_loop(
            lambda n, c: n > 1,
            lambda n, c: (tf.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), c + 1),
            (n, 0),
        )[1]

    assert steps(tf.constant(27, tf.int64)).numpy() == 111


def test_loop_variables_may_be_nests_and_change_shape_where_invariants_allow():
    @tf.function
    def f(n):
        return tf.while_loop(
            lambda i, state: i < n,
            lambda i, state: (i + 1, {"xs": tf.concat([state["xs"], [i]], 0)}),
            (0, {"xs": tf.zeros([0], tf.int32)}),
            shape_invariants=(tf.TensorShape([]), {"xs": tf.TensorShape([None])}),
        )[1]["xs"]

    assert f(tf.constant(4)).numpy().tolist() == [0, 1, 2, 3]


def test_the_number_of_steps_can_be_limited():
    def f(n):
        return tf.while_loop(lambda i: True, lambda i: (i + 2,), (0,), maximum_iterations=n)[0]

    for run in ways(f):
        assert run(tf.constant(5)).numpy() == 10


def test_loops_nest():
    @tf.function
    def f(n):
        def row(i, total):
            inner = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), (0, total))
            return i + 1, inner[1]

        return tf.while_loop(lambda i, t: i < n, row, (0, 0))[1]

    assert f(tf.constant(5)).numpy() == sum(i * j for i in range(5) for j in range(i))


@pytest.mark.parametrize(
    ("body", "error", "text"),
    [
        (lambda i: (tf.cast(i, tf.float32),), TypeError, "dtype"),
        (lambda i: (tf.stack([i, i]),), ValueError, "shape"),
        (lambda i: (i, i), ValueError, "structure"),
    ],
)
def test_bodies_that_change_the_type_of_a_loop_variable_are_errors(body, error, text):
    @tf.function
    def f(n):
        return tf.while_loop(lambda i: i < n, body, (tf.constant(0),))

    with pytest.raises(error, match=text):
        f(tf.constant(3))


def test_bad_arguments_of_loops():
    with pytest.raises(TypeError, match="callable"):
        tf.while_loop(1, 2, (0,))
    with pytest.raises(ValueError, match="loop_vars"):
        tf.while_loop(lambda: True, lambda: (), ())

    @tf.function
    def f(x):
        return tf.while_loop(lambda i: i, lambda i: (i,), (x,))

    with pytest.raises(TypeError, match="bool"):
        f(tf.constant(1))


def test_an_error_in_a_loop_stops_it():
    @tf.function
    def f(n):
        return tf.while_loop(lambda i: i < n, lambda i: (i + tf.gather([1, 1], i),), (0,))[0]

    assert f(tf.constant(2)).numpy() == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="gather"):
        f(tf.constant(5))
    assert f(tf.constant(2)).numpy() == 2


def test_functions_among_dependencies_are_called():
    v = tf.Variable(0)

    def added():
        with tf.control_dependencies([lambda: v.assign_add(1), tf.constant(1)]):
            return v.read_value()

    assert [int(added()), int(v)] == [1, 1]
    traced = tf.function(added)
    assert [int(traced()), int(traced()), int(v)] == [2, 3, 3]


def test_dependencies_and_groups_are_accepted():
    v = tf.Variable(0)

    @tf.function
    def f():
        with tf.control_dependencies([v.assign_add(1), tf.no_op()]):
            tf.group(v.assign_add(1))
            return v.read_value()

    assert f().numpy() == 2
