"""Losses and look-ups of `tf.nn` of TensorFlow 1 on tables that may be in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike
    from penstock._values.sparse import SparseTensor

__all__ = ["nce_loss", "safe_embedding_lookup_sparse", "sampled_softmax_loss", "whole_table"]


class _Package:
    """Version 2, whose public functions those here call."""

    def __getattr__(self, name: str) -> Any:
        import penstock  # which is above this in the package

        return getattr(penstock, name)


tf = _Package()


def whole_table(params: Any, ids: Any, strategy: str) -> tuple[Any, Any]:
    """A table of the parts of one, with the numbers that rows have in it."""
    if strategy not in ("mod", "div"):
        raise ValueError(f"argument 'partition_strategy' must be 'mod' or 'div', got {strategy!r}")
    if strategy == "div" or not isinstance(params, list | tuple) or len(params) < 2:
        return params, ids
    count = len(params)
    numbers = _core._to_tensor(ids)
    firsts = tf.cumsum(tf.stack([tf.shape(part, numbers.dtype)[0] for part in params]), exclusive=True)
    return tf.concat(params, 0), tf.gather(firsts, numbers % count) + numbers // count


def _one_table(params: Any, strategy: str) -> Any:
    """A table of the parts of one, with the rows in their order."""
    if not isinstance(params, list | tuple) or len(params) < 2:
        return whole_table(params, 0, strategy)[0]
    params = [_core._to_tensor(part) for part in params]
    rows = sum(int(part.shape[0]) for part in params)
    table, places = whole_table(params, tf.range(rows), strategy)
    return tf.concat(params, 0) if strategy == "div" else tf.gather(table, places)


def _in_parts(biases: Any) -> bool:
    return isinstance(biases, list | tuple) and all(
        isinstance(part, _core.Tensor | _core._Variable) and part.shape.rank == 1 for part in biases
    )


def nce_loss(
    weights: Any,
    biases: Any,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> _core.Tensor:
    """Compute the loss of telling the classes of examples from drawn ones.

    Args:
        weights: a row for each class; or parts of that table.
        biases: a number for each class; or parts of them, vectors.
        labels: the classes of each example, [batch, num_true].
        inputs: [batch, size].
        num_sampled: how many other classes are drawn.
        num_classes: the number of classes.
        num_true: the number of classes of an example.
        sampled_values: what a sampler of candidates gave; by default that of a log-uniform distribution.
        remove_accidental_hits: whether drawn classes that are those of an example are left out.
        partition_strategy: where a row is where the table is in parts, as for `embedding_lookup`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The loss of each example.

    Raises:
        ValueError: for another strategy.

    >>> import penstock as tf
    >>> loss = tf.compat.v1.nn.nce_loss(tf.zeros([5, 2]), tf.zeros([5]), [[1]], tf.ones([1, 2]), 3, 5)
    >>> loss.shape
    TensorShape([1])
    """
    found: _core.Tensor = tf.nn.nce_loss(
        _one_table(weights, partition_strategy),
        _one_table(biases, partition_strategy) if _in_parts(biases) else biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        name,
    )
    return found


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> _core.Tensor:
    """Compute the cross entropy of the classes of examples among drawn ones.

    Args:
        weights: a row for each class; or parts of that table.
        biases: a number for each class; or parts of them, vectors.
        labels: the classes of each example, [batch, num_true].
        inputs: [batch, size].
        num_sampled: how many other classes are drawn.
        num_classes: the number of classes.
        num_true: the number of classes of an example.
        sampled_values: what a sampler of candidates gave; by default that of a log-uniform distribution.
        remove_accidental_hits: whether drawn classes that are those of an example are left out.
        partition_strategy: where a row is where the table is in parts, as for `embedding_lookup`.
        name: a scope for the names of its operations in a graph.
        seed: where the drawn classes start.

    Returns:
        The loss of each example.

    Raises:
        ValueError: for another strategy.

    >>> import penstock as tf
    >>> loss = tf.compat.v1.nn.sampled_softmax_loss(
    ...     tf.zeros([5, 2]), tf.zeros([5]), [[1]], tf.ones([1, 2]), 3, 5, partition_strategy="div"
    ... )
    >>> loss.shape
    TensorShape([1])
    """
    found: _core.Tensor = tf.nn.sampled_softmax_loss(
        _one_table(weights, partition_strategy),
        _one_table(biases, partition_strategy) if _in_parts(biases) else biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        seed,
        name,
    )
    return found


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> _core.Tensor:
    """Combine the rows of a table that each row of ids names; rows without ids get zeros or a default.

    Args:
        embedding_weights: the table, or its parts.
        sparse_ids: the numbers of rows, sparse; those below 0 are left out.
        sparse_weights: the weight of each, or None for 1; those that are not above 0 are left out.
        combiner: `"sum"`, `"mean"` or `"sqrtn"`.
        default_id: the row that stands for rows without ids; zeros without it.
        name: a scope for the names of its operations in a graph.
        partition_strategy: where a row is, as for `embedding_lookup`.
        max_norm: the norm that rows are clipped to.
        allow_fast_lookup: accepted and ignored.

    Returns:
        A tensor with a row for each row of ids.

    Raises:
        ValueError: for another strategy or combiner.

    >>> import penstock as tf
    >>> ids = tf.SparseTensor([[0, 0]], [1], [2, 1])
    >>> table = tf.constant([[1.0], [3.0]])
    >>> tf.compat.v1.nn.safe_embedding_lookup_sparse(table, ids).numpy().tolist()
    [[3.0], [0.0]]
    """
    table = _one_table(embedding_weights, partition_strategy)
    found: _core.Tensor = tf.nn.safe_embedding_lookup_sparse(
        table, sparse_ids, sparse_weights, combiner, default_id, max_norm, name
    )
    return found
