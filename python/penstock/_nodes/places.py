"""Operators of sparse and ragged tensors, and of sets: their parts are tensors of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import penstock as tf
from penstock._nodes._parts import V1, ints, pullback, rows, sparse_parts, static, text

__all__ = ["NODES"]


def _sparse(indices: Any, values: Any, shape: Any) -> Any:
    return tf.SparseTensor(indices, values, shape)


def _cwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """The values of an operation on a sparse and a dense tensor."""

    def values(indices: Any, values: Any, shape: Any, dense: Any) -> Any:
        full = tf.broadcast_to(dense, shape)
        return function(values, tf.gather_nd(full, indices))

    return values


def _pairs(function: Callable[..., Any]) -> Callable[..., Any]:
    def both(*parts: Any) -> tuple[Any, Any]:
        found = function(_sparse(*parts[:3]), _sparse(*parts[3:]))
        return found.indices, found.values

    return both


def _add(*parts: Any) -> tuple[Any, Any, Any]:
    return sparse_parts(tf.sparse.add(_sparse(*parts[:3]), _sparse(*parts[3:6]), parts[6]))


def _positions(of: Any, indices: Any) -> tuple[Any, Any]:
    """Whether each row of indices is one of others, and which one."""
    same = tf.reduce_all(tf.equal(indices[:, None, :], of[None, :, :]), -1)
    return tf.reduce_any(same, 1), tf.argmax(tf.cast(same, tf.int32), 1)


def _gathered(gradient: Any, of: Any, indices: Any) -> Any:
    known, place = _positions(of, indices)
    return tf.where(known, tf.gather(gradient, place), tf.zeros([], gradient.dtype))


def _add_grad(gradient: Any, a: Any, b: Any, sums: Any) -> tuple[Any, Any]:
    return _gathered(gradient, sums, a), _gathered(gradient, sums, b)


def _slice_grad(gradient: Any, indices: Any, start: Any, output: Any) -> Any:
    return _gathered(gradient, output, indices - start)


def _concat(indices: Sequence[Any], values: Sequence[Any], shapes: Sequence[Any], axis: int) -> Any:
    parts = [_sparse(*part) for part in zip(indices, values, shapes, strict=True)]
    return sparse_parts(tf.sparse.concat(axis, parts))


def _split(axis: Any, indices: Any, values: Any, shape: Any, num_split: int) -> Any:
    parts = tf.sparse.split(_sparse(indices, values, shape), num_split, ints(axis, "split_dim"))
    return tuple(list(listed) for listed in zip(*map(sparse_parts, parts), strict=True))


def _slice(indices: Any, values: Any, shape: Any, start: Any, size: Any) -> Any:
    return sparse_parts(tf.sparse.slice(_sparse(indices, values, shape), start, size))


def _reduced(function: Callable[..., Any], sparse: bool) -> Callable[..., Any]:
    def reduce(indices: Any, values: Any, shape: Any, axes: Any, keep_dims: bool) -> Any:
        found = function(
            _sparse(indices, values, shape),
            ints(axes, "reduction_axes"),
            keepdims=keep_dims,
            output_is_sparse=sparse,
        )
        return sparse_parts(found) if sparse else found

    return reduce


def _reorder(indices: Any, values: Any, shape: Any) -> tuple[Any, Any]:
    found = tf.sparse.reorder(_sparse(indices, values, shape))
    return found.indices, found.values


def _reshape(indices: Any, shape: Any, wanted: Any) -> tuple[Any, Any]:
    found = tf.sparse.reshape(_sparse(indices, tf.zeros(tf.shape(indices)[:1]), shape), wanted)
    return found.indices, found.dense_shape


def _fill_rows(indices: Any, values: Any, shape: Any, default: Any) -> tuple[Any, Any, Any, Any]:
    found, empty = tf.sparse.fill_empty_rows(_sparse(indices, values, shape), default)
    # Where each of the values is now: behind one for each empty row before it.
    before = tf.cumsum(tf.cast(empty, tf.int64))
    order = tf.argsort(indices[:, 0], stable=True)
    ranked = tf.range(tf.size(values, tf.int64)) + tf.gather(before, tf.gather(indices[:, 0], order))
    places = tf.scatter_nd(tf.cast(order, tf.int64)[:, None], ranked, tf.shape(values, tf.int64))
    return found.indices, found.values, empty, places


def _fill_rows_grad(places: Any, gradient: Any) -> tuple[Any, Any]:
    taken = tf.gather(gradient, places)
    rest = tf.tensor_scatter_nd_update(gradient, places[:, None], tf.zeros_like(taken))
    return taken, tf.reduce_sum(rest)


def _segments(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(data: Any, indices: Any, ids: Any, *options: Any) -> Any:
        *count, _ = options
        return function(data, indices, ids, *count)

    return reduce


def _segments_grad(function: Callable[..., Any]) -> Callable[..., Any]:
    def gradient(grad: Any, indices: Any, ids: Any, rows_of_data: Any) -> Any:
        data = tf.zeros(tf.concat([[rows_of_data], tf.shape(grad)[1:]], 0), grad.dtype)
        return pullback(lambda x: function(x, indices, ids, tf.shape(grad)[0]), [data], grad)

    return gradient


def _segments_grad_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rows of the gradient that are not zero, and which they are."""
    whole = _segments_grad(function)

    def gradient(grad: Any, indices: Any, ids: Any, rows_of_data: Any) -> tuple[Any, Any]:
        there = tf.sort(tf.unique(indices).y)
        return tf.gather(whole(grad, indices, ids, rows_of_data), there), there

    return gradient


def _product(indices: Any, values: Any, shape: Any, b: Any, adjoint_a: bool, adjoint_b: bool) -> Any:
    ordered = _sparse(tf.cast(indices, tf.int64), values, shape)
    return tf.sparse.sparse_dense_matmul(ordered, b, adjoint_a, adjoint_b)


def _dense_sum(indices: Any, values: Any, shape: Any, b: Any) -> Any:
    return tf.tensor_scatter_nd_add(b, indices, values)


def _to_dense(indices: Any, shape: Any, values: Any, default: Any, validate: bool) -> Any:
    return V1.sparse_to_dense(indices, shape, values, default, validate)


def _edit(*parts: Any) -> Any:
    return tf.edit_distance(_sparse(*parts[:3]), _sparse(*parts[3:6]), parts[6])


_SETS: Final[dict[str, Callable[..., Any]]] = {
    "a-b": lambda a, b, valid: tf.sets.difference(a, b, validate_indices=valid),
    "b-a": lambda a, b, valid: tf.sets.difference(a, b, False, valid),
    "intersection": tf.sets.intersection,
    "union": tf.sets.union,
}


def _sets(operation: str, a: Any, b: Any, validate: bool) -> Any:
    if operation not in _SETS:
        raise ValueError(f"argument 'set_operation' must be one of {sorted(_SETS)}, got {operation!r}")
    return sparse_parts(_SETS[operation](a, b, validate))


def _weights(values: Any, weights: Any, binary: bool) -> Any:
    return None if binary or weights.shape.num_elements() == 0 else weights


def _counted(values: Any, weights: Any, binary: bool, least: int, most: int) -> Any:
    given = _weights(values, weights, binary)
    if given is not None and isinstance(values, tf.SparseTensor):
        given = tf.SparseTensor(values.indices, weights, values.dense_shape)
    if given is not None and isinstance(values, tf.RaggedTensor):
        given = values.with_values(weights)
    found = tf.sparse.bincount(
        values, given, -1, None if least < 0 else least, None if most < 0 else most, binary
    )
    return found.indices, tf.cast(found.values, weights.dtype), found.dense_shape


def _sparse_counted(indices: Any, values: Any, shape: Any, weights: Any, binary: bool, *limits: int) -> Any:
    return _counted(_sparse(indices, values, shape), weights, binary, *limits)


def _ragged_counted(splits: Any, values: Any, weights: Any, binary: bool, *limits: int) -> Any:
    return _counted(rows(values, [splits]), weights, binary, *limits)


def _dense_counts(values: Any, row: Any, count: Any, size: Any, weights: Any, binary: bool) -> Any:
    """How often each number comes in each row."""
    size = tf.cast(size, tf.int64)
    numbers = tf.cast(values, tf.int64)
    amounts = weights if weights.shape.num_elements() != 0 else tf.ones(tf.shape(values), weights.dtype)
    kept = numbers < size
    flat = tf.boolean_mask(row * size + numbers, kept)
    amounts = tf.boolean_mask(amounts, kept)
    if binary:
        found = tf.math.unsorted_segment_max(tf.ones_like(amounts), flat, count * size)
        found = tf.maximum(found, tf.zeros_like(found))
    else:
        found = tf.math.unsorted_segment_sum(amounts, flat, count * size)
    return tf.reshape(found, tf.stack([count, size]))


def _sparse_dense_counts(indices: Any, values: Any, shape: Any, size: Any, weights: Any, binary: bool) -> Any:
    if shape.shape[0] == 1:
        none = tf.zeros_like(indices[:, 0])
        return _dense_counts(values, none, tf.constant(1, tf.int64), size, weights, binary)[0]
    return _dense_counts(values, indices[:, 0], shape[0], size, weights, binary)


def _ragged_dense_counts(splits: Any, values: Any, size: Any, weights: Any, binary: bool) -> Any:
    ragged = rows(values, [splits])
    count = tf.size(splits, tf.int64) - 1
    return _dense_counts(values, ragged.value_rowids(), count, size, weights, binary)


def _ragged_range(starts: Any, limits: Any, deltas: Any, Tsplits: Any) -> tuple[Any, Any]:
    found = tf.ragged.range(starts, limits, deltas, row_splits_dtype=Tsplits)
    return found.row_splits, found.values


def _ragged_gather(splits: Sequence[Any], values: Any, indices: Any, rank: int) -> tuple[list[Any], Any]:
    found: Any = tf.gather(rows(values, splits), indices)
    return list(found.nested_row_splits), found.flat_values


def _ragged_to_sparse(splits: Sequence[Any], values: Any) -> Any:
    return sparse_parts(rows(values, splits).to_sparse())


def _ragged_to_tensor(
    shape: Any, values: Any, default: Any, partitions: Sequence[Any], types: Sequence[str]
) -> Any:
    known = [None if size < 0 else size for size in ints(shape, "shape")] if shape.shape.rank else None
    if list(types) and types[0] == "FIRST_DIM_SIZE":
        # Each dimension by the rows of its values, the innermost last.
        count, *ids = partitions
        found = values
        for place in reversed(range(len(ids))):
            number = count if place == 0 else None
            if types[place + 1] == "VALUE_ROWIDS":
                found = tf.RaggedTensor.from_value_rowids(found, ids[place], number, validate=False)
            else:
                found = tf.RaggedTensor.from_row_splits(found, ids[place], validate=False)
    else:
        found = rows(values, partitions)
    return found.to_tensor(default, shape=known)


def _cross_inputs(
    indices: Sequence[Any], values: Sequence[Any], shapes: Sequence[Any], dense: Sequence[Any]
) -> list[Any]:
    return [*(_sparse(*part) for part in zip(indices, values, shapes, strict=True)), *dense]


def _cross(
    indices: Any,
    values: Any,
    shapes: Any,
    dense: Any,
    hashed: bool,
    buckets: int,
    key: int,
    out: Any,
    internal: Any,
) -> Any:
    inputs = _cross_inputs(indices, values, shapes, dense)
    return sparse_parts(tf.sparse.cross_hashed(inputs, buckets, key) if hashed else tf.sparse.cross(inputs))


def _cross_v2(indices: Any, values: Any, shapes: Any, dense: Any, sep: Any) -> Any:
    return sparse_parts(
        tf.sparse.cross(_cross_inputs(indices, values, shapes, dense), separator=text(static(sep, "sep")))
    )


def _softmax(indices: Any, values: Any, shape: Any) -> Any:
    return tf.sparse.softmax(_sparse(indices, values, shape)).values


NODES: Final[dict[str, Callable[..., Any]]] = {
    "DenseCountSparseOutput": _counted,
    "DenseToDenseSetOperation": lambda a, b, operation, validate: _sets(operation, a, b, validate),
    "DenseToSparseSetOperation": lambda a, i, v, s, operation, validate: _sets(
        operation, a, _sparse(i, v, s), validate
    ),
    "EditDistance": _edit,
    "RaggedBincount": _ragged_dense_counts,
    "RaggedCountSparseOutput": _ragged_counted,
    "RaggedFillEmptyRows": lambda *given: list(tf.ragged_fill_empty_rows(*given)),
    "RaggedFillEmptyRowsGrad": lambda *given: list(tf.ragged_fill_empty_rows_grad(*given)),
    "RaggedGather": _ragged_gather,
    "RaggedRange": _ragged_range,
    "RaggedTensorToSparse": _ragged_to_sparse,
    "RaggedTensorToTensor": _ragged_to_tensor,
    "SetSize": lambda indices, values, shape, validate: tf.sets.size(
        _sparse(indices, values, shape), validate
    ),
    "SparseAdd": _add,
    "SparseAddGrad": _add_grad,
    "SparseBincount": _sparse_dense_counts,
    "SparseConcat": _concat,
    "SparseCountSparseOutput": _sparse_counted,
    "SparseCross": _cross,
    "SparseCrossV2": _cross_v2,
    "SparseDenseCwiseAdd": _cwise(tf.add),
    "SparseDenseCwiseDiv": _cwise(tf.divide),
    "SparseDenseCwiseMul": _cwise(tf.multiply),
    "SparseFillEmptyRows": _fill_rows,
    "SparseFillEmptyRowsGrad": _fill_rows_grad,
    "SparseReduceMax": _reduced(tf.sparse.reduce_max, False),
    "SparseReduceMaxSparse": _reduced(tf.sparse.reduce_max, True),
    "SparseReduceSum": _reduced(tf.sparse.reduce_sum, False),
    "SparseReduceSumSparse": _reduced(tf.sparse.reduce_sum, True),
    "SparseReorder": _reorder,
    "SparseReshape": _reshape,
    **{
        f"SparseSegment{kind}{suffix}": make(function)
        for kind, function in (
            ("Mean", tf.sparse.segment_mean),
            ("SqrtN", tf.sparse.segment_sqrt_n),
            ("Sum", tf.sparse.segment_sum),
        )
        for suffix, make in (
            ("", _segments),
            ("WithNumSegments", _segments),
            ("Grad", _segments_grad),
            ("GradV2", _segments_grad_rows),
        )
    },
    "SparseSlice": _slice,
    "SparseSliceGrad": _slice_grad,
    "SparseSoftmax": _softmax,
    "SparseSparseMaximum": _pairs(tf.sparse.maximum),
    "SparseSparseMinimum": _pairs(tf.sparse.minimum),
    "SparseSplit": _split,
    "SparseTensorDenseAdd": _dense_sum,
    "SparseTensorDenseMatMul": _product,
    "SparseToDense": _to_dense,
    "SparseToSparseSetOperation": lambda *given: _sets(
        given[6], _sparse(*given[:3]), _sparse(*given[3:6]), given[7]
    ),
}
