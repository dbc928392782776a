"""Metrics of TensorFlow 1 on the classes with the highest predictions."""

from __future__ import annotations

from typing import Any

from penstock import _core, raw_ops, sets
from penstock._ops.reductions import reduce_sum
from penstock._ops.sorting import top_k
from penstock._values.sparse import SparseTensor
from penstock.compat.v1._streaming import double, kept, ratio, streaming
from penstock.compat.v1.losses import spread

__all__ = [
    "average_precision_at_k",
    "precision_at_k",
    "precision_at_top_k",
    "recall_at_k",
    "recall_at_top_k",
    "sparse_average_precision_at_k",
    "sparse_precision_at_k",
]


def _rows(values: Any, class_id: int | None = None) -> SparseTensor:
    """Each row of classes as a set; of a class alone where one is given.

    Raises:
        ValueError: for what has no rows.
    """
    found = values
    if not isinstance(found, SparseTensor):
        dense = raw_ops.cast(_core._to_tensor(values), dtype=_core.int64)
        if not dense.shape.rank:
            raise ValueError("arguments 'labels' and 'predictions' must have a dimension of classes")
        places = raw_ops.where_indices(raw_ops.equal(dense, dense))
        found = SparseTensor(
            places, raw_ops.reshape(dense, [-1]), raw_ops.cast(raw_ops.shape(dense), dtype=_core.int64)
        )
    if class_id is None:
        return found
    chosen = raw_ops.reshape(raw_ops.where_indices(raw_ops.equal(found.values, class_id)), [-1])
    return SparseTensor(
        raw_ops.gather(found.indices, chosen, axis=0),
        raw_ops.gather(found.values, chosen, axis=0),
        found.dense_shape,
    )


def _labels(labels: Any, predictions: _core.Tensor) -> Any:
    """Labels with a dimension of classes, which those of one class for each row may lack."""
    if isinstance(labels, SparseTensor):
        if labels.shape.rank == 1:
            one = raw_ops.zeros_like(labels.indices)
            return SparseTensor(
                raw_ops.concat(labels.indices, one, axis=1),
                labels.values,
                raw_ops.concat(labels.dense_shape, _core._to_tensor([1], _core.int64), axis=0),
            )
        return labels
    found = raw_ops.cast(_core._to_tensor(labels), dtype=_core.int64)
    rank, of = found.shape.rank, predictions.shape.rank
    return raw_ops.expand_dims(found, axis=-1) if rank is not None and of == rank + 1 else found


def _highest(predictions: Any, k: int) -> _core.Tensor:
    return raw_ops.cast(top_k(_core._to_tensor(predictions), k).indices, dtype=_core.int64)


def _sum(sizes: _core.Tensor, weights: Any) -> Any:
    each = double(sizes)
    return reduce_sum(each if weights is None else each * spread(weights, each, _core.float64))


def _share(a: Any, b: Any, weights: Any, name: str, other: str) -> tuple[Any, Any]:
    """Which part of the classes of `a` is among those of `b`, over all rows so far."""
    both, rest = kept(name, dtype=_core.float64), kept(other, dtype=_core.float64)
    common = _sum(sets.size(sets.intersection(a, b)), weights)
    alone = _sum(sets.size(sets.difference(a, b)), weights)
    value = both.read_value() / (both.read_value() + rest.read_value())
    rights, wrongs = both.assign_add(common), rest.assign_add(alone)
    return value, rights / (rights + wrongs)


def _recalled(
    labels: Any, found: _core.Tensor, class_id: int | None, weights: Any, k: str
) -> tuple[Any, Any]:
    said, truth = _rows(found, class_id), _rows(_labels(labels, found), class_id)
    return _share(truth, said, weights, f"true_positive_at_{k}", f"false_negative_at_{k}")


def _precise(labels: Any, found: _core.Tensor, class_id: int | None, weights: Any, k: str) -> tuple[Any, Any]:
    said, truth = _rows(found, class_id), _rows(_labels(labels, found), class_id)
    return _share(said, truth, weights, f"true_positive_at_{k}", f"false_positive_at_{k}")


def _average_precision(labels: Any, found: _core.Tensor, k: int, weights: Any) -> tuple[Any, Any]:
    """The mean over rows of the precision at each right class among the first ones."""
    given = _labels(labels, found)
    truth = _rows(given)
    # Of labels in a tensor all count, also those that come twice.
    number = sets.size(truth) if isinstance(given, SparseTensor) else raw_ops.shape(given)[-1]
    hits = []
    for place in range(k):
        first = sets.size(sets.intersection(_rows(found[..., : place + 1]), truth))
        hits.append(double(first))
    counts = raw_ops.stack(*hits, axis=-1)
    before = raw_ops.concat(raw_ops.zeros_like(counts[..., :1]), counts[..., :-1], axis=-1)
    places = _core._to_tensor([float(i + 1) for i in range(k)], _core.float64)
    precisions = reduce_sum((counts - before) * counts / places, -1)
    relevant = raw_ops.minimum(double(number), float(k))
    each = ratio(precisions, relevant)
    total, most = kept("total", dtype=_core.float64), kept("max", dtype=_core.float64)
    amount = raw_ops.ones_like(each) if weights is None else spread(weights, each, _core.float64)
    value = ratio(total.read_value(), most.read_value())
    return value, ratio(total.assign_add(reduce_sum(each * amount)), most.assign_add(reduce_sum(amount)))


def _label(k: int | None, class_id: int | None) -> str:
    """How variables of a metric are called."""
    at = "top_k" if k is None else str(k)
    return at if class_id is None else f"{at}_class{class_id}"


@streaming("recall_at_k([[0], [1]], [[0.9, 0.5, 0.1], [0.2, 0.3, 0.8]], 1)", "0.5")
def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute which part of the true classes is among the predicted ones, for the highest scores.

    labels: the true classes, `[…, count]` of `int64`, dense or sparse; with one class for each row `[…]`.
    predictions: a score for each class, `[…, classes]`.
    k: how many of the highest scores count.
    class_id: a class to count alone; all by default.
    """
    return _recalled(labels, _highest(predictions, k), class_id, weights, _label(k, class_id))


@streaming("recall_at_top_k([[0], [1]], [[0], [2]])", "0.5")
def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute which part of the true classes is among the predicted ones.

    labels: the true classes, `[…, count]` of `int64`, dense or sparse; with one class for each row `[…]`.
    predictions_idx: the predicted classes, `[…, k]`.
    k: accepted and ignored.
    class_id: a class to count alone; all by default.
    """
    found = raw_ops.cast(_core._to_tensor(predictions_idx), dtype=_core.int64)
    return _recalled(labels, found, class_id, weights, _label(k, class_id))


@streaming("precision_at_k([[0], [1]], [[0.9, 0.5, 0.1], [0.2, 0.3, 0.8]], 1)", "0.5")
def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute which part of the predicted classes is right, for the highest scores.

    labels: the true classes, `[…, count]` of `int64`, dense or sparse; with one class for each row `[…]`.
    predictions: a score for each class, `[…, classes]`.
    k: how many of the highest scores count.
    class_id: a class to count alone; all by default.
    """
    return _precise(labels, _highest(predictions, k), class_id, weights, _label(k, class_id))


@streaming("precision_at_top_k([[0], [1]], [[0], [2]])", "0.5")
def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute which part of the predicted classes is right.

    labels: the true classes, `[…, count]` of `int64`, dense or sparse; with one class for each row `[…]`.
    predictions_idx: the predicted classes, `[…, k]`.
    k: accepted and ignored.
    class_id: a class to count alone; all by default.
    """
    found = raw_ops.cast(_core._to_tensor(predictions_idx), dtype=_core.int64)
    return _precise(labels, found, class_id, weights, _label(k, class_id))


@streaming("average_precision_at_k([[0, 1]], [[0.9, 0.1, 0.5]], 2)", "0.5")
def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute the mean over rows of the precision at each right class, for the highest scores.

    labels: the true classes, `[…, count]` of `int64`, dense or sparse; with one class for each row `[…]`.
    predictions: a score for each class, `[…, classes]`.
    k: how many of the highest scores count.
    """
    return _average_precision(labels, _highest(predictions, k), k, weights)


# Old names.
sparse_precision_at_k, sparse_average_precision_at_k = precision_at_k, average_precision_at_k
