"""The messages of TensorFlow that programs and TensorBoard use, with their numbers on the wire."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

from penstock import _core
from penstock._runtime.messages import Field, Message

__all__ = [
    "BytesList",
    "Event",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "HistogramProto",
    "Int64List",
    "SequenceExample",
    "Summary",
    "SummaryMetadata",
    "TensorProto",
    "TensorShapeProto",
    "array_of",
    "graph_bytes",
    "tensor_proto",
]

# The numbers of dtypes in messages.
_DTYPES: Final = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
    "float8_e5m2": 24,
    "float8_e4m3fn": 25,
    "float8_e4m3fnuz": 26,
    "float8_e4m3b11fnuz": 27,
    "float8_e5m2fnuz": 28,
    "int4": 29,
    "uint4": 30,
    "int2": 31,
    "uint2": 32,
    "float4_e2m1fn": 33,
}


class _Dimension(Message):
    FIELDS: ClassVar = {"size": Field(1, "int64"), "name": Field(2, "string")}


class TensorShapeProto(Message):
    """A shape: a size for each dimension, -1 where it is not known.

    Args:
        **fields: `dim` and `unknown_rank`.
    """

    Dim = _Dimension
    FIELDS: ClassVar = {"dim": Field(2, _Dimension, repeated=True), "unknown_rank": Field(3, "bool")}


class TensorProto(Message):
    """A tensor: numbers as bytes in `tensor_content`, strings in `string_val`."""

    FIELDS: ClassVar = {
        "dtype": Field(1, "enum"),
        "tensor_shape": Field(2, TensorShapeProto),
        "tensor_content": Field(4, "bytes"),
        "float_val": Field(5, "float", repeated=True),
        "double_val": Field(6, "double", repeated=True),
        "int_val": Field(7, "int32", repeated=True),
        "string_val": Field(8, "bytes", repeated=True),
        "int64_val": Field(10, "int64", repeated=True),
        "bool_val": Field(11, "bool", repeated=True),
    }


class _PluginData(Message):
    FIELDS: ClassVar = {"plugin_name": Field(1, "string"), "content": Field(2, "bytes")}


class SummaryMetadata(Message):
    """What a summary says of itself: which plugin of TensorBoard shows it, and how.

    Args:
        **fields: `plugin_data`, `display_name`, `summary_description`, `data_class`.
    """

    PluginData = _PluginData
    FIELDS: ClassVar = {
        "plugin_data": Field(1, _PluginData),
        "display_name": Field(2, "string"),
        "summary_description": Field(3, "string"),
        "data_class": Field(4, "enum"),
    }


class HistogramProto(Message):
    """A histogram, as summaries of TensorFlow 1 have it."""

    FIELDS: ClassVar = {
        "min": Field(1, "double"),
        "max": Field(2, "double"),
        "num": Field(3, "double"),
        "sum": Field(4, "double"),
        "sum_squares": Field(5, "double"),
        "bucket_limit": Field(6, "double", repeated=True),
        "bucket": Field(7, "double", repeated=True),
    }


class _Image(Message):
    FIELDS: ClassVar = {
        "height": Field(1, "int32"),
        "width": Field(2, "int32"),
        "colorspace": Field(3, "int32"),
        "encoded_image_string": Field(4, "bytes"),
    }


class _Audio(Message):
    FIELDS: ClassVar = {
        "sample_rate": Field(1, "float"),
        "num_channels": Field(2, "int64"),
        "length_frames": Field(3, "int64"),
        "encoded_audio_string": Field(4, "bytes"),
        "content_type": Field(5, "string"),
    }


class _Value(Message):
    FIELDS: ClassVar = {
        "node_name": Field(7, "string"),
        "tag": Field(1, "string"),
        "metadata": Field(9, SummaryMetadata),
        "simple_value": Field(2, "float", oneof="value"),
        "image": Field(4, _Image, oneof="value"),
        "histo": Field(5, HistogramProto, oneof="value"),
        "audio": Field(6, _Audio, oneof="value"),
        "tensor": Field(8, TensorProto, oneof="value"),
    }


class Summary(Message):
    """Values that are written at one step.

    Args:
        **fields: `value`.
    """

    Value = _Value
    Image = _Image
    Audio = _Audio
    FIELDS: ClassVar = {"value": Field(1, _Value, repeated=True)}


class _SourceMetadata(Message):
    FIELDS: ClassVar = {"writer": Field(1, "string")}


class SessionLog(Message):
    """That a session started, stopped or wrote a checkpoint.

    Args:
        **fields: `status`, `checkpoint_path` and `msg`.
    """

    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = range(4)

    FIELDS: ClassVar = {
        "status": Field(1, "enum"),
        "checkpoint_path": Field(2, "string"),
        "msg": Field(3, "string"),
    }


class TaggedRunMetadata(Message):
    """What is known of a run, under a name.

    Args:
        **fields: `tag`, and `run_metadata`, a `RunMetadata` as bytes.
    """

    FIELDS: ClassVar = {"tag": Field(1, "string"), "run_metadata": Field(2, "bytes")}


class Event(Message):
    """A record of an event file.

    Args:
        **fields: `wall_time`, `step`, and one of `file_version`, `graph_def`, `summary`, `session_log`,
            `tagged_run_metadata` and `meta_graph_def`.
    """

    FIELDS: ClassVar = {
        "wall_time": Field(1, "double"),
        "step": Field(2, "int64"),
        "file_version": Field(3, "string", oneof="what"),
        "graph_def": Field(4, "bytes", oneof="what"),
        "summary": Field(5, Summary, oneof="what"),
        "session_log": Field(7, SessionLog, oneof="what"),
        "tagged_run_metadata": Field(8, TaggedRunMetadata, oneof="what"),
        "meta_graph_def": Field(9, "bytes", oneof="what"),
        "source_metadata": Field(10, _SourceMetadata),
    }


class FunctionGraphs(Message):
    """The graphs of a function that ran.

    Args:
        **fields: `pre_optimization_graph`, a `GraphDef` as bytes.
    """

    FIELDS: ClassVar = {"pre_optimization_graph": Field(2, "bytes")}


class RunMetadata(Message):
    """What is known of a run.

    Args:
        **fields: `function_graphs`.
    """

    FIELDS: ClassVar = {"function_graphs": Field(4, FunctionGraphs, repeated=True)}


class BytesList(Message):
    """Strings of bytes.

    Args:
        **fields: `value`.
    """

    FIELDS: ClassVar = {"value": Field(1, "bytes", repeated=True)}


class FloatList(Message):
    """Numbers of dtype `float32`.

    Args:
        **fields: `value`.
    """

    FIELDS: ClassVar = {"value": Field(1, "float", repeated=True)}


class Int64List(Message):
    """Integers.

    Args:
        **fields: `value`.
    """

    FIELDS: ClassVar = {"value": Field(1, "int64", repeated=True)}


class Feature(Message):
    """What an example has under one name.

    Args:
        **fields: one of `bytes_list`, `float_list` and `int64_list`.
    """

    FIELDS: ClassVar = {
        "bytes_list": Field(1, BytesList, oneof="kind"),
        "float_list": Field(2, FloatList, oneof="kind"),
        "int64_list": Field(3, Int64List, oneof="kind"),
    }


class Features(Message):
    """Features by name.

    Args:
        **fields: `feature`, a map.
    """

    FIELDS: ClassVar = {"feature": Field(1, Feature, mapped=True)}


class Example(Message):
    """A row of a data set.

    Args:
        **fields: `features`.

    >>> import penstock as tf
    >>> age = tf.train.Feature(int64_list=tf.train.Int64List(value=[42]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"age": age}))
    >>> content = example.SerializeToString()
    >>> tf.train.Example.FromString(content).features.feature["age"].int64_list.value
    [42]
    """

    FIELDS: ClassVar = {"features": Field(1, Features)}


class FeatureList(Message):
    """What the steps of a sequence have under one name.

    Args:
        **fields: `feature`.
    """

    FIELDS: ClassVar = {"feature": Field(1, Feature, repeated=True)}


class FeatureLists(Message):
    """Lists of features by name.

    Args:
        **fields: `feature_list`, a map.
    """

    FIELDS: ClassVar = {"feature_list": Field(1, FeatureList, mapped=True)}


class SequenceExample(Message):
    """A row of a data set with features of each step of a sequence.

    Args:
        **fields: `context` and `feature_lists`.
    """

    FIELDS: ClassVar = {"context": Field(1, Features), "feature_lists": Field(2, FeatureLists)}


class _Versions(Message):
    FIELDS: ClassVar = {"producer": Field(1, "int32")}


class _Node(Message):
    FIELDS: ClassVar = {
        "name": Field(1, "string"),
        "op": Field(2, "string"),
        "input": Field(3, "string", repeated=True),
        "device": Field(4, "string"),
    }


class _Graph(Message):
    FIELDS: ClassVar = {"node": Field(1, _Node, repeated=True), "versions": Field(4, _Versions)}


def graph_bytes(nodes: Any) -> bytes:
    """The nodes of a graph (`graph.as_graph_def().node`) as a `GraphDef`."""
    found = [{"name": n.name, "op": n.op, "input": n.input} for n in nodes]
    return _Graph(node=found, versions={"producer": 27}).SerializeToString()


def tensor_proto(tensor: _core.Tensor) -> TensorProto:
    """An eager tensor as a message."""
    proto = TensorProto(
        dtype=_DTYPES[tensor.dtype.name],
        tensor_shape={"dim": [{"size": n} for n in tensor.shape]},
    )
    array = tensor.numpy()
    if tensor.dtype == _core.string:
        values = [array] if isinstance(array, bytes) else array.ravel().tolist()
        proto.string_val.extend(values)
    else:
        proto._set("tensor_content", array.tobytes())
    return proto


def array_of(proto: TensorProto) -> tuple[Any, str]:
    """The array of a message, and the name of its dtype.

    Raises:
        ValueError: where it has an unknown dtype, or another number of elements than its shape says.
    """
    import numpy as np  # start-up does without it

    name = next((name for name, number in _DTYPES.items() if number == proto.dtype), None)
    if name is None:
        raise ValueError(f"it has dtype {proto.dtype}")
    shape = [d.size for d in proto.tensor_shape.dim]
    count = math.prod(shape)
    if any(size < 0 for size in shape):
        raise ValueError(f"it has shape {shape}")
    dtype: Any = object if name == "string" else _core.DType(name).as_numpy_dtype
    if proto.tensor_content and name != "string":
        if len(proto.tensor_content) != count * np.dtype(dtype).itemsize:
            raise ValueError(f"it has {len(proto.tensor_content)} bytes for shape {shape}")
        return np.frombuffer(proto.tensor_content, dtype).reshape(shape), name
    fields = ("float_val", "double_val", "int_val", "string_val", "int64_val", "bool_val")
    values: list[Any] = next((list(found) for f in fields if (found := getattr(proto, f))), [])
    if len(values) > count:
        raise ValueError(f"it has {len(values)} values for shape {shape}")
    # The last value stands for those that follow.
    rest = values[-1] if values else b"" if name == "string" else 0
    if count > 1 << 31:
        raise ValueError(f"it has shape {shape}")
    array = np.empty(count, dtype)
    array[:] = rest
    array[: len(values)] = values
    return array.reshape(shape), name
