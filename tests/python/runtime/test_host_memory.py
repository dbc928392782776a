"""What crosses the border to callbacks: memory without copies, structures, exceptions."""

import gc
import sys
import tracemalloc
import weakref

import numpy as np
import pytest
from support import place

import penstock as tf
from penstock import _core


def test_a_chain_of_callbacks_copies_nothing():
    size = 36_000_000 // 8
    places = []

    def numpy_identity(x):
        places.append(place(x))
        return x

    def identity(x):
        places.append(place(x.numpy()))
        return x

    @tf.function
    def f(x):
        y = tf.py_function(identity, [x], tf.float32)
        y = tf.numpy_function(numpy_identity, [y], tf.float32)
        return tf.py_function(identity, [y], tf.float32)

    x = tf.ones([size])
    f(x)
    places.clear()
    before = _core._taken_bytes()
    tracemalloc.start()
    y = f(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert _core._taken_bytes() - before < 10_000
    assert peak < 1_000_000
    assert {*places, place(y.numpy())} == {place(x.numpy())}


def test_arrays_that_nobody_else_holds_are_adopted():
    places = []

    def make(form):
        def body(x):
            y = np.arange(1000, dtype=np.float32).reshape(10, 100)
            if form == "view of its own":
                y = y.reshape(100, 10)[10:]
            places.append(place(y))
            return [y, y.copy()] if form == "list" else y

        return body

    for form in ("plain", "view of its own", "list"):
        out = [tf.float32, tf.float32] if form == "list" else tf.float32
        f = tf.function(lambda x, form=form, out=out: tf.numpy_function(make(form), [x], out))
        y = f(tf.constant(1.0))
        first = y[0] if form == "list" else y
        if form != "list":
            assert place(first.numpy()) == places[-1]
        assert first.numpy().ravel()[-1] == 999.0


def test_arrays_that_somebody_else_holds_are_copied():
    kept = np.ones(1000, np.float32)
    holder = []

    def view(x):
        return kept[:500]

    def held(x):
        y = np.ones(1000, np.float32)
        holder.append(y)
        return y

    for body in (lambda x: kept, view, held, lambda x: kept.reshape(10, 100), lambda x: kept[::2]):
        y = tf.function(lambda x, body=body: tf.numpy_function(body, [x], tf.float32))(tf.constant(1.0))
        kept[:] = 7.0
        for array in holder:
            array[:] = 7.0
        assert y.numpy().max() == 1.0
        kept[:] = 1.0


def test_a_view_that_escapes_keeps_its_memory():
    escaped = []
    f = tf.function(lambda x: tf.numpy_function(lambda v: escaped.append(v), [x * 2.0], []))
    f(tf.ones([10_000]))
    gc.collect()
    for _ in range(20):
        f(tf.zeros([10_000]))
    assert escaped[0].sum() == 20_000
    with pytest.raises(ValueError, match="read-only"):
        escaped[0][0] = 1.0


def test_variables_are_not_seen_through_views_in_callbacks():
    v = tf.Variable(tf.zeros([1000]))
    seen = []

    @tf.function
    def f():
        tf.numpy_function(seen.append, [v], [])
        v.assign_add(tf.ones([1000]))
        v[0].assign(9.0)
        return v.read_value()

    f()
    assert seen[0].sum() == 0
    assert f().numpy()[:2].tolist() == [9.0, 2.0]


# --- structures ---


def test_nested_results():
    def body(x):
        return {"b": (x, x + 1), "a": [x * 2]}

    tout = {"a": [tf.int32], "b": (tf.int32, tf.TensorSpec([], tf.int32))}
    for run in (lambda f: f, tf.function):
        found = run(lambda x: tf.py_function(body, [x], tout))(tf.constant(3))
        assert found["a"][0].numpy() == 6
        assert [int(t) for t in found["b"]] == [3, 4]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"body.*argument .Tout. has a dict"):
            run(lambda x: tf.py_function(lambda_body, [x], tout))(tf.constant(3))


def lambda_body(x):
    return x


def test_dicts_of_tensors_as_arguments():
    def body(x, d):
        return x + d["a"] * 10 + d["b"][0] * 100

    for run in (lambda f: f, tf.function):
        call = run(lambda x: tf.py_function(body, [x, {"b": [x + 2], "a": x + 1}], tf.int32))
        assert call(tf.constant(1)).numpy() == 1 + 20 + 300
        assert run(lambda: tf.py_function(lambda v: v, [[1, 2]], tf.int32))().numpy().tolist() == [1, 2]


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second

    @property
    def _type_spec(self):
        return PairSpec(self.first.dtype)


class PairSpec(tf.TypeSpec):
    def __init__(self, dtype):
        self.dtype = dtype

    @property
    def _component_specs(self):
        return (tf.TensorSpec([], self.dtype), tf.TensorSpec(None, self.dtype))

    def _to_components(self, value):
        return (value.first, value.second)

    def _from_components(self, components):
        return Pair(*components)

    @property
    def value_type(self):
        return Pair

    def is_compatible_with(self, value):
        return isinstance(value, Pair)


def test_composite_values_as_arguments_and_results():
    def swap(pair, x):
        return Pair(pair.second[0] + x, tf.stack([pair.first, pair.first]))

    def f(x):
        return tf.py_function(swap, [Pair(x, tf.stack([x, x]) * 2.0), 1.0], PairSpec(tf.float32))

    for run in (f, tf.function(lambda x: (lambda p: [p.first, p.second])(f(x)))):
        found = run(tf.constant(3.0))
        first, second = (found.first, found.second) if isinstance(found, Pair) else found
        assert float(first) == 7.0
        assert second.numpy().tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="PairSpec"):
        tf.py_function(lambda: 3.0, [], PairSpec(tf.float32))


@pytest.mark.parametrize(
    ("value", "declared", "match"),
    [
        (np.ones(3), tf.int32, r"result 0 is no int32: it has dtype float64"),
        (np.array(["a"]), tf.float32, "result 0 is no float32"),
        (tf.constant(1.0), tf.int64, r"returned float32 for result 0, argument 'Tout' has int64"),
        (np.ones(3, np.float32), tf.TensorSpec([2], tf.float32), r"returned shape \[3\] for result 0.*\[2\]"),
        (None, tf.float32, "returned None for result 0"),
    ],
)
def test_errors_name_the_callback_and_its_line(value, declared, match):
    def the_callback():
        return value

    line = the_callback.__code__.co_firstlineno
    for run in (lambda f: f, tf.function):
        with pytest.raises(
            (TypeError, ValueError), match=rf"the_callback \(.*test_host_memory.py:{line}\).*{match}"
        ):
            run(lambda: tf.py_function(the_callback, [], declared))()


# --- effects ---


def test_a_pure_numpy_function_runs_only_where_its_result_is_used():
    calls = []

    def note(x):
        calls.append(1)
        return x

    @tf.function
    def unused(x):
        tf.numpy_function(note, [x], tf.float32, stateful=False)
        return x

    @tf.function
    def used(x):
        return tf.numpy_function(note, [x], tf.float32, stateful=False)

    unused(tf.constant(1.0))
    assert not calls
    assert used(tf.constant(2.0)).numpy() == 2.0
    assert len(calls) == 1


def test_after_an_exception_state_stays_and_the_next_call_works():
    class Mine(Exception):
        pass

    v = tf.Variable(0)
    fail = [True]

    def body(x):
        if fail[0]:
            raise Mine("no")
        return x

    @tf.function
    def f(x):
        v.assign_add(1)
        y = tf.py_function(body, [x], tf.float32)
        v.assign_add(10)
        return y

    with pytest.raises(Mine) as caught:
        f(tf.constant(2.0))
    gone = weakref.ref(caught.value)
    assert v.numpy() == 1
    del caught
    gc.collect()
    assert gone() is None
    fail[0] = False
    assert f(tf.constant(2.0)).numpy() == 2.0
    assert v.numpy() == 12


def test_failed_runs_leak_no_memory():
    def body(x):
        raise ValueError("no")

    f = tf.function(lambda x: tf.py_function(body, [x * 2.0], tf.float32))
    x = tf.ones([250_000])

    def runs(n):
        for _ in range(n):
            with pytest.raises(ValueError, match="no"):
                f(x)
        gc.collect()

    runs(20)
    before = _core._taken_bytes()
    runs(20)
    # Each run takes a block for x * 2; those of earlier runs come back, so the process does not grow.
    assert _core._taken_bytes() - before <= 21 * 1.3 * 1_000_000
    refs = sys.getrefcount(body)
    runs(20)
    assert sys.getrefcount(body) <= refs + 1


def test_pdb_prints_and_traced_functions_work_inside(capsys):
    helper = tf.function(lambda x: x * 3.0)

    def body(x):
        assert tf.executing_eagerly()
        tf.print("inside", x, output_stream=sys.stdout)
        frame = sys._getframe()
        assert frame.f_code.co_name == "body"
        assert frame.f_locals["x"] is x
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = helper(x) ** 2.0
        return tape.gradient(y, x)

    f = tf.function(lambda x: tf.py_function(body, [x], tf.float32))
    assert f(tf.constant(2.0)).numpy() == 36.0
    assert capsys.readouterr().out == "inside 2\n"


def test_graphs_that_call_python_cannot_be_saved():
    def here(x):
        return x

    line = here.__code__.co_firstlineno
    f = tf.function(lambda x: tf.py_function(here, [x], tf.float32)).get_concrete_function(tf.constant(1.0))
    with pytest.raises(tf.errors.FailedPreconditionError, match=rf"'here' \(.*test_host_memory.py:{line}\)"):
        f.graph.serialize()
    outer = tf.function(lambda x: f(x) + 1.0).get_concrete_function(tf.constant(1.0))
    with pytest.raises(tf.errors.FailedPreconditionError, match="'here'"):
        outer.graph.serialize()
    plain = tf.function(lambda x: x + 1.0).get_concrete_function(tf.constant(1.0)).graph
    assert plain.serialize().decode() == plain.to_text()
