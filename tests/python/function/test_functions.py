"""Traced functions: when they trace, what they bind, what they keep, what they print, what they refuse."""

import collections
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
from support import assert_same, counted

import penstock as tf


def test_one_trace_for_each_dtype_and_shape():
    seen, f = counted(lambda x: x + x)
    for value in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]):
        assert f(tf.constant(value)).numpy().tolist() == [2 * v for v in value]
    assert len(seen) == 1
    f(tf.constant([1, 2]))
    assert len(seen) == 2
    f(tf.constant([1.0]))
    assert len(seen) == 3
    f(tf.constant([7.0, 8.0]))
    assert len(seen) == 3


def test_python_values_are_part_of_the_signature():
    seen, f = counted(lambda x, n: x * float(n))
    x = tf.constant(2.0)
    assert f(x, 3).numpy() == 6
    assert f(x, 3).numpy() == 6
    assert len(seen) == 1
    assert f(x, 4).numpy() == 8
    assert f(x, True).numpy() == 2
    assert len(seen) == 3


def test_arrays_are_tensors():
    seen, f = counted(lambda x: x + 1)
    f(np.zeros([2], "float32"))
    f(np.ones([2], "float32"))
    assert len(seen) == 1


def test_python_side_effects_happen_once_for_each_trace():
    log = []

    @tf.function
    def f(x):
        log.append("traced")
        return x

    f(tf.constant(1))
    f(tf.constant(2))
    assert log == ["traced"]


def test_arguments_bind_as_pythons_do():
    @tf.function
    def f(a, b=2, *rest, c, d=4, **others):
        return [tf.convert_to_tensor(v) for v in (a, b, *rest, c, d, *(others[k] for k in sorted(others)))]

    def numbers(*args, **kwargs):
        return [int(t) for t in f(*args, **kwargs)]

    assert numbers(tf.constant(1), c=3) == [1, 2, 3, 4]
    assert numbers(1, 5, c=tf.constant(3)) == [1, 5, 3, 4]
    assert numbers(1, 5, 6, 7, c=3, d=8) == [1, 5, 6, 7, 3, 8]
    assert numbers(b=tf.constant(9), a=1, c=3, z=11, y=10) == [1, 9, 3, 4, 10, 11]
    for args, kwargs in [((), {"c": 1}), ((1,), {}), ((1, 2), {"b": 3, "c": 4})]:
        with pytest.raises(TypeError):
            f(*args, **kwargs)


def test_keywords_and_positions_share_a_trace():
    traces = []
    one, two = tf.constant(1), tf.constant(2)

    @tf.function
    def g(a, b):
        traces.append(1)
        return a - b

    assert g(one, two).numpy() == -1
    assert g(one, b=two).numpy() == -1
    assert g(b=two, a=one).numpy() == -1
    assert len(traces) == 1


Point = collections.namedtuple("Point", "x y")


def test_nests_of_arguments_and_results():
    seen, f = counted(lambda p, d, seq: {"sum": p.x + d["k"], "rest": [Point(seq[0], p.y), None], "n": ()})
    result = f(Point(tf.constant(1), tf.constant(2)), {"k": tf.constant(3)}, (tf.constant(4),))
    assert result["sum"].numpy() == 4
    assert isinstance(result["rest"][0], Point)
    assert result["rest"][0].x.numpy() == 4
    assert result["rest"][1] is None
    assert result["n"] == ()
    f(Point(tf.constant(5), tf.constant(6)), {"k": tf.constant(7)}, (tf.constant(8),))
    assert len(seen) == 1
    f(Point(tf.constant(5), tf.constant(6)), {"k": tf.constant(7), "l": 1}, (tf.constant(8),))
    assert len(seen) == 2


def test_lists_and_tuples_are_told_apart():
    seen, f = counted(lambda xs: xs[0])
    f([tf.constant(1)])
    f((tf.constant(1),))
    assert len(seen) == 2


def test_methods_trace_once_for_each_object():
    class Scale:
        traces = 0

        def __init__(self, k):
            self.k = tf.Variable(k)

        @tf.function
        def __call__(self, x):
            Scale.traces += 1
            return self.k * x

        @tf.function
        def twice(self, x):
            return self(self(x))

    a, b = Scale(2.0), Scale(3.0)
    assert a(tf.constant(5.0)).numpy() == 10
    assert b(tf.constant(5.0)).numpy() == 15
    a(tf.constant(6.0))
    assert Scale.traces == 2
    assert a.twice(tf.constant(1.0)).numpy() == 4


def test_a_function_does_not_keep_its_object_alive():
    class Owner:
        @tf.function
        def f(self, x):
            return x + 1

    owner = Owner()
    owner.f(tf.constant(1))
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_functions_call_functions():
    @tf.function
    def inner(x):
        return x * 2

    @tf.function
    def outer(x):
        return inner(x) + inner(x + 1)

    assert outer(tf.constant(3)).numpy() == 14


def test_recursion_on_python_values_unrolls():
    @tf.function
    def power(x, n):
        return tf.ones_like(x) if n == 0 else x * power(x, n - 1)

    assert power(tf.constant(2.0), 10).numpy() == 1024


def test_free_variables_are_captured():
    outside = tf.constant(10)
    variable = tf.Variable(1)

    @tf.function
    def f(x):
        return x + outside + variable

    assert f(tf.constant(100)).numpy() == 111
    variable.assign(2)
    assert f(tf.constant(100)).numpy() == 112


def test_variables_are_made_in_the_first_trace_only():
    class Counter:
        def __init__(self):
            self.v = None

        @tf.function
        def __call__(self):
            if self.v is None:
                self.v = tf.Variable(0)
            return self.v.assign_add(1)

    c = Counter()
    assert [c().numpy() for _ in range(3)] == [1, 2, 3]

    @tf.function
    def bad(x):
        return tf.Variable(x + 0.0 if isinstance(x, float) else 1.0) + 1.0

    with pytest.raises(ValueError, match="singleton"):
        bad(1.0)


def test_input_signature_gives_one_trace_and_is_enforced():
    traces = []

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.int32)])
    def g(x, n=2):
        traces.append(x.shape)
        return tf.reduce_sum(x) * tf.cast(n, tf.float32)

    assert g(tf.constant([1.0, 2.0]), tf.constant(3)).numpy() == 9
    assert g(tf.constant([1.0]), tf.constant(3)).numpy() == 3
    assert g([1.0, 2.0, 3.0], 1).numpy() == 6
    assert len(traces) == 1
    assert traces[0].as_list() == [None]
    for args in [(tf.constant([1]), 1), (tf.constant(1.0), 1), (tf.constant([1.0]), "a"), ("a", 1)]:
        with pytest.raises((ValueError, TypeError)):
            g(*args)


def test_input_signatures_that_do_not_fit_are_errors():
    with pytest.raises(TypeError, match="input_signature"):
        tf.function(lambda x: x, input_signature=[3])
    with pytest.raises(TypeError, match="input_signature"):
        tf.function(lambda x: x, input_signature=3)
    with pytest.raises((TypeError, ValueError), match="input_signature"):
        tf.function(lambda: 1, input_signature=[tf.TensorSpec([], tf.int32)])


def test_concrete_functions_run_and_describe_themselves():
    @tf.function
    def affine(x, w, scale=2.0):
        return {"y": tf.matmul(x, w) * scale}

    concrete = affine.get_concrete_function(
        tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([2, 3], tf.float32)
    )
    x, w = tf.ones([4, 2]), tf.ones([2, 3])
    assert_same(concrete(x, w)["y"].numpy(), np.full([4, 3], 4.0))
    assert concrete.structured_outputs["y"].shape.as_list() == [None, 3]
    (args, _) = concrete.structured_input_signature
    assert args[0].shape.as_list() == [None, 2]
    assert concrete.output_shapes == {"y": tf.TensorShape([None, 3])}
    assert concrete.output_dtypes == {"y": tf.float32}
    with pytest.raises((ValueError, TypeError)):
        concrete(tf.ones([4, 3]), w)


def test_a_trace_is_shown_as_tensorflow_shows_it():
    scale = tf.constant(2.0)

    @tf.function
    def f(x, n=2, *rest, k, **others):
        return [x, (x * scale,), {"a": None}]

    concrete = f.get_concrete_function(tf.TensorSpec([2], tf.float32), 3, 5, k="s", z=True)
    spec = "TensorSpec(shape=(2,), dtype=tf.float32, name=None)"
    result = f"List[{spec}, Tuple[{spec}], Dict[['a', Literal[None]]]]"
    text = concrete.pretty_printed_signature()
    lines = text.splitlines()
    assert lines[0] == "Input Parameters:"
    assert lines[1].endswith(f": {spec}")
    assert lines[1].startswith("  x (POSITIONAL")
    assert lines[2].endswith(": Literal[3]")
    assert "  k (KEYWORD_ONLY): Literal['s']" in lines
    assert "  z (KEYWORD_ONLY): Literal[True]" in lines
    at = lines.index("Output Type:")
    assert lines[at + 1 : at + 3] == [f"  {result}", "Captures:"]
    assert lines[at + 3].endswith(": TensorSpec(shape=(), dtype=tf.float32, name=None)")
    assert str(concrete) == f"ConcreteFunction {text}"
    line = concrete.pretty_printed_signature(verbose=False)
    assert line.startswith("(x: TensorSpec(")
    assert line.endswith(f") -> {result}")
    assert repr(concrete).startswith(f"<ConcreteFunction {line} at 0x")
    assert f.pretty_printed_concrete_signatures() == text
    nothing = tf.function(lambda: None).get_concrete_function()
    assert nothing.pretty_printed_signature() == (
        "Input Parameters:\nOutput Type:\n  Literal[None]\nCaptures:\n  None"
    )


def test_operations_of_a_graph_are_looked_at():
    v = tf.Variable(1.0)
    graph = tf.function(lambda x: tf.sin(x) + v).get_concrete_function(tf.TensorSpec([2], tf.float32)).graph
    operations = graph.get_operations()
    kinds = [op.type for op in operations]
    assert kinds.count("Placeholder") == 2
    assert {"Sin", "ReadVariableOp", "AddV2"} <= set(kinds)
    add = operations[kinds.index("AddV2")]
    assert graph.get_operation_by_name(add.name).type == "AddV2"
    assert [t.dtype for t in add.inputs] == [tf.float32] * 2
    assert add.outputs[0].shape == [2]
    assert graph.get_tensor_by_name(add.outputs[0].name).shape == [2]
    assert add.node_def.op == "AddV2"
    with pytest.raises(KeyError, match="nothing"):
        graph.get_operation_by_name("nothing")
    with pytest.raises(KeyError, match="nothing:0"):
        graph.get_tensor_by_name("nothing:0")


def test_traces_of_a_method_count_for_each_instance():
    class Model:
        @tf.function
        def step(self, x):
            return x

    a, b = Model(), Model()
    a.step(1), a.step(2), a.step(2), b.step(1)
    assert (a.step.experimental_get_tracing_count(), b.step.experimental_get_tracing_count()) == (2, 1)
    assert Model.step.experimental_get_tracing_count() == 3


def test_a_function_is_decorated_before_its_first_trace():
    f = tf.function(lambda x: x + 1)
    f._decorate(lambda inner: lambda x: inner(x) * 10)
    assert f(tf.constant(1)).numpy() == 20
    assert f.python_function(1) == 20


def test_types_of_functions():
    f = tf.function(lambda x: x)
    assert isinstance(f, tf.types.experimental.GenericFunction)
    assert isinstance(f.get_concrete_function(1), tf.types.experimental.Callable)
    made = tf.types.experimental.FunctionType.from_callable(lambda x, y=1: x)
    assert list(made.parameters) == ["x", "y"]


def test_shapes_of_a_call_are_those_for_its_constants():
    @tf.function
    def zeros(dims):
        return tf.zeros(dims)

    @tf.function
    def halved(x, n):
        return tf.reshape(x, tf.stack([n, -1])), tf.range(n)

    seen = []

    @tf.function
    def outer(x):
        seen.append(zeros(tf.constant([2, 3])).shape.as_list())
        rows, count = halved(x, tf.constant(2))
        seen.append((rows.shape.as_list(), count.shape.as_list()))
        return rows

    assert outer(tf.zeros([6])).shape == [2, 3]
    assert seen == [[2, 3], ([2, 3], [2])]


def test_the_graph_lists_its_nodes():
    @tf.function
    def f(a, b):
        return tf.add(tf.matmul(a, b, name="product"), 1.0)

    graph = f.get_concrete_function(tf.ones([2, 2]), tf.ones([2, 2])).graph
    text = str(graph)
    assert "matmul" in text
    assert '"product"' in text
    assert "test_functions.py" in text


def test_retracing_can_be_reduced():
    traces = []

    @tf.function(reduce_retracing=True)
    def f(x):
        traces.append(x.shape)
        return x + 1

    for n in range(1, 7):
        assert f(tf.zeros([n])).shape == [n]
    assert len(traces) <= 3


def test_symbolic_tensors_do_not_leave_their_function():
    leaked = []

    @tf.function
    def f(x):
        leaked.append(x + 1)
        return x

    f(tf.constant(1))
    with pytest.raises((TypeError, ValueError, AttributeError)):
        leaked[0].numpy()
    with pytest.raises((TypeError, ValueError), match=r"scope|function|trace"):
        leaked[0] + 1

    @tf.function
    def g(x):
        return x + leaked[0]

    with pytest.raises((TypeError, ValueError), match=r"scope|function|trace"):
        g(tf.constant(1))


def test_python_cannot_branch_on_a_symbolic_tensor_without_conversion():
    @tf.function(autograph=False)
    def f(x):
        return 1 if x > 0 else 2

    with pytest.raises(TypeError, match="bool"):
        f(tf.constant(1))

    @tf.function(autograph=False)
    def g(x):
        return [y + 1 for y in x]

    with pytest.raises(TypeError, match="Iterating over a symbolic"):
        g(tf.constant([1, 2]))


def test_an_exception_while_tracing_reaches_the_caller_and_is_forgotten():
    fail = [True]

    @tf.function
    def f(x):
        if fail[0]:
            raise KeyError("mine")
        return x + 1

    with pytest.raises(KeyError, match="mine"):
        f(tf.constant(1))
    assert tf.executing_eagerly()
    fail[0] = False
    assert f(tf.constant(1)).numpy() == 2


def test_an_error_at_run_time_names_the_line():
    @tf.function
    def f(x, i):
        return tf.gather(x, i)  # here

    with pytest.raises(tf.errors.InvalidArgumentError, match="indices") as caught:
        f(tf.constant([1, 2]), tf.constant(5))
    assert "test_functions.py" in str(caught.value) or "test_functions.py" in "".join(caught.value.__notes__)


def test_functions_can_run_eagerly():
    seen, f = counted(lambda x: x + 1)
    tf.config.run_functions_eagerly(True)
    try:
        assert tf.config.functions_run_eagerly()
        f(tf.constant(1))
        f(tf.constant(2))
        assert len(seen) == 2
    finally:
        tf.config.run_functions_eagerly(False)
    assert not tf.config.functions_run_eagerly()


def test_where_a_function_is_traced_can_be_asked():
    seen = []

    @tf.function
    def f(x):
        with tf.init_scope():
            seen.append(tf.executing_eagerly())
        seen.extend([tf.executing_eagerly(), tf.inside_function(), tf.is_symbolic_tensor(x)])
        seen.append(tf.get_static_value(tf.constant([1, 2])).tolist())
        seen.append(tf.get_static_value(x))
        return x

    f(tf.constant(1))
    assert seen == [True, False, True, True, [1, 2], None]
    assert tf.executing_eagerly()
    assert not tf.inside_function()
    assert not tf.is_symbolic_tensor(tf.constant(1))


def test_threads_share_traces():
    traces = []

    @tf.function
    def f(x):
        traces.append(1)
        return x * 2

    f(tf.constant(0))
    results = [None] * 8

    def work(i):
        results[i] = [int(f(tf.constant(i * k))) for k in range(50)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [[2 * i * k for k in range(50)] for i in range(8)]
    assert len(traces) == 1


@tf.function
def module_level(x):
    return x + 1


def test_functions_keep_the_name_and_text_of_the_python_function():
    @tf.function
    def documented(x):
        """Says what it does."""
        return x

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "Says what it does."
    assert documented.python_function(3) == 3
    assert "documented" in repr(documented)


def test_effects_keep_the_order_of_the_program(capfd):
    v = tf.Variable(0)

    @tf.function
    def f():
        v.assign(1)
        tf.print("a", v)
        v.assign_add(5)
        tf.print("b", v)
        return v.read_value()

    assert f().numpy() == 6
    assert capfd.readouterr().err == "a 1\nb 6\n"


def test_a_result_may_be_an_argument_or_a_constant():
    @tf.function
    def f(x):
        return x, x, tf.constant([1, 2]), 3, "text"

    a, b, c, d, e = f(tf.constant(7))
    assert (a.numpy(), b.numpy(), c.numpy().tolist()) == (7, 7, [1, 2])
    assert int(d) == 3
    assert e == "text"


@pytest.mark.parametrize("bad", [3, "f"])
def test_only_callables_can_be_traced(bad):
    with pytest.raises(TypeError, match="callable"):
        tf.function(bad)


def test_a_function_of_a_module_pickles_by_name():
    assert pickle.loads(pickle.dumps(module_level)) is module_level
