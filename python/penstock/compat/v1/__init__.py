"""Names of TensorFlow 1: graphs that stay open, sessions that run them, and variables of graphs."""

from __future__ import annotations

from operator import attrgetter

from penstock._runtime.graph import GraphDef as GraphDef, NodeDef as NodeDef
from penstock._runtime.host_calls import py_func as py_func
from penstock._runtime.protos import (
    Event as Event,
    HistogramProto as HistogramProto,
    SessionLog as SessionLog,
    Summary as Summary,
    SummaryMetadata as SummaryMetadata,
)
from penstock.compat.v1 import (
    data as data,
    image as image,
    logging as logging,
    losses as losses,
    metrics as metrics,
    nn as nn,
    summary as summary,
    train as train,
)
from penstock.compat.v1._dimension import (
    Dimension as Dimension,
    dimension_at_index as dimension_at_index,
    dimension_value as dimension_value,
    disable_v2_tensorshape as disable_v2_tensorshape,
    enable_v2_tensorshape as enable_v2_tensorshape,
)
from penstock.compat.v1._graph import (
    Graph as Graph,
    GraphKeys as GraphKeys,
    Operation as Operation,
    control_dependencies as control_dependencies,
    disable_eager_execution as disable_eager_execution,
    enable_eager_execution as enable_eager_execution,
    executing_eagerly as executing_eagerly,
    get_collection as get_collection,
    get_default_graph as get_default_graph,
    gradients as gradients,
    group as group,
    placeholder as placeholder,
    placeholder_with_default as placeholder_with_default,
    reset_default_graph as reset_default_graph,
)
from penstock.compat.v1._operations import (
    SparseTensorValue as SparseTensorValue,
    add_to_collection as add_to_collection,
    colocate_with as colocate_with,
    control_flow_v2_enabled as control_flow_v2_enabled,
    disable_v2_behavior as disable_v2_behavior,
    enable_control_flow_v2 as enable_control_flow_v2,
    enable_v2_behavior as enable_v2_behavior,
    executing_eagerly_outside_functions as executing_eagerly_outside_functions,
    make_template as make_template,
    scatter_add as scatter_add,
    scatter_sub as scatter_sub,
    scatter_update as scatter_update,
    set_random_seed as set_random_seed,
    where as where,
)
from penstock.compat.v1._session import (
    InteractiveSession as InteractiveSession,
    Session as Session,
    get_default_session as get_default_session,
)
from penstock.compat.v1._variables import (
    AUTO_REUSE as AUTO_REUSE,
    VariableV1 as Variable,
    assign as assign,
    assign_add as assign_add,
    assign_sub as assign_sub,
    get_local_variable as get_local_variable,
    get_variable as get_variable,
    get_variable_scope as get_variable_scope,
    global_variables as global_variables,
    global_variables_initializer as global_variables_initializer,
    initialize_all_variables as initialize_all_variables,
    local_variables as local_variables,
    local_variables_initializer as local_variables_initializer,
    to_float as to_float,
    trainable_variables as trainable_variables,
    variable_scope as variable_scope,
    variables_initializer as variables_initializer,
)
from penstock.compat.v1._wrapped import wrap_function as wrap_function

__all__ = ["Variable"]


_READERS = "reads files by queues, which tf.data replaces: tf.data.{}"
# Modules that are loaded when they are used.
_MODULES = ("app", "flags", "graph_util", "initializers", "ragged", "resource_loader", "saved_model")
# Modules of functions, likewise.
_PARTS = (
    *("_accumulators", "_functions", "_graph_messages", "_legacy", "_scopes", "_session_handles"),
    *("_sparse_functions", "_variable_checks"),
)
# Names that are not here, and what does the same.
_ABSENT = {
    "layers": "is not there in TensorFlow 2.21 either, with Keras 3: use tf.keras.layers",
    "estimator": "is gone: use tf.keras, or tf.compat.v1.train.MonitoredTrainingSession",
    "TextLineReader": _READERS.format("TextLineDataset"),
    "TFRecordReader": _READERS.format("TFRecordDataset"),
    "FixedLengthRecordReader": _READERS.format("FixedLengthRecordDataset"),
    "WholeFileReader": _READERS.format("Dataset.list_files, with tf.io.read_file"),
    "IdentityReader": _READERS.format("Dataset.from_tensor_slices"),
    "LMDBReader": "reads files of LMDB, of which there is no reader",
    "ReaderBase": _READERS.format("Dataset"),
}


def __getattr__(name: str) -> object:
    import importlib  # no name of this module

    if name in _ABSENT:
        raise AttributeError(f"tf.compat.v1.{name} is not there: it {_ABSENT[name]}")

    if name in _MODULES:
        return importlib.import_module(f"penstock.compat.v1.{name}")

    import penstock  # which is above this in the package

    parameters = importlib.import_module("penstock.compat.v1._parameters")
    names = importlib.import_module("penstock.compat.v1._names").NAMES
    path = names.get(name, name)
    if path in parameters.PARAMETERS:
        return parameters.old_function(path)
    if name in parameters.MODULES or name in parameters.NAMES:
        return parameters.old_module(name)
    if name in names:
        return attrgetter(path)(penstock)
    for part in _PARTS:
        module = importlib.import_module(f"penstock.compat.v1.{part}")
        if name in module.__all__:
            return getattr(module, name)
    # Names that version 2 did not change.
    return getattr(penstock, name)
