"""Which of many boxes that overlap are kept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, raw_ops
from penstock._runtime.arguments import integer, known_rank, sizes
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = [
    "CombinedNonMaxSuppression",
    "combined_non_max_suppression",
    "generate_bounding_box_proposals",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
]


def _floats(value: Any, argument: str, rank: int) -> _core.Tensor:
    """A tensor of `float32` of a rank; `float16` is widened.

    Raises:
        TypeError: for another dtype.
        ValueError: for another rank.
    """
    x = _core._to_tensor(value)
    if x.dtype == _core.float16:
        x = raw_ops.cast(x, dtype=_core.float32)
    if x.dtype != _core.float32:
        raise DTypeError(f"argument '{argument}' must be of dtype float32 or float16, got {x.dtype.name}")
    if len(known_rank(x)) != rank:
        raise InvalidArgumentError(
            f"argument '{argument}' must have {rank} dimension(s), got shape {x.shape}"
        )
    return x


def _limit(value: Any) -> _core.Tensor:
    return raw_ops.cast(_core._to_tensor(value), dtype=_core.float32)


def _kept(
    boxes: Any, scores: Any, most: Any, iou_threshold: Any, score_threshold: Any, sigma: Any
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """The boxes that are kept of each of many images, their scores, and how many they are."""
    found: tuple[_core.Tensor, _core.Tensor, _core.Tensor] = raw_ops.non_max_suppression(
        boxes,
        scores,
        _core._to_tensor(most, dtype=_core.int32),
        _limit(iou_threshold),
        _limit(score_threshold),
        _limit(sigma),
    )
    return found


def _of_one(
    boxes: Any, scores: Any, most: Any, iou_threshold: Any, score_threshold: Any, sigma: Any
) -> tuple[_core.Tensor, _core.Tensor]:
    indices, left, count = _kept(
        raw_ops.expand_dims(_floats(boxes, "boxes", 2), axis=0),
        raw_ops.expand_dims(_floats(scores, "scores", 1), axis=0),
        most,
        iou_threshold,
        score_threshold,
        sigma,
    )
    return indices[0, : count[0]], left[0, : count[0]]


@scoped
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: IntLike,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    name: str | None = None,
) -> _core.Tensor:
    """Choose boxes by falling scores, none of which overlaps one chosen before too much.

    Args:
        boxes: of shape `[boxes, 4]`, two opposite corners of each, row first.
        scores: of shape `[boxes]`.
        max_output_size: how many are chosen at most.
        iou_threshold: the largest overlap: what two boxes have in common, as a share of what they cover.
        score_threshold: what scores must be above.
        name: a scope for the names of its operations in a graph.

    Returns:
        The indices of those chosen, an `int32` vector.

    Raises:
        InvalidArgumentError: for shapes that do not go together, and an `iou_threshold` outside of 0 to 1.
        TypeError: for other dtypes.
        ValueError: for other ranks.

    >>> import penstock as tf
    >>> boxes = tf.constant([[0.0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]])
    >>> tf.image.non_max_suppression(boxes, [0.5, 0.75, 0.25], 3).numpy().tolist()
    [1, 2]
    """
    return _of_one(boxes, scores, max_output_size, iou_threshold, score_threshold, 0.0)[0]


@scoped
def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: IntLike,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    soft_nms_sigma: float = 0.0,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor]:
    """Choose boxes by falling scores, which fall where a box overlaps one chosen before.

    Args:
        boxes: of shape `[boxes, 4]`, two opposite corners of each, row first.
        scores: of shape `[boxes]`.
        max_output_size: how many are chosen at most.
        iou_threshold: the largest overlap where `soft_nms_sigma` is 0.
        score_threshold: what scores must be above.
        soft_nms_sigma: a score falls by `exp(-overlap ** 2 / (2 * soft_nms_sigma))`; at 0 it does not, and
            boxes that overlap more than `iou_threshold` are left out.
        name: a scope for the names of its operations in a graph.

    Returns:
        The indices of those chosen, an `int32` vector, and their scores.

    Raises:
        InvalidArgumentError: for shapes that do not go together, an `iou_threshold` outside of 0 to 1, and a
            negative `soft_nms_sigma`.
        TypeError: for other dtypes.
        ValueError: for other ranks.

    >>> import penstock as tf
    >>> boxes = tf.constant([[0.0, 0, 1, 1], [0, 0, 1, 1], [0, 2, 1, 3]])
    >>> found, _ = tf.image.non_max_suppression_with_scores(boxes, [0.5, 0.75, 0.25], 3, soft_nms_sigma=0.5)
    >>> found.numpy().tolist()
    [1, 2, 0]
    """
    return _of_one(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)


@scoped
def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: IntLike,
    overlap_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    name: str | None = None,
) -> _core.Tensor:
    """Choose boxes by falling scores, by overlaps that are given.

    Args:
        overlaps: of shape `[boxes, boxes]`.
        scores: of shape `[boxes]`.
        max_output_size: how many are chosen at most.
        overlap_threshold: the largest overlap of one with another that is chosen before.
        score_threshold: what scores must be above.
        name: a scope for the names of its operations in a graph.

    Returns:
        The indices of those chosen, an `int32` vector.

    Raises:
        InvalidArgumentError: for shapes that do not go together.
        TypeError: for other dtypes.
        ValueError: for other ranks.

    >>> import penstock as tf
    >>> tf.image.non_max_suppression_overlaps([[1.0, 0.6], [0.6, 1.0]], [0.5, 0.75], 2).numpy().tolist()
    [1]
    """
    indices, count = raw_ops.non_max_suppression_overlaps(
        _floats(overlaps, "overlaps", 2),
        _floats(scores, "scores", 1),
        _core._to_tensor(max_output_size, dtype=_core.int32),
        _limit(overlap_threshold),
        _limit(score_threshold),
    )
    return indices[:count]


@scoped
def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: IntLike,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[_core.Tensor, _core.Tensor]:
    """Choose boxes by falling scores, of one image or of several, as many as there are places.

    Args:
        boxes: of shape `[..., boxes, 4]`, two opposite corners of each, row first.
        scores: of shape `[..., boxes]`.
        max_output_size: how many of an image are chosen at most.
        iou_threshold: the largest overlap: what two boxes have in common, as a share of what they cover.
        score_threshold: what scores must be above.
        pad_to_max_output_size: whether zeros follow where fewer are chosen; several images need it.
        name: a scope for the names of its operations in a graph.
        sorted_input: accepted; scores may be in any order.
        canonicalized_coordinates: accepted; corners may be in any order.
        tile_size: accepted and ignored.

    Returns:
        The indices of those chosen, `int32` of shape `[..., max_output_size]`, and how many they are, of
        shape `[...]`.

    Raises:
        InvalidArgumentError: for shapes that do not go together, and an `iou_threshold` outside of 0 to 1.
        TypeError: for other dtypes.
        ValueError: for several images without `pad_to_max_output_size`, and an unknown rank.

    >>> import penstock as tf
    >>> boxes = tf.constant([[0.0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]])
    >>> found, count = tf.image.non_max_suppression_padded(
    ...     boxes, [0.5, 0.75, 0.25], 4, pad_to_max_output_size=True)
    >>> found.numpy().tolist(), int(count)
    ([1, 2, 0, 0], 2)
    """
    x = _core._to_tensor(boxes)
    rank = len(known_rank(x, 2))
    if rank > 2 and not pad_to_max_output_size:
        raise InvalidArgumentError(
            f"argument 'pad_to_max_output_size' must be true for several images, got shape {x.shape}"
        )
    x, ranked = _floats(x, "boxes", rank), _floats(scores, "scores", rank - 1)
    extents = sizes(x)
    lead, count = extents[:-2], extents[-2]
    indices, _, counts = _kept(
        raw_ops.reshape(x, _vector([-1, count, 4] if lead else [1, count, 4])),
        raw_ops.reshape(ranked, _vector([-1, count] if lead else [1, count])),
        max_output_size,
        iou_threshold,
        score_threshold,
        0.0,
    )
    if not lead:
        return (indices[0] if pad_to_max_output_size else indices[0, : counts[0]]), counts[0]
    shape = _vector(lead)
    last = _vector([sizes(indices)[1]])
    return raw_ops.reshape(indices, raw_ops.concat([shape, last], axis=0)), raw_ops.reshape(counts, shape)


class CombinedNonMaxSuppression(NamedTuple):
    """Boxes that are chosen of several images and classes.

    Attributes:
        nmsed_boxes: of shape `[batch, boxes, 4]`.
        nmsed_scores: of shape `[batch, boxes]`.
        nmsed_classes: of shape `[batch, boxes]`.
        valid_detections: how many boxes of each image are chosen; zeros follow.
    """

    nmsed_boxes: _core.Tensor
    nmsed_scores: _core.Tensor
    nmsed_classes: _core.Tensor
    valid_detections: _core.Tensor


@scoped
def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: IntLike,
    max_total_size: IntLike,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """Choose boxes of each class by falling scores, and the best of all classes.

    Args:
        boxes: of shape `[batch, boxes, classes, 4]`, two opposite corners of each, row first; or with one
            box for all classes, `[batch, boxes, 1, 4]`.
        scores: of shape `[batch, boxes, classes]`.
        max_output_size_per_class: how many boxes of a class are chosen at most.
        max_total_size: how many boxes of an image are chosen at most.
        iou_threshold: the largest overlap: what two boxes have in common, as a share of what they cover.
        score_threshold: what scores must be above.
        pad_per_class: whether results have no more places than all classes can fill.
        clip_boxes: whether corners are brought into 0 to 1.
        name: a scope for the names of its operations in a graph.

    Returns:
        Boxes, scores, classes, all `float32`, and the number of boxes of each image.

    Raises:
        InvalidArgumentError: for shapes that do not go together, and an `iou_threshold` outside of 0 to 1.
        TypeError: for other dtypes.
        ValueError: for other ranks.

    >>> import penstock as tf
    >>> boxes = tf.constant([[[[0.0, 0, 0.5, 0.5]], [[0.5, 0.5, 1, 1]]]])
    >>> found = tf.image.combined_non_max_suppression(boxes, [[[0.5, 0.25], [0.0, 0.75]]], 1, 3)
    >>> found.nmsed_classes.numpy().tolist(), found.valid_detections.numpy().tolist()
    ([[1.0, 0.0, 0.0]], [2])
    """
    x, ranked = _floats(boxes, "boxes", 4), _floats(scores, "scores", 3)
    each, total = (
        integer(max_output_size_per_class, "max_output_size_per_class"),
        integer(max_total_size, "max_total_size"),
    )
    batch, count, classes = sizes(ranked)
    per_class = raw_ops.transpose(x, perm=[0, 2, 1, 3])
    if x.shape[2] != classes or not isinstance(classes, int):
        per_class = raw_ops.broadcast_to(per_class, _vector([batch, classes, count, 4]))
    per_class = raw_ops.reshape(per_class, _vector([batch * classes, count, 4]))
    ranked = raw_ops.reshape(raw_ops.transpose(ranked, perm=[0, 2, 1]), _vector([batch * classes, count]))
    indices, left, counts = _kept(per_class, ranked, each, iou_threshold, score_threshold, 0.0)
    places = raw_ops.range(_core._to_tensor(0), _core._to_tensor(each), _core._to_tensor(1))
    valid = raw_ops.less(places, raw_ops.expand_dims(counts, axis=1))
    left = raw_ops.select(valid, left, _core._to_tensor(-math.inf, _core.float32))
    # Where there are no boxes, the places that are left over have one to point to.
    padded = raw_ops.pad(per_class, _pairs([[0, 0], [0, 1], [0, 0]]), _core._to_tensor(0.0, _core.float32))
    chosen = raw_ops.gather(padded, indices, axis=1, batch_dims=1)
    left = raw_ops.reshape(left, _vector([batch, classes * each]))
    chosen = raw_ops.reshape(chosen, _vector([batch, classes * each, 4]))
    missing = total - classes * each
    if isinstance(missing, int):
        missing = max(missing, 0)
    else:
        missing = raw_ops.maximum(missing, _core._to_tensor(0))
    if not isinstance(missing, int) or missing > 0:
        none = _core._to_tensor(-math.inf, _core.float32)
        left = raw_ops.pad(left, _pairs([[0, 0], [0, missing]]), none)
        chosen = raw_ops.pad(
            chosen, _pairs([[0, 0], [0, missing], [0, 0]]), _core._to_tensor(0.0, _core.float32)
        )
    best, at = raw_ops.top_k(left, _core._to_tensor(total))
    valid = raw_ops.greater(best, _core._to_tensor(-math.inf, _core.float32))
    kind = raw_ops.cast(raw_ops.floordiv(at, _core._to_tensor(max(each, 1))), dtype=_core.float32)
    found = raw_ops.gather(chosen, at, axis=1, batch_dims=1)
    if clip_boxes:
        found = raw_ops.minimum(
            raw_ops.maximum(found, _core._to_tensor(0.0, _core.float32)), _core._to_tensor(1.0, _core.float32)
        )
    zero = _core._to_tensor(0.0, _core.float32)
    found = raw_ops.select(raw_ops.expand_dims(valid, axis=2), found, zero)
    best, kind = raw_ops.select(valid, best, zero), raw_ops.select(valid, kind, zero)
    if pad_per_class:
        places_there = min(total, each * integer(classes, "scores"))
        found, best, kind = found[:, :places_there], best[:, :places_there], kind[:, :places_there]
    detections = raw_ops.reduce_sum(raw_ops.cast(valid, dtype=_core.int32), axes=[1])
    return CombinedNonMaxSuppression(found, best, kind, detections)


def _vector(values: list[Any]) -> _core.Tensor:
    """A vector of numbers, some of which may be known later."""
    return raw_ops.stack([_core._to_tensor(value, dtype=_core.int32) for value in values], axis=0)


def _pairs(values: list[list[Any]]) -> _core.Tensor:
    return raw_ops.stack([_vector(pair) for pair in values], axis=0)


# What the logarithm of a box's growth is at most: 1000 pixels of 16.
_GROWTH = math.log(1000.0 / 16.0)


@scoped
def generate_bounding_box_proposals(
    scores: TensorLike,
    bbox_deltas: TensorLike,
    image_info: TensorLike,
    anchors: TensorLike,
    nms_threshold: float = 0.7,
    pre_nms_topn: IntLike = 6000,
    min_size: float = 16,
    post_nms_topn: IntLike = 300,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor]:
    """Move anchors to where objects may be, and choose the best of them that overlap little.

    Args:
        scores: of shape `[batch, height, width, anchors]`.
        bbox_deltas: of shape `[batch, height, width, 4 * anchors]`: by how much the centre of a box moves,
            down and right, as a share of its size, and the logarithm of how its height and width grow.
        image_info: of shape `[batch, 5]`: the height and the width of each image, what `min_size` is
            multiplied by, and two numbers that do not count.
        anchors: boxes `[top, left, bottom, right]` in pixels, for each place of an image or the same at all,
            of shape `[height * width * anchors, 4]` or `[anchors, 4]`.
        nms_threshold: the largest overlap of two that are chosen.
        pre_nms_topn: how many boxes of the highest scores are looked at.
        min_size: the least height and width of a box.
        post_nms_topn: how many boxes are chosen at most.
        name: a scope for the names of its operations in a graph.

    Returns:
        Boxes of shape `[batch, post_nms_topn, 4]` within their images, and their scores, of shape
        `[batch, post_nms_topn]`. Zeros follow where fewer are chosen.

    Raises:
        InvalidArgumentError: for shapes that do not go together.
        TypeError: for other dtypes.
        ValueError: for other ranks.

    >>> import penstock as tf
    >>> found, scores = tf.image.generate_bounding_box_proposals(
    ...     tf.ones([1, 1, 1, 1]), tf.zeros([1, 1, 1, 4]), [[40.0, 40, 1, 0, 0]], [[5.0, 5, 30, 50]],
    ...     post_nms_topn=1)
    >>> found.numpy().tolist()
    [[[5.0, 5.0, 30.0, 40.0]]]
    """
    ranked, moves = _floats(scores, "scores", 4), _floats(bbox_deltas, "bbox_deltas", 4)
    info = _floats(image_info, "image_info", 2)
    start = raw_ops.reshape(_floats(anchors, "anchors", _core._to_tensor(anchors).shape.rank or 2), [-1, 4])
    batch, height, width, kinds = sizes(ranked)
    count = height * width * kinds
    ranked = raw_ops.reshape(ranked, _vector([batch, count]))
    moves = raw_ops.reshape(moves, _vector([batch, count, 4]))
    repeats = raw_ops.floordiv(_core._to_tensor(count), raw_ops.shape(start)[0])
    start = raw_ops.tile(start, _vector([repeats, 1]))
    low, high = start[:, :2], start[:, 2:]
    size = high - low
    middle = low + 0.5 * size + moves[..., :2] * size
    grown = size * raw_ops.exp(raw_ops.minimum(moves[..., 2:], _core._to_tensor(_GROWTH, _core.float32)))
    edges = raw_ops.expand_dims(info[:, :2], axis=1)
    zero = _core._to_tensor(0.0, _core.float32)
    low, high = (
        raw_ops.maximum(raw_ops.minimum(corner, edges), zero)
        for corner in (middle - 0.5 * grown, middle + 0.5 * grown)
    )
    least = raw_ops.reshape(info[:, 2] * _limit(min_size), [-1, 1])
    large = raw_ops.reduce_min(high - low, axes=[2]) >= least
    top = raw_ops.minimum(_core._to_tensor(pre_nms_topn, dtype=_core.int32), _core._to_tensor(count))
    boxes = raw_ops.concat([low, high], axis=2)
    best, at = raw_ops.top_k(ranked, top)
    boxes, large = (raw_ops.gather(x, at, axis=1, batch_dims=1) for x in (boxes, large))
    best = raw_ops.select(large, best, _core._to_tensor(-math.inf, _core.float32))
    indices, left, counts = _kept(boxes, best, post_nms_topn, nms_threshold, -math.inf, 0.0)
    places = raw_ops.range(_core._to_tensor(0), raw_ops.shape(indices)[1], _core._to_tensor(1))
    valid = raw_ops.less(places, raw_ops.expand_dims(counts, axis=1))
    found = raw_ops.gather(boxes, indices, axis=1, batch_dims=1)
    return raw_ops.select(raw_ops.expand_dims(valid, axis=2), found, zero), left
