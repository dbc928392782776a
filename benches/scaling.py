"""How much faster work is on more threads: the table in `docs/benchmarks.md`.

    .venv/bin/python benches/scaling.py

Each case is timed on 1, 2, 4, … threads in turn, round by round, up to the number of cores; the figure is the
best of all rounds. What is bound by memory stops at the memory's speed, whatever the number of threads.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import page
import penstock as tf
from table import quantity

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
ROUNDS: Final = 15


def normal(*shape: int, seed: int = 0) -> tf.Tensor:
    return tf.random.stateless_normal(shape, seed=[seed, 1])


def definite(n: int, seed: int = 0) -> tf.Tensor:
    x = normal(n, n, seed=seed)
    return tf.matmul(x, x, transpose_b=True) + float(n) * tf.eye(n)


def normal_cdf(x: tf.Tensor) -> tf.Tensor:
    return 0.5 * (1.0 + tf.math.erf(x * 0.7071067811865476))


def black_scholes(spot: tf.Tensor, strike: tf.Tensor, years: tf.Tensor) -> tf.Tensor:
    """Prices of calls, at a rate of 2 % and a volatility of 30 % (Black and Scholes, 1973)."""
    spread = 0.3 * tf.sqrt(years)
    first = (tf.math.log(spot / strike) + (0.02 + 0.045) * years) / spread
    return spot * normal_cdf(first) - strike * tf.exp(-0.02 * years) * normal_cdf(first - spread)


def recurrent(xs: tf.Tensor, w: tf.Tensor, u: tf.Tensor) -> tf.Tensor:
    h = tf.zeros([32, 128])
    for x in xs:
        h = tf.tanh(x @ w + h @ u)
    return h


def positive(n: int, seed: int) -> tf.Tensor:
    return tf.exp(0.3 * normal(n, seed=seed))


# What each case computes, and on what. Pairs are of kernels that do not wait for each other.
CASES: Final[dict[str, tuple[Callable[..., Any], tuple[tf.Tensor, ...]]]] = {
    "`2 * x + 1`, 64 MB": (lambda x: 2.0 * x + 1.0, (normal(1 << 24),)),
    "Black–Scholes, 1 M": (black_scholes, tuple(positive(1 << 20, i) for i in range(3))),
    "sum of 64 MB": (tf.reduce_sum, (normal(1 << 24),)),
    "softmax 4000×4000": (tf.nn.softmax, (normal(4000, 4000),)),
    "sort of 1 M": (tf.sort, (normal(1 << 20),)),
    "matmul 64": (tf.matmul, (normal(64, 64), normal(64, 64))),
    "matmul 256": (tf.matmul, (normal(256, 256), normal(256, 256))),
    "matmul 1024": (tf.matmul, (normal(1024, 1024), normal(1024, 1024))),
    "conv2d 8×56×56×64, 3×3, 64 filters": (
        lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"),
        (normal(8, 56, 56, 64), normal(3, 3, 64, 64)),
    ),
    "recurrent net, 100 steps, batch 32, width 128": (
        recurrent,
        (normal(100, 32, 128), 0.1 * normal(128, 128), 0.1 * normal(128, 128)),
    ),
    "singular values 256": (lambda x: tf.linalg.svd(x, compute_uv=False), (normal(256, 256),)),
    "singular values 256, of two matrices in turn": (
        lambda x, y: (tf.linalg.svd(x, compute_uv=False), tf.linalg.svd(y, compute_uv=False)),
        (normal(256, 256), normal(256, 256, seed=1)),
    ),
    "Cholesky factors 256, of two matrices in turn": (
        lambda x, y: (tf.linalg.cholesky(x), tf.linalg.cholesky(y)),
        (definite(256), definite(256, seed=1)),
    ),
}


def seconds(call: Callable[[], Any]) -> float:
    """The time of a call, from as many as take some hundredths of a second."""
    start, calls = time.perf_counter(), 0
    while (taken := time.perf_counter() - start) < 0.03:
        call()
        calls += 1
    return taken / calls


def measured(case: str, counts: list[int]) -> list[float]:
    """The time of a case on each number of threads."""
    function, inputs = CASES[case]
    traced = tf.function(function)
    best = [float("inf")] * len(counts)
    for _ in range(ROUNDS):
        for i, count in enumerate(counts):
            tf.config.threading.set_intra_op_parallelism_threads(count)
            traced(*inputs)
            best[i] = min(best[i], seconds(lambda: traced(*inputs)))
    return best


def main() -> None:
    """Measures, prints and writes the table."""
    cores = os.cpu_count() or 1
    counts = [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n <= cores]
    titles = [f"{n} thread{'s' if n > 1 else ''}" for n in counts]
    rows = [f"| case | {' | '.join(titles)} | times as fast |", f"|---|{'---:|' * (len(counts) + 1)}"]
    for case in CASES:
        times = measured(case, counts)
        cells = [quantity(t, "seconds") for t in times]
        rows.append(f"| {case} | {' | '.join(cells)} | {times[0] / times[-1]:.2f} |")
        print(rows[-1], flush=True)
    PAGE.write_text(page.replaced(PAGE, "scaling", "\n".join([page.machine(), "", *rows])), encoding="utf-8")


if __name__ == "__main__":
    main()
