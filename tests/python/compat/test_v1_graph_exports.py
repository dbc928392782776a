"""Graphs of TensorFlow 1 that are written: messages, frozen graphs, `.meta`, SavedModels."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
ROW = [[1.0, 2.0]]


def trained():
    """A graph with a layer, a loss and an operation that trains, and what initializes it."""
    x = v1.placeholder(tf.float32, [None, 2], name="x")
    with v1.variable_scope("layer"):
        w = v1.get_variable("w", [2, 1], initializer=v1.constant_initializer(2.0))
        b = v1.get_variable("b", [1], initializer=v1.zeros_initializer())
    y = tf.add(tf.matmul(x, w), b, name="y")
    loss = tf.reduce_sum(tf.square(y), name="loss")
    step = v1.train.get_or_create_global_step()
    v1.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    v1.add_to_collection("inputs", x)
    return x, y, v1.global_variables_initializer()


def test_an_open_graph_is_a_message_with_its_names():
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x, y, init = trained()
        session.run(init)
        due = session.run([y, "loss:0"], {x: ROW})
    message = graph.as_graph_def()
    names = {node.name: node.op for node in message.node}
    assert names["x"] == "Placeholder"
    assert names["layer/w"] == names["global_step"] == "VarHandleOp"
    assert names["y"] == "AddV2"
    assert names["init"] == "NoOp"
    for operation in graph.get_operations():
        assert operation.name in names, operation
    again = v1.GraphDef.FromString(message.SerializeToString())
    held = {"layer/w:0": tf.Variable([[2.0], [2.0]]), "layer/b:0": tf.Variable([0.0])}
    found = tf.import_graph_def(again, {"x": ROW, **held}, ["y:0", "loss:0"])
    for value, wanted in zip(found, due, strict=True):
        np.testing.assert_allclose(value, wanted)


def test_operations_that_follow_others_do_so_in_the_message_and_no_others():
    with tf.Graph().as_default() as graph:
        v = v1.get_variable("v", [], initializer=v1.zeros_initializer())
        first = v1.assign(v, 1.0, name="first")
        with tf.control_dependencies([first]):
            second = tf.identity(v1.placeholder(tf.float32, [], name="x"), name="second")
        v1.assign(v, 2.0, name="third")
    nodes = {node.name: node for node in graph.as_graph_def().node}
    assert second.name == "second:0"
    writes = [node for node in nodes.values() if node.op == "AssignVariableOp"]
    assert len(writes) == 3
    assert [text for text in nodes["second"].input if text.startswith("^")]
    waits = {text[1:] for node in writes for text in node.input if text.startswith("^")}
    # What ran before in the program and changes nothing.
    assert {nodes[name].op for name in waits} <= {"ReadVariableOp"}


def frozen_program(kind):
    x = v1.placeholder(tf.float32, [3], name="x")
    v = v1.get_variable("v", [3], initializer=v1.constant_initializer([1.0, 2.0, 3.0]))
    table = v1.get_variable("table", [4, 3], initializer=v1.constant_initializer(np.arange(12).reshape(4, 3)))
    if kind == "read":
        y = x * v + tf.reduce_sum(v)
    elif kind == "gather":
        y = x + v1.nn.embedding_lookup(table, 2)
    elif kind == "branch":
        y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * v, lambda: x - v)
    elif kind == "loop":
        y = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + v), (0, x))[1]
    elif kind == "nested":
        inner = tf.function(lambda x: tf.cond(x[0] > 0.0, lambda: x * v, lambda: x + v))
        y = inner(x) + v
    else:
        y = x + 1.0
    return x, tf.identity(y, name="y")


@pytest.mark.parametrize("kind", ["read", "gather", "branch", "loop", "nested", "none"])
@pytest.mark.parametrize("x", [[1.0, 2.0, 3.0], [-1.0, -2.0, 0.5]])
def test_variables_become_constants(kind, x):
    with tf.Graph().as_default() as graph, v1.Session() as session:
        given, y = frozen_program(kind)
        session.run(v1.global_variables_initializer())
        session.run(v1.assign(v1.global_variables()[0], [5.0, 6.0, 7.0]))
        due = session.run(y, {given: x})
        frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    assert not {"VarHandleOp", "ReadVariableOp"} & {node.op for node in frozen.node}
    (found,) = tf.import_graph_def(frozen.SerializeToString(), {"x": x}, ["y:0"])
    np.testing.assert_allclose(found, due)


def test_some_variables_may_stay_and_what_changes_one_is_an_error():
    convert = v1.graph_util.convert_variables_to_constants
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v = v1.get_variable("v", [], initializer=v1.constant_initializer(2.0))
        w = v1.get_variable("w", [], initializer=v1.constant_initializer(3.0))
        tf.multiply(v, w, name="y")
        v1.assign(v, w, name="set")
        session.run(v1.global_variables_initializer())
        whole = graph.as_graph_def()
        for choice in ({"variable_names_whitelist": ["v"]}, {"variable_names_blacklist": ["w"]}):
            part = convert(session, whole, ["y"], **choice)
            assert {node.name: node.op for node in part.node}["v"] == "Const"
            assert {node.name: node.op for node in part.node}["w"] == "VarHandleOp"
        name = [op.name for op in graph.get_operations() if op.type == "AssignVariableOp"][-1]
        with pytest.raises(ValueError, match=r"AssignVariableOp.*only read a variable"):
            convert(session, whole, [name])
        with pytest.raises(AssertionError, match="absent is not in graph"):
            convert(session, whole, ["absent"])
    with tf.Graph().as_default(), v1.Session() as other, pytest.raises(ValueError, match="variable 'v'"):
        convert(other, whole, ["y"])


def test_a_graph_with_its_variables_is_written_restored_and_trained_on(tmp_path):
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), v1.Session() as session:
        x, y, init = trained()
        session.run(init)
        saver = v1.train.Saver()
        assert saver.save(session, path) == path
        (train,) = v1.get_collection("train_op")
        session.run(train, {x: ROW})
        due = session.run([*v1.global_variables(), y], {x: ROW})
    with tf.Graph().as_default(), v1.Session() as session:
        restored = v1.train.import_meta_graph(f"{path}.meta")
        restored.restore(session, path)
        assert [v.name for v in v1.trainable_variables()] == ["layer/w:0", "layer/b:0"]
        (train,), (x,) = v1.get_collection("train_op"), v1.get_collection("inputs")
        session.run(train, {x: ROW})
        found = session.run([*v1.global_variables(), "y:0"], {x: ROW})
        for value, wanted in zip(found, due, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-6)
        session.run("init")
        assert session.run("layer/w:0").tolist() == [[2], [2]]


def test_names_that_tensorflow_has_not_are_written_in_another_way():
    @tf.function(input_signature=[tf.TensorSpec([])] * 2)
    def added(größe, _x):
        return tf.add(größe, _x, name="y")

    content = added.get_concrete_function().graph.as_graph_def().SerializeToString()
    assert [node.name for node in v1.GraphDef.FromString(content).node][:2] == ["gr__e", "node_x"]
    (y,) = tf.import_graph_def(content, {"gr__e": 2.0, "node_x": 1.0}, ["y:0"])
    assert float(y) == 3


def test_variables_without_values_are_not_written(tmp_path):
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, [], name="x")
        y = tf.multiply(x, v1.get_variable("v", []), name="y")
        with pytest.raises(tf.errors.FailedPreconditionError, match="variable 'v"):
            v1.saved_model.simple_save(session, tmp_path / "model", {"x": x}, {"y": y})
        with pytest.raises(tf.errors.FailedPreconditionError, match="variable 'v"):
            v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
        with pytest.raises(TypeError, match="'output_node_names' must be a list"):
            v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), "y")
        # A local one may have none.
        v1.get_local_variable("count", [], initializer=v1.zeros_initializer())
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, tmp_path / "model", {"x": x}, {"y": y})
    with tf.Graph().as_default(), v1.Session() as session:
        found = v1.saved_model.load(session, ["serve"], tmp_path / "model").signature_def["serving_default"]
        session.run(found.outputs["y"].name, {found.inputs["x"].name: 1.0})


def test_what_cannot_be_written_is_named():
    with tf.Graph().as_default() as graph:
        v1.placeholder(tf.float32, [], name="x")
        unused = {"empty_key": [0, 1], "deleted_key": [2, 3]}
        tf.lookup.experimental.DenseHashTable(tf.int32, tf.int32, 0, **unused).export()
    assert "x" in [node.name for node in graph.as_graph_def().node]
    with pytest.raises(tf.errors.UnimplementedError, match="a table whose keys are rows"):
        graph.as_graph_def().SerializeToString()


def test_calls_of_python_that_others_wait_for_are_written():
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v = v1.get_variable("v", [], tf.int32, v1.zeros_initializer())
        tf.py_function(lambda x: None, [v], [])
        with tf.control_dependencies([graph.get_operations()[-1]]):
            tf.identity(v, name="count")
        session.run(v.initializer)
        assert session.run("count:0") == 0
    again = v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    (call,) = (node.name for node in again.node if node.op == "EagerPyFunc")
    assert [node.name for node in again.node if f"^{call}" in node.input]


def test_who_asks_for_a_count_in_a_graph_that_was_written_has_the_variable_counted_up():
    with tf.Graph().as_default() as graph:
        v = v1.get_variable("v", [], tf.int32, v1.zeros_initializer())
        tf.identity(v1.count_up_to(v, 2), name="count")
    written = v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    nodes = {node.name: node for node in written.node}
    needed, due = set(), ["count"]
    while due:
        name = due.pop().lstrip("^").partition(":")[0]
        if name not in needed:
            needed.add(name)
            due.extend(nodes[name].input)
    assert {nodes[name].op for name in needed} >= {"Assert", "AssignAddVariableOp"}


def test_operations_that_call_python_within_are_named():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")

        def sine():
            return tf.numpy_function(np.sin, [x], tf.float32)

        tf.numpy_function(np.cos, [x], tf.float32)
        tf.cond(x[0] > 0.0, lambda: x * 2.0, lambda: x, name="pure")
        tf.cond(x[0] > 0.0, sine, lambda: x, name="sine")
        tf.map_fn(lambda y: tf.ensure_shape(tf.numpy_function(np.cos, [y], tf.float32), []), x, name="each")
    with pytest.raises(
        tf.errors.FailedPreconditionError, match=r"of 'sine/If' \(If\), 'each/While' \(While\), where"
    ):
        graph.as_graph_def().SerializeToString()


def test_files_of_graphs_go_with_their_checkpoints(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", [], initializer=v1.zeros_initializer())
        session.run(v.initializer)
        saver = v1.train.Saver(max_to_keep=1)
        for step in range(2):
            saver.save(session, tmp_path / "model", global_step=step)
        names = {path.name for path in tmp_path.iterdir()}
        assert "model-1.meta" in names
        assert "model-0.meta" not in names
        saver.save(session, tmp_path / "other", write_meta_graph=False)
        assert not (tmp_path / "other.meta").exists()
        tf.cond(v > 0.0, lambda: tf.numpy_function(np.sin, [v], tf.float32), lambda: v)
        saver.save(session, tmp_path / "python")
        assert not (tmp_path / "python.meta").exists()
    with pytest.raises(ValueError, match="'export_scope'"):
        v1.train.export_meta_graph(export_scope="a")


def test_the_file_of_a_graph_that_stays_the_same_is_made_once(tmp_path, monkeypatch):
    from penstock._saving import meta_graph_export

    made = []
    meta_graph = meta_graph_export.meta_graph
    monkeypatch.setattr(
        meta_graph_export,
        "meta_graph",
        lambda *args, **given: made.append(args) or meta_graph(*args, **given),
    )
    path = tmp_path / "model"
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", [], initializer=v1.zeros_initializer())
        session.run(v.initializer)
        saver = v1.train.Saver()
        contents = set()

        def saved():
            saver.save(session, path)
            return (tmp_path / "model.meta").read_bytes()

        for changes in (
            lambda: None,
            lambda: tf.negative(v, name="other"),
            lambda: v1.placeholder(tf.float32, name="given"),
            lambda: v1.add_to_collection("kept", v),
            lambda: tf.group(v.initializer, name="all"),
        ):
            changes()
            content = saved()
            assert content == saved()
            contents.add(content)
        assert len(contents) == len(made) == 5
        # What is in a table that changes is in the file.
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int32, 0)
        table.lookup(v1.placeholder(tf.string, [None]))
        before = saved()
        with tf.init_scope():
            table.insert(["a"], [1])
        assert saved() != before
        # One that cannot be written is tried once.
        graph = v1.get_default_graph()
        graph.kept.clear()
        tf.cond(v > 0.0, lambda: tf.numpy_function(np.sin, [v], tf.float32), lambda: v)
        made.clear()
        assert saved() == saved()
        assert len(made) == 1


def test_a_program_with_summaries_seeds_and_gradients_of_broadcasts_goes_on_from_its_files(tmp_path):
    path = str(tmp_path / "model")
    rng = np.random.default_rng(0)
    given = {"x:0": rng.random((7, 3)), "y:0": rng.random((7, 1))}
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = v1.placeholder(tf.float32, [None, 3], "x"), v1.placeholder(tf.float32, [None, 1], "y")
        w = v1.get_variable("w", [3, 1], initializer=v1.glorot_uniform_initializer(seed=1))
        b = v1.get_variable("b", [], initializer=v1.zeros_initializer())
        loss = tf.reduce_mean(
            tf.square((tf.matmul(x, w) + b) * tf.random.uniform([], 0.9, 1.1, seed=2) - y), name="loss"
        )
        step = v1.train.AdamOptimizer(0.1).minimize(loss)
        averages = tf.train.ExponentialMovingAverage(0.9)
        with tf.control_dependencies([step]):
            averages.apply(v1.trainable_variables())
            tf.no_op(name="train")
        v1.summary.scalar("loss", loss)
        v1.summary.merge_all()
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, path)
        due = [session.run(["loss:0", "train"], given)[0] for _ in range(3)]
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(f"{path}.meta").restore(session, path)
        found = [session.run(["loss:0", "train"], given)[0] for _ in range(3)]
        np.testing.assert_allclose(found, due, rtol=1e-5)
        assert v1.get_collection("moving_average_variables") == v1.trainable_variables()


@pytest.mark.parametrize("way", ["simple", "builder"])
def test_a_saved_model_of_a_session_is_loaded_in_both_ways(tmp_path, way):
    path = tmp_path / "model"
    with tf.Graph().as_default(), v1.Session() as session:
        x, y, init = trained()
        session.run(init)
        session.run(v1.assign(v1.global_variables()[1], [3.0]))
        due = session.run(y, {x: ROW})
        if way == "simple":
            v1.saved_model.simple_save(session, path, {"x": x}, {"y": y})
        else:
            signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
            builder = v1.saved_model.builder.SavedModelBuilder(path)
            builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
            builder.add_meta_graph(["other"], {"serving_default": signature})
            with pytest.raises(AssertionError, match="added already"):
                builder.add_meta_graph_and_variables(session, ["serve"])
            assert builder.save() == bytes(path / "saved_model.pb")
        with pytest.raises(AssertionError, match="'export_dir'"):
            v1.saved_model.Builder(path)
    loaded = tf.saved_model.load(path, tags=["serve"])
    np.testing.assert_allclose(loaded.signatures["serving_default"](x=tf.constant(ROW))["y"], due)
    with tf.Graph().as_default(), v1.Session() as session:
        found = v1.saved_model.load(session, ["serve"], path)
        info = found.signature_def["serving_default"]
        np.testing.assert_allclose(session.run(info.outputs["y"].name, {info.inputs["x"].name: ROW}), due)


def test_what_a_saved_model_begins_with_gets_the_places_of_its_files(tmp_path):
    (tmp_path / "words.txt").write_text("five")
    path = tmp_path / "model"
    with tf.Graph().as_default(), v1.Session() as session:
        file = tf.constant(str(tmp_path / "words.txt"), name="file")
        place = v1.get_variable("place", [], tf.string, v1.constant_initializer(""), trainable=False)
        session.run(place.initializer)
        begin = v1.group(v1.assign(place, file), name="begin")
        builder = v1.saved_model.Builder(path)
        builder.add_meta_graph_and_variables(session, ["serve"], assets_collection=[file], main_op=begin)
        builder.save()
    assert (path / "assets" / "words.txt").read_text() == "five"
    with tf.Graph().as_default(), v1.Session() as session:
        v1.saved_model.load(session, ["serve"], path)
        assert session.run("place:0").decode() == str(path / "assets" / "words.txt")
