"""JAX, on the CPU."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import cases
from cases import Work, Works

DISTRIBUTION = "jax"
IMPORT = "jax"
COUNT = 1_000_000


def to_numpy(result: Any) -> Any:
    leaves = jax.tree_util.tree_leaves(result)
    return np.concatenate([np.ravel(np.asarray(leaf)) for leaf in leaves])


def _work(call: Callable[..., Any], *args: Any, steps: int = 1) -> Work:
    return Work(call, tuple(jnp.asarray(a) for a in args), steps, wait=jax.block_until_ready)


def _call_1() -> Work:
    return _work(jax.jit(lambda x: x + 1.0), np.float32(1))


def _call_10() -> Work:
    def add_all(a, b, c, d, e, f, g, h, i, j):
        return a + b + c + d + e + f + g + h + i + j

    return _work(jax.jit(add_all), *(np.float32(k) for k in range(10)))


def _eager_add() -> Work:
    return _work(lambda x: x + x, np.ones(1, np.float32))


def _alternate(x: Any, y: Any, ops: int) -> Any:
    for _ in range(ops // 2):
        x = x * y
        x = x + y
    return x


def _first(ops: int) -> Callable[[], Work]:
    def call(x: Any, y: Any) -> Any:
        return jax.jit(lambda x, y: _alternate(x, y, ops))(x, y)

    return lambda: _work(call, np.float32(1), np.float32(0.5))


def _chain_scalar() -> Work:
    step = jax.jit(lambda x, y: _alternate(x, y, cases.CHAIN_SCALAR))
    return _work(step, np.float32(1), np.float32(0.5), steps=cases.CHAIN_SCALAR)


def _chain_matmul() -> Work:
    def body(x: Any, y: Any) -> Any:
        for _ in range(cases.CHAIN_MATMUL):
            x = x @ y
        return x

    q = cases.orthogonal(10)
    return _work(jax.jit(body), q, q, steps=cases.CHAIN_MATMUL)


def _while_count() -> Work:
    step = jax.jit(lambda n: lax.while_loop(lambda i: i < n, lambda i: i + 1, 0))

    def call(n: Any) -> None:
        step(n).block_until_ready()

    return Work(call, (jnp.asarray(COUNT),), steps=COUNT)


def _collatz() -> Work:
    def one(start: Any, total: Any) -> Any:
        def body(state: Any) -> Any:
            n, steps = state
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

        return lax.while_loop(lambda state: state[0] != 1, body, (start, total))[1]

    step = jax.jit(lambda limit: lax.fori_loop(1, limit, one, jnp.int32(0)))
    return _work(step, np.int32(cases.COLLATZ_LIMIT), steps=cases.collatz_steps())


def _selu() -> Work:
    def body(z: Any) -> Any:
        return 1.05 * jnp.where(z >= 0, z, 1.67 * jax.nn.elu(z))

    return _work(jax.jit(body), cases.normal(cases.SMALL))


def _polynomial() -> Work:
    return _work(jax.jit(lambda x: ((2.0 * x + 3.0) * x - 1.0) * x + 0.5), cases.normal(cases.LARGE))


def _black_scholes() -> Work:
    def cdf(x: Any) -> Any:
        return 0.5 * (1.0 + lax.erf(x * 0.7071067811865476))

    def body(spot: Any, strike: Any, years: Any) -> Any:
        spread = cases.VOLATILITY * jnp.sqrt(years)
        drift = (cases.RATE + 0.5 * cases.VOLATILITY**2) * years
        d1 = (jnp.log(spot / strike) + drift) / spread
        return spot * cdf(d1) - strike * jnp.exp(-cases.RATE * years) * cdf(d1 - spread)

    return _work(jax.jit(body), *cases.options())


def _softmax() -> Work:
    return _work(jax.jit(lambda x: jax.nn.softmax(x)), cases.normal(4000, 4000))


def _matmul(size: int) -> Callable[[], Work]:
    def prepare() -> Work:
        x = cases.normal(size, size)
        return _work(jax.jit(lambda a, b: a @ b), x, x)

    return prepare


def _conv2d() -> Work:
    def body(x: Any, k: Any) -> Any:
        return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    return _work(jax.jit(body), cases.normal(1, 200, 200, 100), cases.normal(3, 3, 100, 100))


def _run_rnn(sequence: Any, w: Any, u: Any, b: Any) -> Any:
    def step(state: Any, x: Any) -> Any:
        state = jnp.tanh(x @ w + state @ u + b)
        return state, state

    return lax.scan(step, jnp.zeros((cases.RNN_BATCH, cases.RNN_HIDDEN)), sequence)[1]


def _rnn() -> Work:
    return _work(jax.jit(_run_rnn), *cases.rnn_inputs())


def _rnn_grad() -> Work:
    def loss(sequence: Any, w: Any, u: Any, b: Any) -> Any:
        return jnp.mean(jnp.square(_run_rnn(sequence, w, u, b)))

    return _work(jax.jit(jax.grad(loss, argnums=(1, 2, 3))), *cases.rnn_inputs())


def _adam() -> tuple[Callable[[Any, Any, Any], Any], Any, tuple[Any, Any]]:
    x, y, initial = cases.mlp_inputs()
    params = [jnp.asarray(p) for p in initial]
    zeros = [jnp.zeros_like(p) for p in params]
    state = (params, zeros, [jnp.zeros_like(p) for p in params], jnp.float32(0))

    def loss_of(params: Any, x: Any, y: Any) -> Any:
        w1, b1, w2, b2 = params
        logits = jax.nn.relu(x @ w1 + b1) @ w2 + b2
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))

    def step(state: Any, x: Any, y: Any) -> Any:
        params, means, squares, steps = state
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        steps = steps + 1
        rate = 1e-3 * jnp.sqrt(1 - 0.999**steps) / (1 - 0.9**steps)
        means = [0.9 * m + 0.1 * g for m, g in zip(means, grads, strict=True)]
        squares = [0.999 * s + 0.001 * g * g for s, g in zip(squares, grads, strict=True)]
        params = [p - rate * m / (jnp.sqrt(s) + 1e-7) for p, m, s in zip(params, means, squares, strict=True)]
        return (params, means, squares, steps), loss

    return step, state, (jnp.asarray(x), jnp.asarray(y))


def _carried(
    step: Callable[[Any, Any, Any], Any], state: Any, batch: tuple[Any, Any], steps: int = 1
) -> Work:
    compiled = jax.jit(step, donate_argnums=0)

    def call(x: Any, y: Any) -> Any:
        nonlocal state
        state, loss = compiled(state, x, y)
        return loss

    return Work(call, batch, steps, wait=lambda loss: jax.block_until_ready((state, loss)))


def _mlp_step() -> Work:
    step, state, batch = _adam()
    return _carried(step, state, batch)


def _mlp_100() -> Work:
    step, state, batch = _adam()

    def body(state: Any, x: Any, y: Any) -> Any:
        start = (state, jnp.float32(0))
        return lax.fori_loop(0, cases.MLP_STEPS, lambda _, carry: step(carry[0], x, y), start)

    return _carried(body, state, batch, steps=cases.MLP_STEPS)


def _py_function() -> Work:
    def body(x: Any) -> Any:
        return jax.pure_callback(lambda value: value, jax.ShapeDtypeStruct((), np.float32), x)

    return _work(jax.jit(body), np.float32(1))


def _eager_grad() -> Work:
    return _work(jax.grad(lambda x: x * x * x), np.float32(3))


def works() -> Works:
    return {
        "call_1": _call_1,
        "call_10": _call_10,
        "eager_add": _eager_add,
        "first_10": _first(10),
        "first_1000": _first(1000),
        "chain_scalar": _chain_scalar,
        "chain_matmul": _chain_matmul,
        "while_count": _while_count,
        "collatz": _collatz,
        "selu": _selu,
        "polynomial": _polynomial,
        "black_scholes": _black_scholes,
        "softmax": _softmax,
        "conv2d": _conv2d,
        "cholesky": lambda: _work(jax.jit(jnp.linalg.cholesky), cases.definite(512)),
        "svd": lambda: _work(jax.jit(lambda x: jnp.linalg.svd(x, False)[1]), cases.normal(256, 256)),
        "solve": lambda: _work(jax.jit(jnp.linalg.solve), cases.definite(512), cases.normal(512, 512)),
        "rnn": _rnn,
        "rnn_grad": _rnn_grad,
        "mlp_step": _mlp_step,
        "mlp_100": _mlp_100,
        "py_function": _py_function,
        "eager_grad": _eager_grad,
        **{f"matmul_{size}": _matmul(size) for size in cases.MATMULS},
    }
