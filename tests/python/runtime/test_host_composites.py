"""Composite values that callbacks take and give, and what callbacks keep alive."""

import gc
import weakref

import numpy as np
import pytest

import penstock as tf

Optional, OptionalSpec = tf.experimental.Optional, tf.OptionalSpec
ROWS = tf.RaggedTensorSpec([None, None], tf.float32)
ONE = tf.constant(1.0)


def rows():
    return tf.ragged.constant([[1.0, 2.0], [], [3.0]])


def doubled(r):
    return r.with_flat_values(r.flat_values * 2.0)


class Box(tf.experimental.ExtensionType):
    scale: tf.Tensor
    rows: tf.RaggedTensor


WAYS = pytest.mark.parametrize("way", [lambda f: f, tf.function], ids=["eager", "traced"])


@WAYS
def test_a_ragged_tensor_goes_in_and_comes_out(way):
    f = way(lambda r: tf.py_function(doubled, [r], ROWS))
    assert f(rows()).to_list() == [[2.0, 4.0], [], [6.0]]
    assert f(tf.ragged.constant([[5.0]])).to_list() == [[10.0]]
    assert f(tf.ragged.constant([[], []], dtype=tf.float32, ragged_rank=1)).to_list() == [[], []]


@WAYS
def test_ragged_tensors_of_more_dimensions(way):
    deep = tf.ragged.constant([[[1.0], [2.0, 3.0]], [], [[4.0]]])
    spec = tf.RaggedTensorSpec([None, None, None], tf.float32)
    assert way(lambda r: tf.py_function(doubled, [r], spec))(deep).to_list() == [
        [[2.0], [4.0, 6.0]],
        [],
        [[8.0]],
    ]


@WAYS
def test_composites_in_nests(way):
    def body(r, given):
        return {"b": doubled(given["r"]), "a": (r.flat_values, given["x"])}

    declared = {"a": (tf.float32, tf.TensorSpec([2], tf.int32)), "b": ROWS}
    f = way(lambda r, x: tf.py_function(body, [r, {"r": r, "x": x}], declared))
    found = f(rows(), tf.constant([7, 8]))
    assert found["b"].to_list() == [[2.0, 4.0], [], [6.0]]
    assert found["a"][0].numpy().tolist() == [1.0, 2.0, 3.0]
    assert found["a"][1].numpy().tolist() == [7, 8]


@WAYS
def test_lists_of_numbers_in_nests_are_tensors(way):
    found = way(lambda: tf.py_function(lambda: {"a": [1, 2, 3]}, [], {"a": tf.int32}))()
    assert found["a"].numpy().tolist() == [1, 2, 3]


@WAYS
def test_gradients_flow_through_ragged_tensors(way):
    def loss(values):
        r = rows().with_flat_values(values)
        out = tf.py_function(lambda r: r.with_flat_values(r.flat_values**3.0), [r], ROWS)
        return tf.reduce_sum(out.flat_values)

    f = way(loss)
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        first = tape.gradient(y, x)
    assert first.numpy().tolist() == [3.0, 12.0, 27.0]
    assert outer.gradient(first, x).numpy().tolist() == [6.0, 12.0, 18.0]


@WAYS
def test_optionals(way):
    scalar = OptionalSpec(tf.TensorSpec([], tf.float32))

    def positive(x):
        return Optional.from_value(x) if float(x) > 0 else Optional.empty(tf.TensorSpec([], tf.float32))

    def f(x):
        found = tf.py_function(positive, [x], scalar)
        return tf.cond(found.has_value(), lambda: found.get_value(), lambda: tf.constant(-1.0))

    assert way(f)(tf.constant(2.0)).numpy() == 2.0
    assert way(f)(tf.constant(-2.0)).numpy() == -1.0
    taken = way(lambda o: tf.py_function(lambda o: o.get_value() + 1.0, [o], tf.float32))
    assert taken(Optional.from_value(tf.constant(2.0))).numpy() == 3.0


def test_the_gradient_of_an_optional():
    f = tf.function(
        lambda x: tf.py_function(
            lambda o: o.get_value() * o.get_value(), [Optional.from_value(x)], tf.TensorSpec([], tf.float32)
        )
    )
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x).numpy() == 6.0


@WAYS
def test_arrays_slices_and_extension_types(way):
    def total():
        array = tf.TensorArray(tf.float32, 3).unstack([1.0, 2.0, 3.0])
        return tf.py_function(lambda a: tf.reduce_sum(a.stack()), [array], tf.float32)

    assert way(total)().numpy() == 6.0

    def made():
        return tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0])

    stacked = way(lambda: tf.py_function(made, [], tf.TensorArraySpec([], tf.float32)).stack())
    assert stacked().numpy().tolist() == [1.0, 2.0]

    slices = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([3], tf.int64))
    spec = tf.IndexedSlicesSpec([None, 2], tf.float32)
    given = way(lambda: tf.py_function(lambda s: -s, [slices], spec).values)()
    assert given.numpy().tolist() == [[-1.0, -2.0]]

    def grown(box):
        return Box(box.scale + 1.0, doubled(box.rows))

    box = Box(tf.constant(1.0), rows())
    declared = Box.Spec(tf.TensorSpec([], tf.float32), ROWS)
    found = way(lambda b: tf.py_function(grown, [b], declared))(box)
    assert found.scale.numpy() == 2.0
    assert found.rows.to_list() == [[2.0, 4.0], [], [6.0]]


@pytest.mark.parametrize(
    ("result", "declared", "error", "match"),
    [
        (lambda: ONE, ROWS, TypeError, r"RaggedTensorSpec\(.*is <tf.Tensor"),
        (rows, tf.RaggedTensorSpec([None, None], tf.int32), TypeError, r"int32.*is <tf.RaggedTensor"),
        (rows, tf.RaggedTensorSpec([2, None], tf.float32), TypeError, r"\[2, None\].*is <tf.RaggedTensor"),
        (rows, tf.float32, TypeError, "result 0 is no float32"),
        (lambda: {"a": 1.0}, {"a": tf.float32, "b": ROWS}, ValueError, r"a dict with \['a', 'b'\]"),
        (
            lambda: {"a": [1.0]},
            {"a": [tf.float32, ROWS]},
            ValueError,
            r"result\['a'\] is \[1.0\].* has 2 values",
        ),
        (
            lambda: [1.0, [2.0]],
            [tf.float32, [ROWS, ROWS]],
            ValueError,
            r"result\[1\] is \[2.0\].* has 2 values",
        ),
        (lambda: [ONE, ONE], {"a": ROWS}, ValueError, r"a dict with \['a'\]"),
    ],
)
@WAYS
def test_results_of_another_structure_are_refused(way, result, declared, error, match):
    def the_callback():
        return result()

    line = the_callback.__code__.co_firstlineno
    with pytest.raises(error, match=rf"(?s)the_callback \(.*test_host_composites.py:{line}\).*{match}"):
        way(lambda: tf.py_function(the_callback, [], declared))()


@WAYS
def test_numpy_functions_take_and_give_tensors_only(way):
    with pytest.raises(TypeError, match=r"argument 'inp' must hold tensors, got .*RaggedTensor"):
        way(lambda: tf.numpy_function(lambda x: x, [rows()], tf.float32))()
    with pytest.raises(
        TypeError, match="argument 'Tout' must hold dtypes and TensorSpec, got RaggedTensorSpec"
    ):
        way(lambda: tf.numpy_function(lambda x: x, [1.0], ROWS))()


class Interval:
    """A value whose specification lists components, one of them composite."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    @property
    def _type_spec(self):
        return IntervalSpec(tf.type_spec_from_value(self.low), tf.type_spec_from_value(self.high))

    def __tf_tracing_type__(self, context):
        return self._type_spec


class IntervalSpec(tf.TypeSpec):
    def __init__(self, low, high):
        self.low, self.high = low, high

    value_type = Interval

    @property
    def _component_specs(self):
        return {"low": self.low, "high": self.high}

    def _to_components(self, value):
        return {"low": value.low, "high": value.high}

    def _from_components(self, components):
        return Interval(**components)

    def is_compatible_with(self, value):
        return isinstance(value, Interval)


def test_a_specification_by_components_serves_functions_and_callbacks():
    value = Interval(ONE, rows())
    spec = IntervalSpec(tf.TensorSpec([], tf.float32), ROWS)
    assert [s.dtype for s in spec.flatten()] == [tf.float32, tf.int64, tf.float32]
    traced = tf.function(
        lambda i: tf.py_function(lambda i: Interval(i.low + 1.0, doubled(i.high)), [i], spec)
    )
    for _ in range(2):
        found = traced(value)
        assert found.low.numpy() == 2.0
        assert found.high.to_list() == [[2.0, 4.0], [], [6.0]]
    assert traced.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("method", ["_to_components", "_from_components"])
def test_a_specification_that_lists_components_is_told_which_method_it_lacks(method):
    lacking = type("HalfSpec", (IntervalSpec,), {method: getattr(tf.TypeSpec, method)})

    class Half(Interval):
        @property
        def _type_spec(self):
            return lacking(tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.float32))

    with pytest.raises(TypeError, match=rf"HalfSpec must define {method}\("):
        tf.function(lambda half: half.low)(Half(ONE, ONE))


# --- what callbacks keep alive ---


def collected(make):
    """Whether everything that `make` gives weak references to is garbage to the collector."""
    gone = make()
    # What tracing itself left behind may hold the callback until it is collected.
    gc.collect()
    gc.collect()
    return [r() for r in gone] == [None] * len(gone)


def test_a_callback_that_calls_its_own_function_is_collected():
    def make():
        @tf.function
        def f(n):
            return tf.cond(n <= 0, lambda: 0, lambda: n + tf.py_function(f, [n - 1], tf.int32))

        assert f(tf.constant(3)).numpy() == 6
        return [weakref.ref(f)]

    assert collected(make)


@pytest.mark.parametrize("size", [[3], [None]], ids=["static", "unknown"])
def test_a_callback_that_is_a_method_of_the_owner_is_collected(size):
    class Owner:
        def __init__(self):
            self.scale = np.float32(2.0)
            self.f = tf.function(self.run, input_signature=[tf.TensorSpec(size, tf.float32)])

        def run(self, x):
            whole = tf.py_function(self.scaled, [x], tf.float32)
            return whole + tf.numpy_function(self.halved, [x], {"a": tf.float32})["a"]

        def scaled(self, x):
            return x * self.scale

        def halved(self, x):
            return {"a": x / self.scale}

    def make():
        owner = Owner()
        assert owner.f(tf.ones([3])).numpy().tolist() == [2.5] * 3
        concrete = owner.f.get_concrete_function()
        assert concrete(tf.ones([3])).numpy().tolist() == [2.5] * 3
        return [weakref.ref(owner), weakref.ref(owner.f)]

    assert collected(make)


def test_a_callback_that_another_trace_took_along_lives():
    def make():
        class Owner:
            def scaled(self, x):
                return x * 2.0

        owner = Owner()
        owner.f = tf.function(lambda x: tf.py_function(owner.scaled, [x], tf.float32))
        outer = tf.function(lambda x: owner.f(x) + 1.0)
        assert outer(ONE).numpy() == 3.0
        return outer.get_concrete_function(ONE), weakref.ref(owner)

    outer, _ = make()
    for _ in range(2):
        gc.collect()
        assert outer(ONE).numpy() == 3.0


def test_a_callback_that_a_tape_needs_lives():
    def make():
        class Owner:
            def cubed(self, x):
                return x * x * x

        owner = Owner()
        owner.f = tf.function(lambda x: tf.py_function(owner.cubed, [x], tf.float32))
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = owner.f(x)
        return tape, y, x

    tape, y, x = make()
    gc.collect()
    assert tape.gradient(y, x).numpy() == 12.0
