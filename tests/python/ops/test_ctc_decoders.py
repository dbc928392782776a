"""Decoders of connectionist temporal classification, beside TensorFlow's and beside all alignments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import penstock as tf

SCORES = (np.random.default_rng(3).normal(size=(6, 2, 4)).astype(np.float32).round(2)) * 2


def rows(sparse):
    return tf.sparse.to_dense(sparse, default_value=-1).numpy().tolist()


@pytest.mark.parametrize(
    ("options", "due"),
    [
        ({}, [[0, 1, 2, 0, 1], [1, 0, 1, -1, -1]]),
        ({"merge_repeated": False}, [[0, 1, 2, 2, 0, 1], [1, 0, 1, 1, -1, -1]]),
        ({"blank_index": 0}, [[1, 2, 1], [1, 1, -1]]),
        ({"blank_index": -4}, [[1, 2, 1], [1, 1, -1]]),
    ],
)
def test_greedy_decoder_gives_what_tensorflow_gives(options, due):
    for decode in tf.nn.ctc_greedy_decoder, tf.function(tf.nn.ctc_greedy_decoder):
        (labels,), negative = decode(SCORES, [6, 4], **options)
        assert rows(labels) == due
        np.testing.assert_allclose(negative, [[-19.68], [-4.1]], rtol=1e-5)
        assert labels.dtype == tf.int64


def test_beam_search_gives_what_tensorflow_gives():
    for decode in tf.nn.ctc_beam_search_decoder, tf.function(tf.nn.ctc_beam_search_decoder):
        paths, scores = decode(SCORES, [6, 4], beam_width=5, top_paths=3)
        assert [rows(path) for path in paths] == [
            [[0, 1, 2, 1], [0, 1, -1, -1]],
            [[0, 1, 2, 0, 1], [1, -1, -1, -1, -1]],
            [[0, 1, 2, 0], [1, 0, 1, -1]],
        ]
        np.testing.assert_allclose(scores, [[-1.351, -1.726, -1.9101], [-1.2718, -1.622, -2.1505]], atol=1e-4)
    _, scores = tf.nn.ctc_beam_search_decoder(SCORES, [6, 4])
    np.testing.assert_allclose(scores, [[-1.3501], [-1.2166]], atol=1e-4)


def test_a_wide_beam_sums_all_alignments():
    scores = np.random.default_rng(0).normal(size=(4, 1, 3)).astype(np.float32)
    probabilities = np.exp(scores[:, 0]) / np.exp(scores[:, 0]).sum(-1, keepdims=True)
    totals: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(3), repeat=4):
        labels = tuple(k for k, _ in itertools.groupby(path) if k != 2)
        totals[labels] = totals.get(labels, 0) + float(
            np.prod([probabilities[t, k] for t, k in enumerate(path)])
        )
    best = sorted(totals, key=lambda labels: -totals[labels])[:6]
    paths, found = tf.nn.ctc_beam_search_decoder(scores, [4], beam_width=100, top_paths=6)
    assert [tuple(path.values.numpy().tolist()) for path in paths] == best
    np.testing.assert_allclose(np.exp(found.numpy()[0]), [totals[labels] for labels in best], rtol=1e-5)


def test_sequences_may_be_empty():
    (labels,), negative = tf.nn.ctc_greedy_decoder(SCORES, [0, 0])
    assert labels.dense_shape.numpy().tolist() == [2, 0]
    assert negative.numpy().tolist() == [[0.0], [0.0]]
    (labels,), score = tf.nn.ctc_beam_search_decoder(SCORES, [0, 6])
    assert labels.dense_shape.numpy()[0] == 2
    assert score.numpy()[0, 0] == 0.0
    none, _ = tf.nn.ctc_greedy_decoder(np.zeros([3, 0, 4], np.float32), np.zeros([0], np.int32))
    assert none[0].dense_shape.numpy().tolist() == [0, 0]


def test_sizes_may_be_unknown():
    spec = [tf.TensorSpec([None, None, 4]), tf.TensorSpec([None], tf.int32)]

    @tf.function(input_signature=spec)
    def decode(scores, lengths):
        return tf.nn.ctc_beam_search_decoder(scores, lengths, beam_width=5)

    (labels,), _ = decode(SCORES, [6, 4])
    assert rows(labels) == [[0, 1, 2, 1], [0, 1, -1, -1]]


@pytest.mark.parametrize("decode", [tf.nn.ctc_greedy_decoder, tf.nn.ctc_beam_search_decoder])
def test_wrong_arguments_are_named(decode):
    with pytest.raises(ValueError, match="'inputs' must have rank 3"):
        decode(SCORES[0], [6])
    with pytest.raises(TypeError, match="'sequence_length' must be integers"):
        decode(SCORES, [6.0, 4.0])
    with pytest.raises(ValueError, match="'sequence_length'"):
        decode(SCORES, [6])
    with pytest.raises(tf.errors.InvalidArgumentError, match="longer than 'inputs'"):
        decode(SCORES, [7, 4])


def test_paths_fit_the_beam():
    with pytest.raises(ValueError, match="'top_paths'"):
        tf.nn.ctc_beam_search_decoder(SCORES, [6, 4], beam_width=2, top_paths=3)
    with pytest.raises(ValueError, match="'blank_index'"):
        tf.nn.ctc_greedy_decoder(SCORES, [6, 4], blank_index=4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'top_paths'"):
        tf.nn.ctc_beam_search_decoder(SCORES[:, :, :1], [6, 4], beam_width=3, top_paths=2)
