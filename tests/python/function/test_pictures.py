"""Pictures of graphs, and what notebooks show of objects."""

import functools
import html.parser
import re
import sys
import types

import numpy as np
import pytest

import penstock as tf


def _traced():
    w = tf.Variable(np.eye(3, dtype=np.float32))

    @tf.function
    def f(x, n):
        for _ in tf.range(n):
            x = tf.tanh(x @ w)
        return tf.reduce_sum(x)

    return f, f.get_concrete_function(tf.TensorSpec([2, 3]), tf.TensorSpec([], tf.int32))


class _Tags(html.parser.HTMLParser):
    """Whether all tags are closed in order."""

    VOID = frozenset({"meta", "br", "path", "rect"})

    def __init__(self):
        super().__init__()
        self.open, self.count = [], 0

    def handle_starttag(self, tag, attrs):
        self.count += 1
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.count += 1

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def _well_formed(text):
    tags = _Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == []
    assert tags.count > 0


def test_a_page_has_the_lines_of_the_program_beside_the_graph():
    f, trace = _traced()
    page = trace.to_html()
    _well_formed(page)
    line = f.python_function.__code__.co_firstlineno + 3
    marks = re.findall(r'<li data-line="([^"]*)"', page)
    assert f"{__file__}:{line}" in marks
    assert f'data-line="{__file__}:{line}"><title>' in page
    assert "x = tf.tanh(x @ w)" in page
    assert {"As traced", "Optimised", "Plan"} <= set(re.findall(r"<button>(\w+(?: \w+)?)", page))


def test_a_page_shows_the_time_of_lines_where_a_profile_is_given():
    f, trace = _traced()
    x, n = tf.ones([2, 3]), tf.constant(200)
    f(x, n)
    with tf.profiler.record() as recording:
        f(x, n)
    assert "--share:" not in trace.to_html()[trace.to_html().index("<body>") :]
    assert "--share:" in trace.to_html(profile=recording)[trace.to_html().index("<body>") :]


def test_a_page_says_where_shapes_come_from_and_why_they_are_not_known():
    @tf.function
    def f(x, w):
        return tf.nn.relu(x @ w), tf.where(x > 0.0)

    trace = f.get_concrete_function(tf.TensorSpec([None, 3]), tf.TensorSpec([3, 5]))
    page = trace.to_html()
    line = f.python_function.__code__.co_firstlineno + 2
    assert "f32[s0,5]: s0 is axis 0 of x; 5 is axis 1 of w" in page
    assert f"? unknown because where_indices at {__file__}:{line} decides it when it runs" in page
    assert '<p id="about">' in page
    assert 'tooltip="f32[s0,5]: s0 is axis 0 of x; 5 is axis 1 of w"' in trace.to_dot()


def test_a_size_that_branches_or_loops_change_has_their_line():
    @tf.function
    def f(x, n):
        y = x[:2] if n > 0 else x[:3]
        for _ in tf.range(n):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None]))])
            x = tf.concat([x, x], 0)
        return tf.tanh(y), tf.tanh(x)

    page = f.get_concrete_function(tf.ones([4]), tf.constant(1)).to_html()
    first = f.python_function.__code__.co_firstlineno
    assert f"? unknown because the branches of cond at {__file__}:{first + 2} differ" in page
    assert f"? unknown because while at {__file__}:{first + 3} may change it" in page


def test_operators_that_run_as_one_step_are_one_box_of_the_optimised_graph():
    @tf.function
    def f(x, w):
        return tf.nn.softmax(tf.tanh(x @ w) * 2.0 + 1.0)

    trace = f.get_concrete_function(tf.ones([400, 64]), tf.ones([64, 64]))
    page = trace.to_html()
    traced, optimized = page.split('<div class="view"')[1:3]
    assert "node step" not in traced
    assert "fused" in optimized
    assert 'class="node step"' in optimized
    text = trace.to_dot(optimized=True)
    assert text.count("{") == text.count("}")
    assert "fillcolor" in text
    assert "fillcolor" not in trace.to_dot()
    # The product and what follows it are one step of the plan.
    assert "pipeline" in trace._plan_text()
    assert "pipeline" in text
    assert ">pipeline</text>" in optimized


def test_the_page_of_a_cache_has_the_lines_of_the_calls_and_what_to_do():
    @tf.function
    def scaled(x, rate):
        return x * rate

    for rate in (1.0, 2.0):
        scaled(tf.ones([2]), rate)
    scaled(tf.ones([3]), 2.0)
    page = scaled.explain_cache().to_html()
    _well_formed(page)
    assert page.count('<section class="miss">') == 3
    assert "scaled(tf.ones([3]), 2.0)" in page
    assert "<td>rate</td><td>1.0</td><td>2.0</td><td>pass rate as a tensor" in page
    assert "<td>x.shape[0]</td><td>2</td><td>3</td><td>give x a tf.TensorSpec with None" in page


def test_the_page_of_a_cache_has_advice_for_each_kind_of_difference():
    @tf.function
    def f(x):
        return 1

    for x in (tf.ones([2]), tf.ones([3]), tf.ones([3, 1]), tf.Variable(tf.ones([3])), [1.0], (1.0,), 1, 2):
        f(x)
    page = f.explain_cache().to_html()
    for advice in (
        "give x a tf.TensorSpec with None for that size in input_signature, or pass reduce_retracing=True",
        "give x a tf.TensorSpec(None, …), of any number of dimensions, in input_signature, or pass reduce",
        "pass always a variable for x, or always a tensor, as variable.read_value() gives it",
        "pass x in one structure, such as a tensor of all its items",
        "pass x as a tensor, tf.constant(2), unless it shapes the graph",
    ):
        assert advice in page


def test_dot_names_the_operators_and_nests_the_loop():
    text = _traced()[1].to_dot()
    assert text.startswith('digraph "f" {')
    assert text.count("{") == text.count("}")
    assert "subgraph cluster" in text
    for op in ("matmul", "tanh", "reduce_sum", "while"):
        assert op in text


def test_the_page_of_an_empty_graph_says_that_it_is_empty():
    empty = tf.function(lambda: None).get_concrete_function()
    page = empty.to_html()
    _well_formed(page)
    assert "This graph is empty" in page
    assert "No operator of this graph comes from a line" in page


def test_a_graph_is_shown_with_its_name_and_its_types():
    graph = _traced()[1].graph
    assert re.fullmatch(
        r"<penstock.Graph f_\d+: \(f32\[2,3\], i32\[\], var f32\[3,3\]\) -> \(f32\[\]\), \d operations>",
        repr(graph),
    )
    assert "1 operation>" in repr(tf.function(lambda x: x + x).get_concrete_function(tf.ones([2])).graph)


def test_code_that_no_file_has_is_drawn_without_lines():
    space = {"tf": tf}
    exec("f = tf.function(lambda x: tf.sin(x) + 1.0)", space)
    page = space["f"].get_concrete_function(tf.TensorSpec([])).to_html()
    _well_formed(page)
    assert "sin" in page


class _Pair(tf.experimental.ExtensionType):
    """An extension type."""

    first: tf.Tensor
    note: str


def _network():
    network = tf.Module()
    network.layers = [tf.Module(), tf.Module()]
    for i, layer in enumerate(network.layers):
        layer.w = tf.Variable(tf.ones([100, 2]), trainable=i == 0)
    return network


def _called_with_long_arguments():
    @tf.function
    def f(x, options, *more):
        return x

    for i in range(12):
        f(tf.zeros([1]), {"text": "y" * 5000 + str(i)}, *[tf.zeros([1])] * 300)
    return f


@pytest.mark.parametrize(
    "value",
    [
        lambda: tf.constant(1.5),
        lambda: tf.constant([[1.0, float("nan")], [-0.0, 1e30]]),
        lambda: tf.zeros([0, 3]),
        lambda: tf.range(1000),
        lambda: tf.ones([100, 100]),
        lambda: tf.ones([3, 4, 5, 6]),
        lambda: tf.constant(["<b>", "&"]),
        lambda: tf.constant("<weights>" * 1000),
        lambda: tf.Variable("<weights>"),
        lambda: tf.constant([True, False]),
        lambda: tf.constant([1 + 2j]),
        lambda: tf.cast([1.0, 2.0], tf.bfloat16),
        lambda: tf.Variable([[1.0, 2.0]], name="<weights>", trainable=False),
        lambda: tf.data.Dataset.from_tensor_slices({"x": [1, 2], "y": ([3.0, 4.0], ["a", "b"])}),
        lambda: tf.data.Dataset.range(5).repeat(),
        lambda: tf.data.Dataset.range(5).filter(lambda x: x > 2),
        lambda: _traced()[0],
        lambda: _traced()[0].explain_cache(),
        lambda: _called_with_long_arguments(),
        lambda: _traced()[1],
        lambda: _traced()[1].graph,
        lambda: tf.function(lambda: None).get_concrete_function(),
        lambda: tf.Variable([1.0, 2.0], shape=tf.TensorShape(None)),
        lambda: tf.ragged.constant([["<weights>", "&"], [], ["c"]]),
        lambda: tf.ragged.constant([[[1], []], [[2, 3]]]),
        lambda: tf.ragged.constant([[]] * 1000, dtype=tf.float32),
        lambda: tf.RaggedTensor.from_row_lengths(tf.ones([6, 400, 50]), [3, 3]),
        lambda: tf.sparse.from_dense([[0, 1], [2, 0]]),
        lambda: tf.sparse.from_dense(tf.eye(500)),
        lambda: tf.SparseTensor([[0]], ["<weights>"], [2]),
        lambda: tf.SparseTensor(tf.zeros([0, 2], tf.int64), tf.zeros([0]), [2, 2]),
        lambda: tf.IndexedSlices(tf.ones([2, 300]), tf.constant([0, 2]), tf.constant([4, 300])),
        lambda: _Pair(tf.ones([500, 500]), "<weights>" * 1000),
        _network,
        tf.Module,
    ],
)
def test_what_a_notebook_shows_is_short_and_well_formed(value):
    text = value()._repr_html_()
    _well_formed(text)
    assert len(text) < 20_000
    assert "<b>" in text
    assert "<weights>" not in text


def test_a_tensor_of_a_graph_is_shown_without_a_value():
    shown = []

    @tf.function
    def f(x):
        shown.append((x + 1.0)._repr_html_())
        return x

    f(tf.constant(1.0))
    assert "of a graph" in shown[0]
    _well_formed(shown[0])


def test_a_data_set_is_shown_while_a_function_is_traced():
    shown = []
    outer = tf.data.Dataset.range(5)

    @tf.function
    def f(n):
        shown.append(outer._repr_html_())
        shown.append(tf.data.Dataset.range(n).batch(2)._repr_html_())
        return n

    f(tf.constant(3, tf.int64))
    assert "5 elements" in shown[0]
    assert "of a graph" in shown[1]
    assert "<td>int64</td><td>(None,)</td>" in shown[1]


def test_composite_tensors_of_a_graph_are_shown_without_values():
    shown = []

    @tf.function
    def f(x):
        shown.append(tf.RaggedTensor.from_row_lengths(x, [1, 1])._repr_html_())
        shown.append(tf.SparseTensor([[0]], x[:1], [2])._repr_html_())
        shown.append(tf.IndexedSlices(x, tf.constant([0, 2]))._repr_html_())
        return x

    f(tf.ones([2]))
    assert ["of a graph" in text for text in shown] == [True] * 3


def test_a_ragged_tensor_is_shown_as_a_table_with_a_row_for_each_of_its_rows():
    text = tf.ragged.constant([[1, 2], [], [3]])._repr_html_()
    assert "<tr><td>1</td><td>2</td></tr><tr></tr><tr><td>3</td></tr>" in text
    assert "int32 (3, None)" in text


def test_a_sparse_tensor_is_shown_with_the_places_of_its_values():
    text = tf.sparse.from_dense([[0.0, 1.0], [2.5, 0.0]])._repr_html_()
    assert "<td>[0, 1]</td><td>1</td>" in text
    assert "<td>[1, 0]</td><td>2.5</td>" in text


def test_a_trace_is_shown_with_its_types_and_its_graph():
    text = _traced()[1]._repr_html_()
    assert "<td>argument</td><td>n</td><td>TensorSpec(shape=(), dtype=tf.int32, name=None)</td>" in text
    assert "<td>variable</td><td>Variable:0</td><td>float32 (3, 3)</td>" in text
    assert "tanh" in text


def test_a_module_is_shown_with_its_variables():
    text = _network()._repr_html_()
    assert "2 variables, 400 elements" in text
    assert "<td>layers.1.w</td><td>float32</td><td>(100, 2)</td><td>not trainable</td>" in text


def test_long_arguments_are_shortened_around_what_differs():
    f = _called_with_long_arguments()
    found = f.explain_cache()
    assert len(str(found.traces[0])) < 3000
    assert found.misses[1].differences[0].after.endswith("y1'")
    assert str(found.misses[1].differences[0]).endswith("y1'")
    assert len(str(found.misses[1])) < 500
    assert "more" in found.traces[0].signature


def test_the_cache_of_a_callable_object_has_the_name_of_its_class():
    class Double:
        def __call__(self, x):
            return x + x

    for function, name in (
        (tf.function(Double()), "Double"),
        (tf.function(functools.partial(lambda a, b: a + b, b=2.0)), "partial"),
    ):
        function(tf.ones([1]))
        assert function.explain_cache().name == name
        assert f"Function {name}" in function._repr_html_()


def test_the_object_of_a_method_is_shown_by_the_name_of_its_parameter():
    class Scale:
        @tf.function
        def run(this, x, rate=2.0):
            return x * rate

    scale = Scale()
    scale.run(tf.ones([1]))
    assert scale.run.explain_cache().traces[0].signature.startswith("run(this, x, rate=2.0)")


def test_lines_of_notebooks_are_shown_by_their_cells(monkeypatch):
    @tf.function
    def f(x):
        return tf.sort(x)

    def cell(file):
        return ("Cell", "In[7]") if file == __file__ else None

    compile = types.SimpleNamespace(format_code_name=cell)
    shell = types.SimpleNamespace(compile=compile)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    with tf.profiler.record() as recording:
        f(tf.range(100))
    for text in (f.explain_cache()._repr_html_(), f.explain_cache().to_html(), recording._repr_html_()):
        assert "Cell In[7], line " in text
    assert f"{__file__}:" in str(f.explain_cache())


def test_a_matrix_is_shown_as_a_table_with_its_ends():
    text = tf.reshape(tf.range(10_000), [100, 100])._repr_html_()
    assert text.count("<tr>") == 11
    assert "<td>0</td>" in text
    assert "<td>9999</td>" in text
    assert "<td>…</td>" in text


def test_why_a_function_was_traced_anew_is_shown():
    @tf.function
    def f(x):
        return x

    f(tf.zeros([2])), f(tf.zeros([3]))
    text = f._repr_html_()
    assert "2 traces" in text
    assert "x.shape[0]: 2 → 3" in text
