"""Variables: values, assignments, order, what they refuse."""

import copy
import pickle
import re
import threading

import numpy as np
import pytest

import penstock as tf


def test_a_variable_has_the_value_dtype_and_shape_that_it_starts_with():
    v = tf.Variable([[1.0, 2.0]], name="weights")
    assert v.numpy().tolist() == [[1.0, 2.0]]
    assert (v.dtype, v.shape, v.name, v.trainable) == (tf.float32, [1, 2], "weights:0", True)
    assert v.initial_value.numpy().tolist() == [[1.0, 2.0]]
    assert tf.Variable(lambda: tf.zeros([2])).shape == [2]
    assert tf.Variable(1, dtype=tf.float64).dtype == tf.float64
    assert not tf.Variable(1, trainable=False).trainable
    assert "numpy=" in repr(v)


def test_assignments_change_it_eagerly_and_traced():
    for run in (lambda f: f, tf.function):
        v = tf.Variable([1.0, 2.0])

        def step(v=v):
            v.assign(v * 2.0)
            v.assign_add([1.0, 1.0])
            v.assign_sub([0.5, 0.0])
            return v.read_value()

        assert run(step)().numpy().tolist() == [2.5, 5.0]
        assert v.numpy().tolist() == [2.5, 5.0]


def test_reads_are_snapshots():
    v = tf.Variable([1.0])
    before = v.read_value()
    alias = v + 0.0
    view = v.numpy()
    v.assign([5.0])
    assert before.numpy().tolist() == [1.0]
    assert alias.numpy().tolist() == [1.0]
    assert view.tolist() == [1.0]


def test_traced_reads_and_writes_keep_the_order_of_the_program():
    v = tf.Variable(1)

    @tf.function
    def f():
        a = v.read_value()
        v.assign(10)
        b = v.read_value()
        v.assign_add(5)
        c = v + 0
        return a, b, c

    assert [t.numpy() for t in f()] == [1, 10, 15]
    assert [t.numpy() for t in f()] == [15, 10, 15]


def test_assignment_in_a_branch_and_in_a_loop():
    v = tf.Variable(0)

    @tf.function
    def f(p, n):
        tf.cond(p, lambda: v.assign_add(100), lambda: v.assign_add(1))
        tf.while_loop(lambda i: i < n, lambda i: (v.assign_add(i) * 0 + i + 1,), (0,))
        return v.read_value()

    assert f(tf.constant(True), tf.constant(4)).numpy() == 106
    assert f(tf.constant(False), tf.constant(0)).numpy() == 107


def test_variables_take_part_in_operators_and_functions():
    v = tf.Variable([1.0, 2.0])
    assert (v + 1).numpy().tolist() == [2, 3]
    assert (1 - v).numpy().tolist() == [0, -1]
    assert v[1].numpy() == 2
    assert tf.reduce_sum(v).numpy() == 3
    assert (v > 1.5).numpy().tolist() == [False, True]
    assert np.asarray(v).tolist() == [1, 2]
    assert tf.is_tensor(v)
    assert v.numpy().tolist() == [1, 2]
    assert len(v) == 2


@pytest.mark.parametrize(
    ("value", "error"),
    [([1.0], ValueError), ([[1.0, 2.0]], ValueError), (["a", "b"], (TypeError, ValueError))],
)
def test_values_of_another_shape_or_dtype_are_refused(value, error):
    v = tf.Variable([1.0, 2.0])
    for method in (v.assign, v.assign_add, v.assign_sub):
        with pytest.raises(error):
            method(value)
    with pytest.raises((TypeError, ValueError), match=r"dtype|float32"):
        v.assign(tf.constant([1, 2]))
    assert v.numpy().tolist() == [1.0, 2.0]


def test_a_shape_with_unknown_sizes_lets_the_size_change():
    v = tf.Variable([1.0], shape=tf.TensorShape([None]))
    v.assign([1.0, 2.0, 3.0])
    assert v.numpy().tolist() == [1, 2, 3]

    @tf.function
    def total():
        return tf.reduce_sum(v)

    assert total().numpy() == 6
    v.assign([4.0])
    assert total().numpy() == 4
    with pytest.raises(ValueError, match="shape"):
        v.assign([[1.0]])


def test_what_cannot_be_a_variable():
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()
    with pytest.raises(ValueError, match="shape"):
        tf.Variable([1.0], shape=[2])
    with pytest.raises(TypeError):
        tf.Variable(object())


def test_creators_wrap_one_another():
    order = []

    def outer(next_creator, **kwargs):
        order.append("outer")
        return next_creator(**kwargs)

    def inner(next_creator, **kwargs):
        order.append("inner")
        kwargs["name"] = "renamed"
        return next_creator(**kwargs)

    with tf.variable_creator_scope(outer), tf.variable_creator_scope(inner):
        v = tf.Variable(1.0)
    assert order == ["inner", "outer"]
    assert v.name == "renamed:0"


def test_creators_see_all_arguments_whichever_were_given():
    seen = []

    def note(next_creator, **kwargs):
        seen.append(kwargs)
        return next_creator(**kwargs)

    with tf.variable_creator_scope(note):
        v = tf.Variable(1.0, False, name="v", dtype=tf.float64)
    assert (v.trainable, v.name, v.dtype) == (False, "v:0", tf.float64)
    expected = {"initial_value": 1.0, "trainable": False, "name": "v", "dtype": tf.float64, "shape": None}
    assert seen[0].items() >= expected.items()
    assert {"constraint", "validate_shape", "synchronization", "aggregation"} <= seen[0].keys()


def test_a_creator_may_make_a_variable_of_a_subclass():
    class Counted(tf.Variable):
        made = 0

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            Counted.made += 1

    def creator(next_creator, **kwargs):
        return Counted(kwargs["initial_value"], name=kwargs["name"])

    with tf.variable_creator_scope(creator):
        v = tf.Variable(2.0, name="v")
    assert isinstance(v, Counted)
    assert (v.numpy(), v.name, Counted.made) == (2.0, "v:0", 1)


def test_copies_are_variables_of_their_own():
    v = tf.Variable([1.0, 2.0], name="v", trainable=False)
    for other in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert isinstance(other, tf.Variable)
        assert not other.trainable
        other.assign([9.0, 9.0])
        assert v.numpy().tolist() == [1.0, 2.0]


def test_threads_lose_no_update():
    v = tf.Variable(0)

    @tf.function
    def add():
        v.assign_add(1)

    add()
    threads = [threading.Thread(target=lambda: [add() for _ in range(100)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert v.numpy() == 401


def test_modules_find_their_variables_and_modules():
    class Inner(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(1.0)
            self.frozen = tf.Variable(2.0, trainable=False)

    class OuterModule(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers = [Inner(), {"a": Inner()}]
            self.bias = tf.Variable(3.0)
            self.same = self.bias

    m = OuterModule()
    assert m.name == "outer_module"
    assert len(m.variables) == 5
    assert len(m.trainable_variables) == 3
    assert len(m.non_trainable_variables) == 2
    assert len(m.submodules) == 2
    assert m.variables[0] is m.bias
    with m.name_scope as scope:
        assert scope == "outer_module/"
    assert tf.Module(name="chosen").name == "chosen"
    with pytest.raises(ValueError, match="name"):
        tf.Module(name="not a name")


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"])
def test_an_operator_that_assigns_is_refused(symbol):
    v = tf.Variable([1.0, 2.0])
    scope = {"v": v}
    with pytest.raises(RuntimeError, match="assign"):
        exec(f"v {symbol}= 1.0", scope)
    assert scope["v"] is v
    assert v.numpy().tolist() == [1, 2]

    @tf.function
    def f():
        exec(f"v {symbol}= 1.0", {"v": v})

    with pytest.raises(RuntimeError, match=f"out = variable {re.escape(symbol)} value"):
        f()


def test_whether_tapes_watch_a_variable_can_be_changed_as_libraries_do():
    v = tf.Variable(3.0)
    assert v._trainable
    square = tf.function(lambda: v * v)
    v._trainable = False
    assert not v.trainable
    with tf.GradientTape() as tape:
        y = square()
    assert tape.gradient(y, v) is None
    v._trainable = True
    with tf.GradientTape() as tape:
        y = v * v
    assert float(tape.gradient(y, v)) == 6.0
    holder = tf.Module()
    holder.v = v
    assert holder.trainable_variables == (v,)
    v._trainable = False
    assert holder.trainable_variables == ()
