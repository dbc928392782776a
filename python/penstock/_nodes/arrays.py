"""Operators that make tensors, move elements, and find places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import penstock as tf
from penstock import raw_ops
from penstock._nodes._parts import ints, pullback, static

__all__ = ["NODES"]


def _unique_rows(x: Any, axis: Any, out_idx: Any) -> tuple[Any, Any, Any]:
    """The different rows along an axis in their order, which of them each row is, how often each comes."""
    known = ints(axis, "axis")
    if x.shape.rank == 1 or not known:
        found: tuple[Any, Any, Any] = tf.unique_with_counts(x, out_idx)
        return found
    along = known[0] % x.shape.rank
    front = [along, *(i for i in range(x.shape.rank) if i != along)]
    moved = tf.transpose(x, front)
    flat = tf.reshape(moved, [tf.shape(moved)[0], -1])
    same = tf.reduce_all(tf.equal(flat[:, None, :], flat[None, :, :]), -1)
    first = tf.argmax(tf.cast(same, tf.int32), 1, output_type=tf.int32)
    places, idx, count = tf.unique_with_counts(first, out_idx)
    back = [front.index(i) for i in range(x.shape.rank)]
    return tf.transpose(tf.gather(moved, places), back), idx, count


def _list_diff(x: Any, y: Any, out_idx: Any) -> tuple[Any, Any]:
    kept = ~tf.reduce_any(tf.equal(x[:, None], y[None, :]), 1)
    idx = tf.cast(tf.reshape(tf.where(kept), [-1]), out_idx)
    return tf.gather(x, idx), idx


def _select(condition: Any, x: Any, y: Any) -> Any:
    """Takes whole rows where the condition is a vector."""
    if condition.shape.rank == 1 and (x.shape.rank or 0) > 1:
        condition = tf.reshape(condition, [-1] + [1] * (x.shape.rank - 1))
    return tf.where(condition, x, y)


def _empty(shape: Any, dtype: Any, init: bool) -> Any:
    return tf.zeros(shape, dtype) if dtype != tf.string else tf.fill(shape, "")


def _strided(input: Any, begin: Any, end: Any, strides: Any, *masks: Any) -> Any:
    return tf.strided_slice(input, begin, end, strides, *masks)


def _strided_grad(shape: Any, begin: Any, end: Any, strides: Any, dy: Any, *masks: Any) -> Any:
    zeros = tf.zeros(shape, dy.dtype)
    return pullback(lambda x: tf.strided_slice(x, begin, end, strides, *masks), [zeros], dy)


def _strided_update(input: Any, begin: Any, end: Any, strides: Any, value: Any, *masks: Any) -> Any:
    places = tf.reshape(tf.range(tf.size(input)), tf.shape(input))
    taken = tf.strided_slice(places, begin, end, strides, *masks)
    flat = tf.tensor_scatter_nd_update(
        tf.reshape(input, [-1]),
        tf.reshape(taken, [-1, 1]),
        tf.reshape(tf.broadcast_to(value, tf.shape(taken)), [-1]),
    )
    return tf.reshape(flat, tf.shape(input))


def _mirror_grad(input: Any, paddings: Any, mode: str) -> Any:
    pads = static(paddings, "paddings")
    inner = tf.shape(input) - tf.cast(tf.reduce_sum(tf.constant(pads), 1), tf.int32)
    zeros = tf.zeros(inner, input.dtype)
    return pullback(lambda x: tf.pad(x, pads, mode), [zeros], input)


def _tile_grad(input: Any, multiples: Any) -> Any:
    zeros = tf.zeros(tf.shape(input) // multiples, input.dtype)
    return pullback(lambda x: tf.tile(x, multiples), [zeros], input)


def _reverse(tensor: Any, dims: Any) -> Any:
    return tf.reverse(tensor, [axis for axis, flipped in enumerate(ints(dims, "dims")) if flipped])


def _inplace(change: Callable[..., Any]) -> Callable[..., Any]:
    def changed(x: Any, i: Any, v: Any) -> Any:
        places = tf.reshape(i, [-1, 1])
        return change(x, places, tf.reshape(v, tf.concat([tf.shape(places)[:1], tf.shape(x)[1:]], 0)))

    return changed


def _permuted(x: Any, source: str, target: str, axes: bool) -> Any:
    """A dimension, or sizes by dimension, of one layout in another one."""
    if axes:
        return tf.gather(
            tf.constant([target.index(c) for c in source], x.dtype), (x + len(source)) % len(source)
        )
    taken = [source.index(c) for c in target]
    if x.shape.rank == 1 and x.shape[0] == len(source) - 2 != 0:
        inner = [c for c in source if c not in "NC"]
        taken = [inner.index(c) for c in target if c not in "NC"]
    return tf.gather(x, taken)


def _scattered(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda tensor, indices, updates, policy: function(tensor, indices, updates, policy)


def _nth(input: Any, n: Any, reverse: bool) -> Any:
    ordered = tf.sort(input, direction="DESCENDING" if reverse else "ASCENDING")
    return tf.gather(ordered, n, axis=-1)


def _concat_offset(concat_dim: Any, shape: list[Any]) -> list[Any]:
    axis = ints(concat_dim, "concat_dim")
    rank = shape[0].shape[0]
    here = tf.one_hot(axis % rank, rank, dtype=shape[0].dtype)
    before = tf.cumsum(tf.stack([s * here for s in shape]), 0, exclusive=True)
    return tf.unstack(before)


def _top_k(input: Any, k: Any, sorted: bool, index_type: Any = tf.int32) -> Any:
    return tf.math.top_k(input, k, sorted=sorted, index_type=index_type)


def _searched(side: str) -> Callable[..., Any]:
    return lambda inputs, values, out_type: tf.searchsorted(inputs, values, side, out_type)


def _bincount(arr: Any, size: Any, weights: Any) -> Any:
    flat = tf.reshape(arr, [-1])
    amounts = (
        tf.reshape(weights, [-1]) if weights.shape.num_elements() != 0 else tf.ones_like(flat, weights.dtype)
    )
    kept = flat < size
    return tf.math.unsorted_segment_sum(
        tf.boolean_mask(amounts, kept), tf.boolean_mask(flat, kept), tf.cast(size, tf.int32)
    )


def _dense_bincount(input: Any, size: Any, weights: Any, binary_output: bool) -> Any:
    counted = tf.math.bincount(
        input,
        weights=None if weights.shape.num_elements() == 0 or binary_output else weights,
        minlength=tf.cast(size, tf.int32),
        maxlength=tf.cast(size, tf.int32),
        dtype=weights.dtype,
        axis=-1,
        binary_output=binary_output,
    )
    return tf.cast(counted, weights.dtype)


def _squeeze(input: Any, axis: list[int]) -> Any:
    return tf.squeeze(input, axis or None)


def _to_bool(input: Any) -> Any:
    if input.shape.rank != 0:
        return tf.size(input) > 0
    if input.dtype == tf.bool:
        return input
    return tf.not_equal(input, tf.constant("" if input.dtype == tf.string else 0, input.dtype))


NODES: Final[dict[str, Callable[..., Any]]] = {
    "BatchToSpace": lambda input, crops, block_size: tf.batch_to_space(input, [block_size] * 2, crops),
    "BatchToSpaceND": tf.batch_to_space,
    "Bincount": _bincount,
    "Bitcast": tf.bitcast,
    "BroadcastTo": tf.broadcast_to,
    "Bucketize": lambda input, boundaries: (
        tf.searchsorted(
            tf.constant(boundaries, tf.float64), tf.reshape(tf.cast(input, tf.float64), [-1]), "right"
        )
        if input.shape.rank == 1
        else tf.reshape(
            tf.searchsorted(
                tf.constant(boundaries, tf.float64), tf.reshape(tf.cast(input, tf.float64), [-1]), "right"
            ),
            tf.shape(input),
        )
    ),
    "Cast": lambda x, DstT, Truncate: tf.cast(x, DstT),
    "Concat": lambda concat_dim, values: tf.concat(values, concat_dim),
    "ConcatOffset": _concat_offset,
    "ConcatV2": tf.concat,
    "ConjugateTranspose": lambda x, perm: tf.transpose(x, perm, conjugate=True),
    "Const": lambda value, dtype: tf.constant(value, dtype),
    "DataFormatDimMap": lambda x, src, dst: _permuted(x, src, dst, True),
    "DataFormatVecPermute": lambda x, src, dst: _permuted(x, src, dst, False),
    "DeepCopy": tf.identity,
    "DenseBincount": _dense_bincount,
    "DepthToSpace": lambda input, block_size, data_format: tf.nn.depth_to_space(
        input, block_size, data_format
    ),
    "Diag": tf.linalg.tensor_diag,
    "DiagPart": tf.linalg.tensor_diag_part,
    "DynamicPartition": tf.dynamic_partition,
    "DynamicStitch": tf.dynamic_stitch,
    "ParallelDynamicStitch": tf.dynamic_stitch,
    "Empty": _empty,
    "EnsureShape": tf.ensure_shape,
    "ExpandDims": tf.expand_dims,
    "Fill": tf.fill,
    "Gather": lambda params, indices, validate_indices: tf.gather(params, indices),
    "GatherNd": lambda params, indices, policy: tf.gather_nd(
        params, indices, bad_indices_policy=policy or ""
    ),
    "GatherV2": lambda params, indices, axis, batch_dims: tf.gather(
        params, indices, axis=axis, batch_dims=batch_dims
    ),
    "GuaranteeConst": tf.identity,
    "HistogramFixedWidth": tf.histogram_fixed_width,
    "Identity": lambda input: input if input.dtype == tf.variant else tf.identity(input),
    "IdentityN": tf.identity_n,
    "InplaceAdd": _inplace(tf.tensor_scatter_nd_add),
    "InplaceSub": _inplace(tf.tensor_scatter_nd_sub),
    "InplaceUpdate": _inplace(tf.tensor_scatter_nd_update),
    "InvertPermutation": tf.math.invert_permutation,
    "LinSpace": tf.linspace,
    "ListDiff": _list_diff,
    "LowerBound": _searched("left"),
    "UpperBound": _searched("right"),
    "MirrorPad": lambda input, paddings, mode: tf.pad(input, paddings, mode),
    "MirrorPadGrad": _mirror_grad,
    "NthElement": _nth,
    "OneHot": lambda indices, depth, on, off, axis: tf.one_hot(indices, depth, on, off, axis),
    "OnesLike": tf.ones_like,
    "ZerosLike": tf.zeros_like,
    "Pack": tf.stack,
    "ParallelConcat": lambda values, shape: tf.concat(values, 0),
    "Pad": tf.pad,
    "PadV2": lambda input, paddings, values: tf.pad(input, paddings, constant_values=values),
    "Range": tf.range,
    "Rank": tf.rank,
    "Reshape": tf.reshape,
    "Reverse": _reverse,
    "ReverseSequence": lambda input, lengths, seq_dim, batch_dim: tf.reverse_sequence(
        input, lengths, seq_axis=seq_dim, batch_axis=batch_dim
    ),
    "ReverseV2": tf.reverse,
    "Roll": tf.roll,
    "ScatterNd": lambda indices, updates, shape, policy: tf.scatter_nd(indices, updates, shape),
    "ScatterNdNonAliasingAdd": lambda input, indices, updates, policy: tf.tensor_scatter_nd_add(
        input, indices, updates
    ),
    "Select": _select,
    "Shape": tf.shape,
    "ShapeN": lambda input, out_type: [tf.shape(x, out_type) for x in input],
    "Size": tf.size,
    "Slice": tf.slice,
    "Snapshot": tf.identity,
    "SpaceToBatch": lambda input, paddings, block_size: tf.space_to_batch(input, [block_size] * 2, paddings),
    "SpaceToBatchND": tf.space_to_batch,
    "SpaceToDepth": lambda input, block_size, data_format: tf.nn.space_to_depth(
        input, block_size, data_format
    ),
    "Split": lambda axis, value, num_split: tf.split(value, num_split, axis),
    "SplitV": lambda value, sizes, axis, num_split: tf.split(value, sizes, axis, num_split),
    "Squeeze": _squeeze,
    "StopGradient": tf.stop_gradient,
    "PreventGradient": lambda input, message: tf.stop_gradient(input),
    "StridedSlice": _strided,
    "StridedSliceGrad": _strided_grad,
    "TensorStridedSliceUpdate": _strided_update,
    **{
        f"TensorScatter{kind}": _scattered(getattr(tf, f"tensor_scatter_nd_{kind.lower()}"))
        for kind in ("Add", "Max", "Min", "Sub", "Update")
    },
    "Tile": tf.tile,
    "TileGrad": _tile_grad,
    "ToBool": _to_bool,
    "TopK": _top_k,
    "TopKV2": _top_k,
    "ApproxTopK": lambda input, k, axis, recall, is_max, override, aggregate: (
        tf.math.approx_max_k if is_max else tf.math.approx_min_k
    )(input, k, axis, recall, override, aggregate),
    "Transpose": tf.transpose,
    "Unique": tf.unique,
    "UniqueV2": lambda x, axis, out_idx: _unique_rows(x, axis, out_idx)[:2],
    "UniqueWithCounts": tf.unique_with_counts,
    "UniqueWithCountsV2": _unique_rows,
    "Unpack": lambda value, num, axis: tf.unstack(value, num, axis),
    "UnravelIndex": tf.unravel_index,
    "Where": raw_ops.where_indices,
}
