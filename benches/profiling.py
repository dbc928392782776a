"""What recording a profile costs, and how much of the wall time a profile accounts for.

    .venv/bin/python benches/profiling.py            # the table, to read
    .venv/bin/python benches/profiling.py --write    # the same into docs/profiling.md

Each program runs serially, in turn without a profile and with one, and the quickest of the rounds counts, by
the time that its thread was at work: the first column is what a call takes, the second how much longer it
takes while a profile is recorded. The third is how much of the wall time of the loop the rows of the profile
add up to, with the time outside of all events, in which the loop itself runs.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import page
import penstock

tf: Any = penstock
PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "profiling.md"
RANDOM: Final = np.random.default_rng(0)
# How long a round is, and how many there are.
SECONDS: Final = 0.004
ROUNDS: Final = 200


def normal(*shape: int) -> Any:
    """Small random numbers."""
    return tf.constant(RANDOM.normal(0.0, 0.1, shape).astype(np.float32))


def training_step(width: int, batch: int) -> Callable[[], Any]:
    """A step of Adam on a network of two layers."""
    first, second = tf.Variable(normal(64, width)), tf.Variable(normal(width, 10))
    labels = tf.constant(RANDOM.integers(0, 10, batch))
    x, optimizer = normal(batch, 64), tf.optimizers.Adam(1e-3)

    def step(x: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(x @ first) @ second
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
        variables = [first, second]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    traced = tf.function(step)
    return lambda: traced(x, labels)


def programs() -> dict[str, Callable[[], Any]]:
    """The programs: one call of each."""
    chain = tf.function(lambda x: tf.tanh(x) * 2.0 + tf.exp(-x))
    product = tf.function(lambda x: x @ x)
    small = tf.function(lambda x: x + 1.0)
    scalar, square, row = tf.constant(1.0), normal(256, 256), normal(1_000_000)
    few = normal(200)

    def sorts(x: Any) -> Any:
        for _ in range(20):
            x = tf.reverse(tf.sort(x), [0])
        return x

    sorting = tf.function(sorts)

    def loop(x: Any) -> Any:
        for _ in tf.range(1000):
            x = tf.reverse(tf.sort(x), [0])
        return x

    looping, fewer = tf.function(loop), normal(50)

    def eager() -> Any:
        return tf.reduce_sum(tf.nn.softmax(square @ square))

    def elements() -> Any:
        for _ in data:
            pass

    data = tf.data.Dataset.range(1000).map(lambda i: i * 2).batch(10)

    return {
        "a step of training, 512 wide, batches of 256": training_step(512, 256),
        "a step of training, 128 wide, batches of 64": training_step(128, 64),
        "a product of 256×256 matrices": lambda: product(square),
        "`tanh(x) * 2 + exp(-x)` of a million": lambda: chain(row),
        "three operators outside of functions, 256×256": eager,
        "20 sorts of 200 elements": lambda: sorting(few),
        "a loop in a graph with 1000 sorts of 50 elements": lambda: looping(fewer),
        "`tf.sort` outside of functions, 50 elements": lambda: tf.sort(fewer),
        "100 batches of 10 elements of a data set": elements,
        "a function that adds two numbers": lambda: small(scalar),
    }


def timed(call: Callable[[], Any], count: int) -> tuple[float, float]:
    """The mean seconds of a call, of `count` calls: those of its thread, and those of the clock."""
    started, at_work = time.perf_counter(), time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - at_work) / count, (time.perf_counter() - started) / count


def measured(call: Callable[[], Any]) -> tuple[float, float, float]:
    """What a call takes without a profile and with one, and which part of that a profile accounts for."""
    timed(call, 5)
    count = max(1, int(SECONDS / timed(call, 5)[0]))
    without, recorded, accounted = [], [], []
    for _ in range(ROUNDS):
        without.append(timed(call, count)[0])
        with tf.profiler.record() as recording:
            at_work, wall = timed(call, count)
        recorded.append(at_work)
        told = sum(row.own for row in recording.rows()) + recording.shares()["program"]
        accounted.append(told / (wall * count))
        del recording  # a million events take a while to forget
    return min(without), min(recorded), sorted(accounted)[ROUNDS // 2]


def table() -> str:
    """The table of all programs."""
    lines = [page.machine(), "", "| | a call | with a profile | of the wall time |", "|---|--:|--:|--:|"]
    for name, call in programs().items():
        without, recorded, accounted = measured(call)
        lines.append(
            f"| {name} | {without * 1e6:,.1f} µs | {recorded / without - 1:+.1%} | {accounted:.1%} |"
        )
        print(lines[-1], file=sys.stderr)
    return "\n".join(lines)


def main() -> None:
    """Prints the table, or writes it into the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="write the table into docs/profiling.md")
    write = parser.parse_args().write
    tf.config.threading.set_intra_op_parallelism_threads(1)
    text = table()
    if write:
        PAGE.write_text(page.replaced(PAGE, "cost", text), encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
