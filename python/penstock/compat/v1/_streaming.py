"""What metrics of TensorFlow 1 share: variables of their own, weights, and how they are described."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from penstock import _core, raw_ops
from penstock._ops import creation
from penstock._ops.reductions import reduce_sum
from penstock._runtime import v1_graph_state
from penstock._runtime.scope import name_scope
from penstock._values.variable import Variable
from penstock.compat.v1._graph import GraphKeys
from penstock.compat.v1._variables import collected_in
from penstock.compat.v1.losses import spread

__all__ = [
    "binary",
    "bools",
    "count",
    "double",
    "floats",
    "kept",
    "matched",
    "mean_of",
    "ratio",
    "streaming",
    "total_of",
]

_WEIGHTS = (
    "        weights: how much each counts, of a shape that spreads to that of the values; 1 by default.\n"
)
_COMMON = """        metrics_collections: collections of the graph to add the metric to.
        {updates}: collections of the graph to add the update to.
        name: a scope for the names of what it adds to the graph.

    Returns:
        The metric of all that was added so far, and an operation that adds the operands and gives the metric
        with them. Its variables are local ones: `tf.compat.v1.local_variables_initializer()` begins anew.

    Raises:
        RuntimeError: outside of a graph of TensorFlow 1.

    >>> import penstock as tf
    >>> metrics = tf.compat.v1.metrics
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     value, update = metrics.{call}
    ...     session.run(tf.compat.v1.local_variables_initializer())
    ...     added = session.run(update)
    ...     session.run(value).round(3).tolist()
    {result}
    """

Found = tuple[Any, Any]


def streaming(call: str, result: str) -> Callable[[Callable[..., Found]], Callable[..., Found]]:
    """Makes a metric of a function: only in graphs, within a scope, and added to collections.

    The description of the function is a line and the operands; what all metrics take and give is added.

    Args:
        call: The example of its description.
        result: What the metric is there.
    """

    def make(function: Callable[..., Found]) -> Callable[..., Found]:
        signature = inspect.signature(function)
        updates = "updates_collections" if "updates_collections" in signature.parameters else "updates"

        @functools.wraps(function)
        def metric(*args: Any, **kwargs: Any) -> Found:
            given = signature.bind(*args, **kwargs).arguments
            if v1_graph_state.current() is None:
                raise RuntimeError(
                    f"tf.metrics.{function.__name__} is not supported when eager execution is enabled: call "
                    "it within tf.Graph().as_default(), or use tf.keras.metrics"
                )
            with name_scope(given.get("name") or function.__name__):
                value, update = function(*args, **kwargs)
            graph = v1_graph_state.current()
            for collections, of in (("metrics_collections", value), ("updates_collections", update)):
                graph.add_to_collections(given.get(collections) or (), of)
            return value, update

        summary, own = (function.__doc__ or "").rstrip().split("\n\n")
        described = f"{summary}\n\n    Args:\n" + "".join(f"    {line}\n" for line in own.splitlines())
        weights = _WEIGHTS if "weights" in signature.parameters else ""
        metric.__doc__ = f"{described}{weights}{_COMMON.format(call=call, result=result, updates=updates)}"
        return metric

    return make


def kept(name: str, shape: Any = (), dtype: Any = _core.float32) -> Variable:
    """A local variable of a metric, which begins with zeros."""
    with collected_in((GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES)):
        return Variable(lambda: creation.zeros(shape, dtype), trainable=False, name=name)


def floats(value: Any) -> _core.Tensor:
    """A value as `float32`."""
    return raw_ops.cast(_core._to_tensor(value), dtype=_core.float32)


def double(value: Any) -> _core.Tensor:
    """A value as `float64`."""
    return raw_ops.cast(_core._to_tensor(value), dtype=_core.float64)


def bools(value: Any) -> _core.Tensor:
    """Whether numbers differ from 0."""
    return raw_ops.cast(_core._to_tensor(value), dtype=_core.bool)


def ratio(part: Any, whole: Any) -> _core.Tensor:
    """A quotient; 0 where the whole is not above 0."""
    found = raw_ops.divide_no_nan(part, whole)
    return raw_ops.select(whole > 0.0, found, raw_ops.zeros_like(found))


def matched(labels: Any, predictions: Any, weights: Any = None) -> tuple[Any, Any, Any]:
    """Labels, predictions and weights without a last dimension of 1 that the others do not have.

    Raises:
        ValueError: where labels and predictions have other shapes then.
    """
    first, second = _core._to_tensor(labels), _core._to_tensor(predictions)
    ranks = first.shape.rank, second.shape.rank
    if ranks[0] is not None and ranks[1] is not None:
        if ranks[1] == ranks[0] + 1 and second.shape[-1] in (1, None):
            second = raw_ops.squeeze(second, axes=[-1])
        elif ranks[0] == ranks[1] + 1 and first.shape[-1] in (1, None):
            first = raw_ops.squeeze(first, axes=[-1])
    if not first.shape.is_compatible_with(second.shape):
        raise ValueError(
            f"arguments 'labels' and 'predictions' must have one shape, got {first.shape} and {second.shape}"
        )
    if weights is None:
        return first, second, None
    given = _core._to_tensor(weights)
    rank, own = second.shape.rank, given.shape.rank
    if rank is not None and own is not None:
        if own == rank + 1 and given.shape[-1] in (1, None):
            given = raw_ops.squeeze(given, axes=[-1])
        elif own + 1 == rank and own > 0:
            given = raw_ops.expand_dims(given, axis=-1)
    return first, second, given


def mean_of(values: Any, weights: Any = None, each_place: bool = False) -> Found:
    """The mean of all values so far, or of those at each place of the tensors."""
    values = floats(values)
    each = raw_ops.ones_like(values)
    if weights is not None:
        each = spread(weights, values)
        values = values * each
    if not each_place:
        values, each = reduce_sum(values), reduce_sum(each)
    total, number = kept("total", values.shape), kept("count", values.shape)
    value = ratio(total.read_value(), number.read_value())
    return value, ratio(total.assign_add(values), number.assign_add(each))


def total_of(name: str, amount: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor]:
    """The sum of amounts so far: before the update, and after it."""
    variable = kept(name, amount.shape, amount.dtype)
    return raw_ops.identity(variable.read_value()), variable.assign_add(amount)


def count(where: _core.Tensor, weights: Any, dtype: Any = _core.float32) -> _core.Tensor:
    """How many elements are true, or the sum of their weights."""
    number = raw_ops.cast(where, dtype=dtype)
    return reduce_sum(number if weights is None else number * spread(weights, number, dtype))


def binary(labels: Any, predictions: Any, weights: Any, kinds: str) -> list[tuple[Any, Any]]:
    """Sums of true and false positives and negatives, each before and after the update.

    Args:
        labels: The truth, as bools.
        predictions: What was predicted, as bools.
        weights: How much each counts, or None.
        kinds: Which are wanted, in this order: `tp fp tn fn`.
    """
    right, said, weights = matched(bools(labels), bools(predictions), weights)
    amounts = {
        "tp": (right, said, "true_positives"),
        "fp": (raw_ops.logical_not(right), said, "false_positives"),
        "tn": (raw_ops.logical_not(right), raw_ops.logical_not(said), "true_negatives"),
        "fn": (right, raw_ops.logical_not(said), "false_negatives"),
    }
    found = []
    for kind in kinds.split():
        first, second, name = amounts[kind]
        found.append(total_of(name, count(raw_ops.logical_and(first, second), weights)))
    return found
