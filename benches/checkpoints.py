"""Processor time and memory of the gradient of a long loop, by how often the loop keeps its state.

    python benches/checkpoints.py

Each case runs in a process of its own. The memory is the peak of the resident set beyond that before the
first call.
"""

import resource
import subprocess
import sys
import time

STEPS, SIZE = 2000, 20_000
EVERY = [None, 10, 45, 200]


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(every: int | None) -> None:
    import penstock as tf

    @tf.function
    def gradient(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, y = tf.while_loop(
                lambda i, y: i < STEPS,
                lambda i, y: (i + 1, tf.sin(y) * 1.01 + x),
                (0, x),
                checkpoint_every=every,
            )
            total = tf.reduce_sum(y)
        return tape.gradient(total, x)  # type: ignore[no-any-return]

    x = tf.fill([SIZE], 0.1)
    before = peak()
    gradient(x).numpy()
    times = []
    for _ in range(3):
        start = time.process_time()
        gradient(x).numpy()
        times.append(time.process_time() - start)
    print(f"| {every or 'all'} | {min(times) * 1e3:.0f} ms | {peak() - before:.0f} MB |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(None if sys.argv[1] == "None" else int(sys.argv[1]))
    else:
        print("| kept at every | processor time | memory |\n|---|---|---|")
        for every in EVERY:
            subprocess.run([sys.executable, __file__, str(every)], check=True)
