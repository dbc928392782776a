"""`get_concrete_function` in every form, and what can be done with what it gives."""

import collections

import numpy as np
import pytest

import penstock as tf

Point = collections.namedtuple("Point", "x y")


@tf.function
def double(a):
    return a + a


@tf.function
def power(a, b):
    return a**b


def test_from_a_tensor_an_array_or_a_specification():
    forms = [
        double.get_concrete_function(tf.constant("a")),
        double.get_concrete_function(a=tf.constant("a")),
        double.get_concrete_function(tf.TensorSpec(shape=[], dtype=tf.string)),
        double.get_concrete_function(a=tf.TensorSpec([], tf.string)),
        double.get_concrete_function(np.array(b"a", "S")),
    ]
    for concrete in forms:
        assert concrete(tf.constant("b")).numpy() == b"bb"
        assert concrete(a=tf.constant("c")).numpy() == b"cc"
    assert forms[0] is forms[1]


def test_a_trace_is_asked_for_by_specification_exactly():
    f = tf.function(lambda x: x + 1.0)
    broad = f.get_concrete_function(tf.TensorSpec([None], "float32"))
    narrow = f.get_concrete_function(tf.TensorSpec([3], "float32"))
    assert broad is not narrow
    assert f.get_concrete_function(tf.TensorSpec([None], "float32")) is broad
    assert f.get_concrete_function(tf.zeros([3])) is narrow
    assert f.get_concrete_function(tf.zeros([4])) is broad


def test_without_arguments_the_input_signature_stands_for_them():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x):
        return x * 2.0

    concrete = f.get_concrete_function()
    assert concrete(tf.constant([1.0, 2.0])).numpy().tolist() == [2, 4]
    assert f.get_concrete_function() is concrete
    assert f.get_concrete_function(tf.TensorSpec([3], tf.float32)) is concrete
    assert f.experimental_get_tracing_count() == 1


def test_printing_in_the_documented_layout():
    text = "TensorSpec(shape=(), dtype=tf.string, name=None)"
    assert str(double.get_concrete_function(tf.constant("a"))).splitlines() == [
        "ConcreteFunction Input Parameters:",
        f"  a (POSITIONAL_OR_KEYWORD): {text}",
        "Output Type:",
        f"  {text}",
        "Captures:",
        "  None",
    ]
    square = power.get_concrete_function(a=tf.TensorSpec(None, tf.float32), b=2)
    unknown = "TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)"
    assert repr(square).startswith(f"<ConcreteFunction (a: {unknown}, b: Literal[2]) -> {unknown} at 0x")
    nested = tf.function(lambda d, p: {"out": [d["k"], p.y]})
    found = str(nested.get_concrete_function({"k": tf.constant(1)}, Point(3, tf.constant([1.0]))))
    scalar = "TensorSpec(shape=(), dtype=tf.int32, name=None)"
    vector = "TensorSpec(shape=(1,), dtype=tf.float32, name=None)"
    assert f": Dict[['k', {scalar}]]\n" in found
    assert f": Point[['x', Literal[3]], ['y', {vector}]]\n" in found
    assert f"  Dict[['out', List[{scalar}, {vector}]]]\n" in found


def test_python_values_are_bound_and_must_agree():
    square = power.get_concrete_function(a=tf.TensorSpec(None, tf.float32), b=2)
    ten = tf.constant(10.0)
    assert square(ten) == 100
    assert square(ten, 2) == 100
    assert square(ten, b=2) == 100
    assert square(a=ten) == 100
    with pytest.raises(TypeError, match=r"int value 2 in b, but was called with int value 3"):
        square(ten, b=3)
    with pytest.raises(TypeError, match=r"int value 2 in b, but was called with float value 2.0"):
        square(ten, 2.0)


def test_bound_values_come_before_defaults():
    f = tf.function(lambda x, n=1, *, scale=1.0: x * float(n) * scale)
    concrete = f.get_concrete_function(tf.constant(1.0), n=3, scale=2.0)
    assert concrete(tf.constant(1.0)).numpy() == 6
    with pytest.raises(TypeError, match="n, but was called"):
        concrete(tf.constant(1.0), n=1)


def test_python_values_may_be_left_out_wherever_they_stand():
    f = tf.function(lambda n, x, flag, y: x * float(n) + y if flag else x)
    concrete = f.get_concrete_function(2, tf.constant(1.0), True, tf.constant(5.0))
    x, y = tf.constant(3.0), tf.constant(4.0)
    for call in (
        lambda: concrete(x, y),
        lambda: concrete(2, x, True, y),
        lambda: concrete(x=x, y=y),
        lambda: concrete(x, y=y),
    ):
        assert call().numpy() == 10


def test_objects_among_the_arguments_may_be_left_out():
    class Optimizer:
        def __init__(self, rate):
            self.rate = rate

    def step(w, x, opt):
        w.assign_sub(x * opt.rate)

    w, one = tf.Variable(2.0), tf.constant(1.0)
    first = tf.function(step).get_concrete_function(w, one, Optimizer(0.5))
    second = tf.function(step).get_concrete_function(w, one, Optimizer(0.25))
    first(w, one)
    second(w, one)
    assert w.numpy() == 1.25


def test_methods_leave_their_object_out():
    class Scale:
        def __init__(self, k):
            self.k = tf.Variable(k)

        @tf.function
        def __call__(self, x, n=1):
            return self.k * x * float(n)

    scale = Scale(3.0)
    concrete = scale.__call__.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert concrete(tf.constant(2.0)).numpy() == 6
    assert concrete(x=tf.constant(2.0)).numpy() == 6
    assert concrete.variables[0] is scale.k
    assert "self" not in str(concrete)
    assert ": TensorSpec(shape=(), dtype=tf.resource, name=None)" in str(concrete)
    unbound = Scale.__call__.get_concrete_function(scale, tf.TensorSpec([], tf.float32))
    assert unbound(tf.constant(2.0)).numpy() == 6
    del scale
    # The graph needs the variable, not the object.
    assert concrete(tf.constant(2.0)).numpy() == 6


def test_nests_are_given_whole_or_leaf_by_leaf():
    f = tf.function(lambda p, d: p.x * d["k"] + p.y)
    args = Point(tf.constant(2), tf.constant(3)), {"k": tf.constant(10)}
    concrete = f.get_concrete_function(*args)
    assert concrete(*args).numpy() == 23
    assert concrete(p=args[0], d=args[1]).numpy() == 23
    assert concrete(tf.constant(2), tf.constant(3), tf.constant(10)).numpy() == 23
    with pytest.raises(TypeError):
        concrete(tf.constant(2), tf.constant(3))


def test_varargs_and_keywords():
    f = tf.function(lambda *xs, **named: xs[0] - xs[1] + named["z"])
    one, two, three = map(tf.constant, (1, 2, 3))
    concrete = f.get_concrete_function(one, two, z=three)
    assert concrete(two, one, z=three).numpy() == 4
    with pytest.raises(TypeError):
        concrete(one, z=three)
    with pytest.raises(TypeError):
        concrete(one, two)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (tf.constant(1), ["'a'", "int32", "string"]),
        (tf.constant(["x"]), ["'a'", r"\(1,\)", r"\(\)"]),
    ],
)
def test_tensors_of_another_type_are_refused_by_name(value, words):
    concrete = double.get_concrete_function(tf.constant("a"))
    for word in words:
        with pytest.raises(tf.errors.InvalidArgumentError, match=word):
            concrete(value)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((1, 2), {}),
        ((tf.constant("a"),), {"b": 1}),
        ((object(),), {}),
        ((tf.constant("a"),), {"a": 1}),
    ],
)
def test_arguments_that_do_not_fit_are_type_errors(args, kwargs):
    concrete = double.get_concrete_function(tf.constant("a"))
    with pytest.raises(TypeError):
        concrete(*args, **kwargs)


def test_python_numbers_become_tensors_of_the_traced_dtype():
    concrete = double.get_concrete_function(tf.TensorSpec([], tf.float64))
    assert concrete(3).dtype == tf.float64
    assert concrete(1.5).numpy() == 3


def test_names_of_specifications_name_the_parameters():
    f = tf.function(lambda pair: pair[0] - pair[1])
    concrete = f.get_concrete_function(
        (tf.TensorSpec([], "int32", name="left"), tf.TensorSpec([], "int32", name="right"))
    )
    ((pair,), _) = concrete.structured_input_signature
    assert [spec.name for spec in pair] == ["left", "right"]
    assert concrete(left=tf.constant(5), right=tf.constant(3)).numpy() == 2


def test_what_a_trace_tells_of_itself():
    outside = tf.constant([1.0, 2.0])
    v, frozen = tf.Variable(3.0), tf.Variable(4.0, trainable=False)

    @tf.function
    def f(x, n=2):
        return {"y": x * outside * v, "n": frozen * float(n)}, None

    concrete = f.get_concrete_function(tf.TensorSpec([None], tf.float32))
    assert concrete.structured_input_signature == ((tf.TensorSpec([None], tf.float32, name="x"), 2), {})
    outputs, nothing = concrete.structured_outputs
    assert nothing is None
    assert outputs["y"].dtype == tf.float32
    assert [t.name for t in concrete.inputs] == ["x:0", "capture_1:0"] or len(concrete.inputs) == 2
    assert concrete.inputs[0].shape.as_list() == [None]
    assert len(concrete.outputs) == 2
    tensor, *variables = concrete.captured_inputs
    assert tensor.numpy().tolist() == [1, 2]
    assert [one is other for one, other in zip(variables, [v, frozen], strict=True)] == [True, True]
    assert set(map(id, concrete.variables)) == {id(v), id(frozen)}
    assert [x is v for x in concrete.trainable_variables] == [True]
    assert concrete.name.startswith("f_")
    assert "x * outside" not in str(concrete.graph)
    with pytest.raises(TypeError, match="out of scope"):
        concrete.outputs[0] + 1.0


def test_the_nodes_of_the_graph():
    nodes = double.get_concrete_function(tf.constant("a")).graph.as_graph_def().node
    assert [(node.input, node.name) for node in nodes] == [
        ([], "a"),
        (["a", "a"], "add"),
        (["add"], "Identity"),
    ]


def test_gradients_flow_through_concrete_functions():
    v = tf.Variable(3.0)
    concrete = tf.function(lambda x: x * v).get_concrete_function(tf.TensorSpec([], tf.float32))
    with tf.GradientTape() as tape:
        y = concrete(tf.constant(5.0))
    assert tape.gradient(y, v).numpy() == 5


def test_concrete_functions_within_traces():
    concrete = double.get_concrete_function(tf.TensorSpec([], tf.int32))
    assert tf.function(lambda x: concrete(x) + concrete(x + 1))(tf.constant(1)).numpy() == 6


def test_variables_are_read_where_a_trace_has_tensors():
    v, w = tf.Variable(2.0), tf.Variable(5.0)
    scalar = tf.TensorSpec([], tf.float32)
    product = tf.function(lambda a, b: a * b + a).get_concrete_function(scalar, scalar)
    assert product(v, w).numpy() == 12.0
    assert product(v, v).numpy() == 6.0
    assert product(a=w, b=tf.constant(1.0)).numpy() == 10.0
    assert product(tf.constant(1.0), b=w).numpy() == 6.0
    v.assign(3.0)
    assert product(v, w).numpy() == 18.0
    nested = tf.function(lambda d: d["x"][0] - d["y"]).get_concrete_function({"x": [scalar], "y": scalar})
    assert nested({"x": [w], "y": v}).numpy() == 2.0
    assert nested(w, v).numpy() == 2.0
    assert tf.function(lambda: product(v, w))().numpy() == 18.0
    with tf.GradientTape() as tape:
        y = product(v, w)
    assert [g.numpy() for g in tape.gradient(y, [v, w])] == [6.0, 3.0]


def test_a_variable_may_be_given_for_a_tensor_and_for_itself():
    v = tf.Variable(2.0)
    add = tf.function(lambda var, x: var.assign_add(x)).get_concrete_function(
        v, tf.TensorSpec([], tf.float32)
    )
    assert add(v, v).numpy() == 4.0
    with pytest.raises(TypeError, match=r"argument 'var' .* must be a float32 Variable"):
        add(tf.constant(1.0), v)


def test_variables_that_do_not_fit_a_tensor_are_refused():
    f = tf.function(lambda a: a).get_concrete_function(tf.TensorSpec([2], tf.float32))
    with pytest.raises((TypeError, ValueError), match=r"argument 'a' .*shape=\(2,\), got int32 Variable"):
        f(tf.Variable([1, 2]))
    with pytest.raises(
        (TypeError, ValueError), match=r"argument 'a' .*shape=\(2,\), got float32 Variable, shape=\(3,\)"
    ):
        f(tf.Variable([1.0, 2.0, 3.0]))


def test_the_instance_of_a_method_is_bound_where_variables_are_read():
    class Model:
        @tf.function
        def plus(self, x, items):
            return x + items[0]

    m, v = Model(), tf.Variable(1.0)
    scalar = tf.TensorSpec([], tf.float32)
    assert m.plus.get_concrete_function(scalar, [scalar])(v, [v]).numpy() == 2.0


def test_nodes_have_names_below_the_scopes_that_were_open():
    seen = []

    @tf.function
    def f(x):
        with tf.name_scope("model"):
            y = x + 1.0
            with tf.name_scope("head"):
                z = tf.multiply(y, 2.0, name="scaled")
            y = y + 1.0
        w = z + y
        seen.extend(t.name for t in (z, y, w))
        return w

    graph = f.get_concrete_function(tf.constant(1.0)).graph
    assert seen == ["model/head/scaled:0", "model/add_1:0", "add:0"]
    names = {node.name for node in graph.as_graph_def().node}
    assert names >= {"model/add", "model/head/scaled", "model/add_1", "add"}


@pytest.mark.parametrize(
    "make",
    [
        lambda x: tf.RaggedTensor.from_row_splits(x, [0, 1, 3]),
        lambda x: tf.shape(tf.RaggedTensor.from_row_splits(x, [0, 1, 3])),
        lambda x: tf.SparseTensor([[0], [2]], x[:2], [3]),
        lambda x: tf.IndexedSlices(x, tf.constant([0, 1, 2]), tf.constant([5])),
        lambda x: tf.TensorArray(tf.float32, 3).unstack(x),
        lambda x: tf.experimental.Optional.from_value(x),
        lambda x: {"a": x, "b": (x, None)},
    ],
    ids=["ragged", "ragged shape", "sparse", "slices", "array", "optional", "dict"],
)
def test_structured_outputs_have_a_text(make):
    concrete = tf.function(make).get_concrete_function(tf.TensorSpec([3]))
    assert str(concrete.structured_outputs) == repr(concrete.structured_outputs) != ""
