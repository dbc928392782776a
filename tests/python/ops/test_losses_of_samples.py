"""Losses over sequences and over samples of classes; moments from sums."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(6)


def probability_of(labels: list[int], scores: np.ndarray, blank: int) -> float:
    """The sum over all paths that become the labels: by trying every path."""
    chances = np.exp(scores - np.log(np.exp(scores).sum(-1, keepdims=True)))
    total = 0.0
    for path in itertools.product(range(scores.shape[1]), repeat=len(scores)):
        merged = [label for label, _ in itertools.groupby(path)]
        if [label for label in merged if label != blank] == labels:
            total += np.prod(chances[np.arange(len(scores)), path])
    return total


@pytest.mark.parametrize("blank", [0, 2, -1])
@pytest.mark.parametrize("major", [True, False])
def test_the_loss_of_labels_is_that_of_all_paths(blank: int, major: bool) -> None:
    classes, steps = 4, 4
    place = blank % classes
    words = [[], [1], [3, 3], [1, 3], [3, 1, 3], [1, 1, 1]]
    words = [[(place + 1) % classes if label == place else label for label in word] for word in words]
    lengths = [4, 3, 4, 2, 4, 4]
    scores = RNG.normal(size=(steps, len(words), classes))
    labels = np.array([word + [0] * (4 - len(word)) for word in words])
    got = tf.nn.ctc_loss(
        labels,
        scores if major else scores.transpose(1, 0, 2),
        [len(word) for word in words],
        lengths,
        logits_time_major=major,
        blank_index=blank,
    ).numpy()
    for i, (word, length) in enumerate(zip(words, lengths, strict=True)):
        chance = probability_of(word, scores[:length, i], place)
        np.testing.assert_allclose(got[i], -np.log(chance) if chance else np.inf, rtol=1e-9)


def test_the_loss_of_labels_has_a_finite_gradient() -> None:
    scores = tf.constant(RNG.normal(size=(4, 2, 3)))

    @tf.function(input_signature=[tf.TensorSpec([None, None, None], tf.float64)])
    def traced(scores: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(scores)
            loss = tf.nn.ctc_loss([[1, 2], [1, 1]], scores, [2, 2], [4, 4])
        return loss, tape.gradient(loss, scores)

    loss, slope = traced(scores)
    moved = scores.numpy().copy()
    moved[1, 0, 2] += 1e-6
    other = tf.nn.ctc_loss([[1, 2], [1, 1]], moved, [2, 2], [4, 4])
    np.testing.assert_allclose((other - loss)[0].numpy() / 1e-6, slope[1, 0, 2].numpy(), rtol=1e-4)


@pytest.mark.parametrize("traced", [False, True])
def test_no_steps_have_the_labels_that_there_are_none_of(traced: bool) -> None:
    run = tf.function(tf.nn.ctc_loss) if traced else tf.nn.ctc_loss
    scores = tf.zeros([0, 2, 3])
    assert run([[1, 2], [0, 0]], scores, [2, 0], [0, 0]).numpy().tolist() == [np.inf, 0.0]
    assert run(np.zeros([2, 0], np.int32), scores, [0, 0], [0, 0]).numpy().tolist() == [0.0, 0.0]
    # Steps that an element of the batch does not have count neither.
    steps = tf.math.log([[[0.5, 0.25, 0.25]] * 2] * 3)
    losses = run([[1], [1]], steps, [0, 0], [0, 2]).numpy()
    np.testing.assert_allclose(losses, [0.0, -2 * np.log(0.5)], rtol=1e-6)


def test_labels_without_columns_have_no_chance_to_repeat() -> None:
    none = np.zeros([2, 0], np.int32)
    loss = tf.nn.ctc_loss(none, tf.math.log([[[0.5, 0.5]] * 2] * 3), [0, 0], [3, 2])
    np.testing.assert_allclose(loss, [-3 * np.log(0.5), -2 * np.log(0.5)], rtol=1e-6)
    unique, places = tf.nn.ctc_unique_labels(none)
    assert (unique.shape, unique.dtype, places.shape, places.dtype) == ((2, 0), tf.int64, (2, 0), tf.int32)


@pytest.mark.parametrize("traced", [False, True])
def test_labels_may_be_rows_of_a_sparse_matrix(traced: bool) -> None:
    run = tf.function(tf.nn.ctc_loss) if traced else tf.nn.ctc_loss
    scores = tf.constant(RNG.normal(size=[5, 3, 4]))
    due = run([[1, 2], [1, 0], [0, 0]], scores, [2, 1, 0], [5, 4, 3], blank_index=3)
    # Which columns they are in says nothing, only their order.
    for columns in ([0, 1, 0], [0, 3, 2]):
        places = [[0, columns[0]], [0, columns[1]], [1, columns[2]]]
        labels = tf.SparseTensor(places, tf.constant([1, 2, 1]), [3, 4])
        np.testing.assert_allclose(run(labels, scores, None, [5, 4, 3], blank_index=-1), due)
    with pytest.raises(ValueError, match="argument 'blank_index' must be given"):
        run(labels, scores, None, [5, 4, 3])
    with pytest.raises(ValueError, match="argument 'label_length' must be given"):
        run([[1], [1], [1]], scores, None, [5, 4, 3])


def test_arguments_of_the_loss_of_labels_are_checked() -> None:
    with pytest.raises(TypeError, match="argument 'labels' must be integers"):
        tf.nn.ctc_loss([[1.0]], tf.zeros([2, 1, 3]), [1], [2])
    with pytest.raises(ValueError, match="argument 'logits' must have rank 3"):
        tf.nn.ctc_loss([[1]], tf.zeros([2, 3]), [1], [2])


def test_labels_without_repetitions() -> None:
    labels = RNG.integers(0, 4, (5, 7))
    unique, places = tf.nn.ctc_unique_labels(labels)
    assert np.array_equal(np.take_along_axis(unique.numpy(), places.numpy().astype(int), 1), labels)
    for row, found in zip(labels, unique.numpy(), strict=True):
        due = list(dict.fromkeys(row.tolist()))
        assert found.tolist() == due + [0] * (7 - len(due))
    lengths = RNG.integers(0, 8, 5)
    merged, counts = tf.nn.collapse_repeated(labels, lengths)
    for row, n, found, count in zip(labels, lengths, merged.numpy(), counts.numpy(), strict=True):
        due = [label for label, _ in itertools.groupby(row[:n].tolist())]
        assert found[:count].tolist() == due
        assert not found[count:].any()


SAMPLERS: dict[str, Any] = {
    "uniform": (tf.random.uniform_candidate_sampler, {}, np.ones(8)),
    "log_uniform": (tf.random.log_uniform_candidate_sampler, {}, np.log1p(1 / np.arange(1, 9))),
    "fixed": (
        tf.random.fixed_unigram_candidate_sampler,
        {"unigrams": [1, 2, 4, 1, 2, 4, 1], "num_reserved_ids": 1, "distortion": 0.5},
        np.sqrt([0, 1, 2, 4, 1, 2, 4, 1]),
    ),
    "learned": (tf.random.learned_unigram_candidate_sampler, {}, np.array([1, 4, 1, 1, 1, 1, 2, 1.0])),
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("unique", [False, True])
def test_classes_are_drawn_as_often_as_is_said(name: str, unique: bool) -> None:
    sampler, arguments, weights = SAMPLERS[name]
    tf.random.set_seed(3)
    true = [[1, 6], [1, 1]]
    sample = tf.function(lambda: sampler(true, 2, 4, unique, 8, **arguments))
    counts = np.zeros(8)
    rounds = 600
    for _ in range(rounds):
        drawn, of_true, of_drawn = sample()
        counts += np.bincount(drawn.numpy(), minlength=8)
        assert not unique or len(set(drawn.numpy().tolist())) == 4
    expected = weights / weights.sum() * 4
    if not unique:
        np.testing.assert_allclose(of_true.numpy()[0], expected[[1, 6]], rtol=1e-5)
        np.testing.assert_allclose(of_drawn.numpy(), expected[drawn.numpy()], rtol=1e-5)
        np.testing.assert_allclose(counts / rounds, expected, atol=0.2)
        return
    np.testing.assert_allclose(of_true.numpy()[0], (counts / rounds)[[1, 6]], atol=0.15)


def test_samplers_check_their_arguments() -> None:
    with pytest.raises(ValueError, match="at most 3 for a unique sample"):
        tf.random.uniform_candidate_sampler([[1]], 1, 4, True, 3)
    with pytest.raises(ValueError, match="exactly one of the arguments"):
        tf.random.fixed_unigram_candidate_sampler([[1]], 1, 2, True, 3)
    with pytest.raises(TypeError, match="argument 'true_classes' must be integers"):
        tf.random.uniform_candidate_sampler([[1.0]], 1, 1, True, 3)


@pytest.mark.parametrize("remove", [False, True])
def test_losses_over_all_classes_are_their_definitions(remove: bool) -> None:
    w, b, x = RNG.normal(size=(6, 3)), RNG.normal(size=6), RNG.normal(size=(4, 3))
    labels = np.array([[0, 2], [1, 1], [5, 3], [4, 0]])
    sampled = np.array([0, 1, 5])
    true_count, count = RNG.uniform(0.1, 1, (4, 2)), RNG.uniform(0.1, 1, 3)
    logits = x @ w.T + b
    true = np.take_along_axis(logits, labels, 1) - np.log(true_count)
    other = logits[:, sampled] - np.log(count)
    if remove:
        other[(labels[:, :, None] == sampled).any(1)] = -1e300
    arguments: dict[str, Any] = {
        "num_sampled": 3,
        "num_classes": 6,
        "num_true": 2,
        "sampled_values": (sampled, true_count, count),
        "remove_accidental_hits": remove,
    }
    softplus = lambda v: np.logaddexp(0, v)  # noqa: E731
    got = tf.nn.nce_loss(w, b, labels, x, **arguments)
    np.testing.assert_allclose(
        got.numpy(), (softplus(true) - true / 2).sum(1) + softplus(other).sum(1), rtol=1e-10
    )
    got = tf.nn.sampled_softmax_loss([tf.constant(w[:2]), tf.constant(w[2:])], b, labels, x, **arguments)
    every = np.concatenate([true, other], 1)
    every = every - np.logaddexp.reduce(every, axis=1, keepdims=True)
    np.testing.assert_allclose(got.numpy(), -every[:, :2].mean(1), rtol=1e-10)


def test_a_table_learns_from_sampled_losses_by_its_rows() -> None:
    table, bias = tf.Variable(tf.zeros([50, 4])), tf.Variable(tf.zeros([50]))
    x = tf.ones([2, 4])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.nce_loss(table, bias, [[1], [2]], x, 5, 50))
    slope = tape.gradient(loss, table)
    assert isinstance(slope, tf.IndexedSlices)
    assert slope.values.shape == (7, 4)


def test_hits_are_found_by_example_and_place() -> None:
    examples, places, weights = tf.nn.compute_accidental_hits([[1, 2], [3, 4]], [4, 2, 3, 9], 2)
    assert sorted(zip(examples.numpy().tolist(), places.numpy().tolist(), strict=True)) == [
        (0, 1),
        (1, 0),
        (1, 2),
    ]
    assert (weights.numpy() == tf.float32.min).all()


def test_moments_are_made_of_sums() -> None:
    x = RNG.normal(3, 2, (4, 5, 6))
    for axes, shift, keep in (([0], None, False), ([0, 2], 3.0, True), ([1], 2.5, False)):
        parts = tf.nn.sufficient_statistics(x, axes, shift, keep)
        mean, variance = tf.nn.normalize_moments(*parts)
        np.testing.assert_allclose(mean.numpy(), x.mean(tuple(axes), keepdims=keep))
        np.testing.assert_allclose(variance.numpy(), x.var(tuple(axes), keepdims=keep))
    weights = RNG.integers(0, 4, (5, 1)).astype("float64") + 1
    mean, variance = tf.nn.weighted_moments(x, [1], weights)
    due = np.average(x, 1, np.broadcast_to(weights, x.shape))
    np.testing.assert_allclose(mean.numpy(), due)
    square = np.average((x - due[:, None]) ** 2, 1, np.broadcast_to(weights, x.shape))
    np.testing.assert_allclose(variance.numpy(), square)
    assert tf.nn.weighted_moments(tf.ones([2, 2], tf.float16), None, 1.0)[0].dtype == tf.float16


def test_channels_are_normalised_by_those_around_them() -> None:
    x = RNG.normal(size=(2, 3, 3, 7)).astype("float32")
    got = tf.nn.lrn(x, 2, 1.5, 0.3, 0.75).numpy()
    for c in range(7):
        total = (x[..., max(c - 2, 0) : c + 3] ** 2).sum(-1)
        np.testing.assert_allclose(got[..., c], x[..., c] / (1.5 + 0.3 * total) ** 0.75, rtol=2e-6)


def test_losses_of_counts_and_means_of_losses() -> None:
    z, c = np.array([0.0, 1.0, 3.0]), np.array([0.5, -1.0, 2.0])
    plain = np.exp(c) - z * c
    np.testing.assert_allclose(tf.nn.log_poisson_loss(z, c).numpy(), plain)
    stirling = 3 * np.log(3) - 3 + 0.5 * np.log(2 * np.pi * 3)
    np.testing.assert_allclose(tf.nn.log_poisson_loss(z, c, True).numpy(), plain + np.array([0, 0, stirling]))
    losses = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert float(tf.nn.compute_average_loss(losses, [1.0, 0.5])) == (3 + 3.5) / 2


@pytest.mark.parametrize("decreasing", [False, True])
def test_isotonic_regression_is_that_of_scikit_learn(decreasing: bool) -> None:
    from sklearn.isotonic import isotonic_regression

    x = np.concatenate([RNG.normal(size=(5, 9)), RNG.integers(0, 3, (5, 9)), np.zeros((1, 9))])
    got, blocks = tf.nn.isotonic_regression(x, decreasing)
    due = np.stack([isotonic_regression(row, increasing=not decreasing) for row in x])
    np.testing.assert_allclose(got.numpy(), due, atol=1e-12)
    same = np.diff(got.numpy()) == 0
    assert np.array_equal(np.diff(blocks.numpy()) == 0, same)
    across, _ = tf.nn.isotonic_regression(x.T, decreasing, axis=0)
    np.testing.assert_allclose(across.numpy().T, due, atol=1e-12)


def test_dropout_of_a_seed_is_the_same_each_time() -> None:
    x = tf.ones([1000])
    once, again = (tf.nn.experimental.stateless_dropout(x, 0.25, [3, 4]) for _ in range(2))
    assert np.array_equal(once, again)
    assert set(np.unique(once.numpy())) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(float(tf.reduce_mean(once)) - 1) < 0.1
    with pytest.raises(ValueError, match=r"argument 'rate' must be in \[0, 1\)"):
        tf.nn.experimental.stateless_dropout(x, 1.0, [1, 2])
