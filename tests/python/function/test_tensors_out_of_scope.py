"""Symbolic tensors that outlive their trace, and traces that are left in unusual ways."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(name="leaked")
def leaked_tensor():
    found = []

    @tf.function
    def leak(x):
        found.append(x * 2)
        return x

    leak(tf.constant([1.0, 2.0]))
    return found[0]


def in_function(use):
    return lambda s: tf.function(lambda: use(s))()


VARIABLE = [1.0, 2.0]
WORDS = "is out of scope and cannot be used here"
USES = {
    "operator": lambda s: s + 1,
    "reflected operator": lambda s: 1 - s,
    "comparison": lambda s: s < 1,
    "operator with an array": lambda s: np.ones(2, np.float32) * s,
    "operator with a tensor in front": lambda s: tf.ones([2]) + s,
    "operator with a variable in front": lambda s: tf.Variable(VARIABLE) + s,
    "function": lambda s: tf.math.sin(s),
    "identity": tf.identity,
    "method": lambda s: tf.transpose(s),
    "index": lambda s: s[0],
    "index by it": lambda s: tf.range(3)[tf.cast(s, tf.int32)],
    "stack": lambda s: tf.stack([s, s]),
    "concat": lambda s: tf.concat([[1.0], s], 0),
    "a list with it": lambda s: tf.convert_to_tensor([s, [1.0, 2.0]]),
    "shape": lambda s: tf.reshape([1.0, 2.0], s),
    "assign": lambda s: tf.Variable(VARIABLE).assign(s),
    "assign_add": lambda s: tf.Variable(VARIABLE).assign_add(s),
    "assign a slice": lambda s: tf.Variable(VARIABLE)[:1].assign(s[:1]),
    "scatter": lambda s: tf.Variable(VARIABLE).scatter_nd_add([[0]], s),
    "first value": lambda s: tf.Variable(s),
    "py_function": lambda s: tf.py_function(lambda x: x, [s], tf.float32),
    "numpy_function": lambda s: tf.numpy_function(lambda x: x, [s], tf.float32),
    "elements": lambda s: tf.data.Dataset.from_tensors(s),
    "slices": lambda s: list(tf.data.Dataset.from_tensor_slices(s)),
    "map": lambda s: list(tf.data.Dataset.range(3).map(lambda i: s)),
    "cond": lambda s: tf.cond(s[0] > 0, lambda: 1, lambda: 2),
    "while_loop": lambda s: tf.while_loop(lambda i: i[0] < 3, lambda i: [i + 1], [s]),
    "map_fn": lambda s: tf.map_fn(lambda x: x + 1, s),
    "call": lambda s: tf.function(lambda x: x)(s),
    "print": lambda s: tf.print(s),
    "generator": lambda s: tf.random.Generator.from_seed(1).normal(s),
    "seed": lambda s: tf.random.stateless_normal([2], tf.cast(s, tf.int32)),
    "assertion": lambda s: tf.debugging.assert_equal(s, s),
    "array of TensorArray": lambda s: tf.TensorArray(tf.float32, 1).write(0, s),
    "gradient": lambda s: tf.custom_gradient(lambda x: (x, lambda dy: dy))(s),
}


def outside(uses):
    return {name: use for name, use in uses.items() if name not in ("first value", "elements")}


@pytest.mark.parametrize("use", [*USES.values()], ids=[*USES])
def test_a_leaked_tensor_says_that_it_is_out_of_scope_and_where_it_was_made(leaked, use):
    with pytest.raises(tf.errors.InaccessibleTensorError, match=WORDS) as e:
        use(leaked)
    assert "in the function 'leak'" in str(e.value)
    assert "It was defined here" in str(e.value)
    assert f'File "{__file__}"' in str(e.value)
    assert isinstance(e.value, TypeError)
    assert tf.executing_eagerly()


@pytest.mark.parametrize("use", [*outside(USES).values()], ids=[*outside(USES)])
def test_a_leaked_tensor_is_out_of_scope_in_another_function_too(leaked, use):
    variable = tf.Variable(VARIABLE)
    tf.Variable, made = (lambda *_: variable), tf.Variable
    try:
        with pytest.raises(tf.errors.InaccessibleTensorError, match=WORDS):
            in_function(use)(leaked)
    finally:
        tf.Variable = made
    assert tf.executing_eagerly()
    assert (tf.constant(1) + 1).numpy() == 2


def test_what_has_no_value_has_no_numpy(leaked):
    seen = []

    @tf.function
    def f(x):
        seen.append((hasattr(x, "numpy"), getattr(x, "numpy", None)))
        return x

    eager = f(tf.constant(1))
    assert seen == [(False, None)]
    assert not hasattr(leaked, "numpy")
    assert hasattr(eager, "numpy")
    assert eager.numpy() == 1
    with pytest.raises(AttributeError, match="symbolic"):
        _ = leaked.numpy


@pytest.mark.parametrize("read", [np.array, np.asarray, lambda v: v.numpy(), lambda v: np.sin(v), np.float32])
def test_a_variable_has_no_array_while_a_function_is_traced(read):
    v = tf.Variable(1.0)

    @tf.function
    def f():
        return read(v)

    with pytest.raises((NotImplementedError, TypeError), match=r"[Nn]um[Pp]y"):
        f()
    assert tf.executing_eagerly()
    assert (tf.constant(1) + 1).numpy() == 2


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError])
def test_a_trace_is_closed_by_whatever_ends_it(fault):
    def faulty(*_):
        raise fault

    class Faulty:
        __array__ = __index__ = __len__ = __iter__ = __hash__ = faulty

    @tf.function
    def body(x):
        faulty()

    @tf.function
    def loop(x):
        return tf.while_loop(lambda i: i < 3, lambda i: (faulty(), i)[1], [x])

    @tf.function
    def result(x):
        return Faulty()

    @tf.custom_gradient
    def odd(x):
        return x, faulty

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = odd(x)
        return tape.gradient(y, x)

    def rows(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = odd(x) * tf.ones([2])
        return tape.jacobian(y, x)

    for use in (body, loop, result, gradient, rows):
        with pytest.raises(fault if use is not result else BaseException):
            use(tf.constant(1.0))
        assert tf.executing_eagerly(), use
        assert (tf.constant(1) + 1).numpy() == 2


def test_a_class_says_what_tensor_its_objects_are():
    class Length:
        def __init__(self, value):
            self.value = value

        def __tf_tensor__(self, dtype=None, name=None):
            return tf.constant(self.value, dtype)

        def __array__(self, dtype=None, copy=None):
            raise AssertionError("not asked")

    class Mass:
        def __init__(self, value):
            self.value = value

        def __array__(self, dtype=None, copy=None):
            raise AssertionError("not asked")

    def converted(value, dtype=None, name=None, as_ref=False):
        return tf.constant(value.value, dtype)

    tf.register_tensor_conversion_function(Mass, converted)
    for value in (Length(3), Mass(3)):
        assert tf.convert_to_tensor(value).numpy() == 3
        assert tf.convert_to_tensor(value, tf.float64).dtype == tf.float64
        assert (tf.add(value, 1)).numpy() == 4
        assert tf.stack([value, 4]).numpy().tolist() == [3, 4]
        assert tf.function(lambda value=value: tf.convert_to_tensor(value))().numpy() == 3


@pytest.mark.parametrize("made", [None, "itself", [1, 2], 3, "text"])
def test_a_conversion_that_gives_no_tensor_is_an_error(made):
    class Odd:
        def __tf_tensor__(self, dtype=None, name=None):
            return self if made == "itself" else made

    with pytest.raises(TypeError, match="Odd"):
        tf.convert_to_tensor(Odd())


def test_a_conversion_to_another_dtype_than_asked_for_is_an_error():
    class Odd:
        def __tf_tensor__(self, dtype=None, name=None):
            return tf.constant(1)

    with pytest.raises(ValueError, match="float32"):
        tf.convert_to_tensor(Odd(), tf.float32)


def leak_from_a_branch(x, kept):
    def branch():
        kept.append(x + 1)
        return kept[0]

    return tf.cond(x > 0, branch, lambda: x)


def leak_from_a_loop(x, kept):
    def body(i):
        kept.append(i * 2)
        return i + 1

    return tf.while_loop(lambda i: i < 3.0, body, [x])


@pytest.mark.parametrize("leak", [leak_from_a_branch, leak_from_a_loop])
@pytest.mark.parametrize(
    "use",
    [
        lambda kept: kept + 1,
        tf.identity,
        lambda kept: tf.cond(kept > 0, lambda: 1, lambda: 2),
        lambda kept: tf.function(lambda: kept + 1)(),
        lambda kept: tf.map_fn(lambda i: kept, tf.range(3.0)),
        lambda kept: kept,
    ],
    ids=["operator", "identity", "predicate", "an inner function", "a loop", "result"],
)
def test_a_tensor_that_leaves_a_branch_or_a_loop_is_an_error_that_names_the_place(leak, use):
    @tf.function(autograph=False)
    def leaking(x):
        kept = []
        leak(x, kept)
        return use(kept[0])

    with pytest.raises(tf.errors.InaccessibleTensorError, match=WORDS) as caught:
        leaking(tf.constant(1.0))
    text = str(caught.value)
    assert "in a branch or in the body of a loop of the function 'leaking'" in text
    assert f'{__file__}", line {leak.__code__.co_firstlineno + 2}' in text
