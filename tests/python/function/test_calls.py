"""Calls of traced functions in every form that Python has: the function gets what Python would hand over."""

import dataclasses
import inspect

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as tf
from penstock._types.composite import flatten, is_record

ONE = tf.constant(1.0)

# Functions of every kind of parameter; each gives what it got.
FORMS = [
    lambda a: (a,),
    lambda a, b=2.0: (a, b),
    lambda a, /, b, *, c=3.0: (a, b, c),
    lambda a=1.0, *rest: (a, rest),
    lambda *rest, c: (rest, c),
    lambda *, c, d=4.0: (c, d),
    lambda a, b=2.0, *rest, c=3.0, **others: (a, b, rest, c, sorted(others.items())),
    lambda a, /, **others: (a, sorted(others.items())),
    lambda: (),
]

values = st.sampled_from([ONE, tf.constant([1, 2]), tf.constant("s"), 0.0, 5, True])
arguments = st.tuples(
    st.lists(values, max_size=4),
    st.dictionaries(st.sampled_from(["a", "b", "c", "d", "e"]), values, max_size=3),
)


def flat(listed):
    """The values of a nest of tuples and lists, in order; the names of keywords are left out."""
    for item in listed:
        if isinstance(item, tuple | list):
            yield from flat(item)
        elif not isinstance(item, str):
            yield item


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(FORMS), st.lists(arguments, min_size=1, max_size=4))
def test_arguments_reach_the_parameters_that_python_gives_them(form, calls):
    def got(*args, **kwargs):
        return [tf.identity(value) for value in flat(form(*args, **kwargs))]

    got.__signature__ = inspect.signature(form)
    traced = tf.function(got, autograph=False)
    for args, kwargs in calls * 2:  # the second time from the cache
        try:
            expected = got(*args, **kwargs)
        except TypeError:
            with pytest.raises(TypeError):
                traced(*args, **kwargs)
            continue
        result = traced(*args, **kwargs)
        assert [np.asarray(t).tolist() for t in result] == [np.asarray(t).tolist() for t in expected]


def test_names_that_are_not_the_source_s_own_strings_are_found():
    f = tf.function(lambda x, training=False: x + float(training), autograph=False)
    name = b"training".decode()
    for _ in range(2):
        assert f(ONE, **{name: True}).numpy() == 2
        assert f(ONE, training=True).numpy() == 2
        assert f(ONE).numpy() == 1
    assert f.experimental_get_tracing_count() == 2


def test_wrong_calls_are_refused_before_and_after_good_ones():
    f = tf.function(lambda x, y=1.0: x + y, autograph=False)
    for _ in range(2):
        for args, kwargs in [((), {}), ((ONE, 1.0, 2.0), {}), ((ONE,), {"x": ONE}), ((ONE,), {"z": 1})]:
            with pytest.raises(TypeError):
                f(*args, **kwargs)
        assert f(ONE).numpy() == 2


class Model:
    def __init__(self, k):
        self.k = k

    @tf.function
    def scaled(self, x, times=1.0, *more):
        return x * self.k * times + sum(more)


def test_methods_are_called_as_functions_are():
    two, three = Model(2.0), Model(3.0)
    for _ in range(2):
        assert [two.scaled(ONE).numpy(), three.scaled(ONE).numpy()] == [2, 3]
        assert two.scaled(x=ONE, times=2.0).numpy() == 4
        assert three.scaled(ONE, 2.0, 1.0, 1.0).numpy() == 8
        bound = two.scaled
        assert bound(ONE).numpy() == 2
        assert Model.scaled(two, ONE).numpy() == 2
    with pytest.raises(TypeError):
        two.scaled()


def test_what_is_called_has_its_own_class():
    f = tf.function(lambda x: x)
    concrete = f.get_concrete_function(ONE)
    bound = Model(1.0).scaled
    assert (type(f).__name__, type(concrete).__name__) == ("Function", "ConcreteFunction")
    assert isinstance(concrete, tf.types.experimental.ConcreteFunction)
    assert type(f).__doc__.startswith("A Python function that is traced")
    assert callable(f)
    assert callable(bound)

    class Derived(type(f)):
        pass

    assert Derived(lambda x: x + 1.0, "derived", None, False, False)(ONE).numpy() == 2


def test_a_subclass_may_be_called_in_its_own_way():
    class Loud(type(tf.function(lambda: 0))):
        def __call__(self, *args, **kwargs):
            return "loud", super().__call__(*args, **kwargs)

    loud = Loud(lambda x: x + 1.0, "loud", None, False, False)
    word, result = loud(ONE)
    assert (word, result.numpy()) == ("loud", 2)


def test_arrays_lists_and_dicts_are_read_anew_at_each_call():
    f = tf.function(lambda d, a: {"sum": d["x"][0] + a, "n": d["n"]}, autograph=False)
    for i in range(3):
        array = np.full([2], i, "float32")
        out = f({"n": 7, "x": [tf.constant([1.0, 2.0])]}, array)
        assert out["sum"].numpy().tolist() == [1 + i, 2 + i]
        array += 5.0  # the caller's array is its own again
        assert out["sum"].numpy().tolist() == [1 + i, 2 + i]
    assert f.experimental_get_tracing_count() == 1


def test_many_arguments_and_results():
    f = tf.function(lambda *args: args[::-1], autograph=False)
    tensors = [tf.constant(float(i)) for i in range(40)]
    for _ in range(2):
        assert [t.numpy() for t in f(*tensors)] == list(range(40))[::-1]
    assert f() == ()


def test_arguments_that_nobody_reads_may_be_large_or_of_any_kind():
    f = tf.function(lambda a, b, c: a + 1.0, autograph=False)
    for _ in range(2):
        assert f(ONE, tf.ones([1000, 10]), tf.constant(["s"] * 5)).numpy() == 2


def test_an_exception_of_a_run_leaves_the_function_as_it_was():
    f = tf.function(lambda x, i: tf.gather(x, i), autograph=False)
    x = tf.constant([1.0, 2.0])
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError):
            f(x, tf.constant(5))
        assert f(x, tf.constant(1)).numpy() == 2


def test_concrete_functions_in_every_form():
    f = tf.function(lambda x, n=2, *, y=None: x * float(n) + (0.0 if y is None else y), autograph=False)
    concrete = f.get_concrete_function(ONE, 3, y=tf.TensorSpec([], tf.float32))
    for _ in range(2):
        calls = [
            concrete(ONE, 3, y=ONE),
            concrete(ONE, y=ONE),
            concrete(x=ONE, n=3, y=ONE),
            concrete(y=ONE, x=ONE),
            concrete(ONE, ONE),
            concrete(1.0, y=1),
        ]
        assert [r.numpy() for r in calls] == [4] * len(calls)
        with pytest.raises(TypeError, match=r"int value 3 in n.*int value 4"):
            concrete(ONE, 4, y=ONE)
        with pytest.raises(tf.errors.InvalidArgumentError, match="'y'"):
            concrete(ONE, 3, y=tf.constant(1))
        with pytest.raises(TypeError):
            concrete(ONE, 3, y=ONE, z=ONE)


def test_arguments_that_are_dataclasses_nested_deeply_are_walked_level_by_level():
    @dataclasses.dataclass
    class Node:
        value: object
        label: object = None

    @tf.function
    def innermost(node):
        while isinstance(node, Node):
            node = node.value
        return 2 * node

    nested = tf.constant(3.0)
    for _ in range(40):
        nested = Node(nested)
    assert innermost(nested).numpy() == 6
    # A record that leads back to itself has no parts, and what holds it has those beside it.
    ring = Node(None)
    ring.value = ring
    assert not is_record(ring)
    assert flatten([Node(ring, 1.0)]) == [1.0]
    assert flatten([Node([Node(1.0), {"a": Node(2.0)}], ring), 3]) == [1.0, 2.0, 3]
