"""Measures two processes on a network of 1 Gbit/s: `python benches/network.py`, as root.

Two network namespaces, with `tc tbf` between them, stand for hosts. The figures are the share of the line
rate that an `all_reduce` of 25 MB reaches, and the time of a step of 200 ms that computes four gradients of
6 MB one after the other: alone, with one `all_reduce` at the end, and with one for each gradient when it is
there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RATE = 1e9
BYTES = 25 << 20


def least(run: Callable[[], object], between: Callable[[], object], count: int = 4) -> float:
    """The least time of a call, in seconds; `between` comes before each."""
    run()
    best = float("inf")
    for _ in range(count):
        between()
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return best


def member(rank: int, members: list[str]) -> dict[str, float]:
    """The figures of one of the processes."""
    import numpy as np

    import penstock as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    group = tf.distribute.ProcessGroup(members, rank)
    value = tf.ones([BYTES // 4])
    found = {"all_reduce": least(lambda: group.all_reduce(value), group.barrier)}
    n = 700
    matrix = tf.constant(np.full([n, n], 1 / n, np.float32))
    weights = [tf.Variable(tf.ones([BYTES // 16])) for _ in range(4)]

    def work(x: Any, times: int) -> Any:
        for _ in range(times):
            x = x @ matrix
        return x

    ten = tf.function(lambda: work(matrix, 10))
    times = max(1, int(0.05 / (least(ten, lambda: None) / 10)))

    def step(combine: Callable[[list[Any]], Any]) -> Callable[[], Any]:
        def gradients() -> Any:
            x, made = matrix, []
            for w in weights:
                x = work(x, times)
                made.append(w * x[0, 0])
            # As of a network: the last layer's gradient is made first.
            return combine(made[::-1])

        traced: Callable[[], Any] = tf.function(gradients)
        return traced

    found["alone"] = least(step(lambda g: g), group.barrier)
    found["at the end"] = least(step(lambda g: group.all_reduce(g, bytes_per_pack=1 << 30)), group.barrier)
    found["beside"] = least(step(lambda g: group.all_reduce(g, bytes_per_pack=1)), group.barrier)
    group.barrier()
    return found


def main() -> None:
    """Measures, and prints the figures."""
    if sys.argv[1:2] == ["--member"]:
        print(json.dumps(member(int(sys.argv[2]), sys.argv[3:])))
        return
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))
    from support.network import cable, why_not  # type: ignore[import-not-found]

    reason = why_not()
    if reason:
        sys.exit(reason)
    with cable("1gbit") as between:
        members = [f"{address}:7700" for address in between.addresses]
        processes = [
            subprocess.Popen(
                [*between.on(host), sys.executable, __file__, "--member", str(host), *members],
                stdout=subprocess.PIPE,
                text=True,
            )
            for host in range(2)
        ]
        outputs = [json.loads(process.communicate()[0]) for process in processes]
    found = {name: max(output[name] for output in outputs) for name in outputs[0]}
    share = BYTES * 8 / RATE / found["all_reduce"]
    print(f"25 MB: {found['all_reduce'] * 1e3:.0f} ms, {share:.2f} of the line rate")
    print(f"a step alone: {found['alone'] * 1e3:.0f} ms")
    print(f"one all_reduce at its end: {found['at the end'] * 1e3:.0f} ms")
    faster = 1 - found["beside"] / found["at the end"]
    print(f"one for each gradient: {found['beside'] * 1e3:.0f} ms, {faster:.0%} less")


if __name__ == "__main__":
    main()
