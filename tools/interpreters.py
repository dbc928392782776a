"""The Python tests on every supported interpreter of this machine: `make test-interpreters`.

`python tools/interpreters.py [--interpreter NAME_OR_PATH]... PYTEST_ARGUMENT...` looks for the interpreters
on `PATH` and among those of pyenv, gives each an environment `.venv-interpreters/VERSION`, and runs pytest
there. An interpreter that is not on the machine is skipped, with a word; the exit status is 1 where a test
fails, and 2 where there is no interpreter at all.

The extension that `make build` made serves all interpreters but free-threaded ones, which have one built for
them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.14t")
# Of the pinned tools those that look at sources only, which is the same on each interpreter.
NOT_NEEDED = ("maturin", "mypy", "ruff", "ast_serialize", "librt")
# What the tests need at least: not every other library has a build for free-threaded interpreters.
LEAST = (
    "attrs",
    "einops",
    "hypothesis",
    "ml_dtypes",
    "numpy",
    "pytest",
    "pytest-timeout",
    "pytest-xdist",
    "scipy",
)
SAYS_VERSION = (
    "import sys, sysconfig; free = sysconfig.get_config_var('Py_GIL_DISABLED'); "
    "print('%d.%d%s' % (*sys.version_info[:2], 't' if free else ''), sys.version.split()[0])"
)


def version_of(interpreter: str) -> tuple[str, str] | None:
    """The version of an interpreter as in `VERSIONS`, and in full; None where it does not run."""
    try:
        said = subprocess.run([interpreter, "-c", SAYS_VERSION], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    short, full = said.stdout.split()
    return short, full


def installed(version: str) -> str | None:
    """An interpreter of a version on `PATH` or among those of pyenv."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}")]
    candidates += [str(path) for path in sorted(home.glob(f"versions/*/bin/python{version}"))]
    for candidate in candidates:
        if candidate is not None and (found := version_of(candidate)) is not None and found[0] == version:
            return candidate
    return None


def environment(interpreter: str, version: str) -> str:
    """The interpreter of an environment with what the tests need; made where there is none."""
    folder = ROOT / ".venv-interpreters" / version
    python = folder / "bin" / "python"
    stamp = folder / ".stamp-requirements"
    requirements = ROOT / "requirements" / "dev.txt"
    if stamp.exists() and stamp.stat().st_mtime > requirements.stat().st_mtime:
        return str(python)
    pinned = [line for line in requirements.read_text().splitlines() if "==" in line]
    names = {line.split("==")[0]: line for line in pinned}
    free_threaded = version.endswith("t")
    wanted = [
        line for name, line in names.items() if (name in LEAST if free_threaded else name not in NOT_NEEDED)
    ]
    subprocess.run([interpreter, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted], check=True)
    if free_threaded:
        # In place, beside the extension for the other interpreters.
        subprocess.run([*pip, names["maturin"]], check=True)
        build = [str(python), "-m", "maturin", "develop", "--release", "--locked"]
        subprocess.run(build, check=True, cwd=ROOT, env={**os.environ, "VIRTUAL_ENV": str(folder)})
    stamp.touch()
    return str(python)


def main() -> int:
    """Runs the tests; 1 where some fail."""
    parser = argparse.ArgumentParser(
        description="Runs the Python tests on every interpreter of this machine."
    )
    parser.add_argument(
        "--interpreter", action="append", help="only this one, by name or path; may be given again"
    )
    options, arguments = parser.parse_known_args()
    chosen: dict[str, str] = {}
    for name in options.interpreter or VERSIONS:
        found = name if options.interpreter else installed(name)
        versions = version_of(found) if found is not None else None
        if found is None or versions is None:
            print(f"skipped: Python {name} is not on this machine", flush=True)
        elif versions[0] not in VERSIONS:
            print(f"skipped: {name} is Python {versions[1]}; supported are {', '.join(VERSIONS)}", flush=True)
        else:
            chosen[versions[0]] = found
            print(f"found: Python {versions[1]}, {found}", flush=True)
    if not chosen:
        return 2
    failed = []
    for version, interpreter in chosen.items():
        python = environment(interpreter, version)
        print(f"== Python {version}", flush=True)
        variables = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [python, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        if subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode:
            failed.append(version)
    if failed:
        print(f"tests fail on Python {', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
