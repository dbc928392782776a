"""Messages that describe a graph of TensorFlow 1: its variables, collections and signatures."""

from __future__ import annotations

from typing import ClassVar

from penstock._runtime.messages import Field, Message
from penstock._runtime.protos import TensorShapeProto

__all__ = [
    "AssetFileDef",
    "MetaGraphDef",
    "SavedModelMessage",
    "SaverDef",
    "SignatureDef",
    "TensorInfo",
    "VariableDef",
]


class _CooSparse(Message):
    FIELDS: ClassVar = {
        "values_tensor_name": Field(1, "string"),
        "indices_tensor_name": Field(2, "string"),
        "dense_shape_tensor_name": Field(3, "string"),
    }


class TensorInfo(Message):
    """What a signature says of a tensor: its name, dtype and shape.

    >>> import penstock as tf
    >>> tf.compat.v1.TensorInfo(name="x:0", dtype=1).name
    'x:0'
    """

    FIELDS: ClassVar = {
        "name": Field(1, "string", oneof="encoding"),
        "dtype": Field(2, "enum"),
        "tensor_shape": Field(3, TensorShapeProto),
        "coo_sparse": Field(4, _CooSparse, oneof="encoding"),
    }


class SignatureDef(Message):
    """The tensors that a program outside gives, and those that it gets, by names."""

    FIELDS: ClassVar = {
        "inputs": Field(1, TensorInfo, mapped=True),
        "outputs": Field(2, TensorInfo, mapped=True),
        "method_name": Field(3, "string"),
    }


class _MetaInfo(Message):
    FIELDS: ClassVar = {
        "meta_graph_version": Field(1, "string"),
        "tags": Field(4, "string", repeated=True),
        "tensorflow_version": Field(5, "string"),
    }


class SaverDef(Message):
    """The operations of a graph that write and read its variables."""

    FIELDS: ClassVar = {
        "filename_tensor_name": Field(1, "string"),
        "save_tensor_name": Field(2, "string"),
        "restore_op_name": Field(3, "string"),
        "max_to_keep": Field(4, "int32"),
        "sharded": Field(5, "bool"),
        "keep_checkpoint_every_n_hours": Field(6, "float"),
        "version": Field(7, "enum"),
    }


class AssetFileDef(Message):
    """A file that a SavedModel has, and the tensor that is its path."""

    FIELDS: ClassVar = {"tensor_info": Field(1, TensorInfo), "filename": Field(2, "string")}


class _NodeList(Message):
    FIELDS: ClassVar = {"value": Field(1, "string", repeated=True)}


class _BytesList(Message):
    FIELDS: ClassVar = {"value": Field(1, "bytes", repeated=True)}


class _IntList(Message):
    FIELDS: ClassVar = {"value": Field(1, "int64", repeated=True)}


class _FloatList(Message):
    FIELDS: ClassVar = {"value": Field(1, "float", repeated=True)}


class _Collection(Message):
    FIELDS: ClassVar = {
        "node_list": Field(1, _NodeList, oneof="kind"),
        "bytes_list": Field(2, _BytesList, oneof="kind"),
        "int64_list": Field(3, _IntList, oneof="kind"),
        "float_list": Field(4, _FloatList, oneof="kind"),
    }


class MetaGraphDef(Message):
    """A graph with its collections and signatures; the graph itself is the bytes of its message.

    >>> import penstock as tf
    >>> tf.compat.v1.MetaGraphDef(meta_info_def={"tags": ["serve"]}).meta_info_def.tags
    ['serve']
    """

    FIELDS: ClassVar = {
        "meta_info_def": Field(1, _MetaInfo),
        "graph_def": Field(2, "bytes"),
        "saver_def": Field(3, SaverDef),
        "collection_def": Field(4, _Collection, mapped=True),
        "signature_def": Field(5, SignatureDef, mapped=True),
        "asset_file_def": Field(6, AssetFileDef, repeated=True),
    }


class SavedModelMessage(Message):
    """What a SavedModel has in its file."""

    FIELDS: ClassVar = {
        "saved_model_schema_version": Field(1, "int64"),
        "meta_graphs": Field(2, MetaGraphDef, repeated=True),
    }


class VariableDef(Message):
    """A variable of a graph."""

    FIELDS: ClassVar = {
        "variable_name": Field(1, "string"),
        "initializer_name": Field(2, "string"),
        "snapshot_name": Field(3, "string"),
        "is_resource": Field(5, "bool"),
        "initial_value_name": Field(6, "string"),
        "trainable": Field(7, "bool"),
    }
