"""One framework in a process of its own: prepares and times cases as `run.py` asks over a pipe.

Every request is a line of JSON on standard input, every answer a line of JSON on what was standard output;
what the framework itself prints goes to standard error.
"""

import gc
import importlib
import importlib.metadata
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from packaging.requirements import Requirement

from cases import Work
from frameworks import FRAMEWORKS

Timer = Callable[[Iterator[None]], float]


def make_timer(work: Work) -> Timer:
    """Returns a function that calls the work once per element of an iterator, and returns the seconds.

    The loop is compiled with the arguments spelled out, so that it adds as little as a loop in Python can.
    """
    names = [f"a{i}" for i in range(len(work.args))]
    call = f"call({', '.join(names)})"
    body = f"wait({call})" if work.wait else call
    source = (
        f"def timer(loops, clock=clock, call=call, wait=wait, args=args):\n"
        f"    [{', '.join(names)}] = args\n"
        f"    start = clock()\n"
        f"    for _ in loops:\n"
        f"        {body}\n"
        f"    return clock() - start\n"
    )
    scope: dict[str, Any] = {
        "clock": time.perf_counter,
        "call": work.call,
        "wait": work.wait,
        "args": work.args,
    }
    exec(source, scope)
    timer: Timer = scope["timer"]
    return timer


def count_loops(timer: Timer, seconds: float) -> int:
    """Returns how many calls fill the given time; at least one."""
    loops = 1
    while True:
        took = timer(itertools.repeat(None, loops))
        if took >= seconds / 4:
            return max(1, round(loops * seconds / took))
        loops *= 4 if took < seconds / 64 else 2


def summary(result: Any) -> list[float]:
    """Condenses a result to what must agree between frameworks: size, mean, standard deviation."""
    values = np.asarray(result, dtype=np.float64)
    return [float(values.size), float(values.mean()), float(values.std())]


def installed_bytes(distribution: str) -> int:
    """Returns the size of a distribution and of everything it requires, as installed."""
    seen: set[tuple[str, str]] = set()
    sizes: dict[str, int] = {}

    def visit(name: str, extra: str) -> None:
        name = name.lower().replace("_", "-")
        if (name, extra) in seen:
            return
        seen.add((name, extra))
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            return
        if name not in sizes:
            paths = (str(found.locate_file(path)) for path in found.files or ())
            sizes[name] = sum(os.stat(path).st_size for path in paths if os.path.isfile(path))  # noqa: PTH113, PTH116
        for line in found.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                for wanted in ("", *requirement.extras):
                    visit(requirement.name, wanted)

    visit(distribution, "")
    return sum(sizes.values())


class Worker:
    """Answers the requests for one framework."""

    def __init__(self, key: str) -> None:
        name = next(framework.module for framework in FRAMEWORKS if framework.key == key)
        self.module = importlib.import_module(f"frameworks.{name}")
        self.works = self.module.works()
        self.timer: Timer | None = None
        self.steps = 1
        self.loops: int | None = None

    def about(self) -> dict[str, Any]:
        name = self.module.DISTRIBUTION
        return {
            "version": importlib.metadata.version(name),
            "import": self.module.IMPORT,
            "size": installed_bytes(name),
            "python": sys.version.split()[0],
        }

    def prepare(self, case: str) -> dict[str, Any]:
        if case not in self.works:
            return {"absent": True}
        work = self.works[case]()
        result = work.call(*work.args)
        value = None if result is None else summary(self.module.to_numpy(result))
        self.timer, self.steps, self.loops = make_timer(work), work.steps, None
        return {"value": value}

    def measure(self, seconds: float, repeats: int) -> dict[str, Any]:
        assert self.timer is not None
        gc.collect()
        gc.disable()
        try:
            if self.loops is None:
                self.loops = count_loops(self.timer, seconds)
            times = [self.timer(itertools.repeat(None, self.loops))]
            # A call that is long by itself needs no repeats within a round.
            while len(times) < repeats and sum(times) < 5 * seconds:
                times.append(self.timer(itertools.repeat(None, self.loops)))
        finally:
            gc.enable()
        return {"time": min(times) / self.loops / self.steps}

    def drop(self) -> dict[str, Any]:
        self.timer = None
        gc.collect()
        return {}


def main() -> None:
    """Serves requests until standard input ends."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        worker: Worker | None = None
        for line in sys.stdin:
            request = json.loads(line)
            action = request.pop("do")
            try:
                if action == "start":
                    worker = Worker(**request)
                    answer = {}
                else:
                    answer = getattr(worker, action)(**request)
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
