"""Tables in graphs of TensorFlow 1 that are written and read."""

import gc

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
ints = tf.int64
FEED = {"x:0": ["a", "q", "u"], "n:0": [5, 3]}
DUE = {
    "static": [1, -1, -1],
    "mutable": [-1, 7, -1],
    "rows": [[1.0, 2.0], [0.0, 0.0]],
    "dense": [-1, 9],
    "vocabulary": [2, 2, 0],
    "size": 1,
    "branch": [1, -1, -1],
}


def looked_up():
    """Add look-ups in tables of all kinds to the graph; gives the placeholders."""
    x, n = v1.placeholder(tf.string, [None], "x"), v1.placeholder(ints, [None], "n")
    more = tf.lookup.experimental
    pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], ints))
    static = tf.lookup.StaticHashTable(pairs, -1, name="words")
    mutable = more.MutableHashTable(tf.string, ints, -1)
    rows = more.MutableHashTable(ints, tf.float32, [0.0, 0.0])
    dense = more.DenseHashTable(ints, ints, -1, empty_key=[-1, -1], deleted_key=[-2, -2])
    pairs = tf.lookup.KeyValueTensorInitializer(["u", "v"], tf.constant([0, 1], ints))
    vocabulary = tf.lookup.StaticVocabularyTable(pairs, 1)
    with tf.init_scope():
        mutable.insert(["q"], tf.constant([7], ints))
        rows.insert(tf.constant([5], ints), [[1.0, 2.0]])
        dense.insert(tf.constant([[3, 4]], ints), tf.constant([9], ints))
    tf.identity(static.lookup(x), name="static")
    tf.identity(mutable.lookup(x), name="mutable")
    tf.identity(rows.lookup(n), name="rows")
    tf.identity(dense.lookup(tf.stack([n, n + 1], 1)), name="dense")
    tf.identity(vocabulary.lookup(x), name="vocabulary")
    tf.identity(mutable.size(), name="size")
    tf.identity(tf.cond(tf.size(n) > 1, lambda: static.lookup(x), lambda: -static.lookup(x)), name="branch")
    v1.get_variable("v", [], initializer=v1.ones_initializer())
    return x, n


def assert_found(session):
    for name, due in DUE.items():
        np.testing.assert_array_equal(session.run(f"{name}:0", FEED), due, err_msg=name)


def test_a_graph_is_written_with_what_is_in_its_tables():
    with tf.Graph().as_default() as graph, v1.Session() as session:
        looked_up()
        v1.tables_initializer()
        assert_found(session)
    gc.collect()
    content = graph.as_graph_def().SerializeToString()
    nodes = {node.name: node for node in v1.GraphDef.FromString(content).node}
    kinds = {node.op for node in nodes.values() if "HashTable" in node.op}
    assert kinds == {
        *("HashTableV2", "MutableHashTableV2"),
        *("MutableHashTableOfTensorsV2", "MutableDenseHashTableV2"),
    }
    assert len([text for text in nodes["init_all_tables"].input if text.endswith("/fill")]) == 5
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(content, name="")
        session.run("init_all_tables")
        assert_found(session)


def test_groups_fill_tables_where_a_member_does():
    with tf.Graph().as_default() as graph:
        looked_up()
        tf.group(v1.global_variables_initializer(), tf.group(v1.tables_initializer()), name="begin")
    nodes = {node.name: node for node in graph.as_graph_def().node}
    assert {"^words/fill", "^MutableHashTable/fill"} < set(nodes["begin"].input)


def test_what_changes_a_table_is_written():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.string, [None], "x")
        table = tf.lookup.experimental.MutableHashTable(tf.string, ints, -1)
        before = tf.identity(table.lookup(x), name="before")
        start = len(graph.engine)
        table.insert(x, tf.cast(tf.strings.length(x), ints), name="insert")
        graph.operation_since(start, "put")
    assert before.name == "before:0"
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(graph.as_graph_def(), name="")
        session.run("put", {"x:0": ["abc"]})
        assert session.run("before:0", {"x:0": ["abc", "d"]}).tolist() == [3, -1]


@pytest.mark.parametrize("named", [False, True])
def test_tables_are_filled_when_a_saved_model_is_loaded(tmp_path, named):
    path = str(tmp_path / "model")
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x, n = looked_up()
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(path)
        given = {"x": x, "n": n}
        results = {name: graph.get_tensor_by_name(f"{name}:0") for name in DUE if name != "dense"}
        signature = v1.saved_model.predict_signature_def(given, results)
        begin = tf.group(v1.tables_initializer(), v1.local_variables_initializer()) if named else None
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, main_op=begin
        )
        builder.save()
    with tf.Graph().as_default(), v1.Session() as session:
        v1.saved_model.loader.load(session, ["serve"], path)
        assert_found(session)
    serve = tf.saved_model.load(path).signatures["serving_default"]
    found = serve(x=tf.constant(FEED["x:0"]), n=tf.constant(FEED["n:0"], ints))
    for name, value in found.items():
        np.testing.assert_array_equal(value, DUE[name], err_msg=name)


def test_a_graph_that_is_restored_fills_its_tables(tmp_path):
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), v1.Session() as session:
        looked_up()
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, path)
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.train.import_meta_graph(f"{path}.meta").restore(session, path)
        assert len(graph.get_collection("table_initializer")) == 5
        session.run(v1.tables_initializer())
        assert_found(session)


def test_a_frozen_graph_keeps_its_tables():
    with tf.Graph().as_default() as graph, v1.Session() as session:
        looked_up()
        session.run(v1.global_variables_initializer())
        frozen = v1.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), ["static", "words/fill"]
        )
    assert {"words", "words/fill", "static"} <= {node.name for node in frozen.node}
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(frozen, name="")
        session.run("words/fill")
        assert session.run("static:0", {"x:0": FEED["x:0"]}).tolist() == DUE["static"]


def test_a_dense_table_of_strings_is_imported():
    with tf.Graph().as_default() as graph:
        table = tf.lookup.experimental.DenseHashTable(tf.string, ints, -1, "", "$")
        with tf.init_scope():
            table.insert(["a"], tf.constant([7], ints))
        tf.identity(table.lookup(v1.placeholder(tf.string, [None], "x")), name="y")
        content = graph.as_graph_def().SerializeToString()
    with tf.Graph().as_default() as graph, v1.Session() as session:
        tf.import_graph_def(v1.GraphDef.FromString(content), name="")
        session.run(graph.imported[next(name for name in graph.imported if name.endswith("/fill"))])
        assert session.run("y:0", {"x:0": ["a", "b"]}).tolist() == [7, -1]
