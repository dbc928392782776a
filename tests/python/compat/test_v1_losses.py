"""Losses of TensorFlow 1: numbers beside those that TensorFlow 2.21 gave, and collections of graphs."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
losses = v1.losses
LABELS = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]], np.float32)
VALUES = np.array([[0.2, 0.7, 0.9], [0.4, 0.3, 0.1]], np.float32)
WEIGHTS = np.array([[0.5], [2.0]], np.float32)

# By function: without weights, with weights and each reduction, and with a weight of 0.
FOUND = {
    "absolute_difference": [0.4, 0.65, 3.9, 0.52, 0.65, 1.2],
    "mean_squared_error": [0.23333, 0.43167, 2.59, 0.34533, 0.43167, 0.84],
    "hinge_loss": [0.73333, 1.0667, 6.4, 0.85333, 1.0667, 1.8667],
    "huber_loss": [0.11667, 0.21583, 1.295, 0.17267, 0.21583, 0.42],
    "log_loss": [0.71012, 1.2489, 7.4937, 0.99916, 1.2489, 2.3837],
    "sigmoid_cross_entropy": [0.59237, 0.79913, 4.7948, 0.6393, 0.79913, 1.3412],
}


@pytest.mark.parametrize("name", FOUND)
def test_losses_are_those_of_tensorflow(name):
    loss = getattr(losses, name)
    reductions = ("weighted_sum", "weighted_mean", "weighted_sum_over_batch_size")
    found = [
        loss(LABELS, VALUES),
        loss(LABELS, VALUES, WEIGHTS),
        *(loss(LABELS, VALUES, WEIGHTS, reduction=reduction) for reduction in reductions),
        loss(LABELS, VALUES, [[0.0], [2.0]]),
    ]
    assert [float(x) for x in found] == pytest.approx(FOUND[name], rel=2e-4)


def test_losses_with_arguments_of_their_own_are_those_of_tensorflow():
    one_hot = np.eye(3, dtype=np.float32)[[1, 2]]
    found = [
        losses.huber_loss(LABELS, VALUES, delta=0.3),
        losses.cosine_distance(LABELS, VALUES, axis=1),
        losses.cosine_distance(LABELS, VALUES, 1, WEIGHTS),
        losses.mean_pairwise_squared_error(LABELS, VALUES, WEIGHTS),
        losses.sigmoid_cross_entropy(LABELS, VALUES, WEIGHTS, 0.1),
        losses.softmax_cross_entropy(one_hot, VALUES),
        losses.softmax_cross_entropy(one_hot, VALUES, [1.0, 3.0], 0.2),
        losses.sparse_softmax_cross_entropy([1, 2], VALUES),
        losses.sparse_softmax_cross_entropy([[1], [2]], VALUES, [[1.0], [0.0]]),
    ]
    wanted = [0.079167, -0.05, 0.35, 1.6233, 0.8083, 1.1562, 2.3892, 1.1562, 1.0395]
    assert [float(x) for x in found] == pytest.approx(wanted, rel=2e-4)


def test_without_a_reduction_each_element_has_its_loss():
    each = losses.absolute_difference(LABELS, VALUES, reduction=losses.Reduction.NONE)
    assert each.numpy() == pytest.approx(abs(LABELS - VALUES))


def test_a_graph_collects_its_losses():
    with tf.Graph().as_default(), v1.Session() as session:
        first = losses.mean_squared_error([1.0], [3.0])
        losses.add_loss(tf.constant(2.0), v1.GraphKeys.REGULARIZATION_LOSSES)
        assert losses.get_losses() == [first]
        assert session.run(losses.get_total_loss()) == 6.0
        assert session.run(losses.get_total_loss(False)) == 4.0
        assert session.run(losses.get_regularization_loss()) == 2.0


def test_weights_and_shapes_that_do_not_fit_are_named():
    with pytest.raises(
        ValueError, match="argument 'weights' must be a scalar, or of the shape of the values"
    ):
        losses.mean_squared_error(LABELS, VALUES, [1.0, 2.0])
    with pytest.raises(ValueError, match="arguments 'labels' and 'predictions' must have one shape"):
        losses.mean_squared_error(LABELS, [1.0])
    with pytest.raises(ValueError, match="argument 'reduction' must be one of"):
        losses.mean_squared_error(LABELS, VALUES, reduction="best")
    with pytest.raises(ValueError, match="argument 'axis' must be given"):
        losses.cosine_distance(LABELS, VALUES)
    with pytest.raises(ValueError, match="there are no losses"), tf.Graph().as_default():
        losses.get_total_loss()
