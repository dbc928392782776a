"""SavedModels and graphs as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as tf
from penstock._saving import saved_model_text

v1: Any = tf.compat.v1


def test_a_graph_that_is_written_as_text_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "model"
    words = tmp_path / "words.txt"
    words.write_text("é\n")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        v = v1.get_variable("v", [], initializer=v1.constant_initializer(3.0))
        y = tf.identity(tf.where(x > float("inf"), -0.0, x * v), name="y")
        file = tf.constant(str(words), name="file")
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(path)
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, [file])
        assert builder.save(as_text=True) == str(path / "saved_model.pbtxt").encode()
    assert not (path / "saved_model.pb").exists()
    assert 'name: "y"' in (path / "saved_model.pbtxt").read_text()
    model = tf.saved_model.load(path)
    assert model.signatures["serving_default"](x=tf.constant([2.0]))["y"].numpy().tolist() == [6.0]
    with tf.Graph().as_default(), v1.Session() as session:
        v1.saved_model.load(session, ["serve"], path)
        assert session.run("y:0", {"x:0": [2.0]}).tolist() == [6.0]


def test_the_description_of_a_graph_is_written_and_read_as_text(tmp_path: Path) -> None:
    path = str(tmp_path / "graph.meta")
    for export in (v1.train.export_meta_graph, lambda *a, **k: v1.train.Saver().export_meta_graph(*a, **k)):
        with tf.Graph().as_default():
            v = v1.get_variable("v", [], initializer=v1.constant_initializer(3.0))
            tf.multiply(v, v1.placeholder(tf.float32, [], name="x"), name="y")
            export(path, as_text=True)
        assert Path(path).read_text().startswith("meta_info_def {")
        with tf.Graph().as_default(), v1.Session() as session:
            v1.train.import_meta_graph(path)
            session.run(v1.global_variables_initializer())
            assert session.run("y:0", {"x:0": 2.0}) == 6.0


TEXT = r"""
# A comment; fields of a later version are left out.
saved_model_schema_version: 0x1
later: 3, more: [1, 2] other { a: "}" [some.extension] < b: 'x' > }
meta_graphs {
  meta_info_def: < tags: ["serve", 'te' "st"]; stripped_default_attrs: true any_info {
    [type.googleapis.com/tensorflow.OpList] { op { name: "a" } }
  } >
  graph_def { node { name: "\303\251\x41\n\"\u00e9" op: "Const" attr { key: "f" value { f: -1.5e-3f } }
    attr { key: "n" value { list { f: inf f: -inf f: 2 i: -010 type: DT_FLOAT type: 3 b: [t, false] } } } } }
  object_graph_def { nodes { function { function_spec { fullargspec { int64_value: -5 } } } } }
}
"""


def test_the_text_form_of_messages_is_read_as_their_library_does(tmp_path: Path) -> None:
    path = tmp_path / "saved_model.pbtxt"
    path.write_text(TEXT, "utf-8")
    content = saved_model_text.content_of(path)
    (graph,) = saved_model_text._described().classes["SavedModel"].FromString(content).meta_graphs
    assert graph.meta_info_def.tags == ["serve", "test"]
    (node,) = graph.graph_def.node
    assert node.name == 'éA\n"é'
    assert node.attr[0].value.f == pytest.approx(-1.5e-3)
    listed = node.attr[1].value.list
    assert (list(listed.f), list(listed.i)) == ([float("inf"), -float("inf"), 2.0], [-8])
    assert (list(listed.type), list(listed.b)) == ([1, 3], [True, False])
    spec = graph.object_graph_def.nodes[0].function.function_spec
    assert spec.fullargspec.int64_value == -5
    path.write_text(saved_model_text.text_of(content), "utf-8")
    assert saved_model_text.content_of(path) == content


@pytest.mark.parametrize(
    "text",
    [
        *("meta_graphs {", "meta_graphs: 3", "meta_graphs }", "saved_model_schema_version: x", "\x00"),
        *('saved_model_schema_version: "1', "saved_model_schema_version {}", "3: 4 {", "a: [1, 2", "[a"),
        *("saved_model_schema_version: 99999999999999999999", "meta_graphs { meta_info_def { tags: 3 } } }"),
        "a {" * 100_000,
        'meta_graphs { meta_info_def { tags: "\\377" } }',
    ],
)
def test_a_damaged_text_is_an_error_that_names_the_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "saved_model.pbtxt").write_text(f"\n{text}", "utf-8")
    with pytest.raises(tf.errors.DataLossError, match=r"line \d+ of the text"):
        tf.saved_model.load(tmp_path)


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pbtxt").write_bytes(b"\xff\xfe")
    with pytest.raises(tf.errors.DataLossError, match="is no text"):
        tf.saved_model.load(tmp_path)
