"""Measures how much of what a data set computes is hidden behind the program that reads it.

    python benches/overlap.py [--peer python-with-tensorflow] [--write]

A data set makes elements of some milliseconds, a program takes some milliseconds with each, in Python, which
holds the interpreter's lock. In turn they take the sum of both; in an ideal overlap the larger one.
`--write` puts the table into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- overlap begins -->", "<!-- overlap ends -->"
ELEMENTS, TRIES, CONSUMED = 60, 5, 3e-3


def consume(elements: Iterable[Any], seconds: float) -> float:
    """The seconds that it takes to read all elements, and to compute in Python for so long with each."""
    start = time.perf_counter()
    for _ in elements:
        until = time.perf_counter() + seconds
        total = 0
        while time.perf_counter() < until:
            total += sum(range(50))
    return time.perf_counter() - start


def data_sets(tf: Any, folder: str) -> dict[str, tuple[Any, Any]]:
    """For each kind of work a data set, and the same one that works ahead."""
    rng = np.random.default_rng(0)
    rows = tf.constant(rng.standard_normal((ELEMENTS, 1 << 16)), tf.float32)

    def work(x: Any) -> Any:
        y = x
        for _ in range(8):
            y = tf.math.log1p(tf.abs(tf.sin(y) + tf.cos(x)))
        return tf.sort(y)

    files = []
    for i in range(4):
        files.append(f"{folder}/{i}.tfrecord")
        with tf.io.TFRecordWriter(files[-1]) as out:
            for _ in range(ELEMENTS // 4):
                out.write(rng.bytes(4 << 20))

    def read(name: Any) -> Any:
        return tf.data.TFRecordDataset(name).map(
            lambda r: tf.reduce_sum(tf.cast(tf.io.decode_raw(r, tf.uint8), tf.int64))
        )

    mapped = tf.data.Dataset.from_tensor_slices(rows).map(work)
    parallel = tf.data.Dataset.from_tensor_slices(rows).map(work, num_parallel_calls=2)
    names = tf.data.Dataset.from_tensor_slices(files)
    return {
        "a function, read ahead": (mapped, mapped.prefetch(4)),
        "a function, two calls at once": (mapped, parallel.prefetch(4)),
        "files in turn, read ahead": (
            names.interleave(read, cycle_length=4),
            names.interleave(read, cycle_length=4, num_parallel_calls=2).prefetch(4),
        ),
    }


def best(data: Any, seconds: float) -> float:
    """The least time of several tries."""
    return min(consume(data, seconds) for _ in range(TRIES))


def measured(tf: Any) -> dict[str, list[float]]:
    """For each kind of work the seconds of the elements alone, and with the program, in turn and ahead."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            name: [best(plain, 0), best(plain, CONSUMED), best(ahead, CONSUMED)]
            for name, (plain, ahead) in data_sets(tf, folder).items()
        }


def table(ours: dict[str, list[float]], theirs: dict[str, list[float]] | None) -> str:
    head = ["what", "elements alone", "in turn", "ahead", "ideal"] + (["TensorFlow ahead"] if theirs else [])
    lines = [" | ".join(head), "|".join(["---", *["---:"] * (len(head) - 1)])]
    program = ELEMENTS * CONSUMED
    for name, (alone, in_turn, ahead) in ours.items():
        cells = [f"{1e3 * s:.0f} ms" for s in (alone, in_turn, ahead, max(alone, program))]
        if theirs:
            cells.append(f"{1e3 * theirs[name][2]:.0f} ms")
        lines.append(" | ".join([name, *cells]))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="a Python that has TensorFlow")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument("--as-peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_peer:
        import tensorflow

        print(json.dumps(measured(tensorflow)))
        return
    import penstock

    theirs = None
    if options.peer:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
            "TF_CPP_MIN_LOG_LEVEL": "3"
        }
        run = subprocess.run(
            [options.peer, __file__, "--as-peer"], stdout=subprocess.PIPE, env=environment, check=True
        )
        theirs = json.loads(run.stdout.splitlines()[-1])
    text = table(measured(penstock), theirs)
    print(text)
    if options.write:
        page = DOCUMENT.read_text()
        before, rest = page.split(BEGIN)
        DOCUMENT.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
