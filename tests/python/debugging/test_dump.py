"""Debug information in files: which operations ran, where they were called, and what they gave."""

import io
import math

import numpy as np
import pytest

import penstock as tf
from penstock._runtime.protos import array_of
from penstock._runtime.records import records
from penstock.debugging._events import DebugEvent


@pytest.fixture(autouse=True)
def _ended():
    yield
    tf.debugging.experimental.disable_dump_debug_info()


def dump(root, *args, **kwargs):
    return tf.debugging.experimental.enable_dump_debug_info(root, *args, circular_buffer_size=-1, **kwargs)


def events(root, suffix):
    """What the messages of a kind of file hold."""
    tf.debugging.experimental.disable_dump_debug_info()
    (path,) = root.glob(f"tfdbg_events.*.{suffix}")
    return [DebugEvent.FromString(r) for r in records(io.BytesIO(path.read_bytes()), str(path))]


def executions(root):
    return [event.execution for event in events(root, "execution")]


def traces(root):
    return [event.graph_execution_trace for event in events(root, "graph_execution_traces")]


def created(root):
    return {
        e.graph_op_creation.op_name: e.graph_op_creation
        for e in events(root, "graphs")
        if e.graph_op_creation.op_name
    }


def value(proto):
    return array_of(proto)[0]


def test_the_files_say_of_what_format_they_are(tmp_path):
    dump(tmp_path)
    (event,) = events(tmp_path, "metadata")
    assert event.debug_metadata.file_version == "debug.Event:1"
    assert event.debug_metadata.tensorflow_version == tf.__version__
    suffixes = {path.suffix for path in tmp_path.iterdir()}
    assert suffixes == {
        ".metadata",
        ".source_files",
        ".stack_frames",
        ".graphs",
        ".execution",
        ".graph_execution_traces",
    }


def test_eager_operations_are_written_with_their_lines(tmp_path):
    dump(tmp_path, "FULL_TENSOR")
    x = tf.constant([1.0, 2.0]) * 3.0  # here
    tf.reduce_sum(x)
    first, second = executions(tmp_path)
    assert (first.op_type, second.op_type) == ("Mul", "Sum")
    np.testing.assert_array_equal(value(first.tensor_protos[0]), [3.0, 6.0])
    assert second.input_tensor_ids[0] == first.output_tensor_ids[0]
    frames = {
        e.stack_frame_with_id.id: e.stack_frame_with_id.file_line_col
        for e in events(tmp_path, "stack_frames")
    }
    files = [e.source_file for e in events(tmp_path, "source_files")]
    frame = frames[first.code_location.stack_frame_ids[-1]]
    source = files[frame.file_index]
    assert source.file_path == __file__
    assert source.lines[frame.line - 1].endswith("# here")
    assert frame.func == "test_eager_operations_are_written_with_their_lines"


def test_what_a_graph_computes_is_written_in_each_iteration(tmp_path):
    @tf.function
    def f(x, n):
        for _ in tf.range(n):
            x = x * 2.0
        return tf.sqrt(x)

    f(tf.constant(4.0), tf.constant(1))
    dump(tmp_path, "FULL_TENSOR", op_regex="Mul|Sqrt")
    assert float(f(tf.constant(4.0), tf.constant(2))) == 4.0
    tf.debugging.experimental.disable_dump_debug_info()
    found = traces(tmp_path)
    operations = created(tmp_path)
    assert [operations[t.op_name].op_type for t in found] == ["Mul", "Mul", "Sqrt"]
    assert [float(value(t.tensor_proto)) for t in found] == [8.0, 16.0, 4.0]
    (run,) = executions(tmp_path)
    assert run.op_type == "__inference_f"
    assert run.graph_id == found[0].tfdbg_context_id
    for operation in operations.values():
        assert all(name.partition(":")[0] in operations for name in operation.input_names)


def test_functions_that_a_function_calls_are_part_of_its_graph(tmp_path):
    @tf.function
    def inner(x):
        return tf.exp(x)

    @tf.function
    def outer(x):
        return inner(x) + 1.0

    inner(tf.constant(0.0))
    dump(tmp_path, "CURT_HEALTH")
    outer(tf.constant(0.0))
    assert {"Exp", "AddV2"} <= {o.op_type for o in created(tmp_path).values()}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("CURT_HEALTH", [-1, 1]),
        ("CONCISE_HEALTH", [-1, 6, 1, 1, 1]),
        ("FULL_HEALTH", [-1, -1, 1, 2, 6, 1, 1, 1, 1, 1, 1]),
        ("SHAPE", [-1, 1, 2, 6, 2, 3, 0, 0, 0, 0]),
    ],
)
def test_summaries_have_the_numbers_of_tensorflow(mode, expected, tmp_path):
    x = tf.constant([[1.0, -2.0, 0.0], [math.inf, -math.inf, math.nan]])
    dump(tmp_path, mode)
    _ = x * 1.0
    (found,) = executions(tmp_path)
    assert value(found.tensor_protos[0]).tolist() == expected


def test_of_a_long_shape_the_last_sizes_are_written(tmp_path):
    x = tf.zeros([1, 2, 1, 3, 1, 1, 4])
    dump(tmp_path, "SHAPE")
    _ = x + 1.0
    (found,) = executions(tmp_path)
    assert value(found.tensor_protos[0]).tolist() == [-1, 1, 7, 24, 2, 1, 3, 1, 1, 4]


def test_without_tensors_it_is_known_that_they_were_computed(tmp_path):
    @tf.function
    def f(x):
        return x + 1

    dump(tmp_path)
    f(tf.constant(1))
    (found,) = traces(tmp_path)
    assert found.tensor_debug_mode == 1
    assert value(found.tensor_proto).size == 0


def test_dtypes_choose_what_is_written(tmp_path):
    dump(tmp_path, "FULL_TENSOR", tensor_dtypes=["int32"])
    _ = tf.constant(1.0) + 1.0
    _ = tf.constant(1) + 1
    real, whole = executions(tmp_path)
    assert not real.tensor_protos
    assert int(value(whole.tensor_protos[0])) == 2
    dump(tmp_path / "b", "FULL_TENSOR", tensor_dtypes=lambda dtype: dtype.is_floating)
    _ = tf.constant(1.0) + 1.0
    assert len(executions(tmp_path / "b")[0].tensor_protos) == 1


def test_the_buffer_keeps_the_latest_events(tmp_path):
    tf.debugging.experimental.enable_dump_debug_info(tmp_path, "FULL_TENSOR", circular_buffer_size=2)
    for i in range(5):
        _ = tf.constant(i) + 1
    found = executions(tmp_path)
    assert [int(value(e.tensor_protos[0])) for e in found] == [4, 5]


def test_the_writer_writes_at_once_when_it_is_told_to(tmp_path):
    writer = tf.debugging.experimental.enable_dump_debug_info(tmp_path, "FULL_TENSOR")
    _ = tf.constant(1) + 1
    (path,) = tmp_path.glob("*.execution")
    assert path.stat().st_size == 0
    writer.FlushExecutionFiles()
    assert path.stat().st_size > 0


def test_functions_run_as_before_once_it_has_ended(tmp_path):
    @tf.function
    def f(x):
        return x * 2.0

    f(tf.constant(1.0))
    dump(tmp_path, "FULL_TENSOR")
    assert not tf.config.functions_run_eagerly()
    f(tf.constant(1.0))
    tf.debugging.experimental.disable_dump_debug_info()
    assert f.experimental_get_tracing_count() == 1
    count = len(traces(tmp_path))
    f(tf.constant(1.0))
    assert len(traces(tmp_path)) == count
    dump(tmp_path / "again", "FULL_TENSOR")
    f(tf.constant(1.0))
    assert len(traces(tmp_path / "again")) == count


def test_gradients_are_those_without_it(tmp_path):
    @tf.function
    def f(v):
        return v * v

    v = tf.Variable(3.0)
    dump(tmp_path, "FULL_HEALTH")
    with tf.GradientTape() as tape:
        y = f(v)
    assert float(tape.gradient(y, v)) == 6.0


def test_calls_that_contradict_each_other_are_errors(tmp_path):
    writer = dump(tmp_path, "SHAPE")
    assert dump(tmp_path, "SHAPE") is writer
    with pytest.raises(ValueError, match="'tensor_debug_mode' and 'circular_buffer_size' must be"):
        dump(tmp_path, "FULL_TENSOR")
    assert dump(tmp_path / "other", "SHAPE") is not writer


def test_arguments_are_checked(tmp_path):
    with pytest.raises(ValueError, match="'tensor_debug_mode' must be one of NO_TENSOR"):
        dump(tmp_path, "ALL")
    with pytest.raises(ValueError, match="'op_regex' must be a regular expression"):
        dump(tmp_path, op_regex="(")
    with pytest.raises(TypeError, match="'circular_buffer_size' must be an integer"):
        tf.debugging.experimental.enable_dump_debug_info(tmp_path, circular_buffer_size="many")
    with pytest.raises(ValueError, match="'tensor_dtypes' must be"):
        dump(tmp_path, tensor_dtypes="int32")
    (tmp_path / "file").touch()
    with pytest.raises(tf.errors.FailedPreconditionError, match="'dump_root' must be a directory"):
        dump(tmp_path / "file")
