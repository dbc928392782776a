"""What unknown sizes cost: programs traced for unknown sizes, beside the same traced for the sizes at hand.

    .venv/bin/python benches/unknown_sizes.py            # the table, to read
    .venv/bin/python benches/unknown_sizes.py --write    # the same into docs/benchmarks.md
    .venv/bin/python benches/unknown_sizes.py lstm conv  # cases whose name has one of these words

Both variants of a case run in turn in one process. A ratio of 1 says that unknown sizes cost nothing. The
last rows call one trace with a thousand different lengths in random order: what a call takes there, beside a
call of the middle length again and again, and how long the slowest call took, which had to do with a new
length.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import page
import penstock

tf: Any = penstock
PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
RANDOM: Final = np.random.default_rng(0)
Body = Callable[..., Any]


class Case(NamedTuple):
    """A function, its arguments, and which of their sizes are unknown, by position in the shape of each."""

    text: str
    body: Body
    args: tuple[Any, ...]
    unknown: tuple[tuple[int, ...], ...]


def normal(*shape: int, scale: float = 0.1) -> Any:
    """Small random numbers."""
    return tf.constant(RANDOM.normal(0.0, scale, shape).astype(np.float32))


def variable(*shape: int) -> Any:
    return tf.Variable(normal(*shape))


def gradient_of(f: Body, variables: list[Any]) -> Body:
    def both(*args: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = f(*args)
        return loss, tape.gradient(loss, variables)

    return both


def adam_step(f: Body, variables: list[Any]) -> Body:
    """A step of Adam on the variables, which returns the loss."""
    moments = [(tf.Variable(tf.zeros_like(v)), tf.Variable(tf.zeros_like(v))) for v in variables]
    count = tf.Variable(0.0)
    with_gradient = gradient_of(f, variables)

    def step(*args: Any) -> Any:
        loss, gradients = with_gradient(*args)
        count.assign_add(1.0)
        rate = 1e-3 * tf.sqrt(1.0 - tf.pow(0.999, count)) / (1.0 - tf.pow(0.9, count))
        for v, g, (m, s) in zip(variables, gradients, moments, strict=True):
            m.assign(0.9 * m + 0.1 * g)
            s.assign(0.999 * s + 0.001 * g * g)
            v.assign_sub(rate * m / (tf.sqrt(s) + 1e-7))
        return loss

    return step


def cross_entropy(logits: Any, labels: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def lstm(steps_known: bool) -> Case:
    batch, steps, features, n = 32, 30, 64, 64
    w, u, b = variable(features, 4 * n), variable(n, 4 * n), variable(4 * n)

    def loss(x: Any) -> Any:
        h = tf.zeros([tf.shape(x)[0], n])
        c = tf.zeros([tf.shape(x)[0], n])
        for t in tf.range(tf.shape(x)[1]):
            i, f, g, o = tf.split(x[:, t] @ w + h @ u + b, 4, axis=-1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
        return tf.reduce_mean(h * h)

    # The loop stands in the function that is traced, so that it is converted.
    def both(x: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(x)
        return value, tape.gradient(value, [w, u, b])

    unknown = (0,) if steps_known else (0, 1)
    what = "batch" if steps_known else "batch and steps"
    text = f"gradient of an LSTM, 30 steps, batch 32, 64 units; {what} unknown"
    return Case(text, both, (normal(batch, steps, features),), (unknown,))


def attention() -> Case:
    batch, length, heads, depth = 8, 64, 4, 32

    def f(q: Any, k: Any, v: Any, mask: Any) -> Any:
        scores = tf.einsum("bqhd,bkhd->bhqk", q, k) / depth**0.5
        scores += (1.0 - mask[:, None, None, :]) * -1e9
        return tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), v)

    qkv = [normal(batch, length, heads, depth) for _ in range(3)]
    mask = tf.constant((RANDOM.random((batch, length)) < 0.8).astype(np.float32))
    return Case(
        "masked attention, 8 × 64, 4 heads of 32; batch and length unknown", f, (*qkv, mask), ((0, 1),) * 4
    )


def gelu(derive: bool) -> Case:
    n, m = 256, 128
    w, w2 = variable(m, 4 * m), variable(4 * m, m)

    def f(x: Any, y: Any) -> Any:
        return tf.reduce_sum(tf.nn.gelu((x + y) @ w) @ w2)

    text = "`gelu((x + y) @ w) @ w2`" + (", its gradient" if derive else "")
    body = gradient_of(f, [w, w2]) if derive else f
    return Case(text + "; rows of x and of y unknown", body, (normal(n, m), normal(n, m)), ((0,), (0,)))


def transformer() -> Case:
    batch, length, width, heads, words, layers = 8, 48, 64, 4, 500, 2
    table, places = variable(words, width), variable(64, width)
    blocks = [
        {
            "qkv": variable(width, 3 * width), "out": variable(width, width),
            "up": variable(width, 4 * width), "down": variable(4 * width, width),
            "scale": tf.Variable(tf.ones([2, width])), "shift": tf.Variable(tf.zeros([2, width])),
        }
        for _ in range(layers)
    ]  # fmt: skip
    variables = [table, places, *(v for block in blocks for v in block.values())]

    def norm(x: Any, block: Any, i: int) -> Any:
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        spread = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
        return (x - mean) * tf.math.rsqrt(spread + 1e-6) * block["scale"][i] + block["shift"][i]

    def split(x: Any) -> Any:
        b, t = tf.shape(x)[0], tf.shape(x)[1]
        return tf.transpose(tf.reshape(x, [b, t, heads, width // heads]), [0, 2, 1, 3])

    def attend(x: Any, block: Any, mask: Any) -> Any:
        q, k, v = (split(part) for part in tf.split(x @ block["qkv"], 3, axis=-1))
        scores = q @ tf.transpose(k, [0, 1, 3, 2]) / (width // heads) ** 0.5 + mask
        mixed = tf.transpose(tf.nn.softmax(scores) @ v, [0, 2, 1, 3])
        return tf.reshape(mixed, [tf.shape(x)[0], tf.shape(x)[1], width]) @ block["out"]

    def loss(tokens: Any, targets: Any) -> Any:
        t = tf.shape(tokens)[1]
        known = tf.cast(tf.not_equal(tokens, 0), tf.float32)
        causal = tf.linalg.band_part(tf.ones([t, t]), -1, 0)
        mask = (1.0 - known[:, None, None, :] * causal) * -1e9
        x = tf.gather(table, tokens) + places[:t]
        for block in blocks:
            x += attend(norm(x, block, 0), block, mask)
            x += tf.nn.gelu(norm(x, block, 1) @ block["up"]) @ block["down"]
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=targets, logits=tf.matmul(x, table, transpose_b=True)
        )
        return tf.reduce_sum(losses * known) / tf.reduce_sum(known)

    args = tuple(tf.constant(RANDOM.integers(0, words, (batch, length)), tf.int32) for _ in range(2))
    text = "step of Adam of a transformer, 2 layers of 64, 8 × 48 tokens; batch and length unknown"
    return Case(text, adam_step(loss, variables), args, ((0, 1), (0, 1)))


def mlp() -> Case:
    layers = [(variable(784, 256), variable(256)), (variable(256, 10), variable(10))]

    def loss(x: Any, y: Any) -> Any:
        (w1, b1), (w2, b2) = layers
        return cross_entropy(tf.nn.relu(x @ w1 + b1) @ w2 + b2, y)

    args = (normal(64, 784), tf.constant(RANDOM.integers(0, 10, 64), tf.int32))
    step = adam_step(loss, [v for layer in layers for v in layer])
    return Case("step of Adam of an MLP 784-256-10, batch 64; batch unknown", step, args, ((0,), (0,)))


def convnet(sides: bool) -> Case:
    k1, k2, w = variable(3, 3, 1, 16), variable(3, 3, 16, 32), variable(7 * 7 * 32, 10)

    def loss(x: Any, y: Any) -> Any:
        x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, k1, 1, "SAME")), 2, 2, "SAME")
        x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, k2, 1, "SAME")), 2, 2, "SAME")
        return cross_entropy(tf.reshape(x, [tf.shape(x)[0], 7 * 7 * 32]) @ w, y)

    args = (normal(16, 28, 28, 1), tf.constant(RANDOM.integers(0, 10, 16), tf.int32))
    what = "batch, height and width" if sides else "batch"
    unknown = ((0, 1, 2) if sides else (0,), (0,))
    text = f"step of Adam of a convnet, 16 × 28 × 28; {what} unknown"
    return Case(text, adam_step(loss, [k1, k2, w]), args, unknown)


def softmax_loss() -> Case:
    def both(logits: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = cross_entropy(logits, labels)
        return loss, tape.gradient(loss, logits)

    args = (normal(256, 100), tf.constant(RANDOM.integers(0, 100, 256), tf.int32))
    return Case("softmax cross entropy with its gradient, 256 × 100; all unknown", both, args, ((0, 1), (0,)))


def reductions() -> Case:
    def f(x: Any) -> Any:
        total = tf.reduce_sum(x, axis=[0, 2], keepdims=True)
        share = x / (tf.abs(total) + 1.0)
        return tf.reduce_mean(share), tf.reduce_max(share, axis=1), tf.math.reduce_std(share, axis=-1)

    return Case("reductions over unknown axes, 32 × 40 × 50", f, (normal(32, 40, 50),), ((0, 1, 2),))


def elementwise() -> Case:
    def f(x: Any, y: Any) -> Any:
        return tf.tanh(x + y) * x - y

    return Case("four operations on 16 numbers; number unknown", f, (normal(16), normal(16)), ((0,), (0,)))


CASES: Final[dict[str, Callable[[], Case]]] = {
    "lstm_batch": lambda: lstm(steps_known=True),
    "lstm_steps": lambda: lstm(steps_known=False),
    "attention": attention,
    "gelu": lambda: gelu(derive=False),
    "gelu_gradient": lambda: gelu(derive=True),
    "transformer": transformer,
    "mlp": mlp,
    "convnet": lambda: convnet(sides=False),
    "convnet_sides": lambda: convnet(sides=True),
    "softmax": softmax_loss,
    "reductions": reductions,
    "elementwise": elementwise,
}


def traced(body: Body, args: Iterable[Any], unknown: Iterable[tuple[int, ...]]) -> Body:
    """The body traced for the arguments' shapes, but for sizes that are unknown."""
    specs = []
    for x, open_axes in zip(args, unknown, strict=True):
        dims = [None if axis in open_axes else n for axis, n in enumerate(x.shape)]
        specs.append(tf.TensorSpec(dims, x.dtype))
    function: Body = tf.function(body, input_signature=specs)
    return function


def seconds(f: Callable[[], Any], loops: int) -> float:
    start = time.perf_counter()
    for _ in range(loops):
        f()
    return (time.perf_counter() - start) / loops


def paired(unknown: Callable[[], Any], static: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """The best time of the second, and the ratio of that of the first to it; they run in turn."""
    for f in (unknown, static):
        seconds(f, 3)
    loops = max(1, int(0.002 / seconds(static, 3)))
    best = {unknown: float("inf"), static: float("inf")}
    for i in range(rounds):
        for f in (unknown, static) if i % 2 else (static, unknown):
            best[f] = min(best[f], seconds(f, loops))
    return best[static], best[unknown] / best[static]


def case_row(case: Case, rounds: int) -> list[str]:
    static = traced(case.body, case.args, [()] * len(case.args))
    unknown = traced(case.body, case.args, case.unknown)
    took, ratio = paired(lambda: unknown(*case.args), lambda: static(*case.args), rounds)
    return [case.text, f"{took * 1e3:.3g}", f"{ratio:.2f}"]


def partial_batch_row(rounds: int) -> list[str]:
    """Batches of 64, the last of 23, as an epoch brings them: each trace for one size, beside one for all."""
    case = mlp()
    x, y = case.args
    batches = [(x, y)] * 7 + [(x[:23], y[:23])]
    static = tf.function(case.body)
    unknown = traced(case.body, case.args, case.unknown)

    def epoch(f: Body) -> Callable[[], Any]:
        return lambda: [f(*batch) for batch in batches]

    took, ratio = paired(epoch(unknown), epoch(static), rounds)
    return ["the MLP's step on seven batches of 64 and one of 23", f"{took * 1e3:.3g}", f"{ratio:.2f}"]


def lengths_row(case: Case, axis: int, low: int) -> list[str]:
    """A thousand lengths in random order, each once, beside the middle one again and again."""
    f = traced(case.body, case.args, case.unknown)
    lengths = RANDOM.permutation(np.arange(low, low + 1000))
    pads = [normal(*(int(low + 1000) if a == axis else n for a, n in enumerate(x.shape))) for x in case.args]

    def cut(n: int) -> list[Any]:
        return [x[(slice(None),) * axis + (slice(0, int(n)),)] for x in pads]

    calls, middle = [cut(n) for n in lengths], cut(low + 500)
    times = []
    for args in calls:
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    fixed = traced(case.body, middle, [()] * len(middle))
    for _ in range(3):
        fixed(*middle)
    usual = seconds(lambda: fixed(*middle), 20)
    text = f"{case.text}, a thousand lengths (slowest call {max(times) * 1e3:.3g} ms)"
    return [text, f"{usual * 1e3:.3g}", f"{statistics.mean(times) / usual:.2f}"]


def long_rows() -> list[list[str]]:
    batch, features = 4, 16
    w, u = variable(features, features), variable(features, features)

    def rnn(x: Any) -> Any:
        h = tf.zeros([tf.shape(x)[0], features])
        for t in tf.range(tf.shape(x)[1]):
            h = tf.tanh(x[:, t] @ w + h @ u)
        return h

    def dense(x: Any, y: Any) -> Any:
        return tf.nn.softmax(tf.nn.gelu((x + y) @ w) @ u)

    recurrent = Case("RNN, batch 4, 16 units", rnn, (normal(batch, 8, features),), ((0, 1),))
    layers = Case("two layers of 16", dense, (normal(8, features), normal(8, features)), ((0,), (0,)))
    return [lengths_row(recurrent, 1, 5), lengths_row(layers, 0, 5)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="the cases whose name has one of these")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    options = parser.parse_args()
    rows: list[list[str]] = []

    def wanted(name: str) -> bool:
        return not options.words or any(word in name for word in options.words)

    def show(more: list[list[str]]) -> None:
        rows.extend(more)
        for row in more:
            print("  ".join(reversed(row)), flush=True)

    for name, make in CASES.items():
        if wanted(name):
            show([case_row(make(), options.rounds)])
    if wanted("partial"):
        show([partial_batch_row(options.rounds)])
    if wanted("lengths"):
        show(long_rows())
    if options.write:
        head = ["program", "sizes known, ms", "unknown, times as long"]
        lines = [" | ".join(row) for row in [head, ["---", "---:", "---:"], *rows]]
        text = "\n".join([page.machine(), "", *(f"| {line} |" for line in lines)])
        PAGE.write_text(page.replaced(PAGE, "unknown-sizes", text), encoding="utf-8")


if __name__ == "__main__":
    main()
