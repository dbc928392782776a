"""Public functions on grids of dtype, shape and arguments, against NumPy or a model: what the grids of single
operators and those of the array API namespace do not reach."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra import numpy as npst
from support.strategies import filled, shapes, tensor

import penstock as tf

SOME = settings(max_examples=30, deadline=None)
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def equal(got: tf.Tensor, expected: Any) -> None:
    found, expected = np.asarray(got.numpy()), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def close(got: tf.Tensor, expected: Any, limit: float = 1e-10) -> None:
    np.testing.assert_allclose(np.asarray(got.numpy()), expected, rtol=limit, atol=limit)


# --- casts ---


@pytest.mark.parametrize(
    ("source", "target"), list(itertools.product(["bool", *INTEGERS, *FLOATS, *COMPLEX], repeat=2))
)
def test_casts_are_numpys_where_the_value_fits(source: str, target: str) -> None:
    values = np.array([0, 1, 2, 7, 100]) if source != "bool" else np.array([0, 1])
    if source in FLOATS + COMPLEX:
        values = np.array([0.0, -0.0, 1.0, 2.5, 7.75, 100.0])
    x = values.astype(dtype_of(source))
    narrow = x.real if source in COMPLEX and target not in [*COMPLEX, "bool"] else x
    want = narrow.astype(dtype_of(target))
    got = tf.cast(tf.constant(x), target)
    assert got.dtype.name == target
    np.testing.assert_array_equal(got.numpy(), want)
    np.testing.assert_array_equal(tf.function(lambda t: tf.cast(t, target))(tf.constant(x)).numpy(), want)


@SOME
@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.data())
def test_casts_of_integers_keep_the_low_bits(source: str, target: str, data: st.DataObject) -> None:
    x = data.draw(npst.arrays(source, 5))
    equal(tf.cast(x, target), x.astype(target))
    info = np.iinfo(target)
    clipped = [min(max(int(v), info.min), info.max) for v in x]
    equal(tf.saturate_cast(tf.constant(x), target), np.array(clipped, target))


@SOME
@given(
    npst.arrays("float64", 6, elements=st.floats(width=64)),
    st.sampled_from(["float16", "bfloat16", "float32"]),
)
def test_casts_of_floats_round_to_the_nearest(x: np.ndarray, target: str) -> None:
    with np.errstate(all="ignore"):
        want = x.astype(dtype_of(target))
    got = tf.cast(x, target).numpy()
    np.testing.assert_array_equal(np.isnan(got.astype("float64")), np.isnan(x))
    np.testing.assert_array_equal(got[~np.isnan(x)], want[~np.isnan(x)])
    equal(tf.cast(x, "bool"), x.astype(bool))


# --- keys ---


@st.composite
def keys(draw: Any, shape: tuple[int, ...]) -> Any:
    """What may stand in brackets behind an array of a shape."""
    parts: list[Any] = []
    used = draw(st.integers(0, len(shape)))
    hole = draw(st.integers(0, used)) if draw(st.booleans()) else None
    dims = list(range(used)) if hole is None else [*range(hole), *range(len(shape) - used + hole, len(shape))]
    for at, d in enumerate(dims):
        if at == hole:
            parts.append(...)
        n = shape[d]
        kind = draw(st.sampled_from(["slice", "slice", "index", "new"]))
        if kind == "index" and n:
            parts.append(draw(st.integers(-n, n - 1)))
            continue
        if kind == "new":
            parts.append(None)
        bound = st.none() | st.integers(-n - 2, n + 2)
        parts.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, 3, -1, -2]))))
    if hole is not None and hole >= len(dims):
        parts.append(...)
    return tuple(parts)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_keys_mean_what_they_do_to_arrays(data: st.DataObject) -> None:
    x = data.draw(filled(shapes()))
    key = data.draw(keys(x.shape))
    want = x[key]
    t = tensor(x)
    equal(t[key], want)
    equal(tf.function(lambda a: a[key])(t), want)
    spec = tf.TensorSpec([None] * x.ndim, t.dtype)
    equal(tf.function(lambda a: a[key], input_signature=[spec])(t), want)
    scalars = tuple(tf.constant(k) if isinstance(k, int) else k for k in key)
    equal(t[scalars], want)


@SOME
@given(st.data())
def test_masks_choose(data: st.DataObject) -> None:
    x = data.draw(filled(shapes(1)))
    axis = data.draw(st.integers(0, x.ndim - 1))
    depth = data.draw(st.integers(1, x.ndim - axis))
    mask = data.draw(npst.arrays(bool, x.shape[axis : axis + depth]))
    want = x[(slice(None),) * axis + (mask,)]
    equal(tf.boolean_mask(tensor(x), mask, axis=axis), want)
    if axis == 0:
        equal(tensor(x)[tf.constant(mask)], want)
    positions = tf.where(mask).numpy()
    np.testing.assert_array_equal(positions, np.argwhere(mask))


@SOME
@given(npst.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3), st.data())
def test_choices_broadcast(found: Any, data: st.DataObject) -> None:
    condition = data.draw(npst.arrays(bool, found.input_shapes[0]))
    x = data.draw(filled(found.input_shapes[1]))
    y = data.draw(filled(found.input_shapes[2], [x.dtype]))
    equal(tf.where(condition, tensor(x), tensor(y)), np.where(condition, x, y))


# --- padding and moving ---


@SOME
@given(st.data())
def test_padding_mirrors(data: st.DataObject) -> None:
    x = data.draw(filled(shapes(1, 3, side=1)))
    for mode, less in (("REFLECT", 1), ("SYMMETRIC", 0)):
        amounts = [[data.draw(st.integers(0, n - less)) for _ in range(2)] for n in x.shape]
        want = np.pad(x, amounts, mode.lower())
        equal(tf.pad(tensor(x), amounts, mode), want)
        equal(tf.function(lambda t, mode=mode, amounts=amounts: tf.pad(t, amounts, mode))(tensor(x)), want)
        wide = [[n - less + 1, 0] for n in x.shape]
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.pad(tensor(x), wide, mode)


@SOME
@given(st.data())
def test_rolls_and_repeats(data: st.DataObject) -> None:
    x = data.draw(filled(shapes(1)))
    axes = data.draw(st.lists(st.integers(0, x.ndim - 1), min_size=1, max_size=3))
    by = [data.draw(st.integers(-7, 7)) for _ in axes]
    equal(tf.roll(tensor(x), by, axes), np.roll(x, by, axes))
    unranked, ints = tf.TensorSpec(None, x.dtype), tf.TensorSpec([None], tf.int32)
    rolled = tf.function(lambda t: tf.roll(t, by, axes), input_signature=[unranked])
    equal(rolled(tensor(x)), np.roll(x, by, axes))
    rolled = tf.function(tf.roll, input_signature=[unranked, ints, ints])
    equal(rolled(tensor(x), by, [a - x.ndim if a % 2 else a for a in axes]), np.roll(x, by, axes))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    times = data.draw(npst.arrays("int32", x.shape[axis], elements=st.integers(0, 3)))
    equal(tf.repeat(tensor(x), times, axis=axis), np.repeat(x, times, axis))
    equal(tf.repeat(tensor(x), 2), np.repeat(x, 2))


@SOME
@given(st.lists(st.integers(0, 4), max_size=5), st.integers(0, 5), st.data())
def test_numbers_become_rows(lengths: list[int], width: int, data: st.DataObject) -> None:
    given_ = np.array(lengths, "int32")
    equal(tf.sequence_mask(given_, width), np.arange(width) < given_[:, None])
    at = data.draw(npst.arrays("int32", data.draw(shapes(0, 2)), elements=st.integers(-1, 4)))
    axis = data.draw(st.integers(-1, at.ndim))
    hot = np.moveaxis(at[..., None] == np.arange(width), -1, axis)
    equal(tf.one_hot(at, width, 5, -1, axis, "int32"), np.where(hot, 5, -1))
    equal(
        tf.math.bincount(np.abs(at).reshape(-1), minlength=width),
        np.bincount(np.abs(at).reshape(-1), minlength=width),
    )


@SOME
@given(st.data())
def test_partitions_and_stitches_undo_each_other(data: st.DataObject) -> None:
    x = data.draw(filled(shapes(1, 3)))
    which = data.draw(npst.arrays("int32", x.shape[:1], elements=st.integers(0, 2)))
    parts = tf.dynamic_partition(tensor(x), which, 3)
    for i, part in enumerate(parts):
        equal(part, x[which == i])
    assume(len(x))
    where = tf.dynamic_partition(tf.range(len(x)), which, 3)
    equal(tf.dynamic_stitch(where, parts), x)


# --- sums of products ---


@st.composite
def equations(draw: Any) -> tuple[str, list[np.ndarray]]:
    """An equation of up to three operands, each letter once in an operand or twice, and its operands."""
    side = {letter: draw(st.integers(1, 3)) for letter in "abcd"}
    terms = [
        "".join(draw(st.lists(st.sampled_from("abcd"), max_size=3))) for _ in range(draw(st.integers(1, 3)))
    ]
    letters = sorted(set("".join(terms)))
    out = "".join(draw(st.permutations(letters))[: draw(st.integers(0, len(letters)))])
    equation = ",".join(terms) + (f"->{out}" if draw(st.booleans()) else "")
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return equation, [rng.integers(-4, 5, [side[c] for c in term]).astype("float64") for term in terms]


@settings(max_examples=60, deadline=None)
@given(equations())
def test_einsum_is_numpys(case: Any) -> None:
    equation, operands = case
    close(tf.einsum(equation, *operands), np.einsum(equation, *operands))


@SOME
@given(st.data())
def test_tensordot_is_numpys(data: st.DataObject) -> None:
    shared = data.draw(st.lists(st.integers(1, 3), max_size=2))
    left, right = (data.draw(st.lists(st.integers(0, 3), max_size=2)) for _ in range(2))
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=[*left, *shared]), rng.normal(size=[*shared, *right])
    close(tf.tensordot(a, b, len(shared)), np.tensordot(a, b, len(shared)))
    order = data.draw(st.permutations(range(len(shared))))
    axes = [[len(left) + i for i in order], list(order)]
    close(tf.tensordot(a, b, axes), np.tensordot(a, b, axes))


@SOME
@given(st.data())
def test_products_of_batches(data: st.DataObject) -> None:
    m, k, n = (data.draw(st.integers(0, 4)) for _ in range(3))
    found = data.draw(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    rng = np.random.default_rng(0)
    dtype = data.draw(st.sampled_from(["int32", "float64", "complex128"]))
    a, b = (
        rng.integers(-5, 6, (*s, *t)).astype(dtype)
        for s, t in zip(found.input_shapes, ((m, k), (k, n)), strict=True)
    )
    want = np.matmul(a, b)
    close(tf.matmul(a, b), want)
    turned = [np.swapaxes(x, -1, -2) for x in (a, b)]
    close(tf.matmul(turned[0], turned[1], transpose_a=True, transpose_b=True), want)
    close(tf.matmul(np.conj(turned[0]), b, adjoint_a=True), want)
    vectors = b[..., 0] if n else None
    if vectors is not None:
        close(tf.linalg.matvec(a, vectors), np.matmul(a, vectors[..., None])[..., 0])


@SOME
@given(st.data())
def test_products_of_bytes_in_32_bits(data: st.DataObject) -> None:
    m, k, n = (data.draw(st.integers(0, 40)) for _ in range(3))
    found = data.draw(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    rng = np.random.default_rng(m)
    a, b = (
        rng.integers(0, 256, (*s, *t), "uint8").view(data.draw(st.sampled_from(["int8", "uint8"])))
        for s, t in zip(found.input_shapes, ((m, k), (k, n)), strict=True)
    )
    want = np.matmul(a.astype("int32"), b.astype("int32"))
    got = tf.matmul(a, b, output_type=tf.int32)
    assert got.dtype == tf.int32
    np.testing.assert_array_equal(got, want)
    turned = [np.swapaxes(x, -1, -2) for x in (a, b)]
    np.testing.assert_array_equal(tf.matmul(turned[0], b, transpose_a=True, output_type=tf.int32), want)
    np.testing.assert_array_equal(tf.matmul(a, turned[1], adjoint_b=True, output_type=tf.int32), want)
    traced = tf.function(lambda x, y: tf.matmul(x, y, output_type="int32"))
    np.testing.assert_array_equal(traced(a, b), want)


# --- segments ---

FOLDS = {
    "sum": (np.sum, 0.0),
    "prod": (np.prod, 1.0),
    "max": (np.max, -np.inf),
    "min": (np.min, np.inf),
    "mean": (np.mean, 0.0),
}


@pytest.mark.parametrize("kind", FOLDS)
@SOME
@given(st.data())
def test_segments_in_any_order(kind: str, data: st.DataObject) -> None:
    fold, nothing = FOLDS[kind]
    ids = data.draw(npst.arrays("int32", st.integers(0, 6), elements=st.integers(-1, 3)))
    x = np.random.default_rng(0).normal(size=(len(ids), data.draw(st.integers(0, 2))))
    want = np.stack(
        [fold(x[ids == i], axis=0) if (ids == i).any() else np.full(x.shape[1], nothing) for i in range(4)]
    )
    limits = np.finfo("float64")
    want = np.clip(want, limits.min, limits.max)
    close(getattr(tf.math, f"unsorted_segment_{kind}")(x, ids, 4), want)
    if len(ids) and (ids >= 0).all():
        order = np.sort(ids)
        want = np.stack(
            [
                fold(x[order == i], axis=0)
                if (order == i).any()
                else np.full(x.shape[1], 1.0 if kind == "prod" else 0.0)
                for i in range(order[-1] + 1)
            ]
        )
        close(getattr(tf.math, f"segment_{kind}")(x, order), want)


# --- rows of scores ---


@SOME
@given(st.data())
def test_scores_become_probabilities(data: st.DataObject) -> None:
    shape = data.draw(shapes(1, 3, side=1))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = data.draw(npst.arrays("float64", shape, elements=st.floats(-700, 700)))
    shifted = x - x.max(axis, keepdims=True)
    e = np.exp(shifted)
    close(tf.nn.softmax(x, axis), e / e.sum(axis, keepdims=True))
    close(tf.nn.log_softmax(x, axis), shifted - np.log(e.sum(axis, keepdims=True)))
    close(tf.reduce_logsumexp(x, axis), np.log(e.sum(axis)) + x.max(axis))
    mean, variance = tf.nn.moments(x, [axis])
    close(mean, x.mean(axis), 1e-9)
    close(variance, x.var(axis), 1e-9)


@SOME
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 99))
def test_losses_are_their_definitions(rows: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(rows, classes)) * 30
    labels = rng.dirichlet(np.ones(classes), rows)
    log = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    close(tf.nn.softmax_cross_entropy_with_logits(labels, logits), -(labels * log).sum(1))
    at = rng.integers(0, classes, rows)
    close(tf.nn.sparse_softmax_cross_entropy_with_logits(at, logits), -log[np.arange(rows), at])
    z = rng.uniform(size=logits.shape)
    want = np.maximum(logits, 0) - logits * z + np.log1p(np.exp(-np.abs(logits)))
    close(tf.nn.sigmoid_cross_entropy_with_logits(z, logits), want)
    weight = 2.5
    both = -z * weight * -np.logaddexp(0, -logits) - (1 - z) * -np.logaddexp(0, logits)
    close(tf.nn.weighted_cross_entropy_with_logits(z, logits, weight), both)


# --- bad arguments ---

X = np.arange(6.0).reshape(2, 3)
INVALID = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        # elementwise
        (lambda: tf.add(X, np.ones((2, 2))), INVALID, "broadcast|shape|Incompatible"),
        (lambda: tf.constant(1) + tf.constant(1.0), TypeError, "int32|float32"),
        (lambda: tf.sin(tf.constant(1)), TypeError, "int32"),
        (lambda: tf.cast(X, "no dtype"), TypeError, "no dtype"),
        (lambda: tf.logical_and(1, 2), TypeError, "bool|int32"),
        (lambda: tf.bitwise.bitwise_and(1.0, 2.0), TypeError, "float32"),
        (lambda: tf.math.floordiv(1, 0), INVALID, "zero|0"),
        (lambda: tf.clip_by_value(X, 1.0, np.ones(4)), INVALID, "broadcast|shape|Incompatible"),
        # reductions and scans
        (lambda: tf.reduce_sum(X, axis=2), INVALID, "axis|axes"),
        (lambda: tf.reduce_sum(X, axis=[0, 0]), INVALID, "axis|axes"),
        (lambda: tf.argmax(X, axis=5), INVALID, "axis"),
        (lambda: tf.cumsum(X, axis=-3), INVALID, "axis"),
        # shapes
        (lambda: tf.reshape(X, [4]), INVALID, "reshape|shape"),
        (lambda: tf.reshape(X, [-1, -1]), INVALID, "shape|-1"),
        (lambda: tf.transpose(X, [0, 0]), (INVALID, ValueError), "perm"),
        (lambda: tf.expand_dims(X, 4), INVALID, "axis"),
        (lambda: tf.squeeze(X, 0), INVALID, "axis|axes|squeeze"),
        (lambda: tf.concat([X, np.ones((3, 3))], 1), INVALID, "values|concat|shape"),
        (lambda: tf.stack([X, np.ones(3)]), (INVALID, ValueError), "values|stack|shape"),
        (lambda: tf.split(X, 2, axis=1), (INVALID, ValueError), "num|split"),
        (lambda: tf.broadcast_to(X, [2, 2]), INVALID, "shape|broadcast"),
        (lambda: tf.tile(X, [1]), INVALID, "multiples"),
        (lambda: tf.pad(X, [[0, 0]]), INVALID, "paddings"),
        (lambda: tf.pad(X, [[-1, 0], [0, 0]]), INVALID, "paddings"),
        (lambda: tf.ensure_shape(X, [3, 2]), (INVALID, ValueError), "shape"),
        # slices, gathers, scatters
        (lambda: tf.slice(X, [0, 2], [1, 2]), INVALID, "size|begin|slice"),
        (lambda: tf.constant(X)[2], (INVALID, IndexError), "2|index|bounds"),
        (lambda: tf.gather(X, [0], axis=3), (INVALID, ValueError), "axis"),
        (lambda: tf.gather(X, [0.5]), TypeError, "indices|float32"),
        (lambda: tf.gather_nd(X, [[0, 0, 0]]), INVALID, "indices"),
        (lambda: tf.scatter_nd([[2]], [1.0], [1]), INVALID, "indices|index"),
        (lambda: tf.boolean_mask(X, [True, False, True]), (INVALID, ValueError), "mask|shape"),
        (lambda: tf.one_hot([0], -1), (INVALID, ValueError), "depth"),
        # products
        (lambda: tf.matmul(X, X), INVALID, "matrix|matmul|shape|sizes"),
        (lambda: tf.einsum("ij,jk", X), ValueError, "equation|operand|input"),
        (lambda: tf.einsum("ij,kj->z", X, X), ValueError, "z"),
        (lambda: tf.tensordot(X, X, 1), (INVALID, ValueError), "axes|shape|sizes|Matrix"),
        # nets
        (lambda: tf.nn.conv2d(X, X, 1, "SAME"), (INVALID, ValueError), "input|rank"),
        (
            lambda: tf.nn.max_pool2d(np.ones((1, 2, 2, 1)), 2, 1, "ALMOST"),
            (INVALID, ValueError),
            "padding|ALMOST",
        ),
        (
            lambda: tf.nn.softmax_cross_entropy_with_logits(X, np.ones((2, 2))),
            (INVALID, ValueError),
            "labels|logits|shape",
        ),
        (lambda: tf.nn.sparse_softmax_cross_entropy_with_logits([0, 9], X), INVALID, "labels|9"),
        (lambda: tf.nn.dropout(X, 1.5), ValueError, "rate"),
        # random
        (lambda: tf.random.stateless_uniform([2], [1]), (INVALID, ValueError), "seed"),
        (lambda: tf.random.uniform([-1]), (INVALID, ValueError), "shape|negative"),
        # strings
        (lambda: tf.strings.substr("abc", 5, 1), INVALID, "pos"),
        (lambda: tf.strings.regex_replace("a", "(", ""), INVALID, "pattern|regex"),
        (lambda: tf.strings.to_number("x"), INVALID, "x"),
        (lambda: tf.strings.lower(1), TypeError, "string|int32"),
    ],
)
def test_bad_arguments_raise_tensorflows_class_and_are_named(call: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        call()
