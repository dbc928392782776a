"""One framework in a process of its own: prepares and times cases as `run.py` asks over a pipe.

Every request is a line of JSON on standard input, every answer a line of JSON on what was standard output;
what the framework itself prints goes to standard error. The process only imports the framework: it forks a
child for each case, which answers until the case is dropped, so that no case meets the memory, the threads or
the settings of another.
"""

import contextlib
import gc
import importlib
import importlib.metadata
import importlib.util
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from packaging.requirements import Requirement

from cases import Work
from families import family_of
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
    """Condenses a result to what must agree between frameworks.

    Size, mean, standard deviation, and the mean with signs drawn at random, which depends on the order.
    """
    values = np.ravel(np.asarray(result, dtype=np.float64))
    signs = np.random.default_rng(3).integers(0, 2, values.size, dtype=np.int8) * np.int8(2) - np.int8(1)
    return [float(values.size), float(values.mean()), float(values.std()), float((values * signs).mean())]


def resident(field: str) -> int:
    """The bytes of resident memory of this process, by the name that Linux has for them; 0 if not known.

    `VmRSS` is all that is resident now, `VmHWM` the most that was, `RssAnon` what no file is behind.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    line = next(line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    """Makes the peak of resident memory start anew, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


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
        self.name = next(framework.module for framework in FRAMEWORKS if framework.key == key)
        self.module = importlib.import_module(f"frameworks.{self.name}")
        self.kept, self.base = 0, 0
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
        """Makes a case ready and runs it once; the answer has what its result is compared by."""
        module = f"{family_of(case).package}.{self.name}"
        if importlib.util.find_spec(module) is None:
            return {"absent": True}
        works = importlib.import_module(module).works()
        if case not in works:
            return {"absent": True}
        before = resident("RssAnon")
        work = works[case]()
        result = work.call(*work.args)
        value = None if result is None else summary(self.module.to_numpy(result))
        self.timer, self.steps, self.loops = make_timer(work), work.steps, None
        del result
        gc.collect()
        forget_peak()
        self.kept, self.base = resident("RssAnon") - before, resident("VmRSS")
        return {"value": value}

    def measure(self, seconds: float, repeats: int) -> dict[str, Any]:
        """Times the case; the memory is what making it ready left, and the peak of running it beyond that."""
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
        memory = max(0, self.kept + resident("VmHWM") - self.base)
        return {"time": min(times) / self.loops / self.steps, "memory": memory}


def respond(answer: dict[str, Any]) -> None:
    os.write(ANSWERS, (json.dumps(answer) + "\n").encode())


def serve(worker: Worker | None, until: str | None) -> None:
    """Answers requests until there are no more, or one is `until`, which is answered too.

    `prepare` forks: the child answers up to `drop`, and the parent takes up the requests behind it.
    """
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        action = request.pop("do")
        if action == "prepare" and until is None:
            child = os.fork()
            if child:
                _, status = os.waitpid(child, 0)
                if status:
                    respond({"error": f"the process ended with status {os.waitstatus_to_exitcode(status)}"})
                continue
            until = "drop"
        try:
            if action == "start":
                worker = Worker(**request)
                answer: dict[str, Any] = {}
            elif action == "drop":
                answer = {}
            else:
                answer = getattr(worker, action)(**request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        respond(answer)
        if action == until:
            os._exit(0)


ANSWERS = os.dup(1)

if __name__ == "__main__":
    os.dup2(2, 1)
    serve(None, None)
