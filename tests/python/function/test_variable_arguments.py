"""Variables as arguments of traced functions: which of them share a trace, and that sharing is right."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import counted

import penstock as tf


def update(a, b):
    a.assign_add(10.0)
    b.assign(b * 2.0)
    return a + b


def test_distinct_variables_share_a_trace_and_aliased_ones_have_their_own():
    v, w, u = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0)
    seen, f = counted(update)
    assert f(v, w).numpy() == 15
    assert f(w, v).numpy() == 36
    assert f(u, w).numpy() == 41
    assert len(seen) == 1
    assert f(v, v).numpy() == 128
    assert len(seen) == 2
    f(w, w)
    assert len(seen) == 2


def test_dtype_shape_trainability_and_class_tell_variables_apart():
    class Special(tf.Variable):
        pass

    seen, f = counted(lambda v: v.read_value())
    for v in (
        tf.Variable(1.0),
        tf.Variable(1),
        tf.Variable([1.0]),
        tf.Variable(1.0, trainable=False),
        Special(1.0),
    ):
        f(v)
        f(v)
    assert len(seen) == 5
    assert isinstance(seen[4][0][0], Special)


def test_a_variable_and_a_tensor_are_two_traces():
    seen, f = counted(lambda v: v + 1.0)
    f(tf.Variable(1.0))
    f(tf.constant(1.0))
    assert len(seen) == 2


def test_variables_in_nests():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    seen, f = counted(lambda d, s: update(d["a"], s[0]))
    assert f({"a": v}, [w]).numpy() == 15
    assert f({"a": w}, [v]).numpy() == 36
    assert len(seen) == 1


@pytest.mark.parametrize("first", ["v", "w"])
def test_a_variable_that_the_function_reaches_by_itself_too_is_told_apart(first):
    v, w = tf.Variable(1.0), tf.Variable(2.0)

    def body(a):
        before = v.read_value()
        a.assign(before + 1.0)
        return v + a

    _, f = counted(body)
    expected = {"v": [4.0, 5.0], "w": [3.0, 4.0]}
    order = [v, w] if first == "v" else [w, v]
    assert [float(f(x)) for x in order] == expected[first]
    # And again, from the cache.
    for x in (v, w, v, w):
        before = v.numpy()
        assert float(f(x)) == (2 * (before + 1) if x is v else 2 * before + 1)


def test_a_variable_reached_through_the_object_of_a_method():
    class Model:
        def __init__(self, value):
            self.v = tf.Variable(value)

        @tf.function
        def add(self, other):
            self.v.assign_add(1.0)
            return self.v + other

    a, b = Model(1.0), Model(5.0)
    assert float(a.add(a.v)) == 4
    assert float(a.add(b.v)) == 8
    assert float(b.add(b.v)) == 12
    assert float(b.add(a.v)) == 10


def test_looking_at_which_variable_it_is_binds_the_trace_to_it():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    scale = {v.ref(): 10.0, w.ref(): 100.0}
    seen, f = counted(lambda x: x * scale[x.ref()])
    assert [float(f(x)) for x in (v, w, v, w)] == [10, 200, 10, 200]
    assert len(seen) == 2
    by_number = {v._unique_id: 2.0, w._unique_id: 3.0}
    _, g = counted(lambda x: x * by_number[x._unique_id])
    assert [float(g(x)) for x in (v, w, v)] == [2, 6, 2]


def test_a_slot_kept_by_variable_is_that_of_the_variable():
    class Momentum:
        def __init__(self, variables):
            self.slots = {x.ref(): tf.Variable(tf.zeros_like(x)) for x in variables}

        def apply(self, x, grad):
            slot = self.slots[x.ref()]
            slot.assign(slot * 0.5 + grad)
            x.assign_sub(slot)

    v, w = tf.Variable(1.0), tf.Variable(1.0)
    opt = Momentum([v, w])
    step = tf.function(lambda x, g: opt.apply(x, g), autograph=False)
    one = tf.constant(1.0)
    for x in (v, v, w):
        step(x, one)
    assert (v.numpy(), w.numpy()) == (-1.5, 0.0)


def test_functions_called_with_the_arguments_of_another():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    _, inner = counted(update)
    seen, outer = counted(lambda a, b: inner(b, a) + inner(a, b))

    def eager(a, b):
        return update(b, a) + update(a, b)

    def check(a, b):
        values = v.numpy(), w.numpy()
        expected = float(eager(a, b))
        after = v.numpy(), w.numpy()
        v.assign(values[0])
        w.assign(values[1])
        assert float(outer(a, b)) == expected
        assert (v.numpy(), w.numpy()) == after

    check(v, w)
    check(w, v)
    assert len(seen) == 1
    check(v, v)
    check(w, w)
    assert len(seen) == 2


def test_a_function_within_that_reaches_an_outer_argument_by_itself():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    inner = tf.function(lambda a: a.assign_add(1.0) + v, autograph=False)
    outer = tf.function(lambda a: inner(a) * 10.0, autograph=False)
    assert float(outer(w)) == 40
    assert float(outer(v)) == 40
    assert float(outer(w)) == 60
    assert (v.numpy(), w.numpy()) == (2, 4)


def test_gradients_within_and_around():
    v, w = tf.Variable(3.0), tf.Variable(5.0)

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            y = x * x
        return tape.gradient(y, x)

    assert [float(inside(x)) for x in (v, w, v)] == [6, 10, 6]
    square = tf.function(lambda x: x * x)
    for x in (v, w):
        with tf.GradientTape() as tape:
            y = square(x)
        assert float(tape.gradient(y, x)) == 2 * float(x)


def test_what_stands_in_shows_the_value_of_the_variable_outside_of_the_graph():
    v = tf.Variable(7.0)
    seen = []

    @tf.function
    def f(x):
        with tf.init_scope():
            seen.append(float(x.read_value()))
            x.assign(8.0)
        seen.append((x.name, x.shape, x.dtype))
        return x + 1.0

    assert float(f(v)) == 9
    assert seen == [7.0, (v.name, v.shape, v.dtype)]


def test_a_variable_stored_by_the_function_is_the_caller_s():
    v = tf.Variable(1.0)
    kept = []

    @tf.function
    def f(x):
        kept.append(x)
        return x + 1.0

    f(v)
    kept[0].assign(5.0)
    assert v.numpy() == 5
    assert float(tf.function(lambda: kept[0] + v)()) == 10


def test_a_trace_keeps_no_argument_alive():
    _, f = counted(lambda x: x + 1.0)
    v = tf.Variable(1.0)
    f(v)
    gone = weakref.ref(v)
    del v
    gc.collect()
    assert gone() is None


def test_concrete_functions_take_variables():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    concrete = tf.function(update).get_concrete_function(v, w)
    assert float(concrete(w, v)) == 14
    assert concrete.variables == ()
    with pytest.raises(TypeError, match="'a'"):
        concrete(tf.constant(1.0), v)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=6))
def test_traced_calls_do_what_eager_ones_do_for_every_aliasing(calls):
    def body(a, b, c):
        a.assign_add(b * 2.0)
        b.assign(c + a)
        shared.assign_add(a)
        return a * 100.0 + b * 10.0 + c + shared

    shared = tf.Variable(1.0)
    _, f = counted(body)
    variables = [tf.Variable(1.0), tf.Variable(2.0), shared]

    def reset(values):
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)

    for which in calls:
        args = [variables[i] for i in which]
        before = [v.numpy() for v in variables]
        expected, after = float(body(*args)), [v.numpy() for v in variables]
        reset(before)
        assert float(f(*args)) == expected
        assert [v.numpy() for v in variables] == after
        reset([1.0, 2.0, 3.0])
    patterns = {tuple(which.index(i) for i in which) + tuple(i == 2 for i in which) for which in calls}
    assert len(f._traces()) <= len(patterns)


# --- variables that a function makes, of values of its arguments ---------------------


class Lazy(tf.Module):
    """Makes its weights in the first call, in the shape of the argument."""

    def __init__(self):
        super().__init__()
        self.w = None

    @tf.function
    def __call__(self, x):
        if self.w is None:
            self.w = tf.Variable(tf.zeros_like(x) + 2.0 * x)
        self.w.assign_add(x)
        return self.w.read_value()


def test_the_first_value_of_a_variable_may_depend_on_the_first_call_s_arguments():
    lazy, other = Lazy(), Lazy()
    x = tf.constant([1.0, 2.0])
    assert lazy(x).numpy().tolist() == [3, 6]
    assert lazy(x * 2.0).numpy().tolist() == [5, 10]
    assert lazy.w.initial_value.numpy().tolist() == [2, 4]
    assert other(np.array([5.0], "float32")).numpy().tolist() == [15]


def test_it_may_depend_on_arguments_of_functions_around_and_on_variables():
    lazy, scale = Lazy(), tf.Variable(3.0)
    outer = tf.function(lambda x, v: lazy(x * v))
    assert outer(tf.constant([1.0]), scale).numpy().tolist() == [9]
    scale.assign(1.0)
    assert outer(tf.constant([1.0]), scale).numpy().tolist() == [10]


def test_it_may_depend_on_an_argument_that_the_signature_converts():
    class Typed:
        w = None

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.reduce_sum(x), shape=[])
            return self.w + x

    typed = Typed()
    assert typed([1, 2]).numpy().tolist() == [4, 5]
    assert typed([1]).numpy().tolist() == [4]


def test_an_argument_of_which_only_the_type_is_known_gives_no_first_value():
    lazy = Lazy()
    with pytest.raises(ValueError, match="must not depend on arguments that are specifications"):
        lazy.__call__.get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert lazy.w is None
    assert lazy(tf.constant([1.0, 1.0])).numpy().tolist() == [3, 3]
    concrete = lazy.__call__.get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert concrete(tf.constant([1.0, 1.0])).numpy().tolist() == [4, 4]


@pytest.mark.parametrize(
    ("like", "dtype", "first"), [(tf.zeros_like, None, 0.0), (tf.ones_like, tf.float64, 1.0)]
)
def test_a_first_value_may_have_the_shape_of_an_argument_of_which_only_the_type_is_known(like, dtype, first):
    class Sum:
        total = None

        @tf.function
        def add(self, x):
            if self.total is None:
                self.total = tf.Variable(like(2.0 * x, dtype=dtype))
            return self.total.assign_add(tf.cast(x, self.total.dtype))

    made = Sum()
    add = made.add.get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert made.total.numpy().tolist() == [first, first]
    assert add(tf.constant([1.0, 2.0])).numpy().tolist() == [first + 1.0, first + 2.0]


def test_captured_inputs_are_tensors_and_variables_in_the_order_of_capture():
    a, v, b = tf.constant([1.0]), tf.Variable(2.0), tf.constant([3.0])
    f = tf.function(lambda: (a + 1.0) * v + b)
    captured = f.get_concrete_function().captured_inputs
    assert [x is y for x, y in zip(captured[1:2], [v], strict=True)] == [True]
    assert [captured[0].numpy().tolist(), captured[2].numpy().tolist()] == [[1], [3]]
    # A variable that the program let go of is held by the trace alone.
    held = [tf.Variable(5.0)]
    concrete = tf.function(lambda: held[0] + 1.0).get_concrete_function()
    held.clear()
    assert concrete.captured_inputs[0].numpy() == 5
