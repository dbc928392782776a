"""Peak memory of gradients, updates and callbacks, beside PyTorch and JAX.

    .venv/bin/python benches/memory.py --peers .venv-peers/bin/python

Each case runs in a process of its own, once to compile and once more. Its figure is the peak of the resident
set beyond what the process held before the first call, inputs included; `docs/benchmarks.md` gets the table,
between two marker lines. A framework that is not installed, or lacks a counterpart of a case, has no figure.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import page

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"

CASES: Final = {
    "rnn": "gradient of an RNN of 100 steps, batch 32, width 128",
    "loop": "gradient of 2000 rounds of `sin(y) * 1.01 + x`, 20,000 floats",
    "loop_checkpoints": "the same, its state kept at every 45th round",
    "blocks": "gradient of 16 blocks `tanh(tanh(x w) w)`, x of 1024 × 512",
    "blocks_recomputed": "the same, each block computed again",
    "callbacks": "100 callbacks in turn, each on 144 MB",
    "mlp": "Adam step of an MLP 784-256-10, batch 64",
}
STEPS, EVERY = 2000, 45
LARGE = 36_000_000  # floats of 4 bytes

Made = dict[str, Callable[[], Callable[[], Any]]]


def normal(*shape: int) -> np.ndarray:
    """Small random numbers."""
    return np.random.default_rng(0).normal(0.0, 0.05, shape).astype(np.float32)


def on_penstock() -> Made:
    """What makes each case on Penstock."""
    import penstock

    tf: Any = penstock

    def gradient(f: Callable[..., Any], *arrays: np.ndarray) -> Callable[[], Any]:
        def both(*xs: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(xs)
                y = f(*xs)
            return tape.gradient(y, list(xs))

        inputs = [tf.constant(a) for a in arrays]
        traced = tf.function(both, autograph=False)
        return lambda: [g.numpy() for g in traced(*inputs)]

    def rnn(xs: Any, w: Any, u: Any) -> Any:
        step = lambda i, h: (i + 1, tf.tanh(tf.gather(xs, i) @ w + h @ u))  # noqa: E731
        _, h = tf.while_loop(lambda i, h: i < 100, step, (0, tf.zeros([32, 128])))
        return tf.reduce_sum(h)

    def loop(every: int | None) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            step = lambda i, y: (i + 1, tf.sin(y) * 1.01 + x)  # noqa: E731
            return tf.reduce_sum(
                tf.while_loop(lambda i, y: i < STEPS, step, (0, x), checkpoint_every=every)[1]
            )

        return f

    def blocks(wrap: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        block = wrap(lambda x, w: tf.tanh(tf.tanh(x @ w) @ w))

        def f(x: Any, w: Any) -> Any:
            for _ in range(16):
                x = block(x, w)
            return tf.reduce_sum(x)

        return f

    def callbacks() -> Callable[[], Any]:
        def run(x: Any) -> Any:
            for _ in range(100):
                x = tf.numpy_function(lambda a: a, [x], tf.TensorSpec([LARGE], tf.float32))
            return x

        x, traced = tf.zeros([LARGE]), tf.function(run, autograph=False)
        return lambda: traced(x)

    def mlp() -> Callable[[], Any]:
        weights = [tf.Variable(a) for a in (normal(784, 256), normal(256), normal(256, 10), normal(10))]
        adam = tf.optimizers.Adam(1e-3)
        x, labels = tf.constant(normal(64, 784)), tf.constant(np.arange(64) % 10)

        def step() -> Any:
            with tf.GradientTape() as tape:
                w, b, v, c = weights
                logits = tf.nn.relu(x @ w + b) @ v + c
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
            adam.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return loss

        traced = tf.function(step, autograph=False)
        return lambda: traced().numpy()

    return {
        "rnn": lambda: gradient(rnn, normal(100, 32, 128), normal(128, 128), normal(128, 128)),
        "loop": lambda: gradient(loop(None), normal(20_000)),
        "loop_checkpoints": lambda: gradient(loop(EVERY), normal(20_000)),
        "blocks": lambda: gradient(blocks(lambda f: f), normal(1024, 512), normal(512, 512)),
        "blocks_recomputed": lambda: gradient(blocks(tf.recompute_grad), normal(1024, 512), normal(512, 512)),
        "callbacks": callbacks,
        "mlp": mlp,
    }


def on_torch() -> Made:
    """What makes each case on PyTorch."""
    import torch
    from torch.utils.checkpoint import checkpoint

    def gradient(f: Callable[..., Any], *arrays: np.ndarray) -> Callable[[], Any]:
        inputs = [torch.tensor(a, requires_grad=True) for a in arrays]
        return lambda: [g.numpy() for g in torch.autograd.grad(f(*inputs), inputs)]

    def rnn(xs: Any, w: Any, u: Any) -> Any:
        h = torch.zeros(32, 128)
        for t in range(100):
            h = torch.tanh(xs[t] @ w + h @ u)
        return h.sum()

    def rounds(x: Any, y: Any, count: int) -> Any:
        for _ in range(count):
            y = torch.sin(y) * 1.01 + x
        return y

    def checkpoints(x: Any) -> Any:
        y = x
        for start in range(0, STEPS, EVERY):
            y = checkpoint(rounds, x, y, min(EVERY, STEPS - start), use_reentrant=False)
        return y.sum()

    def block(x: Any, w: Any) -> Any:
        return torch.tanh(torch.tanh(x @ w) @ w)

    def blocks(apply: Callable[..., Any]) -> Callable[[Any, Any], Any]:
        def f(x: Any, w: Any) -> Any:
            for _ in range(16):
                x = apply(x, w)
            return x.sum()

        return f

    def recomputed(x: Any, w: Any) -> Any:
        return checkpoint(block, x, w, use_reentrant=False)

    def mlp() -> Callable[[], Any]:
        weights = [torch.tensor(a, requires_grad=True) for a in (normal(784, 256), normal(256))]
        weights += [torch.tensor(a, requires_grad=True) for a in (normal(256, 10), normal(10))]
        adam = torch.optim.Adam(weights, lr=1e-3, fused=True)
        x, labels = torch.tensor(normal(64, 784)), torch.arange(64) % 10

        def step() -> Any:
            w, b, v, c = weights
            loss = torch.nn.functional.cross_entropy(torch.relu(x @ w + b) @ v + c, labels)
            adam.zero_grad()
            loss.backward()
            adam.step()
            return loss.item()

        return step

    return {
        "rnn": lambda: gradient(rnn, normal(100, 32, 128), normal(128, 128), normal(128, 128)),
        "loop": lambda: gradient(lambda x: rounds(x, x, STEPS).sum(), normal(20_000)),
        "loop_checkpoints": lambda: gradient(checkpoints, normal(20_000)),
        "blocks": lambda: gradient(blocks(block), normal(1024, 512), normal(512, 512)),
        "blocks_recomputed": lambda: gradient(blocks(recomputed), normal(1024, 512), normal(512, 512)),
        "mlp": mlp,
    }


def on_jax() -> Made:
    """What makes each case on JAX."""
    import jax
    from jax import numpy as jnp

    def gradient(f: Callable[..., Any], *arrays: np.ndarray) -> Callable[[], Any]:
        run = jax.jit(jax.grad(f, tuple(range(len(arrays)))))
        inputs = [jnp.asarray(a) for a in arrays]
        return lambda: [np.asarray(g) for g in run(*inputs)]

    def rnn(xs: Any, w: Any, u: Any) -> Any:
        h, _ = jax.lax.scan(lambda h, x: (jnp.tanh(x @ w + h @ u), None), jnp.zeros((32, 128)), xs)
        return jnp.sum(h)

    def rounds(x: Any, y: Any, count: int) -> Any:
        return jax.lax.scan(lambda y, _: (jnp.sin(y) * 1.01 + x, None), y, None, count)[0]

    def checkpoints(x: Any) -> Any:
        segment = jax.checkpoint(lambda y, _: (rounds(x, y, EVERY), None))
        y, _ = jax.lax.scan(segment, x, None, STEPS // EVERY)
        return jnp.sum(rounds(x, y, STEPS % EVERY))

    def block(x: Any, w: Any) -> Any:
        return jnp.tanh(jnp.tanh(x @ w) @ w)

    def blocks(apply: Callable[..., Any]) -> Callable[[Any, Any], Any]:
        def f(x: Any, w: Any) -> Any:
            for _ in range(16):
                x = apply(x, w)
            return jnp.sum(x)

        return f

    def callbacks() -> Callable[[], Any]:
        kind = jax.ShapeDtypeStruct((LARGE,), np.float32)

        def run(x: Any) -> Any:
            for _ in range(100):
                x = jax.pure_callback(lambda a: a, kind, x)
            return x

        x, compiled = jnp.zeros(LARGE), jax.jit(run)
        return lambda: compiled(x).block_until_ready()

    def mlp() -> Callable[[], Any]:
        x, labels = jnp.asarray(normal(64, 784)), np.arange(64) % 10
        start = [jnp.asarray(a) for a in (normal(784, 256), normal(256), normal(256, 10), normal(10))]
        state: list[Any] = [start, [jnp.zeros_like(a) for a in start], [jnp.zeros_like(a) for a in start], 0]

        def loss(weights: Any) -> Any:
            w, b, v, c = weights
            logp = jax.nn.log_softmax(jax.nn.relu(x @ w + b) @ v + c)
            return -jnp.mean(logp[np.arange(64), labels])

        def update(weights: Any, m: Any, v: Any, t: Any) -> Any:
            grads = jax.grad(loss)(weights)
            m = [0.9 * a + 0.1 * g for a, g in zip(m, grads, strict=True)]
            v = [0.999 * a + 0.001 * g * g for a, g in zip(v, grads, strict=True)]
            rate = 1e-3 * jnp.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1))
            new = [w - rate * a / (jnp.sqrt(b) + 1e-7) for w, a, b in zip(weights, m, v, strict=True)]
            return [new, m, v, t + 1]

        compiled = jax.jit(update)

        def step() -> Any:
            state[:] = compiled(*state)
            return np.asarray(state[0][3])

        return step

    return {
        "rnn": lambda: gradient(rnn, normal(100, 32, 128), normal(128, 128), normal(128, 128)),
        "loop": lambda: gradient(lambda x: jnp.sum(rounds(x, x, STEPS)), normal(20_000)),
        "loop_checkpoints": lambda: gradient(checkpoints, normal(20_000)),
        "blocks": lambda: gradient(blocks(block), normal(1024, 512), normal(512, 512)),
        "blocks_recomputed": lambda: gradient(
            blocks(jax.checkpoint(block)), normal(1024, 512), normal(512, 512)
        ),
        "callbacks": callbacks,
        "mlp": mlp,
    }


FRAMEWORKS: Final = {"penstock": on_penstock, "torch": on_torch, "jax": on_jax}


def peak() -> int:
    """The peak of the resident set so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(framework: str, case: str) -> None:
    """Prints the memory of a case in MB; nothing where there is no such case."""
    if importlib.util.find_spec(framework) is None:
        return
    make = FRAMEWORKS[framework]().get(case)
    if make is None:
        return
    before = peak()
    run = make()
    run()
    run()
    print(f"{(peak() - before) / 1024:.0f}")


def main() -> None:
    """Measures all cases, or one with `--case` and `--on`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=sys.executable, help="the interpreter that has PyTorch and JAX")
    parser.add_argument("--on", choices=list(FRAMEWORKS), help=argparse.SUPPRESS)
    parser.add_argument("--case", choices=list(CASES), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        measure(args.on, args.case)
        return
    lines = ["| peak memory beyond the start, MB | Penstock | PyTorch | JAX |", "|---|---:|---:|---:|"]
    for case, text in CASES.items():
        figures = []
        for framework in FRAMEWORKS:
            python = sys.executable if framework == "penstock" else args.peers
            command = [python, __file__, "--on", framework, "--case", case]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SystemExit(f"{framework}, {case}: {done.stderr}")
            figures.append(done.stdout.strip())
        lines.append(f"| {text} | {' | '.join(figures)} |")
        print(lines[-1])
    PAGE.write_text(page.replaced(PAGE, "memory", "\n".join(lines)))


if __name__ == "__main__":
    main()
