"""Which graph of a SavedModel is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as tf
from penstock._saving.graph_messages import GraphMessage, NodeMessage
from penstock.compat.v1._graph_messages import SavedModelMessage

v1: Any = tf.compat.v1


def several(path: Path, as_text: bool) -> None:
    """Save a graph that doubles, which serves, and one that trains, which does not."""
    builder = v1.saved_model.Builder(path)
    for tags, factor in ((["train"], 3.0), (["serve"], 2.0), (["serve", "gpu"], 5.0)):
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [], name="x")
            v = v1.get_variable("v", [], initializer=v1.constant_initializer(1.0))
            session.run(v1.global_variables_initializer())
            signature = v1.saved_model.predict_signature_def({"x": x}, {"y": x * v * factor})
            signatures = {"serving_default": signature}
            if tags == ["train"]:
                builder.add_meta_graph_and_variables(session, tags, signatures)
            else:
                builder.add_meta_graph(tags, signatures)
    builder.save(as_text=as_text)


@pytest.mark.parametrize("as_text", [False, True])
def test_the_graph_of_the_tags_is_loaded(tmp_path: Path, as_text: bool) -> None:
    path = tmp_path / "model"
    several(path, as_text)
    for tags, factor in ((None, 2.0), ("serve", 2.0), (["train"], 3.0), ({"gpu", "serve"}, 5.0)):
        loaded = tf.saved_model.load(path, tags)
        assert loaded.signatures["serving_default"](x=tf.constant(2.0))["y"].numpy() == 2.0 * factor
    with pytest.raises(RuntimeError, match=r"'tags': .* no graph with the tags \['tpu'\]"):
        tf.saved_model.load(path, "tpu")


def test_other_tags_than_those_of_the_one_graph_are_refused(tmp_path: Path) -> None:
    module = tf.Module()
    module.v = tf.Variable(1.0)
    tf.saved_model.save(module, tmp_path)
    for tags in (None, "serve", ["serve"], {"serve"}, ("serve",)):
        assert tf.saved_model.load(tmp_path, tags).v.numpy() == 1.0
    for tags in ("train", ["serve", "gpu"], []):
        with pytest.raises(ValueError, match=r"argument 'tags': .* with the tags \['serve'\]"):
            tf.saved_model.load(tmp_path, tags)


@pytest.mark.parametrize("as_text", [False, True])
def test_parts_of_a_saved_model_of_version_1_are_functions(tmp_path: Path, as_text: bool) -> None:
    path = tmp_path / "model"
    builder = v1.saved_model.Builder(path)
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        with v1.variable_scope("layer"):
            w = v1.get_variable("w", [], initializer=v1.constant_initializer(3.0))
        product = tf.multiply(x, w, name="product")
        total = tf.reduce_sum(product, name="total")
        session.run(v1.global_variables_initializer())
        signature = v1.saved_model.predict_signature_def({"x": x}, {"total": total})
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
    builder.save(as_text=as_text)
    loaded = tf.saved_model.load(path)
    (variable,) = loaded.variables
    assert variable.name == "layer/w:0"
    part = loaded.prune("x:0", {"product": "product:0", "all": ["total:0"]})
    found = part(tf.constant([1.0, 2.0]))
    assert found["product"].numpy().tolist() == [3.0, 6.0]
    assert found["all"][0].numpy() == 9.0
    assert loaded.prune("product:0", "total:0")(tf.constant([1.0, 1.0])).numpy() == 2.0
    # It has the variables of what was loaded.
    variable.assign(10.0)
    assert part(tf.constant([1.0]))["product"].numpy().tolist() == [10.0]
    assert loaded.graph.get_tensor_by_name("product:0").shape == [None]
    with pytest.raises(KeyError):
        loaded.prune("none:0", "total:0")
    # It is saved again as what it is called by.
    tf.saved_model.save(loaded, tmp_path / "again")
    again = tf.saved_model.load(tmp_path / "again")
    assert again.signatures["serving_default"](x=tf.constant([1.0]))["total"].numpy() == 10.0


def test_what_is_no_saved_model_of_version_1_has_no_parts(tmp_path: Path) -> None:
    tf.saved_model.save(tf.Module(), tmp_path)
    assert not hasattr(tf.saved_model.load(tmp_path), "prune")


def test_a_signature_that_needs_an_operator_that_there_is_not_says_so(tmp_path: Path) -> None:
    node = NodeMessage(name="y", op="NoSuchOperator")
    tensor = v1.TensorInfo(name="y:0", dtype=1)
    graph = v1.MetaGraphDef(
        meta_info_def={"tags": ["serve"]},
        graph_def=GraphMessage(node=[node]).SerializeToString(),
        signature_def={"serving_default": {"outputs": {"y": tensor}, "method_name": "predict"}},
    )
    message = SavedModelMessage(saved_model_schema_version=1, meta_graphs=[graph])
    (tmp_path / "saved_model.pb").write_bytes(message.SerializeToString())
    signatures = tf.saved_model.load(tmp_path).signatures
    assert "serving_default" not in signatures
    assert signatures.get("serving_default") is None
    for error in (tf.errors.UnimplementedError, KeyError):
        with pytest.raises(error, match=r"signature 'serving_default' was not converted.*NoSuchOperator"):
            signatures["serving_default"]
    with pytest.raises(KeyError, match="other"):
        signatures["other"]
