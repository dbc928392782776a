"""Calls that a comparison with TensorFlow found to differ."""

import numpy as np
import pytest

import penstock as tf


def test_the_root_of_no_matrix_is_none():
    assert tf.linalg.sqrtm(tf.zeros([0, 0])).shape == (0, 0)
    assert tf.linalg.sqrtm(tf.zeros([2, 0, 0])).shape == (2, 0, 0)


def test_a_norm_below_zero_clips_to_zero():
    np.testing.assert_array_equal(tf.clip_by_norm([3.0, 4.0], -1.0), [0.0, 0.0])
    np.testing.assert_array_equal(tf.clip_by_norm([3.0, 4.0], 0.0), [0.0, 0.0])


def test_the_rows_of_one_tensor_are_added():
    np.testing.assert_array_equal(tf.add_n(tf.constant([[1, 2], [3, 4]])), [4, 6])
    np.testing.assert_array_equal(tf.add_n([tf.constant([[1, 2], [3, 4]])]), [[1, 2], [3, 4]])


def test_an_empty_tensor_has_a_dtype():
    assert tf.debugging.assert_same_float_dtype(tf.zeros([2, 0])) == tf.float32


def test_other_values_of_a_ragged_tensor_have_as_many_rows():
    x = tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="'new_values' must have 3 rows"):
        x.with_values([4.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="'new_values' must have 3 rows"):
        x.with_flat_values(tf.zeros([0]))


def test_types_of_devices_that_are_not_known_keep_their_letters():
    assert tf.DeviceSpec(device_type="mine").to_string() == "/device:mine:*"
    assert tf.DeviceSpec(device_type="gpu").device_type == "GPU"
    assert tf.DeviceSpec.from_string("/job:worker/gpu:0").device_type == "GPU"


def test_a_critical_section_gives_tensors():
    number, nothing, both = tf.CriticalSection().execute(lambda: (3, None, {"a": [1.5]}))
    assert (number.dtype, nothing, both["a"][0].dtype) == (tf.int32, None, tf.float32)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.image.resize(tf.zeros([2]), [1, 1]),
        lambda: tf.RaggedTensor.from_row_splits(1.0, [0, 1]),
        lambda: tf.batch_to_space(tf.zeros([4, 1, 1, 1]), [2, 2], [[-1, 0], [0, 0]]),
        lambda: tf.io.decode_csv(["1"], []),
    ],
)
def test_an_argument_that_an_operation_does_not_take_is_an_invalid_argument(call):
    with pytest.raises(tf.errors.InvalidArgumentError):
        call()


def test_a_standardized_image_is_float32():
    for dtype in (tf.uint8, tf.float16, tf.float64):
        assert tf.image.per_image_standardization(tf.ones([2, 2, 1], dtype)).dtype == tf.float32


def test_what_is_divided_by_no_weight_is_zero():
    assert [float(x) for x in tf.nn.weighted_moments([1.0, 3.0], [0], [0.0, 0.0])] == [0.0, 0.0]
    assert float(tf.nn.compute_average_loss([1.0, 3.0], global_batch_size=0)) == 0.0


def test_integers_have_the_widths_of_tensorflow():
    labels, positions = tf.nn.ctc_unique_labels([[3, 4, 3]])
    assert (labels.dtype, positions.dtype) == (tf.int64, tf.int32)
    assert tf.sparse.bincount([1, 1, 2]).values.dtype == tf.int32
    assert tf.sparse.bincount([1, 1, 2], binary_output=True).values.dtype == tf.int32
    for dtype in (tf.int32, tf.int64):
        numbers = tf.constant([1, 0], dtype)
        assert tf.ragged.stack_dynamic_partitions([5.0, 6.0], numbers, 2).row_splits.dtype == dtype
    assert tf.linalg.cross(tf.constant([1, 0, 0], tf.int8), [0, 1, 0]).dtype == tf.int8
    for dtype, quotient in ((tf.int16, tf.float32), (tf.int32, tf.float64)):
        assert tf.linspace(tf.constant(1, dtype), tf.constant(3, dtype), 3).dtype == quotient


def test_a_vector_without_direction_reflects_nothing():
    mirror = tf.linalg.LinearOperatorHouseholder([0.0, 0.0])
    np.testing.assert_array_equal(mirror.matvec([1.0, 2.0]), [1.0, 2.0])


def test_jobs_keep_their_order():
    jobs = {"worker": ["a:1"], "ps": ["b:2"]}
    other = tf.train.ClusterSpec(dict(reversed(jobs.items())))
    assert tf.train.ClusterSpec(jobs).jobs == ["worker", "ps"]
    assert other.jobs == ["ps", "worker"]
    assert hash(other) == hash(tf.train.ClusterSpec(jobs))
    assert other == tf.train.ClusterSpec(jobs)


def test_nothing_has_the_empty_name():
    assert not tf.io.gfile.exists("")
    assert not tf.io.gfile.isdir("")


def test_no_gradient_goes_to_what_is_no_number():
    x = tf.constant([float("nan"), 0.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.quantization.fake_quant_with_min_max_args(x, 0.0, 1.0)
    np.testing.assert_array_equal(tape.gradient(y, x), [0.0, 1.0])


def test_images_of_any_dtype_are_padded():
    padded = tf.image.pad_to_bounding_box(tf.constant([[[True]]]), 0, 1, 1, 3)
    np.testing.assert_array_equal(padded[0, :, 0], [False, True, False])
    words = tf.image.resize_with_crop_or_pad(tf.constant([[["a"]]]), 1, 2)
    assert sorted(words.numpy().ravel().tolist()) == [b"", b"a"]


def test_real_parts_of_complex_numbers_saturate():
    got = tf.saturate_cast(tf.constant([300 + 1j, -5]), tf.uint8)
    np.testing.assert_array_equal(got, np.array([255, 0], np.uint8))


def test_no_strings_join_to_an_empty_one():
    assert tf.strings.join([], separator="-").numpy() == b""


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.nn.gelu([1]),
        lambda: tf.linalg.expm(tf.ones([2, 2], tf.int8)),
        lambda: tf.SparseTensor(tf.constant([[1.0]]), [1], [2]),
        lambda: tf.boolean_mask([1, 2], [1, 0]),
        lambda: tf.quantization.fake_quant_with_min_max_args(tf.constant([1]), 0, 1),
    ],
)
def test_a_dtype_that_an_operation_does_not_take_is_told_by_every_class_for_it(call):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        call()
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


def test_numbers_of_ragged_and_sparse_tensors_are_true_unless_zero():
    x = tf.ragged.constant([[-3, 3], [0], []])
    np.testing.assert_array_equal(tf.reduce_any(x, axis=1), [True, False, False])
    np.testing.assert_array_equal(tf.reduce_all(x, axis=1), [True, False, True])
    np.testing.assert_array_equal(tf.reduce_any(tf.ragged.constant([[0.5], [0.0]]), axis=1), [True, False])
    kept = tf.sparse.retain(tf.sparse.from_dense([1, 2, 3]), [0, 2, 0])
    np.testing.assert_array_equal(kept.values, [2])
