"""When a function is traced: the rules of the guide, one by one, and what each kind of argument is."""

import collections
import dataclasses
import enum
import functools
import gc
import math
import types

import attrs
import numpy as np
import pytest
from support import counted

import penstock as tf

ONE = tf.constant(1.0)


def traces_for(*calls):
    """How many traces the calls make, each a tuple of arguments."""
    seen, f = counted()
    for args in calls:
        f(*args)
    return len(seen)


# --- tensors ------------------------------------------------------------------


def test_strings_integers_and_floats_each_get_a_trace_which_is_then_reused(capsys):
    @tf.function
    def double(a):
        print("Tracing with", a)
        return a + a

    assert double(tf.constant(1)).numpy() == 2
    assert double(tf.constant(1.1)).numpy() == pytest.approx(2.2)
    assert double(tf.constant("a")).numpy() == b"aa"
    assert double(tf.constant("b")).numpy() == b"bb"
    assert capsys.readouterr().out.splitlines() == [
        'Tracing with Tensor("a:0", shape=(), dtype=int32)',
        'Tracing with Tensor("a:0", shape=(), dtype=float32)',
        'Tracing with Tensor("a:0", shape=(), dtype=string)',
    ]
    listed = double.pretty_printed_concrete_signatures()
    spec = "TensorSpec(shape=(), dtype=tf.string, name=None)"
    assert listed.split("\n\n")[2].splitlines() == [
        "Input Parameters:",
        f"  a (POSITIONAL_OR_KEYWORD): {spec}",
        "Output Type:",
        f"  {spec}",
        "Captures:",
        "  None",
    ]
    short = double.pretty_printed_concrete_signatures(verbose=False)
    assert short.split("\n\n")[2] == f"(a: {spec}) -> {spec}"


def test_the_most_specific_of_the_matching_traces_serves_a_call():
    seen, f = counted(lambda x: x)
    for shape in (None, [None, None], [1, None]):
        f.get_concrete_function(tf.TensorSpec(shape, "float32"))
    assert len(seen) == 3
    hits = lambda: [trace._statistics()[0] for trace in f._traces()]  # noqa: E731
    f(tf.zeros([1, 2]))
    assert hits() == [0, 0, 1]
    f(tf.zeros([3, 2]))
    assert hits() == [0, 1, 1]
    f(tf.zeros([3]))
    assert hits() == [1, 1, 1]
    assert len(seen) == 3
    f(tf.constant(1))
    assert len(seen) == 4


def test_of_matching_traces_that_do_not_compare_the_oldest_serves():
    _, f = counted()
    for shape in ([None, 2], [2, None]):
        f.get_concrete_function(tf.TensorSpec(shape, "float32"))
    f(tf.zeros([2, 2]))
    assert [trace._statistics()[0] for trace in f._traces()] == [1, 0]


def test_a_more_specific_trace_that_comes_later_takes_over():
    _, f = counted(lambda x: x + 1.0)
    f.get_concrete_function(tf.TensorSpec([None], "float32"))
    f(tf.zeros([2]))
    f.get_concrete_function(tf.TensorSpec([2], "float32"))
    f(tf.zeros([2]))
    assert [trace._statistics()[0] for trace in f._traces()] == [1, 1]


def test_arrays_and_numpy_scalars_are_tensors():
    assert traces_for((np.zeros(3, "float32"),), (np.ones(3, "float32"),), (tf.zeros([3]),)) == 1
    assert traces_for((np.float64(1),), (np.float64(2),), (tf.constant(3.0, "float64"),)) == 1
    assert traces_for((np.zeros(3, "int8"),), (np.zeros(3, "int16"),)) == 2


# --- Python values ------------------------------------------------------------


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1


LITERALS = [
    1,
    2,
    True,
    False,
    1.0,
    -0.0,
    0.0,
    math.inf,
    None,
    "1",
    b"1",
    1 + 0j,
    10**30,
    Colour.RED,
    Colour.GREEN,
    Level.LOW,
    tf.int32,
    tf.float32,
    tf.TensorShape([1]),
    tf.TensorShape([None]),
    tf.TensorShape(None),
    range(1),
    slice(1),
    (),
    [],
    {},
    ...,
    int,
]


@pytest.mark.parametrize("i", range(len(LITERALS)))
def test_each_python_value_has_a_trace_of_its_own(i):
    seen, f = counted()
    f(LITERALS[i])
    for other in LITERALS[:i] + LITERALS[i + 1 :]:
        count = len(seen)
        f(other)
        assert len(seen) == count + 1, f"{other!r} used the trace of another value"
    count = len(seen)
    for value in LITERALS:
        f(value)
    assert len(seen) == count


def test_equal_literals_share_a_trace_whichever_object_they_are():
    assert traces_for((int("1000"),), (int("1000"),)) == 1
    assert traces_for((complex("1+2j"),), (complex("1+2j"),)) == 1
    assert traces_for((tf.TensorShape([2, None]),), (tf.TensorShape([2, None]),)) == 1
    assert traces_for((float("nan"),), (float("nan"),)) == 1
    assert traces_for((10**40,), (10**40,)) == 1
    assert traces_for((range(3),), (range(3),), (slice(1, 2),), (slice(1, 2),)) == 2


def test_a_python_number_retraces_where_a_tensor_does_not(capsys):
    @tf.function
    def train(num_steps):
        print("Tracing with num_steps =", num_steps)
        for _ in tf.range(num_steps):
            pass
        return num_steps

    train(num_steps=10)
    train(num_steps=20)
    assert capsys.readouterr().out.count("Tracing") == 2
    train(num_steps=tf.constant(10))
    train(num_steps=tf.constant(20))
    assert capsys.readouterr().out.count("Tracing") == 1


# --- containers ---------------------------------------------------------------

Pair = collections.namedtuple("Pair", "a b")
Other = collections.namedtuple("Other", "a b")


@dataclasses.dataclass
class Point:
    x: object
    y: object = 0


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: object


class Attrs:
    """As the attrs library marks its classes."""

    __attrs_attrs__ = tuple(types.SimpleNamespace(name=n) for n in ("x", "y"))

    def __init__(self, x, y):
        self.x, self.y = x, y


def test_sequences_count_by_their_elements_and_order():
    assert traces_for(([1, 2],), ([2, 1],), ([1, 2],)) == 2
    assert traces_for(((1, 2),), ([1, 2],), (Pair(1, 2),), (Other(1, 2),)) == 4
    x = tf.constant(1)
    assert traces_for(([x, x],), ([x],), ([x, [x]],)) == 3


def test_the_order_of_keys_does_not_matter():
    assert traces_for(({1: 2, 3: 4},), ({3: 4, 1: 2},)) == 1
    assert traces_for(({"a": 1, "b": 2},), ({"b": 2, "a": 1},), ({"a": 2, "b": 1},)) == 2
    assert traces_for(({"a": 1},), ({"a": 1, "b": 1},), ({b"a": 1},)) == 3
    assert traces_for(({1: 0, "a": 0},), ({"a": 0, 1: 0},)) <= 2  # such keys have no order


def test_mappings_keep_their_class_and_order():
    kinds = [
        collections.OrderedDict(b=tf.constant(1), a=tf.constant(2)),
        collections.defaultdict(int, b=tf.constant(1), a=tf.constant(2)),
        types.MappingProxyType({"b": tf.constant(1), "a": tf.constant(2)}),
    ]
    seen, f = counted(lambda m: m["b"] - m["a"])
    for value in kinds:
        assert f(value).numpy() == -1
    assert [type(args[0]) for args, _ in seen] == [type(k) for k in kinds]
    assert all(list(args[0]) == ["b", "a"] for args, _ in seen)


@pytest.mark.parametrize("make", [Point, Attrs], ids=["dataclass", "attrs"])
def test_objects_with_fields_count_by_them(make):
    seen, f = counted(lambda p: p.x * p.y)
    assert f(make(tf.constant(2), 3)).numpy() == 6
    assert f(make(tf.constant(5), 3)).numpy() == 15
    assert len(seen) == 1
    assert isinstance(seen[0][0][0], make)
    assert f(make(tf.constant(5), 4)).numpy() == 20
    assert f(make(3, tf.constant(4))).numpy() == 12
    assert len(seen) == 3


def test_the_caller_s_object_is_left_alone():
    point = Point(tf.constant(1), [tf.constant(2)])
    tf.function(lambda p: p.x + p.y[0])(point)
    assert point.x.numpy() == 1
    assert point.y[0].numpy() == 2


def test_frozen_dataclasses_are_taken_and_given_back():
    f = tf.function(lambda p: (Frozen(p.x + 1), Point(p.x, "text")))
    a, b = f(Frozen(tf.constant(1)))
    assert isinstance(a, Frozen)
    assert a.x.numpy() == 2
    assert (b.x.numpy(), b.y) == (1, "text")


def test_a_method_of_a_dataclass_sees_its_own_object():
    @dataclasses.dataclass
    class Counter:
        count: object = None

        @tf.function
        def __call__(self):
            if self.count is None:
                self.count = tf.Variable(0)
            return self.count.assign_add(1)

    a, b = Counter(), Counter()
    assert [a().numpy(), a().numpy(), b().numpy()] == [1, 2, 1]


def test_sets_and_other_unhashable_objects_are_refused_by_name():
    with pytest.raises(TypeError, match="set is not hashable"):
        traces_for(({1, 2},))


# --- other objects ------------------------------------------------------------


class Fruit:
    flavor = tf.constant([0, 0])


class Apple(Fruit):
    flavor = tf.constant([1, 2])


class Mango(Fruit):
    flavor = tf.constant([3, 4])


def test_objects_that_are_gone_never_match():
    seen, mixed = counted(lambda a, b: a.flavor + b.flavor)
    assert mixed(Apple(), Mango()).numpy().tolist() == [4, 6]
    mixed(Apple(), Mango())
    assert len(seen) == 2
    kept = Apple(), Mango()
    mixed(*kept)
    mixed(*kept)
    assert len(seen) == 3


class FruitTraceType(tf.types.experimental.TraceType):
    def __init__(self, fruit_type):
        self.fruit_type = fruit_type

    def is_subtype_of(self, other):
        return type(other) is FruitTraceType and self.fruit_type is other.fruit_type

    def most_specific_common_supertype(self, others):
        return self if all(self == other for other in others) else None

    def __eq__(self, other):
        return type(other) is FruitTraceType and self.fruit_type == other.fruit_type

    def __hash__(self):
        return hash(self.fruit_type)


class Typed:
    def __tf_tracing_type__(self, context):
        return FruitTraceType(type(self))


class TypedApple(Typed):
    flavor = tf.constant([1, 2])


class TypedMango(Typed):
    flavor = tf.constant([3, 4])


def test_a_class_may_say_what_its_objects_are_to_a_trace():
    seen, mixed = counted(lambda a, b: a.flavor + b.flavor)
    assert mixed(TypedApple(), TypedMango()).numpy().tolist() == [4, 6]
    assert mixed(TypedApple(), TypedMango()).numpy().tolist() == [4, 6]
    assert len(seen) == 1
    assert mixed(TypedMango(), TypedApple()).numpy().tolist() == [4, 6]
    assert len(seen) == 2
    assert isinstance(TypedApple(), tf.types.experimental.SupportsTracingProtocol)
    assert not isinstance(Apple(), tf.types.experimental.SupportsTracingProtocol)


class AtMost(tf.types.experimental.TraceType):
    """A bound: a trace for a larger one serves the smaller."""

    def __init__(self, bound):
        self.bound = bound

    def is_subtype_of(self, other):
        return isinstance(other, AtMost) and self.bound <= other.bound

    def most_specific_common_supertype(self, others):
        return AtMost(max(self.bound, *(o.bound for o in others)))

    def placeholder_value(self, placeholder_context):
        return Bound(self.bound)

    def __eq__(self, other):
        return isinstance(other, AtMost) and self.bound == other.bound

    def __hash__(self):
        return hash(self.bound)


class Bound:
    def __init__(self, bound):
        self.bound = bound

    def __tf_tracing_type__(self, context):
        return AtMost(self.bound)


def test_a_trace_type_s_own_order_decides():
    seen, f = counted(lambda b: b.bound)
    assert f(Bound(5)).numpy() == 5
    assert f(Bound(3)).numpy() == 5
    assert f(Bound(8)).numpy() == 8
    assert f(Bound(4)).numpy() == 5  # the most specific of the two that serve
    assert len(seen) == 2


def test_generalising_asks_the_trace_type():
    seen, f = counted(lambda b, x: x, reduce_retracing=True)
    one = tf.constant(1)
    f(Bound(5), one)
    f(Bound(9), one)
    f(Bound(7), one)
    assert [args[0].bound for args, _ in seen] == [5, 9]


class Boxed:
    """An object of tensors, taken apart by its trace type."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __tf_tracing_type__(self, context):
        return BoxType(tf.type_spec_from_value(self.tensor))


class BoxType(tf.types.experimental.TraceType):
    def __init__(self, spec):
        self.spec = spec

    def is_subtype_of(self, other):
        return isinstance(other, BoxType) and self.spec.is_subtype_of(other.spec)

    def most_specific_common_supertype(self, others):
        return BoxType(self.spec.most_specific_common_supertype([o.spec for o in others]))

    def placeholder_value(self, placeholder_context):
        return Boxed(self.spec.placeholder_value(placeholder_context))

    def flatten(self):
        return [self.spec]

    def to_tensors(self, value):
        return [value.tensor]

    def __eq__(self, other):
        return isinstance(other, BoxType) and self.spec == other.spec

    def __hash__(self):
        return hash(self.spec)


def test_an_object_taken_apart_into_tensors_shares_the_trace_of_its_kind():
    seen, f = counted(lambda box: box.tensor * 2)
    assert f(Boxed(tf.constant(3))).numpy() == 6
    assert f(Boxed(tf.constant(4))).numpy() == 8
    assert len(seen) == 1
    assert f(Boxed(tf.constant(4.0))).numpy() == 8
    assert len(seen) == 2


class Equal:
    """Equal and alike to hash, where the name is."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


def test_other_objects_match_by_equality():
    a, b, c = Equal("a"), Equal("a"), Equal("c")
    assert traces_for((a,), (b,), (c,), (a,)) == 2


def test_objects_that_cannot_be_referenced_weakly_match_by_equality_and_are_kept():
    class Slotted:
        __slots__ = ("n",)

        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return self.n == other.n

        def __hash__(self):
            return hash(self.n)

    seen, f = counted()
    for n in (1, 1, 2, 1):
        f(Slotted(n))
    gc.collect()
    assert len(seen) == 2


def test_functions_and_bound_methods_as_arguments():
    class Model:
        def plain(self, x):
            return x + 1

        @tf.function
        def traced(self, x):
            return x + 2

    m, other = Model(), Model()
    seen, f = counted(lambda step, x: step(x))
    one = tf.constant(1)
    assert [f(step, one).numpy() for step in (m.plain, m.plain, m.traced, m.traced)] == [2, 2, 3, 3]
    assert len(seen) == 2
    f(other.plain, one)
    assert len(seen) == 3
    partial = functools.partial(Model.plain, m)
    assert f(partial, one).numpy() == 2
    assert m.traced == m.traced
    assert m.traced != other.traced
    assert hash(m.traced) == hash(m.traced)


# --- classes of attrs -----------------------------------------------------------


@attrs.define
class Slots:
    x: object
    rate: float = 1.0


@attrs.frozen
class FrozenSlots:
    x: object
    rate: float = 1.0


@attrs.define(slots=False, eq=False)
class Plain:
    x: object
    rate: float = 1.0
    _private: object = attrs.field(default=None, alias="private")


@pytest.mark.parametrize("cls", [Slots, FrozenSlots, Plain])
def test_objects_of_attrs_classes_count_by_their_attributes(cls):
    seen, f = counted(lambda o: cls(o.x * o.rate, o.rate))
    first = f(cls(tf.constant([1.0]), 2.0))
    assert type(first) is cls
    assert (first.x.numpy().tolist(), float(first.rate)) == ([2], 2)
    assert f(cls(tf.constant([3.0]), 2.0)).x.numpy().tolist() == [6]
    assert len(seen) == 1
    assert isinstance(seen[0][0][0], cls)
    f(cls(tf.constant([3.0]), 3.0))
    f(cls(tf.constant([3.0, 4.0]), 3.0))
    f(cls({"nested": tf.constant([3.0])}["nested"], 3.0))
    assert len(seen) == 3
    # The caller's object keeps its own values, and another class is another type.
    mine = cls(tf.constant([1.0]), 2.0)
    f(mine)
    assert mine.x.numpy().tolist() == [1]
    assert traces_for((Slots(ONE),), (FrozenSlots(ONE),), (Slots(ONE),)) == 2


def test_attrs_objects_hold_nests_and_are_held_by_them():
    f = tf.function(lambda d: {"out": [Slots((d["in"].x[0] + 1.0, None))]}, autograph=False)
    for i in range(2):
        out = f({"in": Slots([tf.constant(float(i)), "word"])})["out"][0]
        assert (out.x[0].numpy(), out.x[1], float(out.rate)) == (i + 1, None, 1)
    assert f.experimental_get_tracing_count() == 1
