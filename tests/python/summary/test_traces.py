"""`trace_on` and `trace_export`."""

from pathlib import Path

import pytest

import penstock as tf
from penstock._runtime.protos import Event, RunMetadata


def _runs(directory):
    """The run metadata that event files hold, by tag and step."""
    found = {}
    for file in sorted(Path(directory).glob("events.out.tfevents.*")):
        for record in tf.data.TFRecordDataset(str(file)):
            event = Event.FromString(record.numpy())
            for value in event.summary.value if event.HasField("summary") else ():
                if value.metadata.plugin_data.plugin_name == "graph_run_metadata_graph":
                    content = value.tensor.string_val[0]
                    found[value.tag, event.step] = RunMetadata.FromString(content)
    return found


def test_the_graphs_of_functions_that_ran_are_written(tmp_path):
    earlier = tf.function(lambda x: tf.sort(x))
    idle = tf.function(lambda x: tf.cumsum(x))
    new = tf.function(lambda x: tf.exp(x))
    earlier(tf.range(3)), idle(tf.range(3))
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        tf.summary.trace_on()
        earlier(tf.range(3))
        new(tf.constant([1.0]))
        tf.summary.trace_export("step", step=4)
    (run,) = (metadata for key, metadata in _runs(tmp_path).items() if key == ("step", 4))
    graphs = b"".join(graph.pre_optimization_graph for graph in run.function_graphs)
    assert len(run.function_graphs) == 2
    assert b"Exp" in graphs
    assert b"Cumsum" not in graphs


def test_a_profile_is_written_where_it_was_asked_for(tmp_path):
    tf.summary.trace_on(graph=False, profiler=True, profiler_outdir=str(tmp_path))
    tf.sort(tf.range(3))
    tf.summary.trace_export("step", step=1)
    assert list(tmp_path.glob("plugins/profile/*/profile.html"))
    tf.summary.trace_on(graph=True, profiler=True, profiler_outdir=str(tmp_path))
    tf.summary.trace_off()
    assert len(list(tmp_path.glob("plugins/profile/*"))) == 1


def test_what_cannot_be_traced_says_why():
    with pytest.raises(ValueError, match="trace_on"):
        tf.summary.trace_export("step", step=1)
    with pytest.raises(ValueError, match="profiler_outdir"):
        tf.summary.trace_on(profiler=True)
    with pytest.raises(RuntimeError, match="outside of functions"):
        tf.function(lambda: tf.summary.trace_on())()
