"""Functions on sparse tensors with the names and parameters of TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops, sparse
from penstock._ops.sparse_places import int64
from penstock._runtime.scope import scoped
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._values.sparse import SparseTensor
from penstock.compat.v1._graph import placeholder, placeholder_with_default

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, ShapeLike, TensorLike

__all__ = [
    "sparse_add",
    "sparse_concat",
    "sparse_matmul",
    "sparse_merge",
    "sparse_placeholder",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_split",
]


def _one_of(first: Any, second: Any, names: str) -> Any:
    """The value of a parameter that has two names, of which one may be given."""
    if first is not None and second is not None:
        one, _, other = names.partition(" ")
        raise ValueError(f"'{one}' and '{other}' are one argument: cannot specify both")
    return second if first is None else first


def sparse_placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> SparseTensor:
    """Make a sparse tensor whose value `Session.run` is given by `feed_dict`.

    Args:
        dtype: the element type.
        shape: the extents of the whole tensor, None for any; None for any shape.
        name: what its parts are called: `name/indices`, `name/values` and `name/shape`.

    Returns:
        A sparse tensor, for which a `SparseTensorValue` is fed, or a tuple of indices, values and shape.

    Raises:
        RuntimeError: outside of a graph.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     x = v1.sparse_placeholder(tf.float32, [2, 3])
    ...     value = v1.SparseTensorValue([[0, 1]], [3.0], [2, 3])
    ...     session.run(tf.sparse.to_dense(x), {x: value}).tolist()
    [[0.0, 3.0, 0.0], [0.0, 0.0, 0.0]]
    """
    static = TensorShape(shape)
    rank = static.rank
    label = {part: None if name is None else f"{name}/{part}" for part in ("indices", "values", "shape")}
    values = placeholder(dtype, [None], label["values"])
    indices = placeholder(_core.int64, [None, rank], label["indices"])
    if static.is_fully_defined():
        dense_shape = placeholder_with_default(int64(static.as_list()), [rank], label["shape"])
    else:
        dense_shape = placeholder(_core.int64, [rank], label["shape"])
    made = SparseTensor(indices, values, dense_shape)
    made.set_shape(static)
    return made


def sparse_add(
    a: SparseTensor | TensorLike,
    b: SparseTensor | TensorLike,
    threshold: TensorLike | None = None,
    thresh: TensorLike | None = None,
) -> SparseTensor | _core.Tensor:
    """Add two tensors, of which at least one is sparse.

    Args:
        a: a tensor.
        b: a tensor of the same shape and dtype.
        threshold: elements that both of two sparse tensors have are left out where the magnitude of their
            sum is below it; 0 by default.
        thresh: the older name of `threshold`.

    Returns:
        The sum: sparse where both are, else a tensor.

    Raises:
        ValueError: where `threshold` and `thresh` are given, or shapes differ.

    >>> import penstock as tf
    >>> a, b = tf.sparse.from_dense([1.0, 0.5]), tf.sparse.from_dense([-1.0, 0.0])
    >>> tf.compat.v1.sparse_add(a, b, thresh=0.1).indices.numpy().tolist()
    [[1]]
    """
    least = _one_of(threshold, thresh, "threshold thresh")
    return sparse.add(a, b, 0 if least is None else least)


def sparse_concat(
    axis: int | None,
    sp_inputs: Sequence[SparseTensor],
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Concatenate sparse tensors along a dimension.

    Args:
        axis: the dimension.
        sp_inputs: the sparse tensors, of one rank and dtype.
        name: a scope for the names of its operations in a graph.
        expand_nonconcat_dim: whether the other extents may differ; the greatest is then taken.
        concat_dim: the older name of `axis`.
        expand_nonconcat_dims: the newer name of `expand_nonconcat_dim`.

    Returns:
        The sparse tensor, its places in order.

    Raises:
        InvalidArgumentError: where other extents differ.
        ValueError: where there are no sparse tensors, their ranks differ, or there is no dimension.

    >>> import penstock as tf
    >>> x = tf.sparse.from_dense([[1, 0]])
    >>> tf.compat.v1.sparse_concat(1, [x, x]).indices.numpy().tolist()
    [[0, 0], [0, 2]]
    """
    place = _one_of(axis, concat_dim, "axis concat_dim")
    if place is None:
        raise ValueError("argument 'axis' must be given")
    larger = bool(expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims)
    return sparse.concat(place, sp_inputs, larger, name)


def sparse_split(
    keyword_required: object = None,
    sp_input: SparseTensor | None = None,
    num_split: int | None = None,
    axis: int | None = None,
    name: str | None = None,
    split_dim: int | None = None,
) -> list[SparseTensor]:
    """Cut a sparse tensor into parts along a dimension; arguments are given by their names.

    Args:
        keyword_required: not to be given.
        sp_input: the sparse tensor.
        num_split: the number of parts; the first ones are longer by 1 where they cannot all be of one size.
        axis: the dimension.
        name: a scope for the names of its operations in a graph.
        split_dim: the older name of `axis`.

    Returns:
        The parts.

    Raises:
        ValueError: where an argument is missing, or is given without its name.

    >>> import penstock as tf
    >>> x = tf.sparse.from_dense([[1, 2]])
    >>> [part.values.numpy().tolist() for part in tf.compat.v1.sparse_split(sp_input=x, num_split=2, axis=1)]
    [[1], [2]]
    """
    if keyword_required is not None:
        raise ValueError("arguments of sparse_split must be given by their names")
    return sparse.split(sp_input, num_split, _one_of(axis, split_dim, "axis split_dim"), name)


def _reduction(reduce: Callable[..., Any], kept_sparse: bool) -> Callable[..., Any]:
    example = reduce.__name__.removeprefix("reduce_")
    label = f"sparse_{reduce.__name__}{'_sparse' if kept_sparse else ''}"

    def reduced(
        sp_input: SparseTensor,
        axis: int | Sequence[int] | None = None,
        keepdims: bool | None = None,
        reduction_axes: int | Sequence[int] | None = None,
        keep_dims: bool | None = None,
    ) -> Any:
        along = _one_of(axis, reduction_axes, "axis reduction_axes")
        kept = _one_of(keepdims, keep_dims, "keepdims keep_dims")
        return reduce(sp_input, along, bool(kept), kept_sparse)

    reduced.__name__ = reduced.__qualname__ = label
    found = "x.values" if kept_sparse else "x"
    reduced.__doc__ = f"""Compute the {example} of elements over dimensions, or over all.

    Args:
        sp_input: the sparse tensor.
        axis: the dimensions to go over; None for all.
        keepdims: whether the dimensions stay, with size 1.
        reduction_axes: the older name of `axis`.
        keep_dims: the older name of `keepdims`.

    Returns:
        A {"sparse tensor, with elements where there are any" if kept_sparse else "tensor"}.

    Raises:
        ValueError: where both names of an argument are used.

    >>> import penstock as tf
    >>> x = tf.compat.v1.{label}(tf.sparse.from_dense([[1, 0], [0, 2]]), 1)
    >>> {found}.numpy().tolist()
    [1, 2]
    """
    return reduced


sparse_reduce_sum = _reduction(sparse.reduce_sum, False)
sparse_reduce_max = _reduction(sparse.reduce_max, False)
sparse_reduce_sum_sparse = _reduction(sparse.reduce_sum, True)
sparse_reduce_max_sparse = _reduction(sparse.reduce_max, True)


@scoped
def sparse_merge(
    sp_ids: SparseTensor | Sequence[SparseTensor],
    sp_values: SparseTensor,
    vocab_size: TensorLike | Sequence[TensorLike],
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Put values at the places that ids say: in each row, an id is the place in the last dimension.

    Args:
        sp_ids: the ids, a sparse tensor of integers; or several, for as many last dimensions.
        sp_values: the values, at the same places.
        vocab_size: the extent of the last dimension; a list of them for several `sp_ids`.
        name: a scope for the names of its operations in a graph.
        already_sorted: whether the ids of each row ascend.

    Returns:
        The sparse tensor, with the extent `vocab_size` in the place of the last dimension.

    Raises:
        TypeError: where an argument is not sparse.
        ValueError: for as many extents as there are not ids.

    >>> import penstock as tf
    >>> ids = tf.SparseTensor([[0, 0], [1, 0]], [2, 0], [2, 1])
    >>> weights = tf.SparseTensor([[0, 0], [1, 0]], [0.5, 0.25], [2, 1])
    >>> tf.sparse.to_dense(tf.compat.v1.sparse_merge(ids, weights, 3)).numpy().tolist()
    [[0.0, 0.0, 0.5], [0.25, 0.0, 0.0]]
    """
    several = isinstance(sp_ids, list | tuple)
    ids: Any = sp_ids if several else [sp_ids]
    sizes: Any = vocab_size if several else [vocab_size]
    if not isinstance(sizes, list | tuple) or len(sizes) != len(ids):
        raise ValueError(f"argument 'vocab_size' must be a list of {len(ids)} extents, got {vocab_size!r}")
    for one in ids:
        expect(one, SparseTensor, "sp_ids", "a SparseTensor")
    values = expect(sp_values, SparseTensor, "sp_values", "a SparseTensor")
    last = [raw_ops.expand_dims(int64(one.values), axis=1) for one in ids]
    indices = raw_ops.concat([ids[0].indices[:, :-1], *last], axis=1)
    extents = [raw_ops.reshape(int64(size), [1]) for size in sizes]
    made = SparseTensor(indices, values.values, raw_ops.concat([ids[0].dense_shape[:-1], *extents], axis=0))
    return made if already_sorted else sparse.reorder(made)


def sparse_matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the product of two matrices, of which one may have many zeros.

    Args:
        a: a matrix of `float32` or `bfloat16`.
        b: a matrix of `float32` or `bfloat16`.
        transpose_a: whether `a` is transposed.
        transpose_b: whether `b` is transposed.
        a_is_sparse: accepted; the product is computed in the same way.
        b_is_sparse: accepted; the product is computed in the same way.
        name: what it is called in a graph.

    Returns:
        A matrix of `float32`.

    >>> import penstock as tf
    >>> tf.compat.v1.sparse_matmul([[1.0, 0.0]], [[2.0], [3.0]], a_is_sparse=True).numpy().tolist()
    [[2.0]]
    """
    x, y = (raw_ops.cast(_core._to_tensor(side), dtype=_core.float32) for side in (a, b))
    product: _core.Tensor = raw_ops.matmul(x, y, transpose_a=transpose_a, transpose_b=transpose_b, name=name)
    return product
