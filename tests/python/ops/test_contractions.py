"""Sums of products of several operands, in whatever order they are contracted."""

import itertools
import math

import numpy as np
import pytest

import penstock as tf
from penstock._ops.contraction_order import ORDERS, contraction_order

EQUATIONS = [
    "ij,jk,kl->il",
    "ij,jk,kl,lm->im",
    "i,i,i->i",
    "i,j,k->kij",
    "ab,bc,ca->",
    "abc,bd,cd,de->ae",
    "ij,ik,il->jkl",
    "bij,bjk,bkl->bil",
    "ii,ij,jj->i",
    "ab,cd,ef,ace->bdf",
    "ab,bc,cd,de,ef,fa->",
    "...ij,jk,...k->...i",
    "ij,jk,kl",
]


def operands(equation, seed=0):
    random = np.random.default_rng(seed)
    sizes = {label: int(random.integers(1, 5)) for label in sorted(set(equation) - set(",->."))}
    terms = equation.partition("->")[0].split(",")
    return [
        random.normal(size=(2,) * ("..." in t) + tuple(sizes[c] for c in t if c.isalpha())) for t in terms
    ]


@pytest.mark.parametrize("optimize", ORDERS)
@pytest.mark.parametrize("equation", EQUATIONS)
def test_every_order_gives_the_sum_that_numpy_gives(equation, optimize):
    values = operands(equation)
    expected = np.einsum(equation, *values)
    np.testing.assert_allclose(tf.einsum(equation, *values, optimize=optimize), expected, rtol=1e-12)
    traced = tf.function(lambda *xs: tf.einsum(equation, *xs, optimize=optimize))
    np.testing.assert_allclose(traced(*map(tf.constant, values)), expected, rtol=1e-12)


def cost(terms, output, sizes, order):
    """The multiplications that an order takes."""
    terms, total = [set(term) for term in terms], 0
    for i, j in order:
        b, a = terms.pop(j), terms.pop(i)
        total += math.prod(sizes[label] for label in a | b)
        terms.append((a | b) & set(output).union(*terms))
    return total


def orders(count):
    """Every order in which so many terms can be contracted."""
    if count == 1:
        yield []
    else:
        for pair in itertools.combinations(range(count), 2):
            yield from ([pair, *rest] for rest in orders(count - 1))


def test_the_optimal_order_costs_least():
    random = np.random.default_rng(1)
    for _ in range(40):
        labels = "abcdef"
        sizes = {label: int(random.integers(1, 9)) for label in labels}
        terms = ["".join(random.choice([*labels], random.integers(1, 4), replace=False)) for _ in range(4)]
        output = sorted(set("".join(terms)))[: random.integers(0, 3)]
        found = cost(terms, output, sizes, contraction_order(terms, output, sizes, "optimal"))
        assert found == min(cost(terms, output, sizes, order) for order in orders(4))


def test_a_chain_that_ends_in_a_vector_is_contracted_from_there():
    sizes = dict.fromkeys("ijkl", 50)
    for optimize in ORDERS:
        assert contraction_order(["ij", "jk", "kl", "l"], "i", sizes, optimize) == [(2, 3), (1, 2), (0, 1)]


def test_many_operands_are_ordered_greedily_in_little_time():
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    equation = ",".join(map("".join, itertools.pairwise(letters))) + "->aZ"
    values = operands(equation)
    expected = np.linalg.multi_dot(values)
    np.testing.assert_allclose(tf.einsum(equation, *values), expected, rtol=1e-10)


def test_sizes_that_are_not_known_have_no_say():
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64)] * 3)
    def product(a, b, c):
        return tf.einsum("ij,jk,kl->il", a, b, c, optimize="optimal")

    a, b, c = operands("ij,jk,kl")
    np.testing.assert_allclose(product(a, b, c), a @ b @ c, rtol=1e-12)


def test_gradients_flow_to_every_operand():
    a, b, c = map(tf.constant, operands("ij,jk,k"))
    with tf.GradientTape() as tape:
        tape.watch([a, b, c])
        y = tf.einsum("ij,jk,k->", a, b, c)
    da, db, dc = tape.gradient(y, [a, b, c])
    np.testing.assert_allclose(da, np.outer(np.ones(a.shape[0]), b @ c[:, None]), rtol=1e-12)
    np.testing.assert_allclose(db, np.outer(tf.reduce_sum(a, 0), c), rtol=1e-12)
    np.testing.assert_allclose(dc, tf.reduce_sum(a @ b, 0), rtol=1e-12)


@pytest.mark.parametrize("equation", ["ij,jk->ik", "jk,ij->ik", "bjk,bij->bik", "aecd,acbd->acbe"])
def test_a_product_is_made_in_the_order_of_the_result(equation):
    left, right = (tf.constant(x) for x in operands(equation))
    traced = tf.function(lambda a, b: tf.einsum(equation, a, b)).get_concrete_function(left, right)
    ops = [op for _, op, _ in traced.graph._nodes()]
    assert "Transpose" not in ops[ops.index("MatMul") :]
    np.testing.assert_allclose(traced(left, right), np.einsum(equation, left, right))


def test_an_order_that_there_is_not_is_an_error():
    with pytest.raises(ValueError, match="argument 'optimize' must be one of greedy, optimal"):
        tf.einsum("i->i", [1.0], optimize="fast")
