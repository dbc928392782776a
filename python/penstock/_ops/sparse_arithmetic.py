"""Arithmetic on sparse tensors: sums, reductions, products with matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.sparse_layout import _listed, reorder
from penstock._ops.sparse_places import checked, extents, groups, int64, kept, number, rank_of
from penstock._runtime.arguments import axis_of, require
from penstock._runtime.scope import scoped
from penstock._values.sparse import SparseTensor, SparseTensorValue
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, DTypeLike, TensorLike

_INT64 = _core.int64


def _is_sparse(value: Any) -> bool:
    return isinstance(value, SparseTensor | SparseTensorValue)


def _columns(sparse: SparseTensor) -> list[Any]:
    return [sparse.indices[:, k] for k in range(rank_of(sparse))]


def _bounds(sizes: list[Any]) -> list[Any] | None:
    return sizes if all(isinstance(n, int) for n in sizes) else None


def _alike(a: SparseTensor, b: SparseTensor) -> None:
    """Raises where two sparse tensors have other extents or dtypes."""
    if a.dtype != b.dtype:
        raise DTypeError(f"the sparse tensors must have one dtype, got {a.dtype.name} and {b.dtype.name}")
    if not a.shape.is_compatible_with(b.shape):
        raise InvalidArgumentError(f"the sparse tensors must have one shape, got {a.shape} and {b.shape}")
    same = raw_ops.reduce_all(raw_ops.equal(a.dense_shape, b.dense_shape))
    require(same, "the sparse tensors must have one shape", a.dense_shape, b.dense_shape)


def _together(a: SparseTensor, b: SparseTensor) -> tuple[Any, Any, Any, Any]:
    """The places that two sparse tensors have, the group of each element of either, and how many groups."""
    _alike(a, b)
    indices = raw_ops.concat([a.indices, b.indices], axis=0)
    found = groups([indices[:, k] for k in range(rank_of(a))], _bounds(extents(a)))
    mine = raw_ops.size(a.values, dtype=_INT64)
    return raw_ops.gather(indices, found.first), found.of[:mine], found.of[mine:], found.count


@scoped
def add(
    a: SparseTensor | TensorLike, b: SparseTensor | TensorLike, threshold: TensorLike = 0
) -> SparseTensor | _core.Tensor:
    """Add two tensors, of which at least one is sparse.

    Args:
        a: a tensor.
        b: a tensor of the same shape and dtype.
        threshold: elements that both of two sparse tensors have are left out where the magnitude of their
            sum is below it.

    Returns:
        The sum: sparse where both are, else a tensor.

    Raises:
        TypeError: where neither is sparse, or their dtypes differ.
        ValueError: where their shapes differ.

    >>> import penstock as tf
    >>> a, b = tf.sparse.from_dense([1, 0, 2]), tf.sparse.from_dense([4, 0, 0])
    >>> tf.sparse.to_dense(tf.sparse.add(a, b)).numpy(), tf.sparse.add(a, [1, 1, 1]).numpy()
    (array([5, 0, 2], dtype=int32), array([2, 1, 3], dtype=int32))
    """
    if not _is_sparse(a) and not _is_sparse(b):
        raise TypeError("at least one of arguments 'a' and 'b' must be a SparseTensor")
    if not _is_sparse(a):
        a, b = b, a
    x = checked(a, "a")
    if not _is_sparse(b):
        whole = _core._to_tensor(b, x.dtype)
        if not whole.shape.is_compatible_with(x.shape):
            raise InvalidArgumentError(f"argument 'b' must have shape {x.shape}, got {whole.shape}")
        same = raw_ops.reduce_all(raw_ops.equal(raw_ops.shape(whole, dtype=_INT64), x.dense_shape))
        require(same, "the tensors must have one shape", x.dense_shape, raw_ops.shape(whole))
        return raw_ops.tensor_scatter_nd_add(whole, x.indices, x.values)
    y = checked(b, "b")
    indices, mine, its, count = _together(x, y)
    values = raw_ops.unsorted_segment_sum(
        raw_ops.concat([x.values, y.values], axis=0), raw_ops.concat([mine, its], axis=0), count
    )
    made = x._with(indices, values)
    if not isinstance(threshold, _core.Tensor) and threshold == 0:
        return made
    size = raw_ops.abs(values)
    # Elements that only one of them has stay.
    ones = raw_ops.ones_like(raw_ops.concat([mine, its], axis=0))
    both = raw_ops.unsorted_segment_sum(ones, raw_ops.concat([mine, its], axis=0), count) > 1
    small = size < raw_ops.cast(_core._to_tensor(threshold), dtype=size.dtype)
    chosen = kept(raw_ops.logical_not(raw_ops.logical_and(both, small)))
    return x._with(raw_ops.gather(indices, chosen), raw_ops.gather(values, chosen))


def _combined(sp_a: SparseTensor, sp_b: SparseTensor, function: Callable[..., Any]) -> SparseTensor:
    a, b = checked(sp_a, "sp_a"), checked(sp_b, "sp_b")
    indices, mine, its, count = _together(a, b)
    first = raw_ops.unsorted_segment_sum(a.values, mine, count)
    return a._with(indices, function(first, raw_ops.unsorted_segment_sum(b.values, its, count)))


@scoped
def maximum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Take the greater of the elements of two sparse tensors; where one has none, it counts as 0.

    Args:
        sp_a: a sparse tensor.
        sp_b: another one, of the same shape and dtype.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse tensor, with elements where either has one.

    Raises:
        TypeError: where their dtypes differ.
        ValueError: where their shapes differ.

    >>> import penstock as tf
    >>> x = tf.sparse.maximum(tf.SparseTensor([[0]], [1], [3]), tf.SparseTensor([[1]], [-2], [3]))
    >>> x.indices.numpy().tolist(), x.values.numpy().tolist()
    ([[0], [1]], [1, 0])
    """
    return _combined(sp_a, sp_b, raw_ops.maximum)


@scoped
def minimum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Take the lesser of the elements of two sparse tensors; where one has none, it counts as 0.

    Args:
        sp_a: a sparse tensor.
        sp_b: another one, of the same shape and dtype.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse tensor, with elements where either has one.

    Raises:
        TypeError: where their dtypes differ.
        ValueError: where their shapes differ.

    >>> import penstock as tf
    >>> x = tf.sparse.minimum(tf.SparseTensor([[0]], [1], [3]), tf.SparseTensor([[1]], [-2], [3]))
    >>> x.indices.numpy().tolist(), x.values.numpy().tolist()
    ([[0], [1]], [0, -2])
    """
    return _combined(sp_a, sp_b, raw_ops.minimum)


def _reduced(
    sp_input: SparseTensor,
    axis: Any,
    keepdims: bool | None,
    output_is_sparse: bool,
    segments: Callable[..., Any],
) -> Any:
    x = checked(sp_input)
    if axis is None and not keepdims and not output_is_sparse:
        # Also of a tensor of unknown rank.
        of = raw_ops.fill(raw_ops.shape(x.values), int64(0))
        return raw_ops.reshape(segments(x.values, of, int64(1)), int64([]))
    sizes = extents(x)
    rank = len(sizes)
    if axis is None:
        gone = set(range(rank))
    else:
        gone = {axis_of(k, rank) for k in (_listed(axis, "axis") if hasattr(axis, "__iter__") else [axis])}
    left = [k for k in range(rank) if k not in gone]
    shown = [k for k in range(rank) if k not in gone or keepdims]
    columns = _columns(x)
    found: list[Any] = [1 if k in gone else sizes[k] for k in shown]
    if output_is_sparse:
        if left:
            group = groups([columns[k] for k in left], _bounds([sizes[k] for k in left]))
            first, of, count = group.first, group.of, group.count
        else:
            of = raw_ops.zeros_like(columns[0]) if columns else raw_ops.fill([1], int64(0))
            count = raw_ops.minimum(raw_ops.size(x.values, dtype=_INT64), int64(1))
            first = raw_ops.range(int64(0), count, int64(1))
        places = [
            raw_ops.zeros_like(first) if k in gone else raw_ops.gather(columns[k], first) for k in shown
        ]
        empty = raw_ops.fill(raw_ops.stack([count, int64(0)]), int64(0))
        indices = raw_ops.stack(places, axis=1) if places else empty
        made = x._with(
            indices,
            segments(x.values, of, count),
            raw_ops.stack([int64(n) for n in found]) if found else int64([]),
        )
        made.set_shape([n if isinstance(n, int) else None for n in found])
        return made
    whole = raw_ops.reduce_prod(raw_ops.stack([int64(1), *(int64(sizes[k]) for k in left)]))
    of = number([columns[k] for k in left], [sizes[k] for k in left])
    if of is None:
        of = raw_ops.fill(raw_ops.shape(x.values), int64(0))
    values = segments(x.values, of, whole)
    return raw_ops.reshape(values, raw_ops.stack([int64(n) for n in found]) if found else int64([]))


@scoped
def reduce_sum(
    sp_input: SparseTensor,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> SparseTensor | _core.Tensor:
    """Compute the sum of elements over dimensions, or over all.

    Args:
        sp_input: a sparse tensor of numbers.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        output_is_sparse: whether to make a sparse tensor, with elements where a sum has any.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor, or sparse tensor, without the dimensions of `axis`.

    >>> import penstock as tf
    >>> x = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1, 1, 1], [2, 3])
    >>> tf.sparse.reduce_sum(x).numpy(), tf.sparse.reduce_sum(x, 1).numpy().tolist()
    (np.int32(3), [2, 1])
    """
    made: SparseTensor | _core.Tensor = _reduced(
        sp_input, axis, keepdims, output_is_sparse, raw_ops.unsorted_segment_sum
    )
    return made


@scoped
def reduce_max(
    sp_input: SparseTensor,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> SparseTensor | _core.Tensor:
    """Compute the maximum of the elements that there are over dimensions, or over all.

    Args:
        sp_input: a sparse tensor of real numbers.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        output_is_sparse: whether to make a sparse tensor, with elements where a maximum has any.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor, or sparse tensor, without the dimensions of `axis`; 0 where there are no elements.

    >>> import penstock as tf
    >>> x = tf.SparseTensor([[0, 0], [0, 2]], [-1, -3], [2, 3])
    >>> tf.sparse.reduce_max(x, 1).numpy().tolist()
    [-1, 0]
    """

    def segments(values: Any, of: Any, count: Any) -> Any:
        greatest = raw_ops.unsorted_segment_max(values, of, count)
        there = raw_ops.unsorted_segment_sum(raw_ops.ones_like(of), of, count) > 0
        return raw_ops.select(there, greatest, raw_ops.zeros_like(greatest))

    made: SparseTensor | _core.Tensor = _reduced(sp_input, axis, keepdims, output_is_sparse, segments)
    return made


@scoped
def softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Compute the softmax over the elements that each row of the last dimension has.

    Args:
        sp_input: a sparse tensor of floats, of rank 2 or more.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse tensor, with elements in the same places.

    Raises:
        ValueError: where the rank is below 2.

    >>> import penstock as tf
    >>> x = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 1.0, 5.0], [2, 3])
    >>> tf.sparse.softmax(x).values.numpy()
    array([0.5, 0.5, 1. ], dtype=float32)
    """
    x = checked(sp_input)
    if rank_of(x) < 2:
        raise InvalidArgumentError(f"argument 'sp_input' must have rank 2 or more, got shape {x.shape}")
    group = groups(_columns(x)[:-1], _bounds(extents(x)[:-1]))
    greatest = raw_ops.stop_gradient(raw_ops.unsorted_segment_max(x.values, group.of, group.count))
    powers = raw_ops.exp(x.values - raw_ops.gather(greatest, group.of))
    total = raw_ops.unsorted_segment_sum(powers, group.of, group.count)
    return x._with(x.indices, powers / raw_ops.gather(total, group.of))


def by_dense(sparse: SparseTensor, dense: Any, function: Callable[..., Any]) -> SparseTensor:
    """What a function makes of each element and that of a tensor, broadcast, in its place.

    Raises:
        TypeError: for a second sparse tensor.
    """
    if _is_sparse(dense):
        raise TypeError(
            "a sparse tensor times or over another one is not defined; make a tensor of one of them"
        )
    other = _core._to_tensor(dense, sparse.dtype)
    whole = raw_ops.broadcast_to(other, sparse.dense_shape) if other.shape.rank != 0 else None
    value = other if whole is None else raw_ops.gather_nd(whole, sparse.indices)
    return sparse._with(sparse.indices, function(sparse.values, value))


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """Apply a function to the elements of sparse tensors.

    Args:
        op: is called with the elements in the places of sparse tensors; gives as many.
        *args: arguments, among them sparse tensors with elements in the same places.
        **kwargs: more of them, by name.

    Returns:
        A sparse tensor of the results.

    Raises:
        ValueError: where no argument is sparse.

    >>> import penstock as tf
    >>> x = tf.sparse.map_values(tf.add, tf.sparse.from_dense([1, 0, 2]), 5)
    >>> x.values.numpy()
    array([6, 7], dtype=int32)
    """
    found = [value for value in (*args, *kwargs.values()) if isinstance(value, SparseTensor)]
    if not found:
        raise InvalidArgumentError("at least one argument must be a SparseTensor")
    first = found[0]
    for other in found[1:]:
        if other.indices is not first.indices:
            alike = raw_ops.logical_and(
                raw_ops.reduce_all(raw_ops.equal(first.indices, other.indices)),
                raw_ops.reduce_all(raw_ops.equal(first.dense_shape, other.dense_shape)),
            )
            require(alike, "the sparse tensors must have elements in the same places")

    def values(value: Any) -> Any:
        return value.values if isinstance(value, SparseTensor) else value

    made = op(*map(values, args), **{name: values(value) for name, value in kwargs.items()})
    return first.with_values(made)


@scoped
def sparse_dense_matmul(
    sp_a: SparseTensor | TensorLike,
    b: SparseTensor | TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Multiply a sparse matrix and a matrix.

    Args:
        sp_a: a matrix, sparse unless `b` is.
        b: a matrix of the same dtype.
        adjoint_a: whether to take the conjugate transpose of `sp_a`.
        adjoint_b: whether to take the conjugate transpose of `b`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The product, a tensor.

    Raises:
        ValueError: where the matrices do not fit each other.

    >>> import penstock as tf
    >>> a = tf.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
    >>> tf.sparse.sparse_dense_matmul(a, [[1.0, 2.0], [3.0, 4.0]]).numpy().tolist()
    [[6.0, 8.0], [3.0, 6.0]]
    """
    if _is_sparse(b):
        if _is_sparse(sp_a):
            raise TypeError("one of arguments 'sp_a' and 'b' must be a tensor, got two sparse ones")
        turned = sparse_dense_matmul(checked(b, "b"), _core._to_tensor(sp_a), not adjoint_b, not adjoint_a)
        return raw_ops.conj(_transposed(turned)) if turned.dtype.is_complex else _transposed(turned)
    a = checked(sp_a, "sp_a")
    whole = _core._to_tensor(b, a.dtype)
    if rank_of(a) != 2 or whole.shape.rank != 2:
        raise InvalidArgumentError(
            f"arguments 'sp_a' and 'b' must be matrices, got shapes {a.shape} and {whole.shape}"
        )
    if adjoint_b:
        whole = _transposed(raw_ops.conj(whole) if whole.dtype.is_complex else whole)
    rows, columns = (1, 0) if adjoint_a else (0, 1)
    values = raw_ops.conj(a.values) if adjoint_a and a.dtype.is_complex else a.values
    inner, other = a.shape[columns], whole.shape[0]
    if None not in (inner, other) and inner != other:
        raise InvalidArgumentError(f"argument 'sp_a' has {inner} columns, argument 'b' {other} rows")
    same = raw_ops.equal(a.dense_shape[columns], raw_ops.shape(whole, dtype=_INT64)[0])
    require(same, "the columns of argument 'sp_a' must be as many as the rows of 'b'", a.dense_shape)
    parts = raw_ops.expand_dims(values, axis=1) * raw_ops.gather(whole, a.indices[:, columns])
    made = raw_ops.unsorted_segment_sum(parts, a.indices[:, rows], a.dense_shape[rows])
    return raw_ops.ensure_shape(made, shape=[a.shape[rows], whole.shape[1]])


def _transposed(x: Any) -> Any:
    return raw_ops.transpose(x, perm=[1, 0])


@scoped
def sampled_addmm(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    mat1: TensorLike,
    mat2: TensorLike,
    beta: TensorLike = 1.0,
    alpha: TensorLike = 1.0,
    output_type: DTypeLike = _core.float32,
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """Compute a product of matrices in some places alone: `alpha * (mat1 @ mat2) + beta * values` there.

    Args:
        indices: the places, `[..., n, 2]`.
        values: the elements there, `[..., n]`.
        dense_shape: the extents of the product.
        mat1: `[..., rows, k]`.
        mat2: `[..., k, columns]`.
        beta: the factor of `values`.
        alpha: the factor of the product.
        output_type: the dtype of the result.

    Returns:
        The places, the elements of the result there, of dtype `output_type`, and the extents.

    Raises:
        InvalidArgumentError: where an operand has fewer than two dimensions, or more than the other.

    >>> import penstock as tf
    >>> made = tf.sparse.sampled_addmm([[0, 1]], [1.0], [2, 2], [[1.0, 2.0], [3.0, 4.0]], tf.eye(2))
    >>> made[1].numpy()
    array([3.], dtype=float32)
    """
    dtype = _core.DType(output_type)
    places = int64(indices)
    rows = raw_ops.cast(_core._to_tensor(mat1), dtype=dtype)
    turned = raw_ops.cast(_core._to_tensor(mat2), dtype=dtype)
    rank = rows.shape.rank
    if rank is None or rank < 2 or turned.shape.rank != rank:
        raise InvalidArgumentError(
            f"arguments 'mat1' and 'mat2' must be matrices, got {rows.shape} and {turned.shape}"
        )
    columns = raw_ops.transpose(turned, perm=[*range(rank - 2), rank - 1, rank - 2])
    batch = rank - 2
    left = raw_ops.gather(rows, places[..., 0], axis=batch, batch_dims=batch)
    right = raw_ops.gather(columns, places[..., 1], axis=batch, batch_dims=batch)
    product = raw_ops.reduce_sum(left * right, axes=[-1])
    made = _core._to_tensor(alpha, dtype) * product + _core._to_tensor(beta, dtype) * raw_ops.cast(
        _core._to_tensor(values), dtype=dtype
    )
    return places, made, int64(dense_shape)


__all__: Sequence[str] = [
    "add",
    "by_dense",
    "map_values",
    "maximum",
    "minimum",
    "reduce_max",
    "reduce_sum",
    "reorder",
    "sampled_addmm",
    "softmax",
    "sparse_dense_matmul",
]
