"""Which graph of a SavedModel is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as tf

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
