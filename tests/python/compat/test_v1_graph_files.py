"""Graphs of TensorFlow 1 in files: `.meta`, SavedModels in sessions, and messages of graphs."""

import importlib
import zipfile
from pathlib import Path

import pytest

import penstock as tf

v1 = tf.compat.v1
ROW = [[1.0, 1.0]]


@pytest.fixture(name="files")
def written_by_tensorflow(tmp_path):
    with zipfile.ZipFile(Path(__file__).parent / "files" / "tensorflow_1.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path


def test_a_graph_of_tensorflow_is_restored_and_trained_on(files):
    with tf.Graph().as_default() as graph, v1.Session() as session:
        saver = v1.train.import_meta_graph(str(files / "model.meta"), clear_devices=True)
        variables = v1.global_variables()
        assert [v.name for v in variables] == ["layer/w:0", "layer/b:0", "global_step:0"]
        assert v1.trainable_variables() == variables[:2]
        assert v1.train.get_global_step() is variables[2]
        saver.restore(session, files / "model")
        (x,), (train,) = graph.get_collection("inputs"), graph.get_collection("train_op")
        assert x.name == "x:0"
        assert session.run("loss:0", {x: ROW}) == 25
        # What TensorFlow has after a step.
        session.run(train, {x: ROW})
        assert [value.tolist() for value in session.run(variables)] == [[[1], [2]], [-1], 1]
        # The initializers of the file are those of the variables.
        session.run("init")
        assert [value.tolist() for value in session.run(variables)] == [[[2], [3]], [0], 0]
        session.run(train, {x: ROW})
        session.run(v1.global_variables_initializer())
        assert [value.tolist() for value in session.run(variables)] == [[[2], [3]], [0], 0]


def test_a_graph_is_imported_below_a_scope(files):
    with tf.Graph().as_default(), v1.Session() as session:
        saver = v1.train.import_meta_graph(files / "model.meta", import_scope="old")
        saver.restore(session, files / "model")
        assert v1.global_variables()[0].name == "old/layer/w:0"
        assert session.run("old/y:0", {"old/x:0": ROW}).tolist() == [[5]]
    with tf.Graph().as_default(), pytest.raises(tf.errors.NotFoundError, match="no file"):
        v1.train.import_meta_graph(files / "absent.meta")


def test_a_saved_model_of_tensorflow_1_is_loaded_into_a_session(files):
    for scope in (None, "in"):
        with tf.Graph().as_default() as graph, v1.Session() as session:
            found = v1.saved_model.loader.load(session, ["serve"], str(files / "saved"), import_scope=scope)
            signature = found.signature_def["serving_default"]
            assert v1.saved_model.is_valid_signature(signature)
            x, y = (
                v1.saved_model.utils.get_tensor_from_tensor_info(info, import_scope=scope)
                for info in (signature.inputs["x"], signature.outputs["y"])
            )
            assert y.name == ("in/y:0" if scope else "y:0")
            assert session.run(y, {x: ROW}).tolist() == [[5]]
            assert session.run(v1.report_uninitialized_variables()).tolist() == []
            # Values are those of the session.
            session.run(v1.assign(v1.global_variables()[1], [1.0]))
            assert session.run(y, {x: ROW}).tolist() == [[6]]
            with pytest.raises(RuntimeError, match=r"tags \['other'\]: there are \[\['serve'\]\]"):
                v1.saved_model.load(session, ["other"], files / "saved")
            assert graph.get_operation_by_name("in/y" if scope else "y").type == "AddV2"
    with tf.Graph().as_default(), v1.Session() as session, pytest.raises(tf.errors.NotFoundError):
        v1.saved_model.load(session, ["serve"], files)
    assert v1.saved_model.loader.maybe_saved_model_directory(files / "saved")


@pytest.mark.parametrize("form", ["penstock", "tensorflow"])
def test_a_saved_model_of_version_2_has_its_signatures_in_a_session(tmp_path, form):
    module = tf.Module()
    module.by = tf.Variable(3.0)
    spec = tf.TensorSpec([None], tf.float32, name="x")
    module.scale = tf.function(lambda x: {"scaled": module.by * x}, input_signature=[spec])
    tf.saved_model.save(module, tmp_path, options=tf.saved_model.SaveOptions(format=form))
    with tf.Graph().as_default(), v1.Session() as session:
        found = v1.saved_model.load(session, [v1.saved_model.tag_constants.SERVING], tmp_path)
        signature = found.signature_def[v1.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
        x, y = signature.inputs["x"].name, signature.outputs["scaled"].name
        assert x == "serving_default_x:0"
        assert session.run(y, {x: [1.0, 2.0]}).tolist() == [3, 6]


# Compared with TensorFlow 2.21.


def test_signatures_describe_tensors():
    saved_model = v1.saved_model
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        y = tf.square(x, name="y")
        info = saved_model.build_tensor_info(x)
        assert (info.name, info.dtype) == ("x:0", 1)
        assert [size.size for size in info.tensor_shape.dim] == [-1, 2]
        assert saved_model.get_tensor_from_tensor_info(info) is x
        sparse = saved_model.build_tensor_info(v1.sparse_placeholder(tf.float32, [2, 3], name="sp"))
        assert sparse.coo_sparse.values_tensor_name == "sp/values:0"
        assert saved_model.get_tensor_from_tensor_info(sparse).shape == (2, 3)
        predict = saved_model.signature_def_utils.predict_signature_def({"x": x}, {"y": y})
        assert predict.method_name == "tensorflow/serving/predict"
        assert saved_model.is_valid_signature(predict)
        assert not saved_model.is_valid_signature(
            saved_model.build_signature_def({"x": info}, {"y": info}, "f")
        )
        texts, numbers = tf.constant(["a"]), tf.constant([1.0])
        classify = saved_model.classification_signature_def(texts, texts, numbers)
        regress = saved_model.regression_signature_def(texts, numbers)
        assert sorted(classify.outputs) == ["classes", "scores"]
        assert saved_model.is_valid_signature(classify)
        assert saved_model.is_valid_signature(regress)
        with pytest.raises(ValueError, match="'examples' must be of string"):
            saved_model.regression_signature_def(x, y)
        with pytest.raises(ValueError, match="'classes' and 'scores'"):
            saved_model.classification_signature_def(texts, None, None)
        with pytest.raises(ValueError, match="'inputs' must have"):
            saved_model.predict_signature_def({}, {"y": y})
    with pytest.raises(TypeError, match="tensor of a graph"):
        saved_model.build_tensor_info(tf.constant(1.0))
    with pytest.raises(TypeError, match="tensor of a graph, got \\[1\\]"):
        saved_model.build_tensor_info([1])
    assert type(predict).FromString(predict.SerializeToString()) == predict


def test_parts_of_the_module_are_modules():
    for name in (
        "constants",
        "loader",
        "signature_constants",
        "signature_def_utils",
        "tag_constants",
        "utils",
    ):
        part = importlib.import_module(f"penstock.compat.v1.saved_model.{name}")
        assert part is getattr(v1.saved_model, name)
        assert [getattr(part, each) for each in dir(part)]
    assert v1.saved_model.load_v2 is tf.saved_model.load
    assert v1.saved_model.constants.MAIN_OP_KEY == "saved_model_main_op"
    with pytest.raises(AttributeError, match="'foo'"):
        _ = v1.saved_model.utils.foo


def message():
    def program(x):
        y = tf.identity(tf.nn.relu(x, name="relu"), name="same")
        return tf.square(y, name="square"), tf.negative(x, name="negative")

    spec = tf.TensorSpec([2], tf.float32, name="x")
    return tf.function(program).get_concrete_function(spec).graph.as_graph_def()


def test_a_part_of_a_message_is_a_message():
    whole = v1.GraphDef()
    content = message().SerializeToString()
    assert whole.ParseFromString(content) == len(content)
    part = v1.graph_util.extract_sub_graph(whole, ["square"])
    assert [node.name for node in part.node] == ["x", "relu", "same", "square"]
    again = v1.GraphDef.FromString(part.SerializeToString())
    assert again == part
    (square,) = tf.import_graph_def(again, {"x": [2.0, -1.0]}, ["square:0"])
    assert square.numpy().tolist() == [4, 0]
    slim = v1.graph_util.remove_training_nodes(part)
    assert [(node.name, node.input) for node in slim.node][1:] == [("relu", ["x"]), ("square", ["relu"])]
    (square,) = tf.import_graph_def(slim, {"x": [2.0, -1.0]}, ["square:0"])
    assert square.numpy().tolist() == [4, 0]
    kept = v1.graph_util.remove_training_nodes(part, protected_nodes=["same"])
    assert kept == part
    copied = v1.GraphDef()
    copied.CopyFrom(part)
    assert copied.SerializeToString() == part.SerializeToString()
    assert not v1.graph_util.must_run_on_cpu(part.node[0])
    with pytest.raises(tf.errors.DataLossError):
        v1.GraphDef.FromString(b"no message")


def test_a_part_of_an_open_graph_is_a_list_of_nodes():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        tf.square(tf.nn.relu(x, name="y"), name="z")
    listed = graph.as_graph_def()
    assert [node.name for node in v1.graph_util.extract_sub_graph(listed, ["y"]).node] == ["x", "y"]
    assert v1.graph_util.tensor_shape_from_node_def_name(graph, "y") == (2,)
    with pytest.raises(AssertionError, match="q is not in graph"):
        v1.graph_util.extract_sub_graph(listed, ["q"])
    with pytest.raises(TypeError, match="list of names"):
        v1.graph_util.extract_sub_graph(listed, "y")
    with pytest.raises(TypeError, match="must be a GraphDef, got Graph"):
        v1.graph_util.extract_sub_graph(graph, ["y"])


def test_files_beside_a_module_are_found(tmp_path):
    assert v1.resource_loader.get_data_files_path() == str(Path(__file__).parent)
    path = v1.resource_loader.get_path_to_datafile("files/tensorflow_1.zip")
    assert v1.resource_loader.load_resource("files/tensorflow_1.zip") == Path(path).read_bytes()
    with pytest.raises(FileNotFoundError):
        v1.resource_loader.load_resource("absent")
