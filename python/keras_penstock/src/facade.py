"""What Keras finds under the name `tensorflow`: this package, and what a few questions of Keras need."""

from __future__ import annotations

import sys
import types

from keras.src.backend.common import global_state

import penstock as _penstock
from penstock import __version__ as __version__


def _choose(pred, true_fn, false_fn):
    """Call one of two functions; where the condition is known while tracing, there is no branch."""
    known = _penstock.get_static_value(pred)
    return _penstock.cond(pred if known is None else bool(known), true_fn, false_fn)


_MODULES = {
    "__internal__": types.SimpleNamespace(
        CompositeTensor=_penstock.RaggedTensor,
        smart_cond=types.SimpleNamespace(smart_cond=_choose),
        tracking=types.SimpleNamespace(Trackable=object),
        types=types.SimpleNamespace(Tensor=_penstock.Tensor),
    ),
}


def in_graph():
    """Say whether a function is being traced, or a layer runs as a part of a data set."""
    return (
        bool(global_state.get_global_attribute("in_tf_graph_scope", False))
        or not _penstock.executing_eagerly()
    )


def keep_tensor(outputs, dtype=None):
    """Give the result of a layer that preprocesses, which is of this backend already."""
    return outputs


def is_dataset(x):
    """Say whether `x` is a `tf.data.Dataset` of this package, or one that a strategy distributes."""
    return isinstance(x, (_penstock.data.Dataset, _penstock.distribute.DistributedDataset))


def is_tensor(value):
    """Say whether `value` is a tensor of this package."""
    return isinstance(value, (_penstock.Tensor, _penstock.RaggedTensor, _penstock.SparseTensor))


def is_ragged(value):
    """Say whether `value` is a ragged tensor of this package."""
    return isinstance(value, _penstock.RaggedTensor)


def is_sparse(value):
    """Say whether `value` is a sparse tensor of this package."""
    return isinstance(value, _penstock.SparseTensor)


def export_onnx(*args, **kwargs):
    """Write a model of ONNX: `keras.Model.export(format="onnx")`."""
    from keras_penstock.src import export  # this module is loaded before layers are

    return export.export_onnx(*args, **kwargs)


class _OfPandas(type):
    """A class of pandas by its name: before a program has loaded pandas, nothing is an instance of it."""

    def __instancecheck__(cls, instance):
        module = sys.modules.get("pandas")
        return module is not None and isinstance(instance, getattr(module, cls.__name__))


pandas = types.SimpleNamespace(DataFrame=_OfPandas("DataFrame", (), {}), Series=_OfPandas("Series", (), {}))


def __getattr__(name):
    if name in _MODULES:
        return _MODULES[name]
    return getattr(_penstock, name)
