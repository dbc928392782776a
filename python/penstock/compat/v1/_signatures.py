"""Signatures of graphs of TensorFlow 1: which tensors programs outside give and get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from penstock import _core
from penstock._values.sparse import SparseTensor
from penstock.compat.v1._graph import Graph, get_default_graph
from penstock.compat.v1._graph_messages import SignatureDef, TensorInfo

if TYPE_CHECKING:
    from penstock._types.shape import TensorShape

__all__ = [
    "build_signature_def",
    "build_tensor_info",
    "classification_signature_def",
    "get_tensor_from_tensor_info",
    "is_valid_signature",
    "predict_signature_def",
    "regression_signature_def",
]

_METHOD: Final = "tensorflow/serving/"
_STRING: Final = 7
_FLOAT: Final = 1


def build_tensor_info(tensor: _core.Tensor | SparseTensor) -> TensorInfo:
    """Describe a tensor of a graph.

    Args:
        tensor: the tensor, or a sparse one.

    Returns:
        Its name, or those of its parts, its dtype and its shape.

    Raises:
        TypeError: for what is no tensor of a graph.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
    ...     tf.compat.v1.saved_model.build_tensor_info(x).name
    'x:0'
    """
    if not isinstance(tensor, SparseTensor) and not (
        isinstance(tensor, _core.Tensor) and tensor._is_symbolic
    ):
        raise TypeError(f"argument 'tensor' must be a tensor of a graph, got {tensor!r}")
    shape = _shape(tensor.shape)
    if isinstance(tensor, SparseTensor):
        parts = {
            "values_tensor_name": tensor.values.name,
            "indices_tensor_name": tensor.indices.name,
            "dense_shape_tensor_name": tensor.dense_shape.name,
        }
        return TensorInfo(coo_sparse=parts, dtype=tensor.dtype.as_datatype_enum, tensor_shape=shape)
    return TensorInfo(name=tensor.name, dtype=tensor.dtype.as_datatype_enum, tensor_shape=shape)


def _shape(shape: TensorShape) -> dict[str, Any]:
    if shape.rank is None:
        return {"unknown_rank": True}
    return {"dim": [{"size": -1 if size is None else size} for size in shape]}


def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: Graph | None = None, import_scope: str | None = None
) -> _core.Tensor | SparseTensor:
    """Find the tensor that a signature describes.

    Args:
        tensor_info: the description.
        graph: the graph, by default the default graph.
        import_scope: the scope that the graph of the signature was imported into.

    Returns:
        The tensor, or the sparse tensor.

    Raises:
        KeyError: where there is none.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
    ...     info = tf.compat.v1.saved_model.build_tensor_info(x)
    ...     tf.compat.v1.saved_model.get_tensor_from_tensor_info(info).name
    'x:0'
    """
    found = graph or get_default_graph()

    def named(name: str) -> _core.Tensor:
        return found.get_tensor_by_name(f"{import_scope}/{name}" if import_scope else name)

    if tensor_info.HasField("coo_sparse"):
        parts = tensor_info.coo_sparse
        names = (parts.indices_tensor_name, parts.values_tensor_name, parts.dense_shape_tensor_name)
        return SparseTensor(*map(named, names))
    return named(tensor_info.name)


def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
    defaults: None = None,
) -> SignatureDef:
    """Make a signature.

    Args:
        inputs: the tensors that are given, by names.
        outputs: the tensors that one gets, by names.
        method_name: how it is served.
        defaults: not supported.

    Returns:
        The signature.

    Raises:
        ValueError: where there are `defaults`.

    >>> import penstock as tf
    >>> info = tf.compat.v1.TensorInfo(name="x:0", dtype=1)
    >>> list(tf.compat.v1.saved_model.build_signature_def({"x": info}, {}).inputs)
    ['x']
    """
    if defaults:
        raise ValueError("argument 'defaults' is not supported")
    return SignatureDef(inputs=dict(inputs or {}), outputs=dict(outputs or {}), method_name=method_name or "")


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    """Make a signature of tensors by names.

    Args:
        inputs: the tensors that are given.
        outputs: the tensors that one gets.

    Returns:
        The signature.

    Raises:
        ValueError: where there are none.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
    ...     y = tf.square(x, name="y")
    ...     tf.compat.v1.saved_model.predict_signature_def({"x": x}, {"y": y}).outputs["y"].name
    'y:0'
    """
    for name, tensors in (("inputs", inputs), ("outputs", outputs)):
        if not tensors:
            raise ValueError(f"argument '{name}' must have at least one tensor")
    return build_signature_def(
        {name: build_tensor_info(tensor) for name, tensor in inputs.items()},
        {name: build_tensor_info(tensor) for name, tensor in outputs.items()},
        f"{_METHOD}predict",
    )


def _of_dtype(name: str, tensor: _core.Tensor, number: int, kind: str) -> TensorInfo:
    info = build_tensor_info(tensor)
    if info.dtype != number:
        raise ValueError(f"argument '{name}' must be of {kind}, got {tensor.dtype.name}")
    return info


def classification_signature_def(
    examples: _core.Tensor, classes: _core.Tensor | None, scores: _core.Tensor | None
) -> SignatureDef:
    """Make a signature that gives classes and scores of examples.

    Args:
        examples: a tensor of strings, what is given.
        classes: a tensor of strings, or None.
        scores: a tensor of `float32`, or None.

    Returns:
        The signature.

    Raises:
        ValueError: for other dtypes, or where there are neither classes nor scores.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     examples, scores = tf.constant(["a"]), tf.constant([1.0])
    ...     list(tf.compat.v1.saved_model.classification_signature_def(examples, None, scores).outputs)
    ['scores']
    """
    if classes is None and scores is None:
        raise ValueError("one of the arguments 'classes' and 'scores' must be given")
    outputs = {}
    if classes is not None:
        outputs["classes"] = _of_dtype("classes", classes, _STRING, "string")
    if scores is not None:
        outputs["scores"] = _of_dtype("scores", scores, _FLOAT, "float32")
    inputs = {"inputs": _of_dtype("examples", examples, _STRING, "string")}
    return build_signature_def(inputs, outputs, f"{_METHOD}classify")


def regression_signature_def(examples: _core.Tensor, predictions: _core.Tensor) -> SignatureDef:
    """Make a signature that gives numbers for examples.

    Args:
        examples: a tensor of strings, what is given.
        predictions: a tensor of `float32`.

    Returns:
        The signature.

    Raises:
        ValueError: for other dtypes.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     found = tf.compat.v1.saved_model.regression_signature_def(tf.constant(["a"]), tf.constant([1.0]))
    ...     found.method_name
    'tensorflow/serving/regress'
    """
    return build_signature_def(
        {"inputs": _of_dtype("examples", examples, _STRING, "string")},
        {"outputs": _of_dtype("predictions", predictions, _FLOAT, "float32")},
        f"{_METHOD}regress",
    )


def is_valid_signature(signature_def: SignatureDef) -> bool:
    """Tell whether a signature is one that servers of TensorFlow know.

    Args:
        signature_def: the signature.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> tf.compat.v1.saved_model.is_valid_signature(tf.compat.v1.saved_model.build_signature_def())
    False
    """
    inputs, outputs = signature_def.inputs, signature_def.outputs
    method = signature_def.method_name.removeprefix(_METHOD)
    if method == "predict":
        return bool(inputs and outputs)
    kinds = {name: info.dtype for name, info in outputs.items()}
    if [(name, info.dtype) for name, info in inputs.items()] != [("inputs", _STRING)]:
        return False
    if method == "classify":
        known = {"classes": _STRING, "scores": _FLOAT}
        return bool(kinds) and all(known.get(name) == kind for name, kind in kinds.items())
    return method == "regress" and kinds == {"outputs": _FLOAT}
