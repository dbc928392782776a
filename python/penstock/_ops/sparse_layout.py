"""Sparse tensors from and to tensors, and where their elements are: order, parts, extents."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.sparse_places import (
    check_order,
    checked,
    extents,
    int64,
    kept,
    number,
    order,
    places,
    rank_of,
)
from penstock._runtime.arguments import axis_of, filling, integer, require
from penstock._runtime.scope import scoped
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._values.indexed_slices import IndexedSlices
from penstock._values.sparse import SparseTensor
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, SizesLike, TensorLike

_INT64 = _core.int64


@scoped
def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Make a sparse tensor of the elements of a tensor that are not zero.

    Args:
        tensor: of any dtype; empty strings and `False` count as zero.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse tensor, of the shape and dtype of `tensor`, its places in order.

    >>> import penstock as tf
    >>> tf.sparse.from_dense([[0, 3], [0, 4]]).indices.numpy().tolist()
    [[0, 1], [1, 1]]
    """
    x = _core._to_tensor(tensor)
    if x.dtype == _core.string:
        present = raw_ops.string_not_equal(x, _core._to_tensor(""))
    else:
        present = x if x.dtype == _core.bool else raw_ops.not_equal(x, _core._to_tensor(0, x.dtype))
    indices = raw_ops.where_indices(present)
    static = x.shape
    shape = int64(static.as_list()) if static.is_fully_defined() else raw_ops.shape(x, dtype=_INT64)
    made = SparseTensor(indices, raw_ops.gather_nd(x, indices), shape)
    made.set_shape(static)
    return made


@scoped
def to_dense(
    sp_input: SparseTensor,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> _core.Tensor:
    """Make the whole tensor of a sparse one.

    Args:
        sp_input: the sparse tensor.
        default_value: the other elements, a scalar; by default 0, `False` or the empty string.
        validate_indices: whether to check that the places are in order, each there once.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `sp_input`.

    Raises:
        InvalidArgumentError: where the places are not in order.

    >>> import penstock as tf
    >>> tf.sparse.to_dense(tf.SparseTensor([[0, 1]], [5], [2, 2]), default_value=-1).numpy().tolist()
    [[-1, 5], [-1, -1]]
    """
    x = checked(sp_input)
    if validate_indices:
        check_order(x.indices, x.dense_shape)
    whole = raw_ops.fill(x.dense_shape, filling(default_value, x.dtype))
    if x.shape.rank is not None:
        whole = raw_ops.ensure_shape(whole, shape=x.shape.as_list())
    return raw_ops.tensor_scatter_nd_update(whole, x.indices, x.values)


@scoped
def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Put the elements in the order of their places, row by row.

    Args:
        sp_input: the sparse tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse tensor, with the same elements.

    >>> import penstock as tf
    >>> x = tf.SparseTensor([[1, 0], [0, 1]], [7, 5], [2, 2])
    >>> tf.sparse.reorder(x).values.numpy()
    array([5, 7], dtype=int32)
    """
    x = checked(sp_input)
    rank = rank_of(x)
    if rank == 0:
        return x
    sorting = order([x.indices[:, k] for k in range(rank)], extents(x))
    return x._with(raw_ops.gather(x.indices, sorting), raw_ops.gather(x.values, sorting))


@scoped
def reshape(sp_input: SparseTensor, shape: SizesLike, name: str | None = None) -> SparseTensor:
    """Give the elements the places that they have in a reshaped tensor.

    Args:
        sp_input: the sparse tensor.
        shape: the new extents; one of them may be -1, which is as large as fits.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse tensor of the new shape.

    Raises:
        InvalidArgumentError: where the new shape has another number of elements.

    >>> import penstock as tf
    >>> x = tf.sparse.reshape(tf.SparseTensor([[0, 1], [1, 2]], [5, 7], [2, 3]), [3, -1])
    >>> x.indices.numpy().tolist(), x.shape
    ([[0, 1], [2, 1]], TensorShape([3, 2]))
    """
    x = checked(sp_input)
    sizes, found = extents(x), int64(shape)
    whole: Any = (
        math.prod(sizes) if all(isinstance(n, int) for n in sizes) else raw_ops.reduce_prod(x.dense_shape)
    )
    known = _core._known_value(found)
    if known is not None and isinstance(whole, int):
        new: list[Any] = [int(n) for n in known.numpy().tolist()]
        if new.count(-1) == 1:
            rest = math.prod(n for n in new if n != -1)
            new[new.index(-1)] = whole // rest if rest else 0
        if min(new, default=0) < 0 or math.prod(new) != whole:
            raise InvalidArgumentError(
                f"argument 'shape' must have {whole} elements, as the sparse tensor has, got {shape}"
            )
        dense = int64(new)
    else:
        count = found._dims[0] if found._dims is not None else None
        if count is None:
            raise InvalidArgumentError("argument 'shape' must have a known length")
        rest = raw_ops.reduce_prod(raw_ops.select(found < 0, int64(1), found))
        inferred = raw_ops.floordiv(int64(whole), raw_ops.maximum(rest, int64(1)))
        dense = raw_ops.select(found < 0, inferred, found)
        same = raw_ops.equal(raw_ops.reduce_prod(dense), int64(whole))
        require(same, "argument 'shape' must have as many elements as the sparse tensor", found)
        new = [dense[k] for k in range(count)]
    numbers = number([x.indices[:, k] for k in range(len(sizes))], sizes)
    if numbers is None:
        numbers = raw_ops.fill([raw_ops.size(x.values, dtype=_INT64)], int64(0))
    indices = places(numbers, new) if new else x.indices[:, :0]
    made = x._with(indices, x.values, dense)
    if known is not None or isinstance(shape, list | tuple):
        given: Any = shape if known is None else known.numpy().tolist()
        made.set_shape([n if isinstance(n, int) and n >= 0 else None for n in given])
    return made


@scoped
def transpose(
    sp_input: SparseTensor, perm: Sequence[int] | TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Permute the dimensions.

    Args:
        sp_input: the sparse tensor.
        perm: the dimension of `sp_input` that each one of the result is; by default in reverse.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse tensor, its places in order.

    Raises:
        ValueError: where `perm` is no permutation.

    >>> import penstock as tf
    >>> tf.sparse.transpose(tf.SparseTensor([[0, 1], [0, 2]], [5, 7], [2, 3])).indices.numpy().tolist()
    [[1, 0], [2, 0]]
    """
    x = checked(sp_input)
    rank = rank_of(x)
    axes = list(range(rank))[::-1] if perm is None else [integer(k, "perm") for k in _listed(perm, "perm")]
    if sorted(k % rank if rank else k for k in axes) != list(range(rank)):
        raise InvalidArgumentError(f"argument 'perm' must be a permutation of {rank} dimensions, got {axes}")
    if not axes:
        return x
    made = x._with(raw_ops.gather(x.indices, axes, axis=1), x.values, raw_ops.gather(x.dense_shape, axes))
    if x.shape.rank is not None:
        made.set_shape([x.shape[k] for k in axes])
    return reorder(made)


def _listed(values: Any, argument: str) -> list[Any]:
    """The integers in a list, or in a tensor whose value is known."""
    if isinstance(values, _core.Tensor):
        known = _core._known_value(values)
        if known is None:
            raise TypeError(f"argument '{argument}' must be constant while a function is traced")
        values = known.numpy()
    return list(values.reshape(-1).tolist() if hasattr(values, "reshape") else values)


@scoped
def slice(
    sp_input: SparseTensor, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
    """Cut a block out of a sparse tensor.

    Args:
        sp_input: the sparse tensor.
        start: the first place, an index for each dimension.
        size: the extents of the block; what lies beyond those of `sp_input` is left out.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse tensor of the block.

    >>> import penstock as tf
    >>> x = tf.sparse.from_dense([[1, 2, 0], [0, 3, 4]])
    >>> tf.sparse.to_dense(tf.sparse.slice(x, [0, 1], [2, 5])).numpy().tolist()
    [[2, 0], [3, 4]]
    """
    x = checked(sp_input)
    first, sizes = int64(start), int64(size)
    end = raw_ops.minimum(first + sizes, x.dense_shape)
    inside = raw_ops.logical_and(x.indices >= first, x.indices < end)
    chosen = kept(raw_ops.reduce_all(inside, axes=[1]))
    dense = raw_ops.maximum(end - first, int64(0))
    return x._with(raw_ops.gather(x.indices, chosen) - first, raw_ops.gather(x.values, chosen), dense)


@scoped
def split(
    sp_input: SparseTensor | None = None,
    num_split: int | None = None,
    axis: int | None = None,
    name: str | None = None,
) -> list[SparseTensor]:
    """Cut a sparse tensor into parts along a dimension.

    Args:
        sp_input: the sparse tensor.
        num_split: the number of parts; the first ones are longer by 1 where they cannot all be of one size.
        axis: the dimension.
        name: a scope for the names of its operations in a graph.

    Returns:
        The parts.

    Raises:
        ValueError: where an argument is missing.

    >>> import penstock as tf
    >>> parts = tf.sparse.split(tf.sparse.from_dense([[1, 2, 3]]), num_split=2, axis=1)
    >>> [tf.sparse.to_dense(part).numpy().tolist() for part in parts]
    [[[1, 2]], [[3]]]
    """
    if sp_input is None or num_split is None or axis is None:
        raise InvalidArgumentError("arguments 'sp_input', 'num_split' and 'axis' must be given")
    x, count = checked(sp_input), integer(num_split, "num_split")
    if count < 1:
        raise InvalidArgumentError(f"argument 'num_split' must be positive, got {count}")
    sizes = extents(x)
    place = axis_of(axis, len(sizes))
    whole = int64(sizes[place])
    least, longer = raw_ops.floordiv(whole, int64(count)), raw_ops.floormod(whole, int64(count))
    parts, start = [], int64(0)
    for k in range(count):
        length = least + raw_ops.cast(longer > k, dtype=_INT64)
        first = [start if d == place else int64(0) for d in range(len(sizes))]
        size = [length if d == place else int64(n) for d, n in enumerate(sizes)]
        parts.append(slice(x, raw_ops.stack(first), raw_ops.stack(size)))
        start = start + length
    return parts


@scoped
def concat(
    axis: int, sp_inputs: Sequence[SparseTensor], expand_nonconcat_dims: bool = False, name: str | None = None
) -> SparseTensor:
    """Concatenate sparse tensors along a dimension.

    Args:
        axis: the dimension.
        sp_inputs: the sparse tensors, of one rank and dtype.
        expand_nonconcat_dims: whether the other extents may differ; the greatest is then taken.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse tensor, its places in order.

    Raises:
        InvalidArgumentError: where other extents differ.
        ValueError: where there are no sparse tensors, or their ranks differ.

    >>> import penstock as tf
    >>> a, b = tf.sparse.from_dense([[1, 0]]), tf.sparse.from_dense([[0, 2, 0]])
    >>> tf.sparse.to_dense(tf.sparse.concat(1, [a, b])).numpy().tolist()
    [[1, 0, 0, 2, 0]]
    """
    parts = [
        checked(x, "sp_inputs") for x in ([sp_inputs] if isinstance(sp_inputs, SparseTensor) else sp_inputs)
    ]
    if not parts:
        raise InvalidArgumentError("argument 'sp_inputs' must hold at least one sparse tensor")
    rank = rank_of(parts[0])
    if any(rank_of(x) != rank for x in parts):
        raise InvalidArgumentError(
            f"argument 'sp_inputs' must be of one rank, got {[x.shape for x in parts]}"
        )
    place = axis_of(axis, rank)
    along = _core._to_tensor([int(k == place) for k in range(rank)], _INT64)
    shapes = raw_ops.stack([x.dense_shape for x in parts])
    greatest = raw_ops.reduce_max(shapes, axes=[0])
    if not expand_nonconcat_dims:
        same = raw_ops.reduce_all(
            raw_ops.logical_or(raw_ops.equal(shapes, greatest), raw_ops.equal(along, int64(1)))
        )
        require(same, "argument 'sp_inputs' must agree in all dimensions but 'axis', got extents", shapes)
    offset, indices = int64(0), []
    for x in parts:
        indices.append(x.indices + along * offset)
        offset = offset + x.dense_shape[place]
    dense = greatest * (1 - along) + along * offset
    made = parts[0]._with(
        raw_ops.concat(indices, axis=0), raw_ops.concat([x.values for x in parts], axis=0), dense
    )
    made.set_shape(_joined_extents([x.shape for x in parts], rank, place, expand_nonconcat_dims))
    return reorder(made)


def _joined_extents(
    shapes: Sequence[TensorShape], rank: int, place: int, may_differ: bool
) -> list[int | None]:
    """What is known of the extents of a concatenation along a dimension."""
    rows = [[None] * rank if shape.rank is None else shape.as_list() for shape in shapes]
    found: list[int | None] = []
    for k, sizes in enumerate(zip(*rows, strict=True)):
        known = [size for size in sizes if size is not None]
        whole = len(known) == len(sizes)
        if k == place:
            found.append(sum(known) if whole else None)
        elif may_differ:
            found.append(max(known) if whole else None)
        else:
            found.append(known[0] if known else None)
    return found


@scoped
def expand_dims(sp_input: SparseTensor, axis: int | None = None, name: str | None = None) -> SparseTensor:
    """Insert a dimension of size 1.

    Args:
        sp_input: the sparse tensor.
        axis: where it is in the result, by default the last one.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse tensor, of a rank more.

    Raises:
        InvalidArgumentError: where `axis` is out of range.

    >>> import penstock as tf
    >>> tf.sparse.expand_dims(tf.SparseTensor([[1]], [5], [3]), 0).indices.numpy().tolist()
    [[0, 1]]
    """
    x = checked(sp_input)
    place = axis_of(-1 if axis is None else axis, rank_of(x) + 1)
    zeros = (
        raw_ops.zeros_like(x.indices[:, :1])
        if rank_of(x)
        else raw_ops.fill(raw_ops.stack([raw_ops.size(x.values, dtype=_INT64), int64(1)]), int64(0))
    )
    indices = raw_ops.concat([x.indices[:, :place], zeros, x.indices[:, place:]], axis=1)
    dense = raw_ops.concat([x.dense_shape[:place], int64([1]), x.dense_shape[place:]], axis=0)
    made = x._with(indices, x.values, dense)
    if x.shape.rank is not None:
        sizes = x.shape.as_list()
        made.set_shape([*sizes[:place], 1, *sizes[place:]])
    return made


@scoped
def retain(sp_input: SparseTensor, to_retain: TensorLike) -> SparseTensor:
    """Keep some of the elements.

    Args:
        sp_input: the sparse tensor.
        to_retain: a boolean for each element, or a number, which is true unless it is 0.

    Returns:
        The sparse tensor of those that are kept.

    Raises:
        InvalidArgumentError: where there are not as many booleans as elements.

    >>> import penstock as tf
    >>> tf.sparse.retain(tf.sparse.from_dense([1, 2, 3]), [True, False, True]).values.numpy()
    array([1, 3], dtype=int32)
    """
    x = checked(sp_input)
    mask = raw_ops.reshape(raw_ops.cast(_core._to_tensor(to_retain), dtype=_core.bool), [-1])
    mine, given = x.values.shape, mask.shape
    if not given.is_compatible_with(mine):
        raise InvalidArgumentError(f"argument 'to_retain' must have {mine[0]} booleans, got {given[0]}")
    same = raw_ops.equal(raw_ops.size(mask), raw_ops.size(x.values))
    require(same, "argument 'to_retain' must have a boolean for each element", mask)
    chosen = kept(mask)
    return x._with(raw_ops.gather(x.indices, chosen), raw_ops.gather(x.values, chosen))


@scoped
def mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """Leave out slices of some indices.

    Args:
        a: the slices.
        mask_indices: the indices to leave out.
        name: a scope for the names of its operations in a graph.

    Returns:
        The slices of other indices.

    >>> import penstock as tf
    >>> slices = tf.IndexedSlices(tf.constant([[1], [2], [3]]), tf.constant([12, 26, 37]))
    >>> tf.sparse.mask(slices, [12, 37]).indices.numpy()
    array([26], dtype=int32)
    """
    expect(a, IndexedSlices, "a", "IndexedSlices")
    left_out = raw_ops.reshape(_core._to_tensor(mask_indices, a.indices.dtype), [1, -1])
    there = raw_ops.reduce_any(raw_ops.equal(raw_ops.expand_dims(a.indices, axis=1), left_out), axes=[1])
    chosen = kept(raw_ops.logical_not(there))
    return IndexedSlices(raw_ops.gather(a.values, chosen), raw_ops.gather(a.indices, chosen), a.dense_shape)


@scoped
def reset_shape(sp_input: SparseTensor, new_shape: SizesLike | None = None) -> SparseTensor:
    """Set other extents, and leave the elements in their places.

    Args:
        sp_input: the sparse tensor.
        new_shape: extents that are not below those of `sp_input`; by default the smallest that hold all
            elements.

    Returns:
        The sparse tensor of other extents.

    Raises:
        InvalidArgumentError: where an extent is below that of `sp_input`.
        ValueError: where `new_shape` has another rank.

    >>> import penstock as tf
    >>> tf.sparse.reset_shape(tf.SparseTensor([[0, 1]], [5], [4, 4])).shape
    TensorShape([1, 2])
    """
    x = checked(sp_input)
    if new_shape is None:
        least = raw_ops.concat(
            [x.indices, raw_ops.expand_dims(raw_ops.zeros_like(x.dense_shape) - 1, axis=0)], axis=0
        )
        return x._with(x.indices, x.values, raw_ops.reduce_max(least, axes=[0]) + 1)
    dense = int64(new_shape.as_list() if hasattr(new_shape, "as_list") else new_shape)
    if not dense.shape.is_compatible_with(x.dense_shape.shape):
        raise InvalidArgumentError(
            f"argument 'new_shape' must have {rank_of(x)} extents, got shape {dense.shape}"
        )
    large = raw_ops.reduce_all(dense >= x.dense_shape)
    require(large, "argument 'new_shape' must not be below the extents of the sparse tensor", dense)
    return x._with(x.indices, x.values, dense)


@scoped
def fill_empty_rows(
    sp_input: SparseTensor, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, _core.Tensor]:
    """Put an element into the first column of each row that has none.

    Args:
        sp_input: a sparse matrix.
        default_value: the element, a scalar.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse matrix, its places in order, and a vector of booleans that says which rows were empty.

    Raises:
        ValueError: for a sparse tensor of another rank.

    >>> import penstock as tf
    >>> filled, empty = tf.sparse.fill_empty_rows(tf.SparseTensor([[1, 1]], [5], [3, 2]), 0)
    >>> filled.indices.numpy().tolist(), empty.numpy().tolist()
    ([[0, 0], [1, 1], [2, 0]], [True, False, True])
    """
    x = checked(sp_input)
    if rank_of(x) != 2:
        raise InvalidArgumentError(f"argument 'sp_input' must be a matrix, got shape {x.shape}")
    rows = x.dense_shape[0]
    ones = raw_ops.ones_like(x.indices[:, 0])
    empty = raw_ops.equal(raw_ops.unsorted_segment_sum(ones, x.indices[:, 0], rows), int64(0))
    added = raw_ops.where_indices(empty)
    indices = raw_ops.concat([x.indices, raw_ops.concat([added, raw_ops.zeros_like(added)], axis=1)], axis=0)
    filler = raw_ops.fill(raw_ops.shape(added)[:1], _core._to_tensor(default_value, x.dtype))
    return reorder(x._with(indices, raw_ops.concat([x.values, filler], axis=0))), empty


@scoped
def eye(
    num_rows: IntLike,
    num_columns: IntLike | None = None,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
) -> SparseTensor:
    """Make a sparse matrix with ones on its diagonal.

    Args:
        num_rows: the number of rows.
        num_columns: the number of columns, by default as many.
        dtype: the element type.
        name: a scope for the names of its operations in a graph.

    Returns:
        The sparse matrix.

    >>> import penstock as tf
    >>> tf.sparse.to_dense(tf.sparse.eye(2, 3)).numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    rows = int64(num_rows)
    columns = rows if num_columns is None else int64(num_columns)
    places = raw_ops.range(int64(0), raw_ops.minimum(rows, columns), int64(1))
    values = raw_ops.fill(raw_ops.shape(places), _core._to_tensor(1, _core.DType(dtype)))
    return SparseTensor(raw_ops.stack([places, places], axis=1), values, raw_ops.stack([rows, columns]))


@scoped
def to_indicator(sp_input: SparseTensor, vocab_size: IntLike, name: str | None = None) -> _core.Tensor:
    """Mark which numbers each row has as elements.

    Args:
        sp_input: a sparse tensor of integers from 0.
        vocab_size: a number above all of them.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of booleans: the shape of `sp_input` with `vocab_size` for its last extent.

    Raises:
        TypeError: for elements that are no integers.
        InvalidArgumentError: where an element is out of range.

    >>> import penstock as tf
    >>> tf.sparse.to_indicator(tf.SparseTensor([[0, 0], [0, 1]], [2, 0], [1, 2]), 3).numpy().tolist()
    [[True, False, True]]
    """
    x = checked(sp_input)
    if not x.dtype.is_integer:
        raise DTypeError(f"argument 'sp_input' must have integers for elements, got {x.dtype.name}")
    size, values = int64(vocab_size), raw_ops.cast(x.values, dtype=_INT64)
    inside = raw_ops.reduce_all(raw_ops.logical_and(values >= 0, values < size))
    require(inside, "argument 'sp_input' must have elements below 'vocab_size' and not negative", values)
    indices = raw_ops.concat([x.indices[:, :-1], raw_ops.expand_dims(values, axis=1)], axis=1)
    dense = raw_ops.concat([x.dense_shape[:-1], raw_ops.expand_dims(size, axis=0)], axis=0)
    marks = raw_ops.fill(raw_ops.shape(values), _core._to_tensor(True))
    return raw_ops.tensor_scatter_nd_update(raw_ops.fill(dense, _core._to_tensor(False)), indices, marks)


def part_of(x: SparseTensor, key: Sequence[Any]) -> SparseTensor:
    """A block of a sparse tensor: of each of the first dimensions an index, or a slice in steps of 1.

    Raises:
        ValueError: for another key.
    """
    sizes = x.dense_shape
    rank = rank_of(x)
    if len(key) > rank:
        raise InvalidArgumentError(f"a sparse tensor of {rank} dimension(s) has no part {tuple(key)!r}")
    first, end, gone = [], [], []
    for k in range(rank):
        one = key[k] if k < len(key) else builtins.slice(None)
        whole = sizes[k]
        if isinstance(one, builtins.slice):
            if one.step not in (None, 1):
                raise InvalidArgumentError(f"a sparse tensor can be sliced in steps of 1 only, got {one!r}")
            first.append(_place(0 if one.start is None else one.start, whole))
            end.append(whole if one.stop is None else _place(one.stop, whole))
        else:
            number = int64(one)
            number = raw_ops.select(number < 0, number + whole, number)
            require(
                raw_ops.logical_and(number >= 0, number < whole), "the index of a row is out of range", one
            )
            first.append(number)
            end.append(number + 1)
            gone.append(k)
    start = raw_ops.stack(first)
    block = slice(x, start, raw_ops.maximum(raw_ops.stack(end) - start, int64(0)))
    if not gone:
        return block
    left = [k for k in range(rank) if k not in gone]
    return block._with(
        raw_ops.gather(block.indices, int64(left), axis=1),
        block.values,
        raw_ops.gather(block.dense_shape, int64(left)),
    )


def _place(bound: Any, size: Any) -> Any:
    """Where a slice begins or ends, counted from the end where it is negative."""
    place = int64(bound)
    place = raw_ops.select(place < 0, place + size, place)
    return raw_ops.minimum(raw_ops.maximum(place, int64(0)), size)
