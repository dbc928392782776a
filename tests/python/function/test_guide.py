"""What the guide to functions and the text of `tf.function` say about tracing, statement by statement.

Rules about types of arguments, signatures, concrete functions and retracing are in `test_tracing_rules.py`,
`test_input_signature.py`, `test_concrete_functions.py` and `test_retracing.py`; control flow is in
`tests/python/autograph`.
"""

import numpy as np
import pytest

import penstock as tf


def traced_with(body, **options):
    """A traced function, and the list of what it was traced with."""
    seen = []

    def run(*args):
        seen.append(args)
        return body(*args)

    return tf.function(run, **options), seen


# --- a Function is like an operator ------------------------------------------------


def test_a_function_is_used_like_an_operator():
    add = tf.function(lambda a, b: a + b)
    assert add(tf.ones([2, 2]), tf.ones([2, 2])).numpy().tolist() == [[2, 2], [2, 2]]
    v = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        result = add(v, 1.0)
    assert tape.gradient(result, v).numpy() == 1.0
    dense = tf.function(lambda x, w, b: add(tf.matmul(x, w), b))
    assert dense(tf.ones([3, 2]), tf.ones([2, 2]), tf.ones([2])).numpy().tolist() == [[3, 3]] * 3


def test_a_traced_function_gives_what_the_python_function_gives():
    def scaled_elu(z, scale=1.0, alpha=1.0):
        return scale * tf.where(tf.greater_equal(z, 0.0), z, alpha * tf.nn.elu(z))

    def mean(x, y):
        return tf.reduce_mean(tf.multiply(x**2, 3) + y)

    z = tf.constant([-3.0, -0.0, 0.5, float("inf")])
    for scale, alpha in [(1.0, 1.0), (2.0, 0.5)]:
        assert np.array_equal(tf.function(scaled_elu)(z, scale, alpha), scaled_elu(z, scale, alpha))
    x, y = tf.constant([[2.0, 3.0]]), tf.constant([[3.0, -2.0]])
    assert tf.function(mean)(x, y).numpy() == mean(x, y).numpy()
    # Tensors that the function reaches by itself are captured.
    assert tf.function(lambda: mean(x, y))().numpy() == mean(x, y).numpy()


def test_control_flow_that_depends_on_data_is_in_the_graph():
    g, seen = traced_with(lambda x: x)

    @tf.function
    def branch(x):
        g(x)
        if tf.reduce_sum(x) > 0:
            return x * x
        else:
            return -x // 2

    assert branch(tf.constant([3, -1])).numpy().tolist() == [9, 1]
    assert branch(tf.constant([-3, 1])).numpy().tolist() == [1, -1]
    assert len(seen) == 1


def test_a_function_may_return_nothing():
    assert tf.function(lambda: None)() is None
    assert tf.function(lambda x: ())(tf.constant(1)) == ()


# --- one graph for each type of the arguments --------------------------------------


def test_the_second_stage_runs_right_after_the_first_and_alone_from_then_on(capsys):
    @tf.function
    def f():
        print("Tracing!")
        tf.print("Executing")

    f()
    assert capsys.readouterr() == ("Tracing!\n", "Executing\n")
    f()
    assert capsys.readouterr() == ("", "Executing\n")
    # Another Function of the same Python function is traced for itself.
    tf.function(f.python_function)()
    assert capsys.readouterr() == ("Tracing!\n", "Executing\n")


def test_only_tracing_runs_for_get_concrete_function(capsys):
    @tf.function
    def f():
        print("Tracing!")
        tf.print("Executing")

    f.get_concrete_function()
    assert capsys.readouterr() == ("Tracing!\n", "")


def test_distinct_python_numbers_make_graphs_and_tensors_do_not():
    g, seen = traced_with(lambda x: x + 1)
    assert [g(2).numpy(), g(3).numpy()] == [3, 4]
    assert len(seen) == 2
    assert [g(tf.constant(2)).numpy(), g(tf.constant(3)).numpy()] == [3, 4]
    assert len(seen) == 3


def test_three_shapes_are_three_graphs_and_one_with_a_signature_for_all():
    f, seen = traced_with(lambda x: tf.add(x, 1.0))
    arguments = [tf.constant(1.0), tf.constant([1.0, 1.0]), tf.constant([[3.0]])]
    for x in arguments * 2:
        assert np.array_equal(f(x), x + 1.0)
    assert len(seen) == 3
    f, seen = traced_with(
        lambda x: tf.add(x, 1.0), input_signature=[tf.TensorSpec(shape=None, dtype=tf.float32)]
    )
    for x in [*arguments, 1, [2.0], np.float32(4)]:  # Python values are converted
        assert np.array_equal(f(x), tf.constant(x, tf.float32) + 1.0)
    assert len(seen) == 1


def test_equal_types_never_retrace_and_dtypes_always_do():
    f, seen = traced_with(lambda x, flag: x)
    for _ in range(3):
        for dtype in ("float32", "int64", "bool"):
            f(tf.zeros([2], dtype), True)
    assert len(seen) == 3


def test_the_two_forms_of_the_decorator_are_one():
    spec = [tf.TensorSpec([None], tf.float32)]
    one, other = (
        tf.function(input_signature=spec)(tf.identity),
        tf.function(tf.identity, input_signature=spec),
    )
    for f in (one, other):
        assert f([1.0]).shape == [1]
        with pytest.raises(ValueError, match="input_signature"):
            f([[1.0]])
    for bad in (3, tf.TensorSpec([None]), {"x": spec[0]}):
        with pytest.raises(TypeError, match="input_signature"):
            tf.function(tf.identity, input_signature=bad)


# --- Python runs while tracing, and only then ---------------------------------------


def test_numbers_of_numpy_are_constants_and_those_of_tf_are_drawn_each_time():
    frozen = tf.function(lambda: tf.eye(5, dtype=tf.float64) + np.random.randn(5, 5))  # noqa: NPY002
    drawn = tf.function(lambda: tf.eye(5) + tf.random.normal((5, 5)))
    assert np.array_equal(frozen(), frozen())
    assert not np.array_equal(drawn(), drawn())


def test_a_list_grows_once_and_a_variable_or_a_callback_each_time():
    appended, called, v = [], [], tf.Variable(0)

    @tf.function
    def g(x):
        for i in x:
            tf.compat.v1.assign(v, i)
            tf.compat.v1.py_func(lambda i: called.append(int(i)), [i], [])
        appended.append(1)

    for _ in range(2):
        g(tf.constant([4, 5]))
    assert (v.numpy(), called, appended) == (5, [4, 5, 4, 5], [1])


def test_a_variable_is_an_implicit_input():
    c = tf.Variable(0)

    @tf.function
    def f(x):
        c.assign_add(1)
        return x + tf.compat.v1.to_float(c)

    assert int(c) == 0
    assert f(1.0) == 2.0
    assert int(c) == 1
    assert f(1.0) == 3.0
    assert int(c) == 2


def test_methods_use_the_variables_of_their_own_object():
    class Dense:
        def __init__(self, seed):
            self.w = tf.Variable(tf.random.stateless_uniform((10, 10), [seed, 0]))
            self.b = tf.Variable(tf.zeros(10))

        @tf.function
        def compute(self, x):
            return tf.matmul(x, self.w) + self.b

    x = tf.ones((10, 10))
    one, other = Dense(1), Dense(2)
    assert not np.array_equal(one.compute(x), other.compute(x))
    one.b.assign_add(tf.ones(10))
    assert np.allclose(one.compute(x), tf.matmul(x, one.w) + 1.0)


def test_globals_are_what_they_were_unless_they_are_arguments_or_variables():
    values = {"foo": 1}
    buggy = tf.function(lambda: 1 + values["foo"])
    recommended = tf.function(lambda foo: 1 + foo)
    foo = tf.Variable(1)
    variable = tf.function(lambda: 1 + foo)
    before = [buggy().numpy(), recommended(values["foo"]).numpy(), variable().numpy()]
    values["foo"] = 100
    foo.assign(100)
    after = [buggy().numpy(), recommended(values["foo"]).numpy(), variable().numpy()]
    assert (before, after) == ([2, 2, 2], [2, 101, 101])


def test_an_object_that_changed_is_still_the_same_argument():
    class Model(tf.Module):
        def __init__(self, number):
            self.bias, self.weight = number(0.0), number(2.0)

    def evaluate(model, x):
        return model.weight * x + model.bias

    x, plain = tf.constant(10.0), Model(float)
    f = tf.function(evaluate)
    assert f(plain, x).numpy() == 20
    plain.bias += 5.0
    assert f(plain, x).numpy() == 20
    # What the guide proposes: a Function for each state, whose trace is called without the object...
    concrete = tf.function(evaluate).get_concrete_function(plain, x)
    assert concrete(x).numpy() == 25
    # ... or variables, which are changed and not replaced.
    better = Model(tf.Variable)
    assert f(better, x).numpy() == 20
    better.bias.assign_add(5.0)
    assert f(better, x).numpy() == 25


# --- what does not leave a trace, and what does not end ------------------------------


def test_what_leaks_into_containers_and_objects_is_out_of_scope():
    class Place:
        field = None

    listed, place = [], Place()

    @tf.function
    def leaky(a):
        listed.append(a + 1)
        place.field = a + 2
        return place.field

    # A value that is returned as well is as good as any other result.
    assert leaky(tf.constant(1)).numpy() == 3
    for leaked in (listed[0], place.field):
        with pytest.raises(AttributeError, match="no attribute 'numpy'"):
            leaked.numpy()
        with pytest.raises(TypeError, match=r"out of scope(?s:.*)'leaky'"):
            tf.function(lambda b, x=leaked: b + listed[0] + place.field)(tf.constant(2))


def test_recursion_on_a_tensor_is_an_error_and_on_a_number_many_traces(capsys):
    @tf.function
    def recursive(n):
        if n > 0:
            print("tracing")
            return recursive(n - 1)
        else:
            return 1

    with pytest.raises(RecursionError):
        recursive(tf.constant(5))
    capsys.readouterr()
    assert recursive(5).numpy() == 1
    assert capsys.readouterr().out == "tracing\n" * 5


# --- variables that a function makes --------------------------------------------------


def test_a_variable_is_made_where_there_is_none_yet():
    class Count(tf.Module):
        def __init__(self):
            self.count = None

        @tf.function
        def __call__(self):
            if self.count is None:
                self.count = tf.Variable(0)
            return self.count.assign_add(1)

    c, d = Count(), Count()
    assert [c().numpy(), c().numpy(), d().numpy(), c().numpy()] == [1, 2, 1, 3]


def test_an_optimizer_makes_its_variables_in_the_first_call_and_another_one_cannot():
    def train_step(w, x, y, optimizer):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(w * x - y))
        gradients = tape.gradient(loss, [w])
        optimizer.apply_gradients(zip(gradients, [w], strict=True))

    def optimizers():
        return [tf.optimizers.Adam(learning_rate=rate) for rate in (1e-2, 1e-3)]

    w, x, y = tf.Variable(2.0), tf.constant([-1.0]), tf.constant([2.0])
    first, second = optimizers()
    step = tf.function(train_step)
    step(w, x, y, first)
    with pytest.raises(ValueError, match="singleton"):
        step(w, x, y, second)
    # A trace of another Function for each; the optimizer is no argument of it.
    before = w.numpy()
    steps = [tf.function(train_step).get_concrete_function(w, x, y, o) for o in optimizers()]
    for i in range(10):
        steps[i % 2](w, x, y)
    assert w.numpy() < before


def test_models_that_make_their_weights_late_are_built_before_they_are_passed():
    class Late(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = None

        def build(self, size):
            self.w = tf.Variable(tf.ones([size]))

        def __call__(self, x):
            if self.w is None:
                self.build(x.shape[0])
            return x * self.w

    apply = tf.function(lambda model, x: model(x))
    x = tf.constant([1.0, 2.0])
    first, second, built = Late(), Late(), Late()
    assert apply(first, x).numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="singleton"):
        apply(second, x)
    built.build(2)
    assert apply(built, x).numpy().tolist() == [1, 2]
