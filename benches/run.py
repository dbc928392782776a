"""Measures families of cases, every framework in a process of its own, in turn within each round.

    python benches/run.py --python penstock=.venv/bin/python --python peers=.venv-peers/bin/python

A figure is the median over the rounds; a round takes the best of a few repeats of a loop that is long enough
to be timed, the collector of garbage off. Results are merged into a JSON file, so that a run of a few
frameworks or cases leaves the others' figures as they are.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import selectors
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
import zipfile
from pathlib import Path
from typing import Any

from cases import Case
from families import FAMILIES, Family
from frameworks import FRAMEWORKS
from levels import LEVELS, Level

HERE = Path(__file__).resolve().parent
DIST = HERE.parent / "dist"
SPECIAL = {"import", "size", "wheel"}
PAUSE = 0.05  # seconds between frameworks, for the threads of the last one to fall asleep


class TookTooLong(Exception):
    """A framework did not answer in time."""


class Process:
    """A worker process of one framework; started again after it was ended for taking too long.

    Attributes:
        key: What its figures are listed by.
        python: The interpreter.
        framework: The key of the framework, if it is listed by another.
    """

    def __init__(self, key: str, python: str, level: Level, framework: str | None = None) -> None:
        self.key, self.python, self.framework = key, python, framework or key
        self.environment = level.environment()
        self.process: subprocess.Popen[str] | None = None

    def ask(self, timeout: float, **request: Any) -> dict[str, Any]:
        """Sends a request and returns the answer.

        Raises:
            TookTooLong: There was none within `timeout` seconds; the process is ended.
        """
        if self.process is None:
            self.process = subprocess.Popen(
                [self.python, str(HERE / "worker.py")],
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
            started = self.ask(timeout, do="start", key=self.framework)
            if "error" in started:
                self.stop()
                return started
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            return {"error": "the process ended"}
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout):
                self.stop()
                raise TookTooLong
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.stop()
            return {"error": f"the process ended with status {code}"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def drop(self, timeout: float) -> None:
        """Ends the child that has a case."""
        if self.process is not None:
            with contextlib.suppress(TookTooLong):
                self.ask(timeout, do="drop")

    def stop(self) -> None:
        """Ends the process and the child that it forked, if they run."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()
            self.process = None


def machine(level: Level = LEVELS["best"]) -> dict[str, Any]:
    """Describes the machine: processor, cores, memory, system, and the instructions that are used."""
    info = {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count() or 1}
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        fields = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        info["cpu"] = fields.get("model name", info["cpu"])
        flags = fields.get("flags", "").split()
        info["simd"] = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "baseline"
    if level.title:
        info["simd"] = f"held to {level.title}"
    if hasattr(os, "sysconf"):
        info["memory_gib"] = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    info["system"] = f"{platform.system()} {platform.machine()}"
    return info


def shorten(error: str, width: int = 160) -> str:
    """Puts an error's message on one line of limited length."""
    return textwrap.shorten(error.replace("|", "/"), width, placeholder=" …")


def measure_case(
    family: Family, case: Case, workers: list[Process], options: argparse.Namespace
) -> dict[str, Any]:
    """Measures one case on every framework, round by round.

    Returns:
        For each framework that has the case its figures, or why it has none.
    """
    cells: dict[str, Any] = {}
    rounds: dict[str, list[float]] = {}
    values: dict[str, list[float]] = {}
    memory: dict[str, int] = {}
    active = []
    for worker in workers:
        try:
            answer = worker.ask(options.timeout, do="prepare", case=case.key)
        except TookTooLong:
            answer = {"error": f"took longer than {options.timeout:.0f} s"}
        if "error" in answer:
            cells[worker.key] = {"skipped": shorten(answer["error"])}
        if "value" not in answer:
            worker.drop(options.timeout)
        else:
            active.append(worker)
            rounds[worker.key] = []
            if answer["value"] is not None:
                values[worker.key] = answer["value"]
    for key, reason in disagreements(values, case.tolerance).items():
        cells[key] = {"skipped": reason}
    seconds = options.seconds or family.seconds
    for _ in range(options.rounds or family.rounds):
        for worker in [worker for worker in active if worker.key not in cells]:
            time.sleep(PAUSE)
            try:
                answer = worker.ask(options.timeout, do="measure", seconds=seconds, repeats=options.repeats)
            except TookTooLong:
                answer = {"error": f"took longer than {options.timeout:.0f} s"}
            if "error" in answer:
                cells[worker.key] = {"skipped": shorten(answer["error"])}
            else:
                rounds[worker.key].append(answer["time"])
                memory[worker.key] = answer["memory"]
    for worker in active:
        worker.drop(options.timeout)
        if worker.key not in cells:
            times = rounds[worker.key]
            cells[worker.key] = {
                "value": statistics.median(times),
                "best": min(times),
                "worst": max(times),
                "rounds": len(times),
                "memory": memory[worker.key],
            }
    return cells


def disagreements(values: dict[str, list[float]], tolerance: float) -> dict[str, str]:
    """Returns the frameworks whose result is not the others', with the reason to leave them out.

    NumPy's result is the reference. Without it one that is wrong stands out against most of the others; of
    two that differ nobody can tell which is wrong, so both are left out.
    """

    def near(a: list[float], b: list[float]) -> bool:
        size, mean, deviation, signed = a
        scale = tolerance * max(abs(mean), deviation, 1e-12)
        return (
            size == b[0]
            and abs(mean - b[1]) <= scale
            and abs(deviation - b[2]) <= scale
            and abs(signed - b[3]) <= scale
        )

    wrong = {}
    for key, value in values.items():
        if "numpy" in values:
            right = near(value, values["numpy"])
        else:
            right = len(values) < 2 or sum(near(value, other) for other in values.values()) * 2 > len(values)
        if not right:
            shown = ", ".join(f"{number:.6g}" for number in value)
            wrong[key] = f"its result is not the others' (size, mean, deviation, signed mean {shown})"
    return wrong


def import_seconds(python: str, module: str, rounds: int = 5) -> float:
    """Returns the time to import a module in a new interpreter, less a bare interpreter's; best of five."""
    # With the compiled files that an installed package has.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

    def best(statement: str) -> float:
        times = []
        for _ in range(rounds + 1):
            start = time.perf_counter()
            subprocess.run(
                [python, "-c", statement], check=True, capture_output=True, cwd=folder, env=environment
            )
            times.append(time.perf_counter() - start)
        return min(times[1:])

    with tempfile.TemporaryDirectory() as folder:
        return best(f"import {module}") - best("pass")


def wheel_bytes() -> tuple[int, int] | None:
    """Returns the size of our newest wheel, and of what it unpacks to."""
    wheels = sorted(DIST.glob("penstock_engine-*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        return None
    with zipfile.ZipFile(wheels[-1]) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    return wheels[-1].stat().st_size, unpacked


def special_cases(wanted: set[str], abouts: dict[str, Any], pythons: dict[str, str]) -> dict[str, Any]:
    """Measures what is no call: import time and sizes."""
    cells: dict[str, dict[str, Any]] = {key: {} for key in SPECIAL & wanted}
    wheel = wheel_bytes()
    for key, about in abouts.items():
        if not about["import"]:
            continue
        if "import" in cells:
            cells["import"][key] = {"value": import_seconds(pythons[key], about["import"])}
        if "size" in cells:
            if key != "penstock":
                cells["size"][key] = {"value": about["size"]}
            elif wheel:
                # The package is installed in place while developing: its own part is what the wheel holds.
                cells["size"][key] = {"value": about["size"] + wheel[1]}
        if "wheel" in cells and key == "penstock" and wheel:
            cells["wheel"][key] = {"value": wheel[0]}
    return cells


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="FRAMEWORK=PATH",
        help="measure this framework with this interpreter; `peers` stands for every other one",
    )
    parser.add_argument("--cases", help="only these, separated by commas")
    parser.add_argument("--families", help="only these, separated by commas: " + ", ".join(FAMILIES))
    parser.add_argument("--rounds", type=int, help="rounds, if not the family's own number")
    parser.add_argument(
        "--repeats", type=int, default=3, help="repeats within a round, the best of which counts"
    )
    parser.add_argument("--seconds", type=float, help="the time of one repeat, if not the family's own")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one answer of one framework")
    parser.add_argument(
        "--level",
        choices=LEVELS,
        default="best",
        help="the instructions that every framework may use: the machine's best, or no more than these",
    )
    parser.add_argument("--output", type=Path, help="where results are kept, if not in the level's file")
    options = parser.parse_args(arguments)
    options.level = LEVELS[options.level]
    options.output = options.output or options.level.results
    return options


def wanted_cases(options: argparse.Namespace) -> set[str]:
    """The keys of the cases that the command line asks for; ends with a message if one of them is unknown."""
    families = options.families.split(",") if options.families else list(FAMILIES)
    unknown = set(families) - set(FAMILIES)
    if unknown:
        sys.exit(f"no such family: {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    cases = {case.key: case for family in families for case in FAMILIES[family].cases}
    if not options.cases:
        return {case.key for case in cases.values() if not case.long}
    named = set(options.cases.split(","))
    if named - set(cases):
        sys.exit(
            f"no such case: {', '.join(sorted(named - set(cases)))}; there are {', '.join(sorted(cases))}"
        )
    return named


def main() -> None:
    """Runs the measurements and merges them into the results."""
    options = parse()
    named = dict(item.split("=", 1) for item in options.python)
    keys = [framework.key for framework in FRAMEWORKS]
    unknown = set(named) - {*keys, "peers"}
    if unknown:
        sys.exit(f"no such framework: {', '.join(sorted(unknown))}; there are {', '.join(keys)}")
    peers = named.pop("peers", None)
    pythons = {key: named.get(key, peers) for key in keys if key in named or (peers and key != "penstock")}
    paths = {key: str(Path(path).absolute()) for key, path in pythons.items() if path}
    wanted = wanted_cases(options)

    workers = [Process(key, path, options.level) for key, path in paths.items()]
    abouts = {}
    for worker in workers:
        about = worker.ask(options.timeout, do="about")
        if "error" in about and worker.key in named:
            sys.exit(f"{worker.key} cannot be measured: {about['error']}")
        if "error" in about:
            print(f"{worker.key} is left out: {about['error']}", file=sys.stderr)
        else:
            abouts[worker.key] = about
    workers = [worker for worker in workers if worker.key in abouts]

    results: dict[str, Any] = {"frameworks": {}, "runs": {}, "cases": {}}
    if options.output.exists():
        results = json.loads(options.output.read_text())
    now = datetime.datetime.now(datetime.UTC)
    run = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    results["runs"][run] = {"date": now.date().isoformat(), "machine": machine(options.level)}

    def record(case: str, cells: dict[str, Any]) -> None:
        row = results["cases"].setdefault(case, {})
        for key, cell in cells.items():
            row[key] = cell | {"run": run}
            shown = f"{cell['value']:.3e}" if "value" in cell else cell["skipped"]
            if "memory" in cell:
                shown += f"  {cell['memory'] / 2**20:.0f} MB"
            print(f"{case:<20} {key:<14} {shown}", flush=True)
        # After each case, so that a run that is ended early leaves what it has.
        used = {cell["run"] for row in results["cases"].values() for cell in row.values()}
        kept = {name: about for name, about in results["runs"].items() if name in used}
        options.output.write_text(json.dumps(results | {"runs": kept}, indent=1, sort_keys=True) + "\n")

    for key, about in abouts.items():
        results["frameworks"][key] = {"version": about["version"], "python": about["python"]}
    try:
        for family in FAMILIES.values():
            for case in family.cases:
                if case.key in wanted - SPECIAL:
                    record(case.key, measure_case(family, case, workers, options))
        for name, cells in special_cases(wanted, abouts, paths).items():
            record(name, cells)
    finally:
        for worker in workers:
            worker.stop()


if __name__ == "__main__":
    main()
