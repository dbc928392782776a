"""Pictures of graphs, and what notebooks show of objects."""

import html.parser
import re

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


def test_dot_names_the_operators_and_nests_the_loop():
    text = _traced()[1].to_dot()
    assert text.startswith('digraph "f" {')
    assert text.count("{") == text.count("}")
    assert "subgraph cluster" in text
    for op in ("matmul", "tanh", "reduce_sum", "while"):
        assert op in text


def test_code_that_no_file_has_is_drawn_without_lines():
    space = {"tf": tf}
    exec("f = tf.function(lambda x: tf.sin(x) + 1.0)", space)
    page = space["f"].get_concrete_function(tf.TensorSpec([])).to_html()
    _well_formed(page)
    assert "sin" in page


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
        lambda: tf.constant([True, False]),
        lambda: tf.constant([1 + 2j]),
        lambda: tf.cast([1.0, 2.0], tf.bfloat16),
        lambda: tf.Variable([[1.0, 2.0]], name="<weights>", trainable=False),
        lambda: tf.data.Dataset.from_tensor_slices({"x": [1, 2], "y": ([3.0, 4.0], ["a", "b"])}),
        lambda: tf.data.Dataset.range(5).repeat(),
        lambda: tf.data.Dataset.range(5).filter(lambda x: x > 2),
        lambda: _traced()[0],
        lambda: _traced()[0].explain_cache(),
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
