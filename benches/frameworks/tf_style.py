"""The cases in TensorFlow's language, which Penstock runs from the same source."""

from collections.abc import Callable
from typing import Any

import numpy as np

import cases
from cases import Work, Works


def to_numpy(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return np.concatenate([np.ravel(to_numpy(part)) for part in result])
    return result.numpy() if hasattr(result, "numpy") else np.asarray(result)


def works(tf: Any, count: int) -> Works:
    """Returns the cases.

    Args:
        tf: The package that stands for TensorFlow.
        count: How far the counting loop counts.
    """
    small = _calls(tf) | _chains(tf) | _loops(tf, count) | _conversion(tf)
    return small | _arrays(tf) | _networks(tf) | _borders(tf)


def _calls(tf: Any) -> Works:
    def call_1() -> Work:
        return Work(tf.function(lambda x: x + 1.0), (tf.constant(1.0),))

    def call_10() -> Work:
        def add_all(a, b, c, d, e, f, g, h, i, j):
            return a + b + c + d + e + f + g + h + i + j

        return Work(tf.function(add_all), tuple(tf.constant(float(k)) for k in range(10)))

    def eager_add() -> Work:
        return Work(lambda x: x + x, (tf.constant([1.0]),))

    def first(ops: int) -> Callable[[], Work]:
        def body(x, y):
            for _ in range(ops // 2):
                x = x * y
                x = x + y
            return x

        def call(x: Any, y: Any) -> Any:
            return tf.function(body)(x, y)

        return lambda: Work(call, (tf.constant(1.0), tf.constant(0.5)))

    return {
        "call_1": call_1,
        "call_10": call_10,
        "eager_add": eager_add,
        "first_10": first(10),
        "first_1000": first(1000),
    }


def _chains(tf: Any) -> Works:
    def chain_scalar() -> Work:
        def body(x, y):
            for _ in range(cases.CHAIN_SCALAR // 2):
                x = x * y
                x = x + y
            return x

        args = (tf.constant(1.0), tf.constant(0.5))
        return Work(tf.function(body), args, steps=cases.CHAIN_SCALAR)

    def chain_matmul() -> Work:
        def body(x, y):
            for _ in range(cases.CHAIN_MATMUL):
                x = tf.matmul(x, y)
            return x

        q = tf.constant(cases.orthogonal(10))
        return Work(tf.function(body), (q, q), steps=cases.CHAIN_MATMUL)

    return {"chain_scalar": chain_scalar, "chain_matmul": chain_matmul}


def _loops(tf: Any, count: int) -> Works:
    def while_count() -> Work:
        def body(n):
            i = tf.constant(0)
            while i < n:
                i += 1
            return i

        step = tf.function(body)

        # The result depends on how far this framework counts, so it is left out of the comparison.
        def call(n: Any) -> None:
            step(n)

        return Work(call, (tf.constant(count),), steps=count)

    def collatz() -> Work:
        def body(limit):
            total = tf.constant(0)
            for start in tf.range(1, limit):
                n = start
                while n != 1:
                    n = n // 2 if n % 2 == 0 else 3 * n + 1
                    total += 1
            return total

        return Work(tf.function(body), (tf.constant(cases.COLLATZ_LIMIT),), steps=cases.collatz_steps())

    def fizzbuzz() -> Work:
        limit = min(count, cases.FIZZBUZZ)

        def body(n):
            both, fizz, buzz, total = 0, 0, 0, 0
            for i in tf.range(1, n + 1):
                if i % 15 == 0:
                    both += 1
                elif i % 3 == 0:
                    fizz += 1
                elif i % 5 == 0:
                    buzz += 1
                else:
                    total += i % 7
            return both, fizz, buzz, total

        step = tf.function(body)

        # As with the counting loop, the result depends on how far this framework goes.
        def call(n: Any) -> None:
            step(n)

        return Work(call, (tf.constant(limit),), steps=limit)

    def newton() -> Work:
        def body(a, tolerance):
            x = a
            while tf.reduce_max(tf.abs(x * x - a)) > tolerance:
                x = 0.5 * (x + a / x)
            return x

        a = tf.constant(np.linspace(1, 50, cases.NEWTON, dtype=np.float32))
        return Work(tf.function(body), (a, tf.constant(1e-3)))

    def beam() -> Work:
        def body(state, w, words):
            tokens = tf.TensorArray(tf.int32, size=cases.BEAM_STEPS, element_shape=[cases.BEAMS])
            score = tf.zeros([cases.BEAMS])
            for i in tf.range(cases.BEAM_STEPS):
                state = tf.tanh(tf.matmul(state, w))
                logits = tf.matmul(state, words, transpose_b=True)
                best = tf.argmax(logits, axis=1, output_type=tf.int32)
                score += tf.reduce_max(logits, axis=1) - tf.reduce_logsumexp(logits, axis=1)
                if score[0] < score[1]:
                    state, score = tf.gather(state, [1, 0, 2, 3]), tf.gather(score, [1, 0, 2, 3])
                state += tf.gather(words, best)
                tokens = tokens.write(i, best)
            return score, tokens.stack()

        return Work(tf.function(body), tuple(tf.constant(a) for a in cases.beam_inputs()))

    return {
        "while_count": while_count,
        "collatz": collatz,
        "fizzbuzz": fizzbuzz,
        "newton": newton,
        "beam": beam,
    }


def _conversion(tf: Any) -> Works:
    def convert() -> Work:
        numbers = iter(range(1 << 40))
        return Work(lambda: tf.autograph.to_graph(cases.fresh_function(next(numbers))) and None)

    return {"convert": convert}


def _arrays(tf: Any) -> Works:
    def selu() -> Work:
        def body(z, scale=1.05, alpha=1.67):
            return scale * tf.where(tf.greater_equal(z, 0.0), z, alpha * tf.nn.elu(z))

        return Work(tf.function(body), (tf.constant(cases.normal(cases.SMALL)),))

    def polynomial() -> Work:
        step = tf.function(lambda x: ((2.0 * x + 3.0) * x - 1.0) * x + 0.5)
        return Work(step, (tf.constant(cases.normal(cases.LARGE)),))

    def black_scholes() -> Work:
        def cdf(x):
            return 0.5 * (1.0 + tf.math.erf(x * 0.7071067811865476))

        def body(spot, strike, years):
            spread = cases.VOLATILITY * tf.sqrt(years)
            drift = (cases.RATE + 0.5 * cases.VOLATILITY**2) * years
            d1 = (tf.math.log(spot / strike) + drift) / spread
            return spot * cdf(d1) - strike * tf.exp(-cases.RATE * years) * cdf(d1 - spread)

        return Work(tf.function(body), tuple(tf.constant(a) for a in cases.options()))

    def softmax() -> Work:
        return Work(tf.function(lambda x: tf.nn.softmax(x)), (tf.constant(cases.normal(4000, 4000)),))

    def matmul(size: int) -> Callable[[], Work]:
        def prepare() -> Work:
            x = tf.constant(cases.normal(size, size))
            return Work(tf.function(lambda a, b: tf.matmul(a, b)), (x, x))

        return prepare

    def conv2d() -> Work:
        step = tf.function(lambda x, k: tf.nn.conv2d(x, k, strides=1, padding="SAME"))
        return Work(
            step, (tf.constant(cases.normal(1, 200, 200, 100)), tf.constant(cases.normal(3, 3, 100, 100)))
        )

    def cholesky() -> Work:
        return Work(tf.function(lambda x: tf.linalg.cholesky(x)), (tf.constant(cases.definite(512)),))

    def svd() -> Work:
        return Work(tf.function(lambda x: tf.linalg.svd(x)[0]), (tf.constant(cases.normal(256, 256)),))

    def solve() -> Work:
        step = tf.function(lambda a, b: tf.linalg.solve(a, b))
        return Work(step, (tf.constant(cases.definite(512)), tf.constant(cases.normal(512, 512))))

    return {
        "selu": selu,
        "polynomial": polynomial,
        "black_scholes": black_scholes,
        "softmax": softmax,
        "conv2d": conv2d,
        "cholesky": cholesky,
        "svd": svd,
        "solve": solve,
        **{f"matmul_{size}": matmul(size) for size in cases.MATMULS},
    }


def _networks(tf: Any) -> Works:
    def run_rnn(sequence, w, u, b):
        length = tf.shape(sequence)[0]
        states = tf.TensorArray(tf.float32, size=length)
        state = tf.zeros([cases.RNN_BATCH, cases.RNN_HIDDEN])
        for i in tf.range(length):
            state = tf.tanh(tf.matmul(sequence[i], w) + tf.matmul(state, u) + b)
            states = states.write(i, state)
        return states.stack()

    def rnn() -> Work:
        return Work(tf.function(run_rnn), tuple(tf.constant(a) for a in cases.rnn_inputs()))

    def rnn_grad() -> Work:
        def body(sequence, w, u, b):
            with tf.GradientTape() as tape:
                tape.watch([w, u, b])
                loss = tf.reduce_mean(tf.square(run_rnn(sequence, w, u, b)))
            return tape.gradient(loss, [w, u, b])

        return Work(tf.function(body), tuple(tf.constant(a) for a in cases.rnn_inputs()))

    def adam() -> tuple[Callable[[Any, Any], Any], tuple[Any, Any]]:
        x, y, initial = cases.mlp_inputs()
        params = [tf.Variable(p) for p in initial]
        means = [tf.Variable(tf.zeros_like(p)) for p in params]
        squares = [tf.Variable(tf.zeros_like(p)) for p in params]
        steps = tf.Variable(0.0)

        def step(x, y):
            w1, b1, w2, b2 = params
            with tf.GradientTape() as tape:
                hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
                logits = tf.matmul(hidden, w2) + b2
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
                loss = tf.reduce_mean(losses)
            steps.assign_add(1.0)
            rate = 1e-3 * tf.sqrt(1.0 - 0.999**steps) / (1.0 - 0.9**steps)
            for g, m, s, p in zip(tape.gradient(loss, params), means, squares, params, strict=True):
                m.assign(0.9 * m + 0.1 * g)
                s.assign(0.999 * s + 0.001 * g * g)
                p.assign_sub(rate * m / (tf.sqrt(s) + 1e-7))
            return loss

        return step, (tf.constant(x), tf.constant(y))

    def mlp_step() -> Work:
        step, batch = adam()
        return Work(tf.function(step), batch)

    def mlp_100() -> Work:
        step, batch = adam()

        def body(x, y):
            loss = tf.constant(0.0)
            for _ in tf.range(cases.MLP_STEPS):
                loss = step(x, y)
            return loss

        return Work(tf.function(body), batch, steps=cases.MLP_STEPS)

    return {"rnn": rnn, "rnn_grad": rnn_grad, "mlp_step": mlp_step, "mlp_100": mlp_100}


def _borders(tf: Any) -> Works:
    def py_function() -> Work:
        step = tf.function(lambda x: tf.py_function(lambda value: value, [x], tf.float32))
        return Work(step, (tf.constant(1.0),))

    def host_loop() -> Work:
        def loop(x: Any) -> Any:
            for _ in tf.range(cases.HOST_CALLS):
                x = tf.ensure_shape(tf.py_function(lambda value: value, [x], tf.float32), [])
            return x

        return Work(tf.function(loop), (tf.constant(1.0),))

    def host_chain() -> Work:
        def chain(x: Any) -> Any:
            for _ in range(3):
                x = tf.numpy_function(lambda value: value, [x], tf.float32)
            return x

        return Work(tf.function(chain), (tf.zeros([cases.HOST_ELEMENTS]),))

    def variables_100() -> Work:
        variables = [tf.Variable(float(i)) for i in range(cases.VARIABLES)]

        def step() -> Any:
            for v in variables:
                v.assign(v + 1.0)

        return Work(tf.function(step))

    def assign_add() -> Work:
        v = tf.Variable(0.0)

        def body():
            v.assign_add(1.0)

        return Work(tf.function(body))

    def eager_grad() -> Work:
        def call(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x * x
            return tape.gradient(y, x)

        return Work(call, (tf.constant(3.0),))

    def dataset() -> Work:
        data = tf.data.Dataset.range(cases.DATASET_SIZE).map(lambda x: x * 2 + 1).batch(cases.DATASET_BATCH)

        def call() -> Any:
            batch = None
            for batch in data:  # noqa: B007
                pass
            return batch

        return Work(call, steps=cases.DATASET_SIZE)

    return {
        "py_function": py_function,
        "host_loop": host_loop,
        "host_chain": host_chain,
        "variables_100": variables_100,
        "assign_add": assign_add,
        "eager_grad": eager_grad,
        "dataset": dataset,
    }
