"""Parts of tensors by index: slices, gathers, scatters, masks and partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from penstock import _core, raw_ops
from penstock._runtime.arguments import axis_number, axis_of, extents, integer, known_rank, product, sizes
from penstock._runtime.dispatch import dispatched
from penstock._types.shape import TensorShape
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, SizesLike, TensorLike

_ASSERT = getattr(raw_ops, "assert")


@dispatched
def slice(input_: TensorLike, begin: SizesLike, size: SizesLike, name: str | None = None) -> _core.Tensor:
    """Cut a block out of a tensor.

    Args:
        input_: a tensor.
        begin: the first index along each dimension.
        size: how many elements along each dimension; -1 for all that follow.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype and rank of `input_`.

    Raises:
        InvalidArgumentError: for a part that is not inside of the tensor.

    >>> import penstock as tf
    >>> tf.slice([1, 2, 3, 4], [1], [2]).numpy()
    array([2, 3], dtype=int32)
    """
    return raw_ops.slice(input_, extents(begin, "begin"), extents(size, "size"), name=name)


@dispatched
def strided_slice(
    input_: TensorLike,
    begin: SizesLike,
    end: SizesLike,
    strides: SizesLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: object = None,
    name: str | None = None,
) -> _core.Tensor:
    """Cut a tensor along its leading dimensions: `input_[begin:end:strides]`.

    Args:
        input_: a tensor.
        begin: the first index along each dimension.
        end: the index behind the last one.
        strides: the steps, by default 1.
        begin_mask: the bits of entries whose `begin` is left out.
        end_mask: the bits of entries whose `end` is left out.
        ellipsis_mask: the bit of the entry that stands for all dimensions that are not named.
        new_axis_mask: the bits of entries that add a dimension of size 1.
        shrink_axis_mask: the bits of entries that are one index and drop their dimension.
        var: accepted and ignored.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input_`.

    Raises:
        InvalidArgumentError: for a step of 0, or an index that is out of range.

    >>> import penstock as tf
    >>> tf.strided_slice([1, 2, 3, 4], [0], [4], [2]).numpy()
    array([1, 3], dtype=int32)
    """
    begin = extents(begin, "begin")
    return raw_ops.strided_slice(
        input_,
        begin,
        extents(end, "end"),
        raw_ops.ones_like(begin) if strides is None else extents(strides, "strides"),
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


@dispatched
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: object = None,
    axis: IntLike | None = None,
    batch_dims: IntLike = 0,
    name: str | None = None,
) -> _core.Tensor:
    """Take the slices of a tensor at indices along a dimension.

    Args:
        params: a tensor.
        indices: `int32` or `int64`, of any shape, which takes the place of that dimension.
        validate_indices: accepted and ignored; indices are always checked.
        axis: the dimension; by default `batch_dims`.
        batch_dims: how many leading dimensions `params` and `indices` share.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `params`, with the dimensions of `indices` in place of `axis`.

    Raises:
        InvalidArgumentError: for an index outside of the dimension.

    >>> import penstock as tf
    >>> tf.gather([10, 20, 30], [2, 0]).numpy().tolist()
    [30, 10]
    """
    batch = integer(batch_dims, "batch_dims")
    if batch < 0:
        indices = _core._to_tensor_hinted(indices, _core.int32)
        batch += len(known_rank(indices))
    along = batch if axis is None else axis_number(axis)
    return raw_ops.gather(
        params, indices, axis=along, batch_dims=batch, sparse_gradient=along == batch == 0, name=name
    )


@dispatched
def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    batch_dims: IntLike = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> _core.Tensor:
    """Take the slices of a tensor at positions that are the rows of `indices`.

    Args:
        params: a tensor.
        indices: `int32` or `int64`; its last dimension holds positions in the leading ones of `params`.
        batch_dims: how many leading dimensions `params` and `indices` share.
        name: a name for the result in a graph.
        bad_indices_policy: what to do with a position that is out of range: `""`, `"DEFAULT"` and `"ERROR"`
            raise an error, `"IGNORE"` gives zeros.

    Returns:
        A tensor of the dtype of `params` and of shape `[*indices.shape[:-1],
        *params.shape[indices.shape[-1]:]]`, without batch dimensions.

    Raises:
        ValueError: for `batch_dims` that are out of range, or another policy.
        InvalidArgumentError: for a position outside of `params`.

    >>> import penstock as tf
    >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy().tolist()
    [2, 3]
    """
    batch = integer(batch_dims, "batch_dims")
    indices = _core._to_tensor_hinted(indices, _core.int32)
    if batch != 0:
        indices = _within_batch(indices, batch)
    if not _ignores(bad_indices_policy):
        return raw_ops.gather_nd(params, indices, name=name)
    x = _core._to_tensor(params)
    inside = _inside(indices, raw_ops.shape(x))
    zero = _core._to_tensor(0, indices.dtype)
    taken = raw_ops.gather_nd(x, raw_ops.select(raw_ops.expand_dims(inside, axis=-1), indices, zero))
    of_rows, inner = raw_ops.shape(inside), raw_ops.rank(taken) - raw_ops.rank(inside)
    ones = raw_ops.fill(raw_ops.reshape(inner, [1]), _core._to_tensor(1, of_rows.dtype))
    inside = raw_ops.reshape(inside, raw_ops.concat([of_rows, ones], axis=0))
    return where(inside, taken, raw_ops.zeros_like(taken), name)


def _within_batch(indices: _core.Tensor, batch: int) -> _core.Tensor:
    """Rows of indices with those of their batch before their own."""
    dims = sizes(indices)
    if not 0 < batch < len(dims):
        raise InvalidArgumentError(f"argument 'batch_dims' must be from 0 to {len(dims) - 1}, got {batch}")
    place = extents([*dims[:-1], 1])
    columns = []
    zero, one = _core._to_tensor(0, indices.dtype), _core._to_tensor(1, indices.dtype)
    for axis in range(batch):
        column = [1] * len(dims)
        column[axis] = -1
        along = raw_ops.range(zero, raw_ops.cast(dims[axis], dtype=indices.dtype), one)
        columns.append(raw_ops.broadcast_to(raw_ops.reshape(along, column), place))
    return raw_ops.concat([*columns, indices], axis=-1)


def _ignores(policy: str) -> bool:
    """Whether positions that are out of range count nothing; otherwise they are errors."""
    if policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise InvalidArgumentError(
            f"argument 'bad_indices_policy' must be '', 'DEFAULT', 'ERROR' or 'IGNORE', got {policy!r}"
        )
    return policy == "IGNORE"


def _inside(indices: _core.Tensor, shape: _core.Tensor) -> _core.Tensor:
    """Which rows of indices are positions in the leading dimensions of a shape."""
    limits = raw_ops.cast(shape, dtype=indices.dtype)[: sizes(indices, 1)[-1]]
    zero = _core._to_tensor(0, indices.dtype)
    good = raw_ops.logical_and(raw_ops.greater_equal(indices, zero), raw_ops.less(indices, limits))
    return raw_ops.reduce_all(good, axes=[-1])


def _scattered(
    indices: TensorLike, updates: TensorLike, policy: str, shape: Callable[[], _core.Tensor]
) -> tuple[TensorLike, TensorLike]:
    """The rows of indices and the updates that count."""
    if not _ignores(policy):
        return indices, updates
    rows, what = _core._to_tensor_hinted(indices, _core.int32), _core._to_tensor(updates)
    keep = raw_ops.reshape(_inside(rows, shape()), [-1])
    chosen = raw_ops.squeeze(raw_ops.where_indices(keep), axes=[1])
    count = raw_ops.reshape(raw_ops.size(keep), [1])

    def kept(x: _core.Tensor) -> _core.Tensor:
        inner = raw_ops.shape(x)[len(known_rank(rows)) - 1 :]
        return raw_ops.gather(raw_ops.reshape(x, raw_ops.concat([count, inner], axis=0)), chosen)

    return kept(rows), kept(what)


@dispatched
def scatter_nd(
    indices: TensorLike,
    updates: TensorLike,
    shape: SizesLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> _core.Tensor:
    """Add updates to zeros at positions that are the rows of `indices`.

    Args:
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *shape[k:]]`.
        shape: of the result: an integer vector.
        bad_indices_policy: what to do with a position that is out of range: `""`, `"DEFAULT"` and `"ERROR"`
            raise an error, `"IGNORE"` leaves it out.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `updates` and of shape `shape`.

    Raises:
        ValueError: for another policy.
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> import penstock as tf
    >>> tf.scatter_nd([[0], [2], [0]], [1, 2, 3], [3]).numpy().tolist()
    [4, 0, 2]
    """
    dims = extents(shape)
    indices, updates = _scattered(indices, updates, bad_indices_policy, lambda: dims)
    return raw_ops.scatter_nd(indices, updates, dims, name=name)


def tensor_scatter_nd_add(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> _core.Tensor:
    """Add updates to a tensor at positions that are the rows of `indices`.

    Args:
        tensor: a tensor.
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *tensor.shape[k:]]`.
        bad_indices_policy: what to do with a position that is out of range: `""`, `"DEFAULT"` and `"ERROR"`
            raise an error, `"IGNORE"` leaves it out.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `tensor`.

    Raises:
        ValueError: for another policy.
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> import penstock as tf
    >>> tf.tensor_scatter_nd_add([1, 2, 3], [[0], [0]], [10, 20]).numpy()
    array([31,  2,  3], dtype=int32)
    """
    indices, updates = _scattered(indices, updates, bad_indices_policy, lambda: raw_ops.shape(tensor))
    return raw_ops.tensor_scatter_nd_add(tensor, indices, updates, name=name)


def tensor_scatter_nd_sub(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> _core.Tensor:
    """Subtract updates from a tensor at positions that are the rows of `indices`.

    Args:
        tensor: a tensor.
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *tensor.shape[k:]]`.
        bad_indices_policy: what to do with a position that is out of range: `""`, `"DEFAULT"` and `"ERROR"`
            raise an error, `"IGNORE"` leaves it out.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `tensor`.

    Raises:
        ValueError: for another policy.
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> import penstock as tf
    >>> tf.tensor_scatter_nd_sub([1, 2, 3], [[0]], [10]).numpy()
    array([-9,  2,  3], dtype=int32)
    """
    indices, updates = _scattered(indices, updates, bad_indices_policy, lambda: raw_ops.shape(tensor))
    return raw_ops.tensor_scatter_nd_sub(tensor, indices, updates, name=name)


def tensor_scatter_nd_max(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> _core.Tensor:
    """Take the greater of elements and updates at positions that are the rows of `indices`.

    Args:
        tensor: a tensor.
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *tensor.shape[k:]]`.
        bad_indices_policy: what to do with a position that is out of range: `""`, `"DEFAULT"` and `"ERROR"`
            raise an error, `"IGNORE"` leaves it out.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `tensor`.

    Raises:
        ValueError: for another policy.
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> import penstock as tf
    >>> tf.tensor_scatter_nd_max([1, 2, 3], [[0], [1]], [10, 0]).numpy()
    array([10,  2,  3], dtype=int32)
    """
    indices, updates = _scattered(indices, updates, bad_indices_policy, lambda: raw_ops.shape(tensor))
    return raw_ops.tensor_scatter_nd_max(tensor, indices, updates, name=name)


def tensor_scatter_nd_min(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> _core.Tensor:
    """Take the lesser of elements and updates at positions that are the rows of `indices`.

    Args:
        tensor: a tensor.
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *tensor.shape[k:]]`.
        bad_indices_policy: what to do with a position that is out of range: `""`, `"DEFAULT"` and `"ERROR"`
            raise an error, `"IGNORE"` leaves it out.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `tensor`.

    Raises:
        ValueError: for another policy.
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> import penstock as tf
    >>> tf.tensor_scatter_nd_min([1, 2, 3], [[0], [1]], [10, 0]).numpy()
    array([1, 0, 3], dtype=int32)
    """
    indices, updates = _scattered(indices, updates, bad_indices_policy, lambda: raw_ops.shape(tensor))
    return raw_ops.tensor_scatter_nd_min(tensor, indices, updates, name=name)


def tensor_scatter_nd_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> _core.Tensor:
    """Replace elements of a tensor by updates at positions that are the rows of `indices`.

    Args:
        tensor: a tensor.
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *tensor.shape[k:]]`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `tensor`; of updates of one position the last is kept.

    Raises:
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> import penstock as tf
    >>> tf.tensor_scatter_nd_update([1, 2, 3], [[0]], [10]).numpy()
    array([10,  2,  3], dtype=int32)
    """
    return raw_ops.tensor_scatter_nd_update(tensor, indices, updates, name=name)


@dispatched
def boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: IntLike | None = None, name: str = "boolean_mask"
) -> _core.Tensor:
    """Take the slices of a tensor where a mask is true.

    Args:
        tensor: a tensor.
        mask: `bool`, of known rank, of the shape of `tensor` from dimension `axis` on.
        axis: the first dimension that the mask covers, 0 by default.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `tensor`, with one dimension in place of those of the mask.

    Raises:
        ValueError: for a scalar mask, or shapes that do not fit.
        TypeError: for a mask that is not boolean.

    >>> import penstock as tf
    >>> tf.boolean_mask([1, 2, 3], [True, False, True]).numpy().tolist()
    [1, 3]
    """
    x = _core._to_tensor(tensor)
    mask = _core._to_tensor(mask)
    of_mask = known_rank(mask)
    covered = len(of_mask)
    if covered == 0:
        raise InvalidArgumentError("boolean_mask: argument 'mask' cannot be a scalar")
    if mask.dtype != _core.bool:
        raise DTypeError(f"boolean_mask: argument 'mask' must be bool, got {mask.dtype.name}")
    static = known_rank(x)
    start = 0 if axis is None else axis_of(axis, len(static))
    along = static[start : start + covered]
    if along != of_mask and (
        len(along) != covered
        or any(a != b and a is not None and b is not None for a, b in zip(along, of_mask, strict=True))
    ):
        raise InvalidArgumentError(
            f"boolean_mask: argument 'mask' of shape {mask.shape} does not fit {x.shape} from axis {start}"
        )
    if start == 0:
        return raw_ops.gather_nd(x, raw_ops.where_indices(mask), name=name)
    dims = sizes(x)
    if covered > 1:
        rows_of = product(dims[start : start + covered])
        x = raw_ops.reshape(x, extents([*dims[:start], rows_of, *dims[start + covered :]]))
    rows = raw_ops.squeeze(raw_ops.where_indices(raw_ops.reshape(mask, [-1])), axes=[1])
    return raw_ops.gather(x, rows, axis=start, name=name)


@dispatched
def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> _core.Tensor:
    """Choose between elements by a condition, or give the positions where it holds.

    Args:
        condition: `bool`; for positions any numeric dtype.
        x: what to take where it is true; the three broadcast.
        y: what to take where it is not, of the dtype of `x`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x`, of the shape to which the three broadcast; without `x` and `y` an
        `int64` matrix of a row of indices for each element that is not zero.

    Raises:
        ValueError: where only one of `x` and `y` is given.

    >>> import penstock as tf
    >>> tf.where([True, False], 1, [2, 3]).numpy().tolist()
    [1, 3]
    >>> tf.where([0, 1, 1]).numpy().tolist()
    [[1], [2]]
    """
    if x is None and y is None:
        return raw_ops.where_indices(condition, name=name)
    if x is None or y is None:
        raise InvalidArgumentError("where: arguments 'x' and 'y' must be given both or not at all")
    tensors = [v.dtype for v in (x, y) if isinstance(v, _core.Tensor | _core._Variable)]
    hint = tensors[0] if tensors else None
    x = _core._to_tensor_hinted(x, hint)
    y = _core._to_tensor_hinted(y, x.dtype if hint is None else hint)
    return (raw_ops.string_select if x.dtype == _core.string else raw_ops.select)(condition, x, y, name=name)


@dispatched
def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: IntLike, name: str | None = None
) -> list[_core.Tensor]:
    """Divide the slices of a tensor by the numbers of their parts.

    Args:
        data: a tensor whose leading dimensions are those of `partitions`.
        partitions: integers from 0 to `num_partitions` - 1.
        num_partitions: how many parts there are.
        name: a name for the results in a graph.

    Returns:
        A list of `num_partitions` tensors, each with the slices of its part in their order.

    Raises:
        ValueError: where `num_partitions` is below 1.
        InvalidArgumentError: for a number that is out of range.

    >>> import penstock as tf
    >>> [part.numpy().tolist() for part in tf.dynamic_partition([1, 2, 3], [0, 1, 0], 2)]
    [[1, 3], [2]]
    """
    partitions = _core._to_tensor_hinted(partitions, _core.int32)
    count = integer(num_partitions, "num_partitions")
    if count < 1:
        raise InvalidArgumentError(f"argument 'num_partitions' must be at least 1, got {count}")
    inside = raw_ops.reduce_all(raw_ops.logical_and(partitions >= 0, partitions < count))
    _ASSERT(inside, partitions, message=f"dynamic_partition: argument 'partitions' must be in [0, {count}):")
    if partitions.shape.rank == 0:
        data, partitions = raw_ops.expand_dims(data, axis=0), raw_ops.reshape(partitions, [1])
    return [
        boolean_mask(data, raw_ops.equal(partitions, i), name=name or "boolean_mask") for i in range(count)
    ]


@dispatched
def dynamic_stitch(
    indices: Sequence[TensorLike], data: Sequence[TensorLike], name: str | None = None
) -> _core.Tensor:
    """Put slices from several tensors at their indices in one tensor.

    Args:
        indices: tensors of `int32`, which together hold every index from 0.
        data: for each of them a tensor whose leading dimensions are the same.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `data` with a slice for each index; of slices of one index the last is kept.

    Raises:
        ValueError: where the lists or the shapes do not fit each other.

    >>> import penstock as tf
    >>> tf.dynamic_stitch([[0, 2], [1]], [[10, 30], [20]]).numpy().tolist()
    [10, 20, 30]
    """
    if len(indices) != len(data) or not indices:
        raise InvalidArgumentError(
            "arguments 'indices' and 'data' must have the same length, at least 1, "
            f"got {len(indices)} and {len(data)}"
        )
    where_to: list[_core.Tensor] = []
    what: list[_core.Tensor] = []
    for index, values in zip(indices, data, strict=True):
        index = _core._to_tensor_hinted(index, _core.int32)
        values = _core._to_tensor_hinted(values, what[0].dtype if what else None)
        inner = known_rank(index)
        if not TensorShape(inner).is_compatible_with(values.shape[: len(inner)]):
            raise InvalidArgumentError(
                f"argument 'data' has an entry of shape {values.shape} for indices of shape {index.shape}"
            )
        flat = raw_ops.reshape(index, [-1])
        where_to.append(flat)
        rest = raw_ops.shape(values)[len(inner) :]
        what.append(
            raw_ops.reshape(values, raw_ops.concat([raw_ops.reshape(raw_ops.size(flat), [1]), rest], axis=0))
        )
    rows = raw_ops.concat(where_to, axis=0)
    values = raw_ops.concat(what, axis=0)
    greatest = raw_ops.reduce_max(raw_ops.concat([rows, _core._to_tensor([-1], rows.dtype)], axis=0))
    count = raw_ops.cast(greatest, dtype=_core.int64) + 1
    dims = raw_ops.concat(
        [
            raw_ops.reshape(count, [1]),
            raw_ops.shape(values, dtype=_core.int64)[1:],
        ],
        axis=0,
    )
    empty = raw_ops.fill(
        dims,
        _core._to_tensor(
            "" if values.dtype == _core.string else False if values.dtype == _core.bool else 0, values.dtype
        ),
    )
    return raw_ops.tensor_scatter_nd_update(empty, raw_ops.expand_dims(rows, axis=1), values, name=name)
