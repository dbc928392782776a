"""The applications on JAX."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from cases import Work, Works
from families import applications as app


def objective(x: Any, y: Any, w: Any) -> tuple[Any, Any]:
    margins = y * (x @ w)
    value = jnp.mean(jax.nn.softplus(-margins)) + 0.5 * app.LBFGS_PENALTY * jnp.sum(w * w)
    pull = -y * jax.nn.sigmoid(-margins) / app.LBFGS_ROWS
    return value, x.T @ pull + app.LBFGS_PENALTY * w


def lbfgs(x: Any, y: Any, w: Any) -> Any:
    pairs = app.LBFGS_PAIRS

    def direction_of(gradient: Any, steps: Any, changes: Any, curvatures: Any, scale: Any) -> Any:
        def first(k: Any, state: Any) -> Any:
            direction, alphas = state
            i = pairs - 1 - k
            alpha = curvatures[i] * jnp.sum(steps[i] * direction)
            return direction - alpha * changes[i], alphas.at[i].set(alpha)

        def second(i: Any, direction: Any) -> Any:
            beta = curvatures[i] * jnp.sum(changes[i] * direction)
            return direction + steps[i] * (alphas[i] - beta)

        direction, alphas = lax.fori_loop(0, pairs, first, (gradient, jnp.zeros(pairs)))
        return lax.fori_loop(0, pairs, second, direction * scale)

    def body(_: Any, state: Any) -> Any:
        w, value, gradient, steps, changes, curvatures, scale = state
        direction = direction_of(gradient, steps, changes, curvatures, scale)
        slope = jnp.sum(gradient * direction)

        def halve(found: Any) -> Any:
            rate = 0.5 * found[0]
            return rate, *objective(x, y, w - rate * direction)

        rate, ahead, gradient_ahead = lax.while_loop(
            lambda found: (found[1] > value - 1e-4 * found[0] * slope) & (found[0] > 1e-4),
            halve,
            (1.0, *objective(x, y, w - direction)),
        )
        step, change = -rate * direction, gradient_ahead - gradient
        product = jnp.sum(step * change)
        kept = lax.cond(
            product > 1e-10,
            lambda: (
                jnp.concatenate([steps[1:], step[None]]),
                jnp.concatenate([changes[1:], change[None]]),
                jnp.concatenate([curvatures[1:], 1.0 / product[None]]),
                product / jnp.sum(change * change),
            ),
            lambda: (steps, changes, curvatures, scale),
        )
        return w + step, ahead, gradient_ahead, *kept

    history = jnp.zeros((pairs, app.LBFGS_COLUMNS))
    start = (w, *objective(x, y, w), history, history, jnp.zeros(pairs), jnp.float32(1))
    return lax.fori_loop(0, app.LBFGS_STEPS, body, start)[:2]


def maml(x: Any, y: Any, x_test: Any, y_test: Any, *parameters: Any) -> Any:
    def loss(parameters: Any, x: Any, y: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        hidden = jax.nn.relu(jax.nn.relu(x @ w1 + b1) @ w2 + b2)
        return jnp.mean(jnp.square(hidden @ w3 + b3 - y))

    def total(parameters: Any) -> Any:
        def one(sum_: Any, task: Any) -> Any:
            x, y, x_test, y_test = task
            gradients = jax.grad(loss)(parameters, x, y)
            adapted = [p - app.INNER_RATE * g for p, g in zip(parameters, gradients, strict=True)]
            return sum_ + loss(adapted, x_test, y_test), None

        return lax.scan(one, jnp.float32(0), (x, y, x_test, y_test))[0]

    return jax.grad(total)(parameters)


def beam_search(words: Any, w: Any, out: Any) -> Any:
    beams, vocabulary = app.SEARCH_BEAMS, app.SEARCH_WORDS
    ended = jnp.full((beams, vocabulary), -1e9).at[:, 0].set(0.0)

    def body(found: Any) -> Any:
        i, state, score, word, done, history = found
        state = jnp.tanh(state @ w + words[word])
        rates = jnp.where(done[:, None], ended, jax.nn.log_softmax(state @ out))
        score, best = lax.top_k(jnp.reshape(score[:, None] + rates, -1), beams)
        parent, word = best // vocabulary, best % vocabulary
        done = done[parent] | (word == 0)
        history = history[:, parent].at[i].set(word)
        return i + 1, state[parent], score, word, done, history

    start = (
        jnp.int32(0),
        jnp.zeros((beams, app.SEARCH_WIDTH)),
        jnp.full(beams, -1e9).at[0].set(0.0),
        jnp.ones(beams, jnp.int32),
        jnp.zeros(beams, bool),
        jnp.zeros((app.SEARCH_STEPS, beams), jnp.int32),
    )
    i, _, score, _, _, history = lax.while_loop(
        lambda found: (found[0] < app.SEARCH_STEPS) & ~jnp.all(found[4]), body, start
    )
    return score, history, i


def sequence(words: Any, lengths: Any, embedding: Any, cell: Any, bias: Any, out: Any) -> Any:
    def loss_of(weights: Any) -> Any:
        cell, bias, out = weights

        def body(state: Any, t: Any) -> Any:
            h, c, total = state
            gates = jnp.concatenate([embedding[words[:, t]], h], 1) @ cell + bias
            i, j, f, o = jnp.split(gates, 4, axis=1)
            c_next = jax.nn.sigmoid(f + 1.0) * c + jax.nn.sigmoid(i) * jnp.tanh(j)
            h_next = jax.nn.sigmoid(o) * jnp.tanh(c_next)
            live = (t < lengths)[:, None]
            h, c = jnp.where(live, h_next, h), jnp.where(live, c_next, c)
            picked = jnp.take_along_axis(jax.nn.log_softmax(h @ out), words[:, t + 1, None], axis=1)
            return (h, c, total - jnp.sum(jnp.where(live, picked, 0.0))), None

        zero = jnp.zeros((app.SEQUENCE_BATCH, app.SEQUENCE_WIDTH))
        # Reverse mode needs a number of rounds that is known: all of them.
        (_, _, total), _ = lax.scan(body, (zero, zero, jnp.float32(0)), jnp.arange(app.SEQUENCE_TIME))
        return total / jnp.sum(lengths)

    return jax.value_and_grad(loss_of)([cell, bias, out])


def tree_lstm(left: Any, right: Any, vectors: Any, weights: Any, bias: Any) -> Any:
    nodes, width = 2 * app.TREE_LEAVES - 1, app.TREE_WIDTH

    def body(node: Any, state: Any) -> Any:
        hs, cs = state

        def inner() -> tuple[Any, Any]:
            both = jnp.concatenate([hs[left[node]], hs[right[node]]])
            i, j, fl, fr, o = jnp.split(both @ weights + bias, 5)
            c = jax.nn.sigmoid(fl + 1.0) * cs[left[node]] + jax.nn.sigmoid(fr + 1.0) * cs[right[node]]
            c = c + jax.nn.sigmoid(i) * jnp.tanh(j)
            return jax.nn.sigmoid(o) * jnp.tanh(c), c

        h, c = lax.cond(left[node] < 0, lambda: (vectors[node], jnp.zeros(width)), inner)
        return hs.at[node].set(h), cs.at[node].set(c)

    hs, cs = lax.fori_loop(0, nodes, body, (jnp.zeros((nodes, width)), jnp.zeros((nodes, width))))
    return hs[-1], cs[-1]


def works() -> Works:
    programs = {
        "lbfgs": (lbfgs, app.lbfgs_inputs),
        "maml": (maml, app.maml_inputs),
        "beam_search": (beam_search, app.beam_search_inputs),
        "sequence": (sequence, app.sequence_inputs),
        "tree_lstm": (tree_lstm, app.tree_inputs),
    }

    def case(program: Any, inputs: Any) -> Any:
        arrays = tuple(jnp.asarray(array) for array in inputs())
        return lambda: Work(jax.jit(program), arrays, wait=jax.block_until_ready)

    return {key: case(*program) for key, program in programs.items()}
