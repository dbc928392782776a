"""The messages of TensorFlow's debug information, with their numbers on the wire."""

from __future__ import annotations

from typing import ClassVar, Final

from penstock._runtime.messages import Field, Message
from penstock._runtime.protos import TensorProto

__all__ = ["MODES", "DebugEvent"]

# What is written of tensors, with the numbers of the modes.
MODES: Final = {
    "NO_TENSOR": 1,
    "CURT_HEALTH": 2,
    "CONCISE_HEALTH": 3,
    "FULL_HEALTH": 4,
    "SHAPE": 5,
    "FULL_TENSOR": 7,
}


class _Metadata(Message):
    FIELDS: ClassVar = {
        "tensorflow_version": Field(1, "string"),
        "file_version": Field(2, "string"),
        "tfdbg_run_id": Field(3, "string"),
    }


class _SourceFile(Message):
    FIELDS: ClassVar = {
        "file_path": Field(1, "string"),
        "host_name": Field(2, "string"),
        "lines": Field(3, "string", repeated=True),
    }


class _FileLine(Message):
    FIELDS: ClassVar = {
        "file_index": Field(1, "int32"),
        "line": Field(2, "int32"),
        "func": Field(4, "string"),
    }


class _StackFrame(Message):
    FIELDS: ClassVar = {"id": Field(1, "string"), "file_line_col": Field(2, _FileLine)}


class _Location(Message):
    FIELDS: ClassVar = {
        "host_name": Field(1, "string"),
        "stack_frame_ids": Field(2, "string", repeated=True),
    }


class _OpCreation(Message):
    FIELDS: ClassVar = {
        "op_type": Field(1, "string"),
        "op_name": Field(2, "string"),
        "graph_name": Field(3, "string"),
        "graph_id": Field(4, "string"),
        "device_name": Field(5, "string"),
        "input_names": Field(6, "string", repeated=True),
        "num_outputs": Field(7, "int32"),
        "code_location": Field(8, _Location),
        "output_tensor_ids": Field(9, "int32", repeated=True),
    }


class _Graph(Message):
    FIELDS: ClassVar = {
        "graph_id": Field(1, "string"),
        "graph_name": Field(2, "string"),
        "outer_context_id": Field(6, "string"),
    }


class _Device(Message):
    FIELDS: ClassVar = {"device_name": Field(1, "string"), "device_id": Field(2, "int32")}


class _Execution(Message):
    FIELDS: ClassVar = {
        "op_type": Field(1, "string"),
        "num_outputs": Field(2, "int32"),
        "graph_id": Field(3, "string"),
        "input_tensor_ids": Field(4, "int64", repeated=True),
        "output_tensor_ids": Field(5, "int64", repeated=True),
        "tensor_debug_mode": Field(6, "enum"),
        "tensor_protos": Field(7, TensorProto, repeated=True),
        "code_location": Field(8, _Location),
        "output_tensor_device_ids": Field(9, "int32", repeated=True),
    }


class _Trace(Message):
    FIELDS: ClassVar = {
        "tfdbg_context_id": Field(1, "string"),
        "op_name": Field(2, "string"),
        "output_slot": Field(3, "int32"),
        "tensor_debug_mode": Field(4, "enum"),
        "tensor_proto": Field(5, TensorProto),
        "device_name": Field(6, "string"),
    }


class DebugEvent(Message):
    """A record of the files of debug information.

    Args:
        **fields: `wall_time`, and one of the others.
    """

    FIELDS: ClassVar = {
        "wall_time": Field(1, "double"),
        "debug_metadata": Field(3, _Metadata, oneof="what"),
        "source_file": Field(4, _SourceFile, oneof="what"),
        "stack_frame_with_id": Field(6, _StackFrame, oneof="what"),
        "graph_op_creation": Field(7, _OpCreation, oneof="what"),
        "debugged_graph": Field(8, _Graph, oneof="what"),
        "execution": Field(9, _Execution, oneof="what"),
        "graph_execution_trace": Field(10, _Trace, oneof="what"),
        "debugged_device": Field(12, _Device, oneof="what"),
    }
