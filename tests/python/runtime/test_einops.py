"""einops works on tensors, eagerly and traced, whichever of both packages is imported first."""

from __future__ import annotations

import einops
import einops.array_api
import numpy as np
import pytest
from support import run_python

import penstock as tf

ARRAY = np.arange(2 * 4 * 6, dtype="float32").reshape(2, 4, 6)

CASES = {
    "transpose": lambda e, x: e.rearrange(x, "a b c -> c a b"),
    "flatten": lambda e, x: e.rearrange(x, "a b c -> a (b c)"),
    "blocks": lambda e, x: e.rearrange(x, "a (b s) (c t) -> a b c (s t)", s=2, t=3),
    "ellipsis": lambda e, x: e.rearrange(x, "... c -> c ..."),
    "new axis": lambda e, x: e.rearrange(x, "a b c -> a 1 b c"),
    "sum": lambda e, x: e.reduce(x, "a b c -> a c", "sum"),
    "mean": lambda e, x: e.reduce(x, "a b c -> b", "mean"),
    "pooling": lambda e, x: e.reduce(x, "a (b s) c -> a b c", "max", s=2),
    "min": lambda e, x: e.reduce(x, "a b c -> ()", "min"),
    "prod": lambda e, x: e.reduce(x, "a b c -> a", "prod"),
    "repeat": lambda e, x: e.repeat(x, "a b c -> a (b r) c q", r=2, q=3),
    "einsum": lambda e, x: e.einsum(x, x, "a b c, a d c -> a b d"),
}


@pytest.mark.parametrize("name", CASES)
def test_einops_agrees_with_itself_on_numpy(name):
    apply, expected = CASES[name], CASES[name](einops, ARRAY)
    got = [apply(einops, tf.constant(ARRAY)), tf.function(lambda x: apply(einops, x))(tf.constant(ARRAY))]
    if name != "einsum":
        got.append(apply(einops.array_api, tf.constant(ARRAY)))
    for tensor in got:
        assert isinstance(tensor, tf.Tensor)
        np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in CASES if n != "ellipsis"])
def test_unknown_sizes_stay_unknown(name):
    @tf.function(input_signature=[tf.TensorSpec([None, None, 6], tf.float32)])
    def f(x):
        return CASES[name](einops, x)

    np.testing.assert_allclose(f(tf.constant(ARRAY)).numpy(), CASES[name](einops, ARRAY), rtol=1e-6)


def test_lists_packs_and_variables():
    x = tf.Variable(ARRAY)
    assert einops.rearrange(x, "a b c -> b a c").shape == (4, 2, 6)
    assert einops.rearrange([x[0], x[1]], "b h w -> h b w").shape == (4, 2, 6)
    packed, shapes = einops.pack([tf.zeros([2, 3]), tf.zeros([2, 4, 5])], "a *")
    assert packed.shape == (2, 23)
    assert [part.shape for part in einops.unpack(packed, shapes, "a *")] == [(2, 3), (2, 4, 5)]
    assert einops.parse_shape(tf.zeros([2, 3]), "a b") == {"a": 2, "b": 3}
    assert einops.asnumpy(tf.constant([1, 2])).tolist() == [1, 2]


def test_gradients_go_through():
    x = tf.constant(ARRAY)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = einops.reduce(x, "a b c -> c", "sum")
    assert np.all(tape.gradient(y, x).numpy() == 1)


@pytest.mark.parametrize("order", [("einops", "penstock"), ("penstock", "einops")])
def test_the_order_of_imports_does_not_matter(order):
    code = (
        f"import {order[0]}, {order[1]}\nprint(einops.rearrange(penstock.zeros([2, 3]), 'a b -> b a').shape)"
    )
    assert run_python(code).stdout.strip() == "(3, 2)"


def test_errors_are_those_of_einops():
    with pytest.raises(einops.EinopsError, match=r"Input tensor shape: \(2, 4, 6\)"):
        einops.rearrange(tf.constant(ARRAY), "a b -> b a")
