"""Extension types: fields and specifications, in nests, and as arguments and results of traced functions."""

import copy
import dataclasses
import gc
import inspect
import pickle
import typing
from collections.abc import Mapping
from typing import Optional, Union

import numpy as np
import pytest

import penstock as tf


class Masked(tf.experimental.ExtensionType):
    """A tensor with a mask."""

    values: tf.Tensor
    mask: tf.Tensor
    name: str = "masked"

    def filled(self, value):
        return tf.where(self.mask, self.values, value)


class Network(tf.experimental.ExtensionType):
    shape: tf.TensorShape
    weights: tuple[tf.Tensor, ...]
    options: Mapping[str, Union[int, float]]  # noqa: UP007 -- both spellings are fields
    inner: Optional[Masked] = None  # noqa: UP045
    dtype: tf.DType = tf.float32


def masked(*values, name="masked"):
    return Masked(list(values), [v != 0 for v in values], name)


def network(n=2):
    return Network([None, 3], [tf.zeros([n]), tf.ones([n])], {"rate": 0.5, "steps": 3}, masked(1, 0))


def test_fields_are_converted_to_what_they_are_declared_as():
    m = masked(1, 0, 2)
    assert (m.values.dtype, m.mask.dtype, m.name) == (tf.int32, tf.bool, "masked")
    n = network()
    assert n.shape == tf.TensorShape([None, 3])
    assert isinstance(n.weights, tuple)
    assert dict(n.options) == {"rate": 0.5, "steps": 3}
    assert n.inner.filled(9).numpy().tolist() == [1, 9]
    assert n.dtype == tf.float32
    assert Masked(values=1, mask=True).values.shape == []


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Masked([1]), "mask"),
        (lambda: Masked([1], [True], "n", 4), "takes 3"),
        (lambda: Masked([1], [True], values=[2]), "values"),
        (lambda: Masked([1], [True], other=3), "other"),
        (lambda: Masked([1], [True], 3), "name"),
        (lambda: Masked(object(), [True]), "values"),
        (lambda: Network([1], 3, {}), "weights"),
        (lambda: Network([1], [], {"a": "b"}), r"options\['a'\]"),
        (lambda: Network([1], [], {3: 1}), "options"),
        (lambda: Network([1], [], {}, inner=4), "inner"),
        (lambda: tf.experimental.ExtensionType(), "subclassed"),
    ],
)
def test_what_a_field_cannot_hold_is_a_type_error_that_names_it(make, error):
    with pytest.raises(TypeError, match=error):
        make()


def test_values_never_change():
    m = masked(1)
    for change in (
        lambda: setattr(m, "name", "x"),
        lambda: setattr(m, "other", 1),
        lambda: delattr(m, "name"),
    ):
        with pytest.raises(AttributeError, match="Masked"):
            change()
    with pytest.raises(TypeError):
        network().options["x"] = 1


def test_own_constructors_and_validation():
    class Range(tf.experimental.ExtensionType):
        low: tf.Tensor
        high: tf.Tensor

        def __init__(self, middle, width=2):
            self.low = middle - width
            self.high = middle + width

        def __validate__(self):
            self.low.shape.assert_is_compatible_with(self.high.shape)
            if self.low.dtype != self.high.dtype:
                raise ValueError("dtypes differ")

    assert Range(5).high.numpy() == 7

    class Forgets(tf.experimental.ExtensionType):
        x: int

        def __init__(self):
            pass

    with pytest.raises(TypeError, match="does not set the field 'x'"):
        Forgets()

    class Adds(tf.experimental.ExtensionType):
        x: int

        def __init__(self):
            self.x = 1
            self.y = 2

    with pytest.raises(AttributeError, match="'y'"):
        Adds()


def test_other_annotations():
    class Many(tf.experimental.ExtensionType):
        a: tf.TensorSpec([None], tf.float32) = (1, 2)
        b: typing.Literal["x", "y"] = "x"
        c: tuple[int, str] = (1, "a")
        d: bytes = b""
        e: float = 1.0
        f: bool = True
        g: typing.Any = None
        limit: typing.ClassVar[int] = 3

    m = Many()
    assert m.a.dtype == tf.float32
    assert (m.b, m.c, m.d, m.e, m.f, m.g, Many.limit) == ("x", (1, "a"), b"", 1.0, True, None, 3)
    for bad in ({"a": [[1.0]]}, {"b": "z"}, {"c": (1,)}, {"d": "text"}, {"e": "1"}, {"f": 1}):
        with pytest.raises(TypeError, match=next(iter(bad))):
            Many(**bad)


def test_annotations_may_be_texts_that_name_what_is_visible_here():
    class Inner(tf.experimental.ExtensionType):
        x: "tf.Tensor"

    class Outer(tf.experimental.ExtensionType):
        inner: "Inner"

    class Later(Outer):
        y: "int" = 1

    assert Later(Inner(1)).inner.x.numpy() == 1
    with pytest.raises(TypeError, match="inner"):
        Later(3)
    with pytest.raises(TypeError, match="y"):
        Later(Inner(1), y="text")


def test_subclasses_add_fields():
    class Named(Masked):
        label: str = "none"

    n = Named([1], [True], label="x")
    assert (n.name, n.label) == ("masked", "x")
    assert repr(Named.Spec.from_value(n)).count("=") >= 4
    assert not tf.type_spec_from_value(n).is_subtype_of(tf.type_spec_from_value(masked(1)))


def test_equality_copies_pickles_and_repr():
    a, b = masked(1, 2), masked(1, 2)
    assert a == b
    assert (a != b) is False
    assert a != masked(1, 3)
    assert a != masked(1, 2, name="other")
    assert a != masked(1, 2, 3)
    assert a != 3
    for other in (copy.copy(a), copy.deepcopy(a)):
        assert other == a
        with pytest.raises(AttributeError):
            other.name = "x"
    assert repr(a).startswith("Masked(values=<tf.Tensor")
    assert pickle.loads(pickle.dumps(a)) == a


def test_specifications():
    spec = tf.type_spec_from_value(masked(1, 0))
    assert isinstance(spec, tf.TypeSpec)
    assert spec == Masked.Spec(tf.TensorSpec([2], tf.int32), tf.TensorSpec([2], tf.bool), "masked")
    assert hash(spec) == hash(tf.type_spec_from_value(masked(3, 4)))
    broad = Masked.Spec(
        values=tf.TensorSpec([None], tf.int32), mask=tf.TensorSpec([None], tf.bool), name="masked"
    )
    assert spec.is_subtype_of(broad)
    assert not broad.is_subtype_of(spec)
    assert broad.is_compatible_with(masked(1, 2, 3))
    assert not broad.is_compatible_with(masked(1, name="x"))
    assert spec.most_specific_common_supertype([tf.type_spec_from_value(masked(1))]) == broad
    assert spec.most_specific_common_supertype([tf.type_spec_from_value(masked(1, name="x"))]) is None
    assert spec.value_type is Masked
    assert isinstance(spec, tf.types.experimental.TraceType)
    with pytest.raises(TypeError, match="values, mask, name"):
        Masked.Spec(tf.TensorSpec([2], tf.int32))


def test_nests_expand_composites_when_asked():
    m = masked(1, 0)
    assert tf.nest.flatten([m, 3]) == [m, 3]
    flat = tf.nest.flatten([m, 3], expand_composites=True)
    assert [np.asarray(v).tolist() for v in flat] == [[1, 0], [True, False], 3]
    packed = tf.nest.pack_sequence_as(
        [m, 3], [tf.constant([5]), tf.constant([True]), 4], expand_composites=True
    )
    assert packed[0].values.numpy().tolist() == [5]
    assert packed[0].name == "masked"
    doubled = tf.nest.map_structure(lambda t: t[:1], m, expand_composites=True)
    assert doubled.values.numpy().tolist() == [1]


# --- traced -------------------------------------------------------------------


def test_one_trace_serves_all_values_of_a_specification():
    seen = []

    @tf.function
    def f(m):
        seen.append(m)
        return Masked(m.values * 2, m.mask, m.name), m.filled(7)

    out, filled = f(masked(1, 0))
    assert isinstance(out, Masked)
    assert out == masked(2, 0) or out.values.numpy().tolist() == [2, 0]
    assert filled.numpy().tolist() == [1, 7]
    assert f(masked(0, 3))[1].numpy().tolist() == [7, 3]
    assert len(seen) == 1
    assert isinstance(seen[0], Masked)
    f(masked(1, 0, name="other"))
    f(masked(1, 0, 0))
    assert len(seen) == 3
    with pytest.raises(AttributeError):
        seen[0].name = "x"


def test_nested_fields_in_and_out():
    f = tf.function(lambda n: Network(n.shape, [w + 1.0 for w in n.weights], n.options, n.inner, n.dtype))
    out = f(network())
    assert [w.numpy().tolist() for w in out.weights] == [[1, 1], [2, 2]]
    assert dict(out.options) == {"rate": 0.5, "steps": 3}
    assert (out.shape, out.dtype) == (network().shape, tf.float32)
    assert out.inner.values.numpy().tolist() == [1, 0]
    f(network())
    assert f.experimental_get_tracing_count() == 1


def test_shapes_of_fields_are_generalised():
    f = tf.function(lambda m: tf.reduce_sum(m.values), reduce_retracing=True)
    for n in range(1, 6):
        assert f(masked(*range(n))).numpy() == sum(range(n))
    assert f.experimental_get_tracing_count() == 2


def test_specifications_as_input_signature_and_for_concrete_functions():
    spec = Masked.Spec(tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.bool), "masked")
    f = tf.function(lambda m: m.filled(9), input_signature=[spec])
    assert f(masked(1, 0)).numpy().tolist() == [1, 9]
    assert f(masked(0, 0, 4)).numpy().tolist() == [9, 9, 4]
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(ValueError, match="'m'"):
        f(masked(1, name="other"))
    g = tf.function(lambda m: m.filled(9))
    concrete = g.get_concrete_function(spec)
    assert concrete(masked(3, 0)).numpy().tolist() == [3, 9]
    assert concrete(tf.constant([3, 0]), tf.constant([True, False])).numpy().tolist() == [3, 9]
    assert "Masked(values=TensorSpec(" in str(concrete)
    assert "name=Literal['masked'])" in str(concrete)


def test_methods_of_extension_types_may_be_traced():
    class Vector(tf.experimental.ExtensionType):
        x: tf.Tensor

        @tf.function
        def doubled(self):
            return Vector(self.x * 2)

    v = Vector([1, 2])
    assert v.doubled().x.numpy().tolist() == [2, 4]
    assert v.doubled().doubled().x.numpy().tolist() == [4, 8]


def test_a_specification_of_one_s_own_decides_when_to_trace():
    class Tagged(tf.experimental.ExtensionType):
        x: tf.Tensor
        tag: str

        class Spec:
            def is_subtype_of(self, other):
                return type(other) is type(self) and self.x.is_subtype_of(other.x)

            @property
            def dtype(self):
                return self.x.dtype

    seen = []

    @tf.function
    def f(t):
        seen.append(t.tag)
        return t.x + 1

    assert f(Tagged(1, "a")).numpy() == 2
    assert f(Tagged(5, "b")).numpy() == 6
    assert seen == ["a"]
    f(Tagged(1.0, "b"))
    assert seen == ["a", "b"]
    assert tf.type_spec_from_value(Tagged(1, "a")).dtype == tf.int32


def test_gradients_through_fields():
    m = Masked([1.0, 2.0], [True, False])
    f = tf.function(lambda m: tf.reduce_sum(m.filled(0.0) ** 2))
    with tf.GradientTape() as tape:
        tape.watch(m.values)
        y = f(m)
    assert tape.gradient(y, m.values).numpy().tolist() == [2, 0]


def test_a_result_keeps_no_symbolic_tensor():
    import weakref

    gone = []

    @tf.function
    def f(m):
        made = Masked(m.values + 1, m.mask)
        gone.append(weakref.ref(made.values))
        return made

    f(masked(1))
    gc.collect()
    assert gone[0]() is None


def test_an_object_of_a_dataclass_in_a_field_is_kept_as_it_is():
    @dataclasses.dataclass
    class Options:
        rate: float

    class Layer(tf.experimental.ExtensionType):
        weight: tf.Tensor
        options: Options

    layer = Layer(1.0, Options(0.5))
    assert [float(x) for x in tf.nest.flatten(layer, expand_composites=True)] == [1.0]
    assert tf.function(lambda x: x)(layer).options == Options(0.5)


class Named(tf.experimental.ExtensionType):
    parts: Mapping[str, tuple[tf.Tensor, ...]]
    kind: str = "named"


def test_a_mapping_in_a_field_comes_back_from_a_function():
    @tf.function
    def made(x, n):
        found = Named({"b": (x,), "a": (x + 1, x * 2)})
        for _ in tf.range(n):
            found = Named({"b": (found.parts["b"][0] + 1,), "a": found.parts["a"]})
        if n > 1:
            found = Named({"b": found.parts["b"], "a": (x, x)})
        return found, found.parts

    for n, due in ((1, ([4], [4, 6])), (2, ([5], [3, 3]))):
        result, parts = made(tf.constant(3), tf.constant(n))
        for mapping in (result.parts, parts):
            assert ([int(v) for v in mapping["b"]], [int(v) for v in mapping["a"]]) == due
            assert type(mapping) is type(Named({}).parts)
        assert list(result.parts) == ["b", "a"]
        again = tf.function(lambda e: e)(result)
        assert again.kind == "named"
        assert int(again.parts["b"][0]) == due[0][0]


def test_fields_of_a_specification_are_converted_and_checked():
    spec = Network.Spec([None, 3], [tf.TensorSpec([])], {"rate": 1.0}, None, "float32")
    assert (spec.shape, type(spec.weights), spec.dtype) == (tf.TensorShape([None, 3]), tuple, tf.float32)
    inner = tf.type_spec_from_value(masked(1))
    assert Network.Spec([1], [], {}, inner, tf.int32).inner == inner
    for bad, name in ((([1], 3, {}, None, tf.int32), "weights"), (([1], [], {}, 4, tf.int32), "inner")):
        with pytest.raises(TypeError, match=name):
            Network.Spec(*bad)
    with pytest.raises(TypeError, match=r"values.*tf\.TensorSpec"):
        Masked.Spec([1, 2], tf.TensorSpec([2], tf.bool), "x")


def test_a_specification_s_own_constructor_sets_its_fields():
    class Tagged(tf.experimental.ExtensionType):
        x: tf.Tensor
        shape: tf.TensorShape

        class Spec:
            def __init__(self, shape, dtype=tf.float32):
                self.x = tf.TensorSpec(shape, dtype)
                self.shape = shape

            def __validate__(self):
                if self.shape.rank == 0:
                    raise ValueError("no scalars")

    assert Tagged.Spec([2]).shape == tf.TensorShape([2])
    assert Tagged.Spec([None]).is_compatible_with(Tagged([1.0], [1]))
    with pytest.raises(ValueError, match="no scalars"):
        Tagged.Spec([])

    class Forgets(tf.experimental.ExtensionType):
        x: tf.Tensor

        class Spec:
            def __init__(self):
                pass

    with pytest.raises(TypeError, match="does not set the field 'x'"):
        Forgets.Spec()


def test_dispatched_functions_of_one_operand_keep_their_options():
    @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    def unary(api_func, x):
        return Masked(api_func(x.values), x.mask)

    try:
        ones = tf.ones_like(masked(1, -2), dtype=tf.float32)
        assert (ones.values.dtype, ones.values.numpy().tolist()) == (tf.float32, [1, 1])
        assert tf.abs(masked(1, -2)).values.numpy().tolist() == [1, 2]
    finally:
        tf.experimental.unregister_dispatch_for(unary)
    with pytest.raises(TypeError, match="Masked"):
        tf.abs(masked(1))


def test_the_signature_of_a_type_is_that_of_its_constructor():
    class Plain(tf.experimental.ExtensionType):
        x: tf.Tensor
        label: str = "none"

    class Own(tf.experimental.ExtensionType):
        x: tf.Tensor

        def __init__(self, start, stop=1.0):
            self.x = tf.linspace(start, stop, 3)

    assert str(inspect.signature(Plain)) == "(x, label='none')"
    assert str(inspect.signature(Own)) == "(start, stop=1.0)"
    assert list(inspect.signature(tf.experimental.StructuredTensor).parameters) == ["fields", "ragged_shape"]
