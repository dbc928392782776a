"""`tf.losses` of TensorFlow 1: weighted losses, which graphs collect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.reductions import reduce_sum
from penstock._types.argument_names import shown
from penstock.compat.v1._graph import GraphKeys, get_collection, get_default_graph
from penstock.nn import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = [
    "Reduction",
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_loss",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "huber_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]


class Reduction:
    """The ways in which weighted losses become one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """List them.

        Returns:
            The names.

        >>> import penstock as tf
        >>> len(tf.compat.v1.losses.Reduction.all())
        5
        """
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key: str) -> None:
        """Check that a name is one of them.

        Args:
            key: the name.

        Raises:
            ValueError: where it is not.

        >>> import penstock as tf
        >>> tf.compat.v1.losses.Reduction.validate("weighted_mean")
        """
        if key not in cls.all():
            raise ValueError(f"argument 'reduction' must be one of {cls.all()}, got {key!r}")


_DEFAULT = Reduction.SUM_BY_NONZERO_WEIGHTS


def add_loss(loss: TensorLike, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to those of the default graph; outside of graphs nothing is collected.

    Args:
        loss: the loss.
        loss_collection: the name of the collection; None for none.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.losses.add_loss(tf.constant(1.0))
    ...     len(tf.compat.v1.losses.get_losses())
    1
    """
    if loss_collection and _core._is_tracing():
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """List the losses of the default graph.

    Args:
        scope: what their names begin with; None for all.
        loss_collection: the name of the collection.

    Returns:
        The losses.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.losses.get_losses()
    []
    """
    return list(get_collection(loss_collection, scope))


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """List the losses of regularizers of the default graph.

    Args:
        scope: what their names begin with; None for all.

    Returns:
        The losses.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.losses.get_regularization_losses()
    []
    """
    return list(get_collection(GraphKeys.REGULARIZATION_LOSSES, scope))


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Any:
    """Sum the losses of regularizers of the default graph.

    Args:
        scope: what their names begin with; None for all.
        name: accepted and ignored.

    Returns:
        A scalar; 0 where there are none.

    >>> import penstock as tf
    >>> float(tf.compat.v1.losses.get_regularization_loss())
    0.0
    """
    found = get_regularization_losses(scope)
    return raw_ops.add_n(*found) if found else _core._to_tensor(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """Sum the losses of the default graph.

    Args:
        add_regularization_losses: whether to add those of regularizers.
        name: accepted and ignored.
        scope: what their names begin with; None for all.

    Returns:
        A scalar.

    Raises:
        ValueError: where there are none.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     _ = tf.compat.v1.losses.mean_squared_error([1.0], [3.0])
    ...     float(session.run(tf.compat.v1.losses.get_total_loss()))
    4.0
    """
    found = get_losses(scope)
    if add_regularization_losses:
        found += get_regularization_losses(scope)
    if not found:
        raise ValueError("there are no losses in the default graph")
    return raw_ops.add_n(*found)


def _number(value: Any) -> _core.Tensor:
    return raw_ops.cast(_core._to_tensor(value), dtype=_core.float32)


def spread(weights: Any, like: _core.Tensor, dtype: Any = _core.float32) -> _core.Tensor:
    """Weights for each element of a tensor: sizes of theirs are its own, or 1.

    Raises:
        ValueError: where they do not fit.
    """
    given = raw_ops.cast(_core._to_tensor(weights), dtype=dtype)
    own, of = given.shape, like.shape
    fits = not own.rank or of.rank is None or own.rank is None
    if not fits and own.rank == of.rank:
        fits = all(w in (1, None) or n is None or w == n for w, n in zip(own, of, strict=True))
    if not fits:
        raise ValueError(
            f"argument 'weights' must be a scalar, or of the shape of the values, {of}, with 1 in places; "
            f"got shape {own}"
        )
    return raw_ops.cast(raw_ops.ones_like(like), dtype=dtype) * given


def _ratio(total: Any, count: Any) -> Any:
    return raw_ops.divide_no_nan(total, count)


def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Any:
    """Weight losses, make one number of them and collect it.

    Args:
        losses: the losses, of any shape.
        weights: a scalar, or a tensor of the same rank whose sizes are the same or 1.
        scope: accepted and ignored.
        loss_collection: the name of the collection; None for none.
        reduction: one of `Reduction`'s.

    Returns:
        A scalar of the dtype of `losses`; with `Reduction.NONE` a tensor of their shape.

    Raises:
        ValueError: for weights that do not fit, or another reduction.

    >>> import penstock as tf
    >>> float(tf.compat.v1.losses.compute_weighted_loss([1.0, 3.0, 9.0], [1.0, 1.0, 0.0]))
    2.0
    """
    Reduction.validate(reduction)
    given = _core._to_tensor(losses)
    each = _number(given)
    amounts = spread(weights, each)
    each = each * amounts
    loss: Any = each
    if reduction != Reduction.NONE:
        loss = reduce_sum(each)
    if reduction == Reduction.MEAN:
        loss = _ratio(loss, reduce_sum(amounts))
    elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
        loss = _ratio(loss, reduce_sum(_number(raw_ops.not_equal(amounts, raw_ops.zeros_like(amounts)))))
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        loss = _ratio(loss, _number(raw_ops.size(each)))
    loss = raw_ops.cast(loss, dtype=given.dtype)
    add_loss(loss, loss_collection)
    return loss


def _pair(labels: Any, predictions: Any) -> tuple[_core.Tensor, _core.Tensor]:
    first, second = _number(labels), _number(predictions)
    if not first.shape.is_compatible_with(second.shape):
        raise ValueError(
            f"arguments 'labels' and 'predictions' must have one shape, got {first.shape} and {second.shape}"
        )
    return first, second


def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Any:
    """Compute the weighted mean of absolute differences.

    Args:
        labels: the true values.
        predictions: the predicted ones, of the same shape.
        weights: a scalar, or a tensor of the same rank whose sizes are the same or 1.
        scope: accepted and ignored.
        loss_collection: the name of the collection that it is added to; None for none.
        reduction: one of `Reduction`'s.

    Returns:
        A scalar of `float32`.

    >>> import penstock as tf
    >>> float(tf.compat.v1.losses.absolute_difference([1.0, 2.0], [2.0, 5.0]))
    2.0
    """
    a, b = _pair(labels, predictions)
    return compute_weighted_loss(raw_ops.abs(b - a), weights, scope, loss_collection, reduction)


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Any:
    """Compute the weighted mean of squared differences.

    Args:
        labels: the true values.
        predictions: the predicted ones, of the same shape.
        weights: a scalar, or a tensor of the same rank whose sizes are the same or 1.
        scope: accepted and ignored.
        loss_collection: the name of the collection that it is added to; None for none.
        reduction: one of `Reduction`'s.

    Returns:
        A scalar of `float32`.

    >>> import penstock as tf
    >>> float(tf.compat.v1.losses.mean_squared_error([1.0, 2.0], [2.0, 5.0]))
    5.0
    """
    a, b = _pair(labels, predictions)
    return compute_weighted_loss(raw_ops.squared_difference(b, a), weights, scope, loss_collection, reduction)


def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
    dim: int | None = None,
) -> Any:
    """Compute 1 less the products of vectors of length 1.

    Args:
        labels: the true vectors.
        predictions: the predicted ones, of the same shape.
        axis: the dimension of the vectors.
        weights: a scalar, or a tensor of the same rank whose sizes are the same or 1.
        scope: accepted and ignored.
        loss_collection: the name of the collection that it is added to; None for none.
        reduction: one of `Reduction`'s.
        dim: an old name of `axis`.

    Returns:
        A scalar of `float32`.

    Raises:
        ValueError: where no dimension is given.

    >>> import penstock as tf
    >>> float(tf.compat.v1.losses.cosine_distance([[1.0, 0.0]], [[0.0, 1.0]], axis=1))
    1.0
    """
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("argument 'axis' must be given")
    a, b = _pair(labels, predictions)
    return compute_weighted_loss(
        1.0 - reduce_sum(a * b, axis, keepdims=True), weights, scope, loss_collection, reduction
    )


def hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Any:
    """Compute how far logits are from a margin of 1 on the right side.

    Args:
        labels: 0 or 1.
        logits: the logits, of the same shape.
        weights: a scalar, or a tensor of the same rank whose sizes are the same or 1.
        scope: accepted and ignored.
        loss_collection: the name of the collection that it is added to; None for none.
        reduction: one of `Reduction`'s.

    Returns:
        A scalar of `float32`.

    >>> import penstock as tf
    >>> float(tf.compat.v1.losses.hinge_loss([1.0, 0.0], [2.0, 1.0]))
    1.0
    """
    a, b = _pair(labels, logits)
    return compute_weighted_loss(
        raw_ops.relu(1.0 - (2.0 * a - 1.0) * b), weights, scope, loss_collection, reduction
    )


def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Any:
    """Compute half of squared differences up to a bound, and straight lines beyond.

    Args:
        labels: the true values.
        predictions: the predicted ones, of the same shape.
        weights: a scalar, or a tensor of the same rank whose sizes are the same or 1.
        delta: the bound.
        scope: accepted and ignored.
        loss_collection: the name of the collection that it is added to; None for none.
        reduction: one of `Reduction`'s.

    Returns:
        A scalar of `float32`.

    >>> import penstock as tf
    >>> float(tf.compat.v1.losses.huber_loss([0.0, 0.0], [1.0, 3.0]))
    1.5
    """
    a, b = _pair(labels, predictions)
    distance = raw_ops.abs(b - a)
    near = raw_ops.minimum(distance, raw_ops.zeros_like(distance) + delta)
    return compute_weighted_loss(
        0.5 * near * near + delta * (distance - near), weights, scope, loss_collection, reduction
    )


def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Any:
    """Compute the cross entropy of probabilities.

    Args:
        labels: 0 or 1.
        predictions: probabilities, of the same shape.
        weights: a scalar, or a tensor of the same rank whose sizes are the same or 1.
        epsilon: added to what logarithms are taken of.
        scope: accepted and ignored.
        loss_collection: the name of the collection that it is added to; None for none.
        reduction: one of `Reduction`'s.

    Returns:
        A scalar of `float32`.

    >>> import penstock as tf
    >>> round(float(tf.compat.v1.losses.log_loss([1.0], [0.5])), 4)
    0.6931
    """
    a, b = _pair(labels, predictions)
    each = -a * raw_ops.log(b + epsilon) - (1.0 - a) * raw_ops.log(1.0 - b + epsilon)
    return compute_weighted_loss(each, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Any:
    """Compute the squared errors of the differences between the elements of each example.

    Args:
        labels: the true values, [batch, …].
        predictions: the predicted ones, of the same shape.
        weights: a scalar, or one for each example, [batch, 1, …].
        scope: accepted and ignored.
        loss_collection: the name of the collection that it is added to; None for none.

    Returns:
        A scalar of `float32`.

    >>> import penstock as tf
    >>> float(tf.compat.v1.losses.mean_pairwise_squared_error([[0.0, 1.0]], [[0.0, 3.0]]))
    4.0
    """
    a, b = _pair(labels, predictions)
    given = _number(weights)
    difference = b - a
    axes = list(range(1, difference.shape.rank or 1))
    if given.shape.rank == 1 and axes:
        given = raw_ops.reshape(given, [-1] + [1] * len(axes))
    amounts = spread(given, difference)
    count = reduce_sum(_number(raw_ops.not_equal(amounts, raw_ops.zeros_like(amounts))), axes, keepdims=True)
    squares = reduce_sum(difference * difference, axes, keepdims=True)
    whole = reduce_sum(difference, axes, keepdims=True)
    fewer = raw_ops.maximum(count - 1.0, raw_ops.zeros_like(count))
    each = 2.0 * (_ratio(squares, fewer) - _ratio(whole * whole, count * fewer))
    loss = reduce_sum(each * given)
    add_loss(loss, loss_collection)
    return loss


def sigmoid_cross_entropy(
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Any:
    """Compute the cross entropy of logits with independent binary labels.

    Args:
        multi_class_labels: 0 or 1.
        logits: the logits, of the same shape.
        weights: a scalar, or a tensor of the same rank whose sizes are the same or 1.
        label_smoothing: how far labels are moved towards 1/2.
        scope: accepted and ignored.
        loss_collection: the name of the collection that it is added to; None for none.
        reduction: one of `Reduction`'s.

    Returns:
        A scalar of the dtype of `logits`.

    >>> import penstock as tf
    >>> round(float(tf.compat.v1.losses.sigmoid_cross_entropy([1.0], [0.0])), 4)
    0.6931
    """
    scores = _core._to_tensor(logits)
    labels = raw_ops.cast(_core._to_tensor(multi_class_labels), dtype=scores.dtype)
    if label_smoothing > 0:
        labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
    each = sigmoid_cross_entropy_with_logits(labels, scores)
    return compute_weighted_loss(each, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Any:
    """Compute the cross entropy of logits of classes, of which one is the true one.

    Args:
        onehot_labels: the probabilities of the classes, [batch, classes]; no gradient goes to them.
        logits: the logits, of the same shape.
        weights: a scalar, or one for each example.
        label_smoothing: how far labels are moved towards equal ones.
        scope: accepted and ignored.
        loss_collection: the name of the collection that it is added to; None for none.
        reduction: one of `Reduction`'s.

    Returns:
        A scalar of the dtype of `logits`.

    >>> import penstock as tf
    >>> round(float(tf.compat.v1.losses.softmax_cross_entropy([[1.0, 0.0]], [[0.0, 0.0]])), 4)
    0.6931
    """
    scores = _core._to_tensor(logits)
    labels = raw_ops.cast(_core._to_tensor(onehot_labels), dtype=scores.dtype)
    if label_smoothing > 0:
        classes = scores.shape[-1]
        if classes is None:
            raise ValueError("argument 'logits' must have a known number of classes with 'label_smoothing'")
        labels = labels * (1 - label_smoothing) + label_smoothing / classes
    each = softmax_cross_entropy_with_logits(raw_ops.stop_gradient(labels), scores)
    return compute_weighted_loss(each, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _DEFAULT,
) -> Any:
    """Compute the cross entropy of logits of classes, where the numbers of the true ones are given.

    Args:
        labels: the numbers of classes, [batch] or [batch, 1].
        logits: the logits, [batch, classes].
        weights: a scalar, or one for each example.
        scope: accepted and ignored.
        loss_collection: the name of the collection that it is added to; None for none.
        reduction: one of `Reduction`'s.

    Returns:
        A scalar of the dtype of `logits`.

    >>> import penstock as tf
    >>> round(float(tf.compat.v1.losses.sparse_softmax_cross_entropy([0], [[0.0, 0.0]])), 4)
    0.6931
    """
    scores, numbers, given = (_core._to_tensor(x) for x in (logits, labels, weights))
    if not numbers.dtype.is_integer:
        raise TypeError(f"argument 'labels' must be integers, got {shown(labels)}")
    ranks = scores.shape.rank
    if ranks is not None and numbers.shape.rank == ranks:
        numbers = raw_ops.squeeze(numbers, axes=[ranks - 1])
    if ranks is not None and given.shape.rank == ranks:
        given = raw_ops.squeeze(given, axes=[ranks - 1])
    each = sparse_softmax_cross_entropy_with_logits(numbers, scores)
    return compute_weighted_loss(each, given, scope, loss_collection, reduction)
