"""Parts of tensors by index: slices, gathers, scatters, masks and partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import axis_of, extents, integer, known_rank, product, sizes
from penstock._types.shape import TensorShape

_ASSERT = getattr(raw_ops, "assert")


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> _core.Tensor:
    """The block from `begin` on that has `size` elements along each dimension; -1 for all that are left.

    Args:
        input_: a tensor.
        begin: the first index along each dimension.
        size: how many elements along each dimension; -1 for all that follow.
        name: ignored.

    Raises:
        InvalidArgumentError: for a part that is not inside of the tensor.

    >>> slice([1, 2, 3, 4], [1], [2]).numpy()
    array([2, 3], dtype=int32)
    """
    return raw_ops.slice(input_, extents(begin, "begin"), extents(size, "size"))


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> _core.Tensor:
    """`input_[begin:end:strides]` along the leading dimensions; what `x[...]` becomes.

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
        name: ignored.

    >>> strided_slice([1, 2, 3, 4], [0], [4], [2]).numpy()
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
    )


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> _core.Tensor:
    """The slices of `params` at `indices` along a dimension.

    Args:
        params: a tensor.
        indices: `int32` or `int64`, of any shape, which takes the place of that dimension.
        validate_indices: accepted and ignored; indices are always checked.
        axis: the dimension; by default `batch_dims`.
        batch_dims: how many leading dimensions `params` and `indices` share.
        name: ignored.

    Raises:
        InvalidArgumentError: for an index outside of the dimension.

    >>> gather([10, 20, 30], [2, 0]).numpy().tolist()
    [30, 10]
    """
    batch = integer(batch_dims, "batch_dims")
    if batch < 0:
        indices = _core._to_tensor_hinted(indices, _core.int32)
        batch += len(known_rank(indices))
    along = batch if axis is None else integer(axis, "axis")
    return raw_ops.gather(params, indices, axis=along, batch_dims=batch, sparse_gradient=along == batch == 0)


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> _core.Tensor:
    """The slices of `params` at positions that are the rows of `indices`.

    Args:
        params: a tensor.
        indices: `int32` or `int64`; its last dimension holds positions in the leading ones of `params`.
        batch_dims: how many leading dimensions `params` and `indices` share.
        name: ignored.

    Raises:
        InvalidArgumentError: for a position outside of `params`.

    >>> gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy().tolist()
    [2, 3]
    """
    batch = integer(batch_dims, "batch_dims")
    if batch == 0:
        return raw_ops.gather_nd(params, indices)
    indices = _core._to_tensor_hinted(indices, _core.int32)
    dims = sizes(indices)
    if not 0 < batch < len(dims):
        raise ValueError(f"argument 'batch_dims' must be from 0 to {len(dims) - 1}, got {batch}")
    place = extents([*dims[:-1], 1])
    columns = []
    zero, one = _core._to_tensor(0, indices.dtype), _core._to_tensor(1, indices.dtype)
    for axis in range(batch):
        column = [1] * len(dims)
        column[axis] = -1
        along = raw_ops.range(zero, raw_ops.cast(dims[axis], dtype=indices.dtype), one)
        columns.append(raw_ops.broadcast_to(raw_ops.reshape(along, column), place))
    return raw_ops.gather_nd(params, raw_ops.concat([*columns, indices], axis=-1))


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> _core.Tensor:
    """A tensor of zeros to which `updates` are added at positions that are the rows of `indices`.

    Args:
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *shape[k:]]`.
        shape: of the result: an integer vector.
        name: ignored.

    Raises:
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> scatter_nd([[0], [2], [0]], [1, 2, 3], [3]).numpy().tolist()
    [4, 0, 2]
    """
    return raw_ops.scatter_nd(indices, updates, extents(shape))


def tensor_scatter_nd_add(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> _core.Tensor:
    """`tensor` with `updates` added at positions that are the rows of `indices`.

    Args:
        tensor: a tensor.
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *tensor.shape[k:]]`.
        name: ignored.

    Raises:
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> tensor_scatter_nd_add([1, 2, 3], [[0], [0]], [10, 20]).numpy()
    array([31,  2,  3], dtype=int32)
    """
    return raw_ops.tensor_scatter_nd_add(tensor, indices, updates)


def tensor_scatter_nd_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> _core.Tensor:
    """`tensor` with `updates` subtracted at positions that are the rows of `indices`.

    Args:
        tensor: a tensor.
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *tensor.shape[k:]]`.
        name: ignored.

    Raises:
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> tensor_scatter_nd_sub([1, 2, 3], [[0]], [10]).numpy()
    array([-9,  2,  3], dtype=int32)
    """
    return raw_ops.tensor_scatter_nd_sub(tensor, indices, updates)


def tensor_scatter_nd_max(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> _core.Tensor:
    """`tensor` with the greater of its elements and `updates` at the rows of `indices`.

    Args:
        tensor: a tensor.
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *tensor.shape[k:]]`.
        name: ignored.

    Raises:
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> tensor_scatter_nd_max([1, 2, 3], [[0], [1]], [10, 0]).numpy()
    array([10,  2,  3], dtype=int32)
    """
    return raw_ops.tensor_scatter_nd_max(tensor, indices, updates)


def tensor_scatter_nd_min(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> _core.Tensor:
    """`tensor` with the lesser of its elements and `updates` at the rows of `indices`.

    Args:
        tensor: a tensor.
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *tensor.shape[k:]]`.
        name: ignored.

    Raises:
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> tensor_scatter_nd_min([1, 2, 3], [[0], [1]], [10, 0]).numpy()
    array([1, 0, 3], dtype=int32)
    """
    return raw_ops.tensor_scatter_nd_min(tensor, indices, updates)


def tensor_scatter_nd_update(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> _core.Tensor:
    """`tensor` with `updates` in place of elements at the rows of `indices`; of equal ones the last wins.

    Args:
        tensor: a tensor.
        indices: integers of shape `[..., k]`: positions in the first `k` dimensions.
        updates: of shape `[..., *tensor.shape[k:]]`.
        name: ignored.

    Raises:
        InvalidArgumentError: for an index that is out of range, or shapes that do not fit.

    >>> tensor_scatter_nd_update([1, 2, 3], [[0]], [10]).numpy()
    array([10,  2,  3], dtype=int32)
    """
    return raw_ops.tensor_scatter_nd_update(tensor, indices, updates)


def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str = "boolean_mask") -> _core.Tensor:
    """The slices of `tensor` where `mask` is true, along one dimension in the place of those of the mask.

    Args:
        tensor: a tensor.
        mask: `bool`, of known rank, of the shape of `tensor` from dimension `axis` on.
        axis: the first dimension that the mask covers, 0 by default.
        name: ignored.

    Raises:
        ValueError: for a scalar mask, or shapes that do not fit.

    >>> boolean_mask([1, 2, 3], [True, False, True]).numpy().tolist()
    [1, 3]
    """
    x = _core._to_tensor(tensor)
    mask = _core._to_tensor(mask)
    of_mask = known_rank(mask)
    covered = len(of_mask)
    if covered == 0:
        raise ValueError("boolean_mask: argument 'mask' cannot be a scalar")
    if mask.dtype != _core.bool:
        raise TypeError(f"boolean_mask: argument 'mask' must be bool, got {mask.dtype.name}")
    static = known_rank(x)
    start = 0 if axis is None else axis_of(axis, len(static))
    along = static[start : start + covered]
    if along != of_mask and (
        len(along) != covered
        or any(a != b and a is not None and b is not None for a, b in zip(along, of_mask, strict=True))
    ):
        raise ValueError(
            f"boolean_mask: argument 'mask' of shape {mask.shape} does not fit {x.shape} from axis {start}"
        )
    if start == 0:
        return raw_ops.gather_nd(x, raw_ops.where_indices(mask))
    dims = sizes(x)
    if covered > 1:
        rows_of = product(dims[start : start + covered])
        x = raw_ops.reshape(x, extents([*dims[:start], rows_of, *dims[start + covered :]]))
    rows = raw_ops.squeeze(raw_ops.where_indices(raw_ops.reshape(mask, [-1])), axes=[1])
    return raw_ops.gather(x, rows, axis=start)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> _core.Tensor:
    """`x` where `condition` is true, else `y`; or, without them, the positions of its nonzero elements.

    Args:
        condition: `bool`; for positions any numeric dtype.
        x: what to take where it is true; the three broadcast.
        y: what to take where it is not, of the dtype of `x`.
        name: ignored.

    Raises:
        ValueError: where only one of `x` and `y` is given.

    >>> where([True, False], 1, [2, 3]).numpy().tolist()
    [1, 3]
    >>> where([0, 1, 1]).numpy().tolist()
    [[1], [2]]
    """
    if x is None and y is None:
        return raw_ops.where_indices(condition)
    if x is None or y is None:
        raise ValueError("where: arguments 'x' and 'y' must be given both or not at all")
    tensors = [v.dtype for v in (x, y) if isinstance(v, _core.Tensor | _core._Variable)]
    hint = tensors[0] if tensors else None
    x = _core._to_tensor_hinted(x, hint)
    y = _core._to_tensor_hinted(y, x.dtype if hint is None else hint)
    return (raw_ops.string_select if x.dtype == _core.string else raw_ops.select)(condition, x, y)


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[_core.Tensor]:
    """The slices of `data`, divided by the numbers in `partitions`.

    Args:
        data: a tensor whose leading dimensions are those of `partitions`.
        partitions: integers from 0 to `num_partitions` - 1.
        num_partitions: how many parts there are.
        name: ignored.

    >>> [part.numpy().tolist() for part in dynamic_partition([1, 2, 3], [0, 1, 0], 2)]
    [[1, 3], [2]]
    """
    partitions = _core._to_tensor_hinted(partitions, _core.int32)
    count = integer(num_partitions, "num_partitions")
    if count < 1:
        raise ValueError(f"argument 'num_partitions' must be at least 1, got {count}")
    inside = raw_ops.reduce_all(raw_ops.logical_and(partitions >= 0, partitions < count))
    _ASSERT(inside, partitions, message=f"dynamic_partition: argument 'partitions' must be in [0, {count}):")
    if partitions.shape.rank == 0:
        data, partitions = raw_ops.expand_dims(data, axis=0), raw_ops.reshape(partitions, [1])
    return [boolean_mask(data, raw_ops.equal(partitions, i)) for i in range(count)]


def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> _core.Tensor:
    """Slices from several tensors, each put at its index in one tensor.

    Args:
        indices: tensors of `int32`, which together hold every index from 0.
        data: for each of them a tensor whose leading dimensions are the same.
        name: ignored.

    Returns:
        The tensor; of slices for one index the last wins.

    >>> dynamic_stitch([[0, 2], [1]], [[10, 30], [20]]).numpy().tolist()
    [10, 20, 30]
    """
    if len(indices) != len(data) or not indices:
        raise ValueError(
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
            raise ValueError(
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
    count = (
        raw_ops.reduce_max(
            raw_ops.concat([rows, raw_ops.fill([1], _core._to_tensor(-1, rows.dtype))], axis=0)
        )
        + 1
    )
    dims = raw_ops.concat(
        [
            raw_ops.reshape(raw_ops.cast(count, dtype=_core.int64), [1]),
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
    return raw_ops.tensor_scatter_nd_update(empty, raw_ops.expand_dims(rows, axis=1), values)
