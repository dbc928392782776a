"""`tf.metrics` of TensorFlow 1: metrics of all that was seen, each with an operation that adds to it."""

from __future__ import annotations

from typing import Any

from penstock import _core, raw_ops
from penstock._ops.reductions import reduce_mean, reduce_sum
from penstock._ops.segments import confusion_matrix
from penstock.compat.v1._metrics_at_k import (
    average_precision_at_k as average_precision_at_k,
    precision_at_k as precision_at_k,
    precision_at_top_k as precision_at_top_k,
    recall_at_k as recall_at_k,
    recall_at_top_k as recall_at_top_k,
    sparse_average_precision_at_k as sparse_average_precision_at_k,
    sparse_precision_at_k as sparse_precision_at_k,
)
from penstock.compat.v1._metrics_at_thresholds import (
    auc as auc,
    false_negatives_at_thresholds as false_negatives_at_thresholds,
    false_positives_at_thresholds as false_positives_at_thresholds,
    precision_at_thresholds as precision_at_thresholds,
    recall_at_thresholds as recall_at_thresholds,
    sensitivity_at_specificity as sensitivity_at_specificity,
    specificity_at_sensitivity as specificity_at_sensitivity,
    true_negatives_at_thresholds as true_negatives_at_thresholds,
    true_positives_at_thresholds as true_positives_at_thresholds,
)
from penstock.compat.v1._streaming import (
    binary,
    count,
    floats,
    kept,
    matched,
    mean_of,
    ratio,
    streaming,
)
from penstock.compat.v1.losses import spread

__all__ = [
    "accuracy",
    "false_negatives",
    "false_positives",
    "mean",
    "mean_absolute_error",
    "mean_cosine_distance",
    "mean_iou",
    "mean_per_class_accuracy",
    "mean_relative_error",
    "mean_squared_error",
    "mean_tensor",
    "percentage_below",
    "precision",
    "recall",
    "root_mean_squared_error",
    "true_negatives",
    "true_positives",
]


@streaming("mean([1.0, 2.0])", "1.5")
def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute the mean of values.

    values: numbers.
    """
    return mean_of(values, weights)


@streaming("mean_tensor([1.0, 2.0])", "[1.0, 2.0]")
def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute the mean at each place of tensors.

    values: numbers, of a shape that is known.
    """
    return mean_of(values, weights, each_place=True)


@streaming("percentage_below([1.0, 2.0, 4.0, 8.0], 3.0)", "0.5")
def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute which part of values is below a threshold.

    values: numbers.
    threshold: the threshold.
    """
    return mean_of(raw_ops.less(_core._to_tensor(values), threshold), weights)


@streaming("accuracy([1, 2], [1, 3])", "0.5")
def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute how often predictions equal labels.

    labels: the truth.
    predictions: what was predicted, of the same shape.
    """
    first, second, weights = matched(labels, predictions, weights)
    return mean_of(raw_ops.equal(raw_ops.cast(second, dtype=first.dtype), first), weights)


@streaming("mean_absolute_error([1.0, 2.0], [2.0, 5.0])", "2.0")
def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute the mean of absolute differences.

    labels: the truth.
    predictions: what was predicted, of the same shape.
    """
    first, second, weights = matched(floats(labels), floats(predictions), weights)
    return mean_of(raw_ops.abs(second - first), weights)


@streaming("mean_squared_error([1.0, 2.0], [2.0, 5.0])", "5.0")
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute the mean of squared differences.

    labels: the truth.
    predictions: what was predicted, of the same shape.
    """
    first, second, weights = matched(floats(labels), floats(predictions), weights)
    return mean_of(raw_ops.squared_difference(first, second), weights)


@streaming("root_mean_squared_error([1.0, 2.0], [2.0, 9.0])", "5.0")
def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute the root of the mean of squared differences.

    labels: the truth.
    predictions: what was predicted, of the same shape.
    """
    first, second, weights = matched(floats(labels), floats(predictions), weights)
    value, update = mean_of(raw_ops.squared_difference(first, second), weights)
    return raw_ops.sqrt(value), raw_ops.sqrt(update)


@streaming("mean_relative_error([1.0, 2.0], [2.0, 4.0], [2.0, 4.0])", "0.5")
def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute the mean of absolute differences, each divided by a number.

    labels: the truth.
    predictions: what was predicted, of the same shape.
    normalizer: the numbers, of the same shape; where one is 0, so is the error.
    """
    first, second, weights = matched(floats(labels), floats(predictions), weights)
    second, by, _ = matched(second, floats(normalizer))
    return mean_of(ratio(raw_ops.abs(first - second), by), weights)


@streaming("mean_cosine_distance([[1.0, 0.0]], [[0.5, 0.8]], 1)", "0.5")
def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute 1 less the mean of the products of vectors of length 1.

    labels: the true vectors.
    predictions: the predicted ones, of the same shape.
    dim: the dimension of the vectors.
    """
    first, second, weights = matched(floats(labels), floats(predictions), weights)
    value, update = mean_of(reduce_sum(first * second, dim, keepdims=True), weights)
    return 1.0 - value, 1.0 - update


@streaming("true_positives([1, 1, 0, 0], [1, 0, 1, 0])", "1.0")
def true_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Count predictions that are true and right.

    labels: the truth: what is not 0 is true.
    predictions: what was predicted, in the same way.
    """
    return binary(labels, predictions, weights, "tp")[0]


@streaming("false_positives([1, 1, 0, 0], [1, 0, 1, 0])", "1.0")
def false_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Count predictions that are true and wrong.

    labels: the truth: what is not 0 is true.
    predictions: what was predicted, in the same way.
    """
    return binary(labels, predictions, weights, "fp")[0]


@streaming("true_negatives([1, 1, 0, 0], [1, 0, 1, 0])", "1.0")
def true_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Count predictions that are false and right.

    labels: the truth: what is not 0 is true.
    predictions: what was predicted, in the same way.
    """
    return binary(labels, predictions, weights, "tn")[0]


@streaming("false_negatives([1, 1, 0, 0], [1, 0, 1, 0])", "1.0")
def false_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Count predictions that are false and wrong.

    labels: the truth: what is not 0 is true.
    predictions: what was predicted, in the same way.
    """
    return binary(labels, predictions, weights, "fn")[0]


@streaming("precision([1, 1, 0], [1, 0, 1])", "0.5")
def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute which part of the predictions that are true is right.

    labels: the truth: what is not 0 is true.
    predictions: what was predicted, in the same way.
    """
    (right, rights), (wrong, wrongs) = binary(labels, predictions, weights, "tp fp")
    return ratio(right, right + wrong), ratio(rights, rights + wrongs)


@streaming("recall([1, 1, 0], [1, 0, 1])", "0.5")
def recall(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute which part of the labels that are true is predicted.

    labels: the truth: what is not 0 is true.
    predictions: what was predicted, in the same way.
    """
    (right, rights), (missed, misses) = binary(labels, predictions, weights, "tp fn")
    return ratio(right, right + missed), ratio(rights, rights + misses)


@streaming("mean_iou([0, 1, 1], [0, 1, 0], 2)", "0.5")
def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute the mean over classes of intersection over union.

    labels: the true classes, numbers below `num_classes`.
    predictions: the predicted ones, of the same shape.
    num_classes: how many classes there are.
    """
    first, second = (raw_ops.reshape(_core._to_tensor(x), [-1]) for x in (labels, predictions))
    given = None if weights is None else raw_ops.reshape(_core._to_tensor(weights), [-1])
    counts = confusion_matrix(first, second, num_classes, given, _core.float64)
    total = kept("total_confusion_matrix", [num_classes, num_classes], _core.float64)
    so_far = floats(total.read_value())
    both = raw_ops.matrix_diag_part(so_far)
    either = reduce_sum(so_far, 0) + reduce_sum(so_far, 1) - both
    value = ratio(reduce_sum(ratio(both, either)), count(raw_ops.not_equal(either, 0.0), None))
    return value, total.assign_add(counts)


@streaming("mean_per_class_accuracy([0, 1, 1], [0, 1, 0], 2)", "0.75")
def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute the mean over classes of how often predictions equal labels; the update has one for each class.

    labels: the true classes, numbers below `num_classes`.
    predictions: the predicted ones, of the same shape.
    num_classes: how many classes there are.
    """
    first, second, weights = matched(labels, predictions, weights)
    first, second = (raw_ops.reshape(x, [-1]) for x in (first, second))
    right = floats(raw_ops.equal(second, raw_ops.cast(first, dtype=second.dtype)))
    each = raw_ops.ones_like(right)
    if weights is not None:
        each = spread(raw_ops.reshape(weights, [-1]) if weights.shape.rank else weights, right)
    sums = [raw_ops.unsorted_segment_sum(x, first, num_classes) for x in (right * each, each)]
    rights, totals = kept("count", [num_classes]), kept("total", [num_classes])
    value = reduce_mean(ratio(rights.read_value(), totals.read_value()))
    return value, ratio(rights.assign_add(sums[0]), totals.assign_add(sums[1]))
