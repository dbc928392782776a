"""What Keras finds under the name `tensorflow`: this package, and what a few questions of Keras need."""

from __future__ import annotations

import sys
import types

from keras.src.backend.common import global_state

import penstock as _penstock
from penstock import __version__ as __version__


class _Absent:
    """A class without instances, for `isinstance` of a type that the engine does not have."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"tf.{type(self).__name__} is not supported with the penstock backend.")


class SparseTensor(_Absent):
    """No tensor of the engine is one."""


class SparseTensorSpec(_Absent):
    """The type of no tensor of the engine."""


class DistributedDataset(_Absent):
    """A data set of several machines."""


_MODULES = {
    "__internal__": types.SimpleNamespace(
        CompositeTensor=_penstock.RaggedTensor,
        tracking=types.SimpleNamespace(Trackable=object),
        types=types.SimpleNamespace(Tensor=_penstock.Tensor),
    ),
    "distribute": types.SimpleNamespace(has_strategy=lambda: False, DistributedDataset=DistributedDataset),
}


def in_graph():
    """Say whether a function is being traced, or a layer runs as a part of a data set."""
    return (
        bool(global_state.get_global_attribute("in_tf_graph_scope", False))
        or not _penstock.executing_eagerly()
    )


def is_dataset(x):
    """Say whether `x` is a `tf.data.Dataset` of this package."""
    return isinstance(x, _penstock.data.Dataset)


def is_tensor(value):
    """Say whether `value` is a tensor of this package."""
    return isinstance(value, (_penstock.Tensor, _penstock.RaggedTensor))


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
