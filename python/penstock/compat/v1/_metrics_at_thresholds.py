"""Metrics of TensorFlow 1 that compare predictions with thresholds."""

from __future__ import annotations

from typing import Any

from penstock import debugging, raw_ops
from penstock._ops.reductions import reduce_sum
from penstock.compat.v1._streaming import bools, floats, matched, ratio, streaming, total_of
from penstock.compat.v1.losses import spread

__all__ = [
    "auc",
    "false_negatives_at_thresholds",
    "false_positives_at_thresholds",
    "precision_at_thresholds",
    "recall_at_thresholds",
    "sensitivity_at_specificity",
    "specificity_at_sensitivity",
    "true_negatives_at_thresholds",
    "true_positives_at_thresholds",
]

# Thresholds end a little beyond 0 and 1, so that these are between them.
_BEYOND = 1e-7
# What AUC adds to parts and wholes.
_ADDED = 1e-6


def _even(number: int) -> list[float]:
    """Thresholds at equal distances, from below 0 to above 1.

    Raises:
        ValueError: for fewer than 2.
    """
    if number < 2:
        raise ValueError(f"argument 'num_thresholds' must be at least 2, got {number}")
    inside = [i / (number - 1) for i in range(1, number - 1)]
    return [0.0 - _BEYOND, *inside, 1.0 + _BEYOND]


def _counts(
    labels: Any, predictions: Any, thresholds: Any, weights: Any, kinds: str
) -> list[tuple[Any, Any]]:
    """Sums by threshold of true and false positives and negatives, each before and after the update."""
    right, said, weights = matched(bools(labels), floats(predictions), weights)
    given = None
    if weights is not None:
        given = raw_ops.reshape(spread(weights, said), [1, -1])
    bounds = raw_ops.reshape(floats(thresholds), [-1, 1])
    above = raw_ops.greater(raw_ops.reshape(said, [1, -1]), bounds)
    truth = raw_ops.reshape(right, [1, -1])
    wrong, below = raw_ops.logical_not(truth), raw_ops.logical_not(above)
    amounts = {
        "tp": (truth, above, "true_positives"),
        "fp": (wrong, above, "false_positives"),
        "tn": (wrong, below, "true_negatives"),
        "fn": (truth, below, "false_negatives"),
    }
    found = []
    for kind in kinds.split():
        first, second, name = amounts[kind]
        each = floats(raw_ops.logical_and(first, second))
        found.append(total_of(name, reduce_sum(each if given is None else each * given, 1)))
    return found


def _both(function: Any, counts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """What a function makes of the counts before the update, and of those after it."""
    before, after = zip(*counts, strict=True)
    return function(*before), function(*after)


def _between(tp: Any, fp: Any, fn: Any) -> Any:
    """The area of precision by recall, where true and false positives between two thresholds grow alike."""
    positives = tp + fp
    gained = tp[:-1] - tp[1:]
    slope = ratio(gained, raw_ops.maximum(positives[:-1] - positives[1:], 0.0))
    start = tp[1:] - slope * positives[1:]
    some = raw_ops.logical_and(raw_ops.greater(positives[:-1], 0.0), raw_ops.greater(positives[1:], 0.0))
    grown = ratio(positives[:-1], raw_ops.maximum(positives[1:], 0.0))
    safe = raw_ops.select(some, grown, raw_ops.ones_like(grown))
    return reduce_sum(
        ratio(slope * (gained + start * raw_ops.log(safe)), raw_ops.maximum(tp[1:] + fn[1:], 0.0))
    )


@streaming("true_positives_at_thresholds([1, 1, 0], [0.9, 0.4, 0.3], [0.2, 0.5])", "[2.0, 1.0]")
def true_positives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Count predictions above thresholds that are right, by threshold.

    labels: the truth: what is not 0 is true.
    predictions: probabilities, of the same shape.
    thresholds: the thresholds; a probability above one is predicted true.
    """
    return _counts(labels, predictions, thresholds, weights, "tp")[0]


@streaming("false_positives_at_thresholds([1, 1, 0], [0.9, 0.4, 0.3], [0.2, 0.5])", "[1.0, 0.0]")
def false_positives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Count predictions above thresholds that are wrong, by threshold.

    labels: the truth: what is not 0 is true.
    predictions: probabilities, of the same shape.
    thresholds: the thresholds; a probability above one is predicted true.
    """
    return _counts(labels, predictions, thresholds, weights, "fp")[0]


@streaming("true_negatives_at_thresholds([1, 1, 0], [0.9, 0.4, 0.3], [0.2, 0.5])", "[0.0, 1.0]")
def true_negatives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Count predictions not above thresholds that are right, by threshold.

    labels: the truth: what is not 0 is true.
    predictions: probabilities, of the same shape.
    thresholds: the thresholds; a probability above one is predicted true.
    """
    return _counts(labels, predictions, thresholds, weights, "tn")[0]


@streaming("false_negatives_at_thresholds([1, 1, 0], [0.9, 0.4, 0.3], [0.2, 0.5])", "[0.0, 1.0]")
def false_negatives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Count predictions not above thresholds that are wrong, by threshold.

    labels: the truth: what is not 0 is true.
    predictions: probabilities, of the same shape.
    thresholds: the thresholds; a probability above one is predicted true.
    """
    return _counts(labels, predictions, thresholds, weights, "fn")[0]


@streaming("precision_at_thresholds([1, 0], [0.9, 0.3], [0.2, 0.5])", "[0.5, 1.0]")
def precision_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute which part of the predictions above thresholds is right, by threshold.

    labels: the truth: what is not 0 is true.
    predictions: probabilities, of the same shape.
    thresholds: the thresholds; a probability above one is predicted true.
    """
    counts = _counts(labels, predictions, thresholds, weights, "tp fp")
    return _both(lambda tp, fp: tp / (_BEYOND + tp + fp), counts)


@streaming("recall_at_thresholds([1, 1, 0], [0.9, 0.4, 0.3], [0.2, 0.5])", "[1.0, 0.5]")
def recall_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute which part of the labels that are true is predicted, by threshold.

    labels: the truth: what is not 0 is true.
    predictions: probabilities, of the same shape.
    thresholds: the thresholds; a probability above one is predicted true.
    """
    counts = _counts(labels, predictions, thresholds, weights, "tp fn")
    return _both(lambda tp, fn: tp / (_BEYOND + tp + fn), counts)


@streaming("sensitivity_at_specificity([1, 1, 0, 0], [0.9, 0.4, 0.5, 0.1], 1.0)", "0.5")
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute which part of the labels that are true is predicted where the specificity is a given one.

    labels: the truth: what is not 0 is true.
    predictions: probabilities, of the same shape.
    specificity: the specificity, from 0 to 1; the threshold that comes nearest to it counts.
    num_thresholds: how many thresholds are tried.
    """
    if not 0 <= specificity <= 1:
        raise ValueError(f"argument 'specificity' must be from 0 to 1, got {specificity}")
    counts = _counts(labels, predictions, _even(num_thresholds), weights, "tp fp tn fn")

    def sensitivity(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
        at = raw_ops.argmin(raw_ops.abs(tn / (tn + fp + _BEYOND) - specificity), axis=0)
        return raw_ops.gather(tp, at, axis=0) / (raw_ops.gather(tp + fn, at, axis=0) + _BEYOND)

    return _both(sensitivity, counts)


@streaming("specificity_at_sensitivity([1, 1, 0, 0], [0.9, 0.4, 0.5, 0.1], 1.0)", "0.5")
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Compute which part of the labels that are false is predicted where the sensitivity is a given one.

    labels: the truth: what is not 0 is true.
    predictions: probabilities, of the same shape.
    sensitivity: the sensitivity, from 0 to 1; the threshold that comes nearest to it counts.
    num_thresholds: how many thresholds are tried.
    """
    if not 0 <= sensitivity <= 1:
        raise ValueError(f"argument 'sensitivity' must be from 0 to 1, got {sensitivity}")
    counts = _counts(labels, predictions, _even(num_thresholds), weights, "tp fp tn fn")

    def specificity(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
        # Of thresholds that are as near, the last one.
        off = raw_ops.reverse(raw_ops.abs(tp / (tp + fn + _BEYOND) - sensitivity), axes=[0])
        at = num_thresholds - 1 - raw_ops.argmin(off, axis=0)
        return raw_ops.gather(tn, at, axis=0) / (raw_ops.gather(tn + fp, at, axis=0) + _BEYOND)

    return _both(specificity, counts)


@streaming("auc([1, 1, 0, 0], [0.9, 0.4, 0.5, 0.1])", "0.75")
def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Any = None,
) -> Any:
    """Compute the area below a curve of rates.

    labels: the truth: what is not 0 is true.
    predictions: probabilities, of the same shape.
    num_thresholds: how many thresholds there are, at equal distances.
    curve: `ROC`, true by false positives, or `PR`, precision by recall.
    summation_method: `trapezoidal`; `minoring` or `majoring`, sums below or above the area; or
        `careful_interpolation`, which suits precision.
    thresholds: thresholds between 0 and 1 in place of those at equal distances.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"argument 'curve' must be 'ROC' or 'PR', got {curve!r}")
    if summation_method not in ("trapezoidal", "minoring", "majoring", "careful_interpolation"):
        raise ValueError(f"argument 'summation_method' is unknown: {summation_method!r}")
    if summation_method == "careful_interpolation" and curve == "ROC":
        summation_method = "trapezoidal"
    bounds = _even(num_thresholds) if thresholds is None else [-_BEYOND, *sorted(thresholds), 1.0 + _BEYOND]
    said = floats(predictions)
    debugging.assert_less_equal(said, 1.0, "argument 'predictions' must be from 0 to 1")
    debugging.assert_greater_equal(said, 0.0, "argument 'predictions' must be from 0 to 1")
    counts = _counts(labels, said, bounds, weights, "tp fp tn fn")
    if summation_method == "careful_interpolation":
        return _both(lambda tp, fp, tn, fn: _between(tp, fp, fn), counts)
    height = {
        "trapezoidal": lambda a, b: (a + b) / 2.0,
        "minoring": raw_ops.minimum,
        "majoring": raw_ops.maximum,
    }

    def area(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
        recall = (tp + _ADDED) / (tp + fn + _ADDED)
        x, y = (
            (fp / (fp + tn + _ADDED), recall)
            if curve == "ROC"
            else (recall, (tp + _ADDED) / (tp + fp + _ADDED))
        )
        return reduce_sum((x[:-1] - x[1:]) * height[summation_method](y[:-1], y[1:]))

    return _both(area, counts)
