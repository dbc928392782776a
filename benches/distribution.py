"""Measures what several processes compute together: `python benches/distribution.py`.

Each number is the least of many, in milliseconds: of an `all_reduce` by its bytes, and of a step of training
of an MLP by each process, alone and together with others. With `--torch PYTHON` the same is measured with the
`gloo` backend of torch, run by that interpreter, in turns. Beside them stands the paper model:
`2 (n - 1) (latency + bytes / n / rate)` seconds, with the latency of the smallest message and the rate of the
largest.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

SIZES = [4, 4 << 10, 64 << 10, 1 << 20, 4 << 20, 25 << 20, 100 << 20]
WIDTH, LAYERS, ROWS = 512, 4, 256


def least(run: Callable[[], object], count: int) -> float:
    """The least time of a call, in milliseconds."""
    best = float("inf")
    for _ in range(count):
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return best * 1e3


def repeats(size: int) -> int:
    """How often a message is sent."""
    return max(10, min(500, (64 << 20) // size))


def of_penstock(rank: int, members: list[str]) -> dict[str, float]:
    """The figures of this package, in one of the processes."""
    import penstock as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    found: dict[str, float] = {}
    group = tf.distribute.ProcessGroup(members, rank)
    for size in SIZES:
        value = tf.ones([size // 4])
        found[f"all_reduce {size}"] = least(lambda value=value: group.all_reduce(value), repeats(size))  # type: ignore[misc]
    weights = [tf.Variable(tf.ones([WIDTH, WIDTH]) / WIDTH) for _ in range(LAYERS)]
    x = tf.ones([ROWS, WIDTH])

    def step(together: bool) -> None:
        with tf.GradientTape() as tape:
            h = x
            for w in weights:
                h = tf.nn.relu(h @ w)
            loss = tf.reduce_mean(h)
        gradients = tape.gradient(loss, weights)
        if together:
            gradients = group.all_reduce(gradients, "mean", bytes_per_pack=1 << 20)
        for w, g in zip(weights, gradients, strict=True):
            w.assign_sub(0.01 * g)

    for name, together in (("step alone", False), ("step together", True)):
        traced = tf.function(step)
        group.barrier()
        found[name] = least(lambda traced=traced, together=together: traced(together), 60)  # type: ignore[misc]
    group.barrier()
    group.leave()
    return found


def of_torch(rank: int, members: list[str]) -> dict[str, float]:
    """The figures of torch, in one of the processes."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{members[0]}", rank=rank, world_size=len(members))
    found: dict[str, float] = {}
    for size in SIZES:
        value = torch.ones(size // 4)
        found[f"all_reduce {size}"] = least(lambda value=value: dist.all_reduce(value), repeats(size))  # type: ignore[misc]
    layers: list[Any] = []
    for _ in range(LAYERS):
        layers += [torch.nn.Linear(WIDTH, WIDTH, bias=False), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers)
    x = torch.ones(ROWS, WIDTH)

    def step(network: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        network(x).mean().backward()
        optimizer.step()

    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    dist.barrier()
    found["step alone"] = least(lambda: step(model, optimizer), 60)
    parallel = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1)
    dist.barrier()
    found["step together"] = least(lambda: step(parallel, optimizer), 60)
    dist.barrier()
    return found


def together(python: str, what: str, count: int) -> dict[str, float]:
    """Measure `count` processes; of each figure the slowest counts."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    members = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    commands = [[python, __file__, "--member", what, str(rank), *members] for rank in range(count)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    outputs = [json.loads(process.communicate()[0]) for process in processes]
    return {name: max(output[name] for output in outputs) for name in outputs[0]}


def main() -> None:
    """Measures, and prints a table."""
    if sys.argv[1:2] == ["--member"]:
        what, rank, *members = sys.argv[2:]
        measure = {"penstock": of_penstock, "torch": of_torch}[what]
        print(json.dumps(measure(int(rank), members)))
        return
    parser = argparse.ArgumentParser(description="Measures what several processes compute together.")
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that has torch")
    parser.add_argument("--processes", type=int, default=2, help="how many processes")
    parser.add_argument("--rounds", type=int, default=3, help="how often; of each figure the least counts")
    options = parser.parse_args()
    kinds = {"penstock": sys.executable} | ({"torch": options.torch} if options.torch else {})
    best: dict[str, dict[str, float]] = {kind: {} for kind in kinds}
    for _ in range(options.rounds):
        for kind, python in kinds.items():
            for name, value in together(python, kind, options.processes).items():
                best[kind][name] = min(value, best[kind].get(name, value))
    n, own = options.processes, best["penstock"]
    latency = own[f"all_reduce {SIZES[0]}"] / (2 * (n - 1))
    rate = 2 * (n - 1) * SIZES[-1] / n / own[f"all_reduce {SIZES[-1]}"]
    print(f"{n} processes on {os.cpu_count()} cores, milliseconds")
    print("| | " + " | ".join([*kinds, "ratio"] if len(kinds) > 1 else [*kinds]) + " | paper model |")
    print("|---|" + "---:|" * (len(kinds) + (len(kinds) > 1) + 1))
    for name in own:
        cells = [f"{best[kind][name]:.3f}" for kind in kinds]
        if len(kinds) > 1:
            cells.append(f"{own[name] / best['torch'][name]:.2f}")
        size = int(name.split()[1]) if name.startswith("all_reduce") else None
        cells.append("" if size is None else f"{2 * (n - 1) * (latency + size / n / rate):.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
