"""Boxes in images, beside what a few lines of NumPy make of them."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

NUMBERS = np.random.default_rng(7)


def boxes_of(*shape: int) -> np.ndarray:
    low = NUMBERS.random((*shape, 2), np.float32)
    size = NUMBERS.random((*shape, 2), np.float32) * 0.4 + 0.05
    return np.concatenate([low, low + size], -1)


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    common = np.prod(np.maximum(high - low, 0))
    return float(common / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common))


def kept(boxes: np.ndarray, scores: np.ndarray, most: int, limit: float, least: float) -> list[int]:
    chosen: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if (
            len(chosen) < most
            and scores[i] > least
            and all(overlap(boxes[i], boxes[j]) <= limit for j in chosen)
        ):
            chosen.append(int(i))
    return chosen


@pytest.mark.parametrize(
    ("most", "limit", "least"), [(3, 0.5, -np.inf), (100, 0.1, -np.inf), (100, 0.3, 0.5), (0, 0.5, 0)]
)
def test_boxes_that_overlap_less_are_kept(most: int, limit: float, least: float) -> None:
    boxes, scores = boxes_of(60), NUMBERS.random(60).astype(np.float32)
    wanted = kept(boxes, scores, most, limit, least)
    found = tf.image.non_max_suppression(boxes, scores, most, limit, least)
    assert (found.dtype, found.numpy().tolist()) == (tf.int32, wanted)
    flipped = boxes[:, [2, 3, 0, 1]]
    assert tf.image.non_max_suppression(flipped, scores, most, limit, least).numpy().tolist() == wanted
    table = np.array([[overlap(a, b) for b in boxes] for a in boxes], np.float32)
    found = tf.image.non_max_suppression_overlaps(table, scores, most, limit, least)
    assert found.numpy().tolist() == wanted


def test_equal_scores_keep_their_order_and_no_boxes_give_none() -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 2, 1, 3], [0, 0, 1, 1]], np.float32)
    assert tf.image.non_max_suppression(boxes, [1.0, 1.0, 1.0], 3).numpy().tolist() == [0, 1]
    assert tf.image.non_max_suppression(np.zeros((0, 4), np.float32), tf.zeros([0]), 3).shape == (0,)


def test_scores_fall_with_overlaps() -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6]], np.float32)
    found, scores = tf.image.non_max_suppression_with_scores(
        boxes, [0.9, 0.8, 0.3], 3, iou_threshold=1.0, soft_nms_sigma=0.5
    )
    fallen = 0.8 * np.exp(-(overlap(boxes[0], boxes[1]) ** 2))
    order = [0, 1, 2] if fallen > 0.3 else [0, 2, 1]
    assert found.numpy().tolist() == order
    np.testing.assert_allclose(sorted(scores.numpy()), sorted([0.9, 0.3, fallen]), rtol=1e-5)
    hard, _ = tf.image.non_max_suppression_with_scores(boxes, [0.9, 0.8, 0.3], 3)
    assert hard.numpy().tolist() == [0, 2]


def test_several_images_have_as_many_places_each() -> None:
    boxes, scores = boxes_of(2, 3, 20), NUMBERS.random((2, 3, 20)).astype(np.float32)
    found, counts = tf.image.non_max_suppression_padded(boxes, scores, 8, 0.2, pad_to_max_output_size=True)
    assert (found.shape, counts.shape) == ((2, 3, 8), (2, 3))
    for i in np.ndindex(2, 3):
        wanted = kept(boxes[i], scores[i], 8, 0.2, -np.inf)
        assert found[i].numpy().tolist() == wanted + [0] * (8 - len(wanted))
        assert int(counts[i]) == len(wanted)
    one, count = tf.image.non_max_suppression_padded(boxes[0, 0], scores[0, 0], 8, 0.2)
    assert one.shape == (int(count),)
    with pytest.raises(ValueError, match="'pad_to_max_output_size'"):
        tf.image.non_max_suppression_padded(boxes, scores, 8)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("total", [4, 40])
def test_the_best_boxes_of_all_classes(shared: bool, total: int) -> None:
    classes, each = 3, 5
    boxes = boxes_of(2, 20, 1 if shared else classes)
    scores = NUMBERS.random((2, 20, classes)).astype(np.float32)

    def chosen(image: int) -> list[tuple[float, int, np.ndarray]]:
        all_of = []
        for c in range(classes):
            mine = boxes[image, :, 0 if shared else c]
            best = kept(mine, scores[image, :, c], each, 0.3, 0.2)
            all_of += [(float(scores[image, i, c]), c, np.clip(mine[i], 0, 1)) for i in best]
        return sorted(all_of, key=lambda found: -found[0])[:total]

    found = tf.image.combined_non_max_suppression(boxes, scores, each, total, 0.3, 0.2)
    assert found.nmsed_boxes.shape == (2, total, 4)
    for image in range(2):
        wanted = chosen(image)
        n = int(found.valid_detections[image])
        assert n == len(wanted)
        np.testing.assert_allclose(found.nmsed_scores[image, :n], [w[0] for w in wanted], rtol=1e-6)
        assert found.nmsed_classes[image, :n].numpy().tolist() == [w[1] for w in wanted]
        np.testing.assert_allclose(found.nmsed_boxes[image, :n], [w[2] for w in wanted], rtol=1e-6)
        assert not found.nmsed_scores[image, n:].numpy().any()
    padded = tf.image.combined_non_max_suppression(boxes, scores, each, total, 0.3, 0.2, pad_per_class=True)
    assert padded.nmsed_scores.shape == (2, min(total, classes * each))


def test_what_suppression_refuses() -> None:
    boxes, scores = boxes_of(3), np.ones(3, np.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'iou_threshold'"):
        tf.image.non_max_suppression(boxes, scores, 1, 1.5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'scores'"):
        tf.image.non_max_suppression(boxes, np.ones(4, np.float32), 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'max_output_size'"):
        tf.image.non_max_suppression(boxes, scores, -1)
    with pytest.raises(ValueError, match="'boxes' must have 2 dimension"):
        tf.image.non_max_suppression(boxes[None], scores, 1)
    with pytest.raises(TypeError, match="'scores'"):
        tf.image.non_max_suppression(boxes, np.ones(3, np.int32), 1)


def test_proposals_are_anchors_that_moved() -> None:
    anchors = np.array([[0, 0, 20, 20], [10, 10, 50, 40]], np.float32)
    deltas = np.zeros((1, 1, 1, 8), np.float32)
    deltas[..., 0] = 0.5  # half a height down
    deltas[..., 7] = np.log(2)  # twice as wide
    info = [[60.0, 45.0, 1.0, 0.0, 0.0]]
    scores = np.array([[[[0.25, 0.75]]]], np.float32)
    found, left = tf.image.generate_bounding_box_proposals(scores, deltas, info, anchors, post_nms_topn=3)
    wanted = [[10, 0, 50, 45], [10, 0, 30, 20], [0, 0, 0, 0]]
    np.testing.assert_allclose(found[0], wanted, atol=1e-4)
    np.testing.assert_allclose(left[0], [0.75, 0.25, 0.0])
    small, _ = tf.image.generate_bounding_box_proposals(
        scores, deltas, info, anchors, min_size=30, post_nms_topn=2
    )
    np.testing.assert_allclose(small[0], [wanted[0], [0, 0, 0, 0]], atol=1e-4)


def cropped(image: np.ndarray, box: np.ndarray, size: tuple[int, int], method: str) -> np.ndarray:
    height, width, channels = image.shape
    out = np.full((*size, channels), -1.0, np.float32)

    def place(low: float, high: float, extent: int, count: int, k: int) -> float:
        if count == 1:
            return 0.5 * (low + high) * (extent - 1)
        return low * (extent - 1) + k * (high - low) * (extent - 1) / (count - 1)

    for i in range(size[0]):
        for j in range(size[1]):
            y, x = place(box[0], box[2], height, size[0], i), place(box[1], box[3], width, size[1], j)
            if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
                continue
            if method == "nearest":
                out[i, j] = image[int(y + 0.5), int(x + 0.5)]
                continue
            y0, x0, y1, x1 = int(np.floor(y)), int(np.floor(x)), int(np.ceil(y)), int(np.ceil(x))
            upper = image[y0, x0] + (image[y0, x1] - image[y0, x0]) * (x - x0)
            lower = image[y1, x0] + (image[y1, x1] - image[y1, x0]) * (x - x0)
            out[i, j] = upper + (lower - upper) * (y - y0)
    return out


def test_no_boxes_are_suppressed_to_none() -> None:
    found = tf.image.combined_non_max_suppression(tf.zeros([1, 0, 1, 4]), tf.zeros([1, 0, 2]), 2, 3)
    assert found.nmsed_boxes.numpy().tolist() == [[[0.0] * 4] * 3]
    assert found.valid_detections.numpy().tolist() == [0]


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(4, 6), (1, 3), (1, 1)])
def test_parts_of_images_are_brought_to_one_size(method: str, size: tuple[int, int]) -> None:
    images = NUMBERS.random((2, 7, 9, 3)).astype(np.float32)
    boxes = np.array([[0.1, 0.2, 0.9, 0.7], [0.9, 0.8, 0.1, 0.2], [-0.3, 0.5, 1.3, 1.2]], np.float32)
    found = tf.image.crop_and_resize(images, boxes, [0, 1, 1], size, method, extrapolation_value=-1.0)
    wanted = [cropped(images[k], box, size, method) for k, box in zip([0, 1, 1], boxes, strict=True)]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_crops_are_differentiated_and_traced() -> None:
    images = tf.constant(NUMBERS.random((1, 5, 6, 2)).astype(np.float32))
    boxes = tf.constant([[0.13, 0.21, 0.87, 0.79]])

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, None, 2]),
            tf.TensorSpec([None, 4]),
            tf.TensorSpec([None], tf.int32),
        ]
    )
    def crop(image, box, which):
        return tf.reduce_sum(tf.image.crop_and_resize(image, box, which, [3, 3]) ** 2)

    with tf.GradientTape() as tape:
        tape.watch([images, boxes])
        y = crop(images, boxes, [0])
    by_image, by_box = tape.gradient(y, [images, boxes])
    step = 1e-2
    moved = boxes + tf.constant([[0.0, step, 0.0, 0.0]])
    slope = (float(crop(images, moved, [0])) - float(y)) / step
    assert abs(slope - float(by_box[0, 1])) < 0.15 * abs(slope) + 0.2
    assert by_image.shape == images.shape
    with pytest.raises(tf.errors.InvalidArgumentError, match="'box_indices'"):
        tf.image.crop_and_resize(images, boxes, [1], [2, 2])


def slope_by_boxes(grads: Any, image: Any, boxes: Any, which: list[int], size: tuple[int, int]) -> Any:
    """The gradient of crops by the edges of boxes, element by element as TensorFlow's kernel has it."""
    height, width = image.shape[1:3]
    due = np.zeros(boxes.shape)
    for b, (top, left, bottom, right) in enumerate(np.float64(boxes)):
        for i, j in np.ndindex(*size):
            places, shares = [], []
            for k, low, high, extent, n in (
                (i, top, bottom, height, size[0]),
                (j, left, right, width, size[1]),
            ):
                share = k / (n - 1) if n > 1 else 0.5
                places.append((low + (high - low) * share) * (extent - 1))
                shares.append(share)
            y, x = places
            if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
                continue
            (y0, x0), (y1, x1) = (int(np.floor(y)), int(np.floor(x))), (int(np.ceil(y)), int(np.ceil(x)))
            pixels = np.float64(image[which[b]])
            by_row = (1 - x + x0) * (pixels[y1, x0] - pixels[y0, x0]) + (x - x0) * (
                pixels[y1, x1] - pixels[y0, x1]
            )
            by_column = (1 - y + y0) * (pixels[y0, x1] - pixels[y0, x0]) + (y - y0) * (
                pixels[y1, x1] - pixels[y1, x0]
            )
            row = (by_row * grads[b, i, j]).sum() * (height - 1)
            column = (by_column * grads[b, i, j]).sum() * (width - 1)
            due[b] += [row * (1 - shares[0]), column * (1 - shares[1]), row * shares[0], column * shares[1]]
    return due


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(4, 3), (1, 3), (2, 1)])
def test_crops_by_either_method_change_with_the_edges_of_boxes(
    method: str, size: tuple[int, int], traced: bool
) -> None:
    image = NUMBERS.random((2, 6, 7, 3)).astype(np.float32)
    boxes = np.array([[0.13, 0.21, 0.87, 0.78], [0.9, 0.85, 0.12, 0.3], [-0.31, 0.42, 1.3, 1.2]], np.float32)
    which = [0, 1, 1]
    grads = NUMBERS.random((3, *size, 3)).astype(np.float32)

    def slopes(x: tf.Tensor, edges: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, edges])
            y = tf.image.crop_and_resize(x, edges, which, size, method)
        return tape.gradient(y, [x, edges], grads)

    of_image, of_boxes = (tf.function(slopes) if traced else slopes)(tf.constant(image), tf.constant(boxes))
    np.testing.assert_allclose(
        of_boxes, slope_by_boxes(grads, image, boxes, which, size), rtol=2e-4, atol=2e-4
    )
    assert of_image.shape == image.shape


def test_pixels_beyond_a_crop_do_not_reach_the_gradient_of_its_box() -> None:
    image = np.zeros((1, 4, 4, 1), np.float32)
    image[0, 0, 0] = np.inf
    box = tf.constant([[-2.0, -2.0, -1.0, -1.0]])
    with tf.GradientTape() as tape:
        tape.watch(box)
        y = tf.image.crop_and_resize(image, box, [0], [2, 2], "nearest")
    assert tape.gradient(y, box).numpy().tolist() == [[0.0, 0.0, 0.0, 0.0]]


def test_edges_of_boxes_are_drawn_the_last_above() -> None:
    image = tf.zeros([1, 5, 6, 3])
    boxes = np.array([[[0.0, 0.0, 1.0, 1.0], [0.25, 0.2, 0.75, 2.0]]], np.float32)
    found = tf.image.draw_bounding_boxes(image, boxes, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).numpy()[0]
    red, green = found[..., 0], found[..., 1]
    assert red[0].tolist() == [1, 1, 1, 1, 1, 1]
    assert green[1].tolist() == [0, 1, 1, 1, 1, 1]
    assert green[2].tolist() == [0, 1, 0, 0, 0, 0]
    assert red[2].tolist() == [1, 0, 0, 0, 0, 1]
    usual = tf.image.draw_bounding_boxes(image, boxes, None).numpy()[0]
    assert usual[0, 0].tolist() == [1, 1, 0]
    assert usual[1, 1].tolist() == [0, 0, 1]
    none = tf.image.draw_bounding_boxes(image, np.zeros((1, 0, 4), np.float32), None)
    assert not none.numpy().any()
    of_none = tf.image.draw_bounding_boxes(image, boxes, tf.zeros([0, 3]))
    np.testing.assert_array_equal(of_none[0], usual)
    with pytest.raises(ValueError, match="1, 3 or 4 channels"):
        tf.image.draw_bounding_boxes(tf.zeros([1, 2, 2, 2]), boxes, None)


def test_windows_around_places() -> None:
    image = tf.reshape(tf.range(25.0), [1, 5, 5, 1])
    middle = tf.image.extract_glimpse(image, [3, 3], [[0.0, 0.0]])
    np.testing.assert_array_equal(middle[0, :, :, 0], image[0, 1:4, 1:4, 0])
    corner = tf.image.extract_glimpse(image, [3, 3], [[-1.0, -1.0]], noise="zero")
    np.testing.assert_array_equal(corner[0, :, :, 0], [[0, 0, 0], [0, 0, 1], [0, 5, 6]])
    for noise in ("uniform", "gaussian"):
        assert tf.image.extract_glimpse(image, [9, 9], [[0.0, 0.0]], noise=noise).shape == (1, 9, 9, 1)
    with pytest.raises(ValueError, match="'noise'"):
        tf.image.extract_glimpse(image, [3, 3], [[0.0, 0.0]], noise="none")


def test_random_parts_show_enough_of_an_object() -> None:
    size, objects = [40, 60, 3], np.array([[[0.25, 0.5, 0.75, 0.9]]], np.float32)
    for seed in range(30):
        begin, extent, box = tf.image.stateless_sample_distorted_bounding_box(
            size, objects, [seed, 1], 0.5, aspect_ratio_range=[0.5, 2.0], area_range=[0.1, 0.9]
        )
        (top, left, _), (height, width, depth) = begin.numpy().tolist(), extent.numpy().tolist()
        assert depth == -1
        assert 0 <= top <= 40 - height
        assert 0 <= left <= 60 - width
        assert 0.09 <= height * width / 2400 <= 0.91
        assert 0.45 <= width / height <= 2.1
        np.testing.assert_allclose(
            box.numpy().reshape(-1),
            [top / 40, left / 60, (top + height) / 40, (left + width) / 60],
            rtol=1e-6,
        )
        low = np.maximum([10, 30], [top, left])
        high = np.minimum([30, 54], [top + height, left + width])
        assert np.prod(np.maximum(high - low, 0)) >= 0.5 * 20 * 24
    again = tf.image.stateless_sample_distorted_bounding_box(size, objects, [3, 4])
    same = tf.image.stateless_sample_distorted_bounding_box(size, objects, [3, 4])
    assert all((a.numpy() == b.numpy()).all() for a, b in zip(again, same, strict=True))
    whole = tf.image.sample_distorted_bounding_box(
        size, np.zeros((1, 0, 4), np.float32), area_range=[1.0, 1.0], use_image_if_no_bounding_boxes=True
    )
    assert whole[1].numpy().tolist() == [40, 60, -1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="'bounding_boxes'"):
        tf.image.sample_distorted_bounding_box(size, np.zeros((1, 0, 4), np.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="'area_range'"):
        tf.image.sample_distorted_bounding_box(size, objects, area_range=[0.5, 0.2])


def test_hues_turn_once_round_at_most():
    image = tf.constant([[[1.0, 0.0, 0.0]]])
    assert tf.image.adjust_hue(image, -1.0).numpy().round(4).tolist() == image.numpy().tolist()
    with pytest.raises(ValueError, match="argument 'delta' must be from -1 to 1, got 2"):
        tf.image.adjust_hue(image, 2.0)
