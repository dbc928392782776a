"""Holds the gradients of ten models against PyTorch and JAX.

    .venv/bin/python benches/gradients.py --peers .venv-peers/bin/python

Each model is a scalar function of NumPy arrays, written once for each framework. The gradients by all of its
arrays must agree to 1e-5 of the largest element. A framework that is not installed is named and left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 1e-5
PEERS = ("torch", "jax")

Arrays = list[np.ndarray]


def inputs() -> dict[str, Arrays]:
    """The arrays of each model, the same for every framework."""
    rng = np.random.default_rng(17)

    def n(*shape: int, scale: float = 0.5) -> np.ndarray:
        return rng.normal(0.0, scale, shape)

    return {
        "mlp": [n(8, 6), n(6, 10), n(10), n(10, 3), n(3)],
        "cnn": [n(2, 6, 6, 2), n(3, 3, 2, 4), n(4 * 16, 3)],
        "lstm": [n(5, 3, 4), n(8 + 4, 32), n(32)],
        "attention": [n(5, 8), n(8, 8), n(8, 8), n(8, 8)],
        "vae": [n(4, 6), n(6, 4), n(2, 6), n(4, 2)],
        "log_huber": [np.array([-3.0, -0.4, 0.2, 0.9, 5.0])],
        "rosenbrock_hessian": [np.array([-0.3, 0.8, 1.1, 0.4])],
        "ode": [n(3), n(3, 3)],
        "graph_net": [n(6, 3), n(3, 4)],
        "ctc_like": [n(7, 4)],
    }


EDGES = np.array([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4]])
LABELS = np.array([0, 2, 1, 0, 2, 2, 1, 0])
PATH = [0, 1, 0, 2, 0]  # blanks are label 0


# --- Penstock ---


def on_penstock() -> dict[str, Callable[[Arrays], Arrays]]:
    """The gradient of each model on Penstock, traced."""
    import penstock

    tf: Any = penstock

    def mlp(x: Any, w: Any, b: Any, v: Any, c: Any) -> Any:
        logits = tf.nn.relu(x @ w + b) @ v + c
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(LABELS, logits))

    def cnn(x: Any, w: Any, v: Any) -> Any:
        # A convolution without padding as a sum of shifted products.
        y = sum(
            tf.einsum("nhwc,cd->nhwd", x[:, i : i + 4, j : j + 4], w[i, j])
            for i in range(3)
            for j in range(3)
        )
        return tf.reduce_sum(tf.tanh(tf.reshape(tf.nn.relu(y), [2, -1]) @ v))

    def lstm(xs: Any, w: Any, b: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            h, c = state
            i, j, f, o = tf.split(tf.concat([x, h], 1) @ w + b, 4, axis=1)
            c = c * tf.sigmoid(f) + tf.sigmoid(i) * tf.tanh(j)
            return tf.tanh(c) * tf.sigmoid(o), c

        zero = tf.zeros([3, 8], tf.float64)
        h, _ = tf.foldl(step, xs, (zero, zero))
        return tf.reduce_sum(h * h)

    def attention(x: Any, q: Any, k: Any, v: Any) -> Any:
        scores = tf.nn.softmax((x @ q) @ tf.transpose(x @ k) / np.sqrt(8.0))
        return tf.reduce_sum((scores @ (x @ v)) ** 2)

    def vae(x: Any, enc: Any, dec: Any, noise: Any) -> Any:
        mean, logvar = tf.split(x @ enc, 2, axis=1)
        out = (mean + tf.exp(0.5 * logvar) * noise) @ dec
        divergence = 0.5 * tf.reduce_sum(tf.exp(logvar) + mean**2 - 1.0 - logvar)
        return tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(tf.sigmoid(x), out)) + divergence

    def log_huber(x: Any) -> Any:
        def one(t: Any) -> Any:
            if abs(t) <= 1.0:
                return t * t
            return 1.0 - 2.0 * tf.math.log(tf.constant(1.0, tf.float64)) + tf.math.log(t * t)

        return tf.add_n([tf.py_function(one, [x[i]], tf.float64) for i in range(5)])

    def rosenbrock(x: Any) -> Any:
        return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    def ode(x: Any, a: Any) -> Any:
        step = lambda i, x: (i + 1, x + 0.05 * tf.tanh(tf.linalg.matvec(a, x)))  # noqa: E731
        _, x = tf.while_loop(lambda i, _: i < 20, step, (0, x))
        return tf.reduce_sum(x * x)

    def graph_net(x: Any, w: Any) -> Any:
        messages = tf.gather(tf.tanh(x @ w), EDGES[:, 0])
        return tf.reduce_sum(tf.math.unsorted_segment_sum(messages, EDGES[:, 1], 6) ** 2)

    def ctc_like(x: Any) -> Any:
        logp = tf.nn.log_softmax(x)
        return -forward(logp, tf.constant(7))[-1]

    @tf.function(input_signature=[tf.TensorSpec([7, 4], tf.float64), tf.TensorSpec([], tf.int32)])  # type: ignore[untyped-decorator]
    def forward(logp: Any, t: Any) -> Any:
        """The logarithms of the weights of the prefixes of PATH after `t` frames."""
        if t == 0:
            return tf.constant([0.0] + [-30.0] * 4, tf.float64)
        alpha = forward(logp, t - 1)
        moved = tf.concat([tf.constant([-30.0], tf.float64), alpha[:-1]], 0)
        return tf.reduce_logsumexp(tf.stack([alpha, moved]), axis=0) + tf.gather(logp[t - 1], PATH)

    models: dict[str, Callable[..., Any]] = {
        "mlp": mlp,
        "cnn": cnn,
        "lstm": lstm,
        "attention": attention,
        "vae": vae,
        "log_huber": log_huber,
        "ode": ode,
        "graph_net": graph_net,
        "ctc_like": ctc_like,
    }

    def gradient(model: Callable[..., Any]) -> Callable[[Arrays], Arrays]:
        def both(*xs: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(xs)
                y = model(*xs)
            return [tf.convert_to_tensor(g) for g in tape.gradient(y, list(xs))]

        traced = tf.function(both, autograph=False)
        return lambda arrays: [g.numpy() for g in traced(*map(tf.constant, arrays))]

    hessian = tf.function(lambda x: tf.hessians(rosenbrock(x), x))

    made = {name: gradient(model) for name, model in models.items()}
    made["rosenbrock_hessian"] = lambda arrays: [hessian(tf.constant(arrays[0]))[0].numpy()]
    return made


# --- PyTorch ---


def on_torch() -> dict[str, Callable[[Arrays], Arrays]]:
    """The gradient of each model on PyTorch."""
    import torch
    from torch.nn import functional as F

    labels, edges = torch.tensor(LABELS), torch.tensor(EDGES)

    def mlp(x: Any, w: Any, b: Any, v: Any, c: Any) -> Any:
        return F.cross_entropy(torch.relu(x @ w + b) @ v + c, labels)

    def cnn(x: Any, w: Any, v: Any) -> Any:
        y = F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)).permute(0, 2, 3, 1)
        return torch.tanh(torch.relu(y).reshape(2, -1) @ v).sum()

    def lstm(xs: Any, w: Any, b: Any) -> Any:
        h = c = torch.zeros(3, 8, dtype=torch.float64)
        for t in range(5):
            i, j, f, o = (torch.cat([xs[t], h], 1) @ w + b).chunk(4, 1)
            c = c * torch.sigmoid(f) + torch.sigmoid(i) * torch.tanh(j)
            h = torch.tanh(c) * torch.sigmoid(o)
        return (h * h).sum()

    def attention(x: Any, q: Any, k: Any, v: Any) -> Any:
        scores = torch.softmax((x @ q) @ (x @ k).T / np.sqrt(8.0), -1)
        return ((scores @ (x @ v)) ** 2).sum()

    def vae(x: Any, enc: Any, dec: Any, noise: Any) -> Any:
        mean, logvar = (x @ enc).chunk(2, 1)
        out = (mean + torch.exp(0.5 * logvar) * noise) @ dec
        divergence = 0.5 * (torch.exp(logvar) + mean**2 - 1.0 - logvar).sum()
        return F.binary_cross_entropy_with_logits(out, torch.sigmoid(x), reduction="sum") + divergence

    def log_huber(x: Any) -> Any:
        return torch.where(x.abs() <= 1.0, x * x, 1.0 + torch.log(x * x)).sum()

    def rosenbrock(x: Any) -> Any:
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    def ode(x: Any, a: Any) -> Any:
        for _ in range(20):
            x = x + 0.05 * torch.tanh(a @ x)
        return (x * x).sum()

    def graph_net(x: Any, w: Any) -> Any:
        messages = torch.tanh(x @ w)[edges[:, 0]]
        return (torch.zeros(6, 4, dtype=torch.float64).index_add(0, edges[:, 1], messages) ** 2).sum()

    def ctc_like(x: Any) -> Any:
        logp = torch.log_softmax(x, -1)
        alpha = torch.tensor([0.0, -30.0, -30.0, -30.0, -30.0], dtype=torch.float64)
        for t in range(7):
            moved = torch.cat([torch.tensor([-30.0], dtype=torch.float64), alpha[:-1]])
            alpha = torch.logsumexp(torch.stack([alpha, moved]), 0) + logp[t][PATH]
        return -alpha[-1]

    def gradient(model: Callable[..., Any]) -> Callable[[Arrays], Arrays]:
        def run(arrays: Arrays) -> Arrays:
            xs = [torch.tensor(a, requires_grad=True) for a in arrays]
            return [g.numpy() for g in torch.autograd.grad(model(*xs), xs)]

        return run

    made = {
        f.__name__: gradient(f) for f in (mlp, cnn, lstm, attention, vae, log_huber, ode, graph_net, ctc_like)
    }
    hessian = torch.autograd.functional.hessian
    made["rosenbrock_hessian"] = lambda arrays: [hessian(rosenbrock, torch.tensor(arrays[0])).numpy()]
    return made


# --- JAX ---


def on_jax() -> dict[str, Callable[[Arrays], Arrays]]:
    """The gradient of each model on JAX."""
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def mlp(x: Any, w: Any, b: Any, v: Any, c: Any) -> Any:
        logp = jax.nn.log_softmax(jax.nn.relu(x @ w + b) @ v + c)
        return -jnp.mean(logp[jnp.arange(8), LABELS])

    def cnn(x: Any, w: Any, v: Any) -> Any:
        y = jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.sum(jnp.tanh(jax.nn.relu(y).reshape(2, -1) @ v))

    def lstm(xs: Any, w: Any, b: Any) -> Any:
        h = c = jnp.zeros((3, 8))
        for t in range(5):
            i, j, f, o = jnp.split(jnp.concatenate([xs[t], h], 1) @ w + b, 4, axis=1)
            c = c * jax.nn.sigmoid(f) + jax.nn.sigmoid(i) * jnp.tanh(j)
            h = jnp.tanh(c) * jax.nn.sigmoid(o)
        return jnp.sum(h * h)

    def attention(x: Any, q: Any, k: Any, v: Any) -> Any:
        scores = jax.nn.softmax((x @ q) @ (x @ k).T / np.sqrt(8.0))
        return jnp.sum((scores @ (x @ v)) ** 2)

    def vae(x: Any, enc: Any, dec: Any, noise: Any) -> Any:
        mean, logvar = jnp.split(x @ enc, 2, axis=1)
        out = (mean + jnp.exp(0.5 * logvar) * noise) @ dec
        divergence = 0.5 * jnp.sum(jnp.exp(logvar) + mean**2 - 1.0 - logvar)
        return jnp.sum(jax.nn.softplus(out) - jax.nn.sigmoid(x) * out) + divergence

    def log_huber(x: Any) -> Any:
        return jnp.sum(jnp.where(jnp.abs(x) <= 1.0, x * x, 1.0 + jnp.log(x * x)))

    def rosenbrock(x: Any) -> Any:
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    def ode(x: Any, a: Any) -> Any:
        for _ in range(20):
            x = x + 0.05 * jnp.tanh(a @ x)
        return jnp.sum(x * x)

    def graph_net(x: Any, w: Any) -> Any:
        messages = jnp.tanh(x @ w)[EDGES[:, 0]]
        return jnp.sum(jax.ops.segment_sum(messages, EDGES[:, 1], 6) ** 2)

    def ctc_like(x: Any) -> Any:
        logp = jax.nn.log_softmax(x)
        alpha = jnp.array([0.0, -30.0, -30.0, -30.0, -30.0])
        for t in range(7):
            moved = jnp.concatenate([jnp.array([-30.0]), alpha[:-1]])
            alpha = jax.nn.logsumexp(jnp.stack([alpha, moved]), axis=0) + logp[t][np.array(PATH)]
        return -alpha[-1]

    def gradient(model: Callable[..., Any]) -> Callable[[Arrays], Arrays]:
        def run(arrays: Arrays) -> Arrays:
            return [np.asarray(g) for g in jax.grad(model, tuple(range(len(arrays))))(*arrays)]

        return run

    made = {
        f.__name__: gradient(f) for f in (mlp, cnn, lstm, attention, vae, log_huber, ode, graph_net, ctc_like)
    }
    made["rosenbrock_hessian"] = lambda arrays: [np.asarray(jax.hessian(rosenbrock)(arrays[0]))]
    return made


FRAMEWORKS = {"penstock": on_penstock, "torch": on_torch, "jax": on_jax}


def gradients(framework: str) -> dict[str, list[Any]]:
    """The gradients of every model on one framework, as nested lists."""
    models = FRAMEWORKS[framework]()
    return {name: [g.tolist() for g in models[name](arrays)] for name, arrays in inputs().items()}


def from_peer(python: str, framework: str) -> dict[str, list[Any]] | None:
    """The gradients that another interpreter computes; None where it lacks the framework."""
    command = [python, __file__, "--on", framework]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        raise SystemExit(f"{framework} failed")
    found: dict[str, list[Any]] | None = json.loads(done.stdout)
    return found


def main() -> None:
    """Compares, or, with `--on`, prints the gradients of one framework."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=sys.executable, help="the interpreter that has PyTorch and JAX")
    parser.add_argument("--on", choices=list(FRAMEWORKS), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.on:
        installed = importlib.util.find_spec(args.on) is not None
        json.dump(gradients(args.on) if installed else None, sys.stdout)
        return
    own = gradients("penstock")
    wrong = 0
    for peer in PEERS:
        found = from_peer(args.peers, peer) if Path(args.peers).exists() else None
        if found is None:
            print(f"{peer}: not installed for {args.peers}")
            continue
        for name, grads in own.items():
            pairs = [(np.array(a), np.array(b)) for a, b in zip(grads, found[name], strict=True)]
            error = max(float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-30)) for a, b in pairs)
            wrong += error > TOLERANCE
            print(f"{peer:6} {name:20} {error:.1e}{'' if error <= TOLERANCE else '  DIFFERS'}")
    if wrong:
        raise SystemExit(f"{wrong} gradients differ by more than {TOLERANCE}")


if __name__ == "__main__":
    main()
