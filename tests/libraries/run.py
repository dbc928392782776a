"""Runs libraries written for TensorFlow on this package, and writes the table in `docs/libraries.md`.

`python tests/libraries/run.py [--write] [--jobs N] [SUITE...]`: each file of tests runs in a process of its
own, to which `tensorflow` is this package. Those that the libraries ship are run where they ship them; the
others are in this folder. `failures.toml` says which tests fail, and why; the status is 1 where one fails
that it does not name.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
PAGE: Final = ROOT / "docs" / "libraries.md"
BEGIN: Final = "<!-- libraries:begin -->"
END: Final = "<!-- libraries:end -->"
SECONDS: Final = 900


@dataclass
class Suite:
    """Some files of tests of a library.

    Attributes:
        library: What the library is called.
        package: Its name on PyPI.
        part: Which part of it the tests use.
        shipped: The module below which the library ships tests; empty for those of this folder.
        pattern: Which files.
    """

    library: str
    package: str
    part: str
    shipped: str
    pattern: str

    def files(self) -> list[Path]:
        """The files, in order."""
        if not self.shipped:
            return sorted(HERE.glob(self.pattern))
        spec = importlib.util.find_spec(self.shipped)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{self.package} is not installed: make test-libraries installs it")
        return sorted(Path(spec.origin).parent.glob(self.pattern))


SUITES: Final = {
    "sonnet": Suite("Sonnet", "dm-sonnet", "its own tests", "sonnet", "src/**/*_test.py"),
    "tfp-distributions": Suite(
        "TensorFlow Probability", "tensorflow-probability", "distributions", "", "test_tfp_distributions.py"
    ),
    "tfp-bijectors": Suite(
        "TensorFlow Probability", "tensorflow-probability", "bijectors", "", "test_tfp_bijectors.py"
    ),
    "tfp-inference": Suite(
        "TensorFlow Probability",
        "tensorflow-probability",
        "`mcmc`, `optimizer`, `vi`, `math`, `stats`, `sts`, `glm`",
        "",
        "test_tfp_inference.py",
    ),
    "gpflow": Suite("GPflow", "gpflow", "models, kernels, likelihoods, optimizers", "", "test_gpflow.py"),
}


@dataclass
class Outcome:
    """What the tests of a suite came to."""

    passed: int = 0
    skipped: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def add(self, other: Outcome) -> None:
        """Count those of another file too."""
        self.passed += other.passed
        self.skipped += other.skipped
        self.failed.update(other.failed)


def run(path: Path) -> Outcome:
    """Run a file of tests."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "penstock.as_tensorflow",
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
        ]
        command += ["-c", str(HERE / "pytest.ini"), f"--rootdir={folder}", f"--junitxml={report}", str(path)]
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT / "python")}
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                env=environment,
                check=False,
                cwd=folder,
            )
        except subprocess.TimeoutExpired:
            return Outcome(failed={f"{path.stem}::*": f"takes more than {SECONDS} s"})
        if not report.exists():
            last = (done.stdout + done.stderr).strip().splitlines()[-1:]
            return Outcome(failed={f"{path.stem}::*": f"the process ended with {done.returncode}: {last}"})
        return counted(path.stem, ElementTree.parse(report).getroot())


def counted(stem: str, report: ElementTree.Element) -> Outcome:
    """What a report in the form of JUnit says."""
    outcome = Outcome()
    for case in report.iter("testcase"):
        name = f"{stem}::{case.get('name') or case.get('classname')}"
        problem = next(
            (case.find(kind) for kind in ("failure", "error") if case.find(kind) is not None), None
        )
        if problem is not None:
            outcome.failed[name] = (problem.get("message") or problem.text or "").strip()
        elif case.find("skipped") is not None:
            outcome.skipped += 1
        else:
            outcome.passed += 1
    return outcome


def known_failures() -> dict[str, str]:
    """Patterns of names of tests that fail, and why each does."""
    text = (HERE / "failures.toml").read_text(encoding="utf-8")
    return {
        pattern: entry["why"]
        for entry in tomllib.loads(text).get("failure", [])
        for pattern in entry["tests"]
    }


def reason(name: str, known: dict[str, str]) -> str | None:
    """Why a test fails; None where no line says so."""
    return next((why for pattern, why in known.items() if fnmatch.fnmatchcase(name, pattern)), None)


def rows(outcomes: dict[str, Outcome]) -> Iterator[str]:
    """The lines of the table."""
    yield "| library | version | tests | passed | failed | skipped by the library |"
    yield "|---|---|---|---:|---:|---:|"
    for key, outcome in outcomes.items():
        suite = SUITES[key]
        version = importlib.metadata.version(suite.package)
        counts = f"{outcome.passed} | {len(outcome.failed)} | {outcome.skipped}"
        yield f"| {suite.library} | {version} | {suite.part} | {counts} |"


def reasons(outcomes: dict[str, Outcome], known: dict[str, str]) -> Iterator[str]:
    """The lines that say why tests fail, with how many do for each reason."""
    counts: dict[str, int] = {}
    for outcome in outcomes.values():
        for name in outcome.failed:
            why = reason(name, known) or "not looked into"
            counts[why] = counts.get(why, 0) + 1
    if counts:
        yield "| why tests fail | how many |"
        yield "|---|---:|"
        yield from (f"| {why} | {count} |" for why, count in sorted(counts.items(), key=lambda c: -c[1]))


def main(arguments: list[str]) -> int:
    """Run the suites, and give the status of the process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], metavar="SUITE")
    parser.add_argument("--write", action="store_true", help="write the table in docs/libraries.md")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    options = parser.parse_args(arguments)
    known = known_failures()
    outcomes: dict[str, Outcome] = {}
    unknown: dict[str, str] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        for key in options.suites or SUITES:
            outcomes[key] = Outcome()
            for outcome in pool.map(run, SUITES[key].files()):
                outcomes[key].add(outcome)
            unknown |= {n: text for n, text in outcomes[key].failed.items() if reason(n, known) is None}
            print(f"{key}: {outcomes[key].passed} passed, {len(outcomes[key].failed)} failed", flush=True)
    for name, text in unknown.items():
        print(f"FAILED {name}: {text.splitlines()[0] if text else ''}")
    table = "\n".join([*rows(outcomes), "", *reasons(outcomes, known)]).strip()
    if options.write and not options.suites:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page[: page.index(BEGIN)], page[page.index(END) :]
        PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{after}", encoding="utf-8")
    else:
        print(table)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
