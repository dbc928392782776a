"""What writers of TensorFlow 1 put into event files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as tf

v1: Any = tf.compat.v1


def events(folder: Path) -> list[Any]:
    (path,) = folder.iterdir()
    return list(v1.train.summary_iterator(str(path)))


def test_a_graph_is_written_with_its_attributes_and_as_a_meta_graph(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        tf.square(v1.placeholder(tf.float32, [], name="x"), name="y")
    v1.summary.FileWriter(tmp_path, graph).close()
    _, first, second = events(tmp_path)
    written = v1.GraphDef.FromString(first.graph_def)
    assert [(node.name, node.op) for node in written.node] == [("x", "Placeholder"), ("y", "Square")]
    assert written.node[1].attr["T"].type == 1
    assert v1.MetaGraphDef.FromString(second.meta_graph_def).graph_def == first.graph_def


def test_a_graph_that_calls_python_is_written_without_attributes(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        v1.summary.scalar("loss", tf.constant(1.0))
    v1.summary.FileWriter(tmp_path, graph).close()
    assert len(v1.GraphDef.FromString(events(tmp_path)[1].graph_def).node) > 0


def test_logs_of_sessions_and_what_is_known_of_runs_are_written(tmp_path: Path) -> None:
    with v1.summary.FileWriter(tmp_path) as writer:
        writer.add_session_log(v1.SessionLog(status=v1.SessionLog.START), 3)
        writer.add_run_metadata(v1.RunMetadata(), "step 4", 4)
        with pytest.raises(ValueError, match="'tag' was given before: 'step 4'"):
            writer.add_run_metadata(v1.RunMetadata(), "step 4")
        writer.add_meta_graph(v1.MetaGraphDef(meta_info_def={"tags": ["serve"]}))
        with pytest.raises(TypeError, match="'meta_graph_def' must be a MetaGraphDef"):
            writer.add_meta_graph("model")
        with pytest.raises(TypeError, match="'graph' must be a"):
            writer.add_graph("model")
    _, log, run, graph = events(tmp_path)
    assert (log.step, log.session_log.status) == (3, 1)
    assert (run.step, run.tagged_run_metadata.tag) == (4, "step 4")
    assert v1.MetaGraphDef.FromString(graph.meta_graph_def).meta_info_def.tags == ["serve"]
