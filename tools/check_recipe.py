"""Checks that the recipe for an elementwise operator in CONTRIBUTING.md is true.

`python tools/check_recipe.py` applies the differences that it shows to a copy of the tree under
`target/recipe`, where the tests that every operator gets run for the new one. `--apply-only` stops
before the tests.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
COPY: Final = ROOT / "target" / "recipe"
FENCE: Final = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TESTS: Final = (
    ("-p", "penstock-kernels", "--test", "formulas"),
    ("-p", "penstock-ops", "--test", "samples"),
    ("-p", "penstock-filetests", "--test", "derivatives", "--test", "batch"),
    ("-p", "penstock-cuda", "--test", "emulation", "every_operator"),
)


def recipe(text: str) -> str:
    """The differences that a text shows, as one patch."""
    return "".join(match[1] for match in FENCE.finditer(text))


def files() -> list[str]:
    """The files of the tree that are under version control, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def copied() -> None:
    """Makes the copy anew."""
    shutil.rmtree(COPY, ignore_errors=True)
    for name in files():
        if name.startswith(("crates/", "Cargo", "rust")):
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)


def main() -> int:
    """Applies the recipe, and runs the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--apply-only", action="store_true", help="do not run the tests")
    only = parser.parse_args().apply_only
    patch = recipe((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    copied()
    # Without a repository of its own the copy would be part of the one around it.
    subprocess.run(["git", "init", "-q"], cwd=COPY, check=True)
    applied = subprocess.run(["git", "apply", "-"], cwd=COPY, input=patch, text=True, capture_output=True)
    if applied.returncode != 0:
        print(f"the recipe in CONTRIBUTING.md does not apply:\n{applied.stderr}")
        return 1
    for test in () if only else TESTS:
        command = ["cargo", "test", "-q", "--target-dir", str(ROOT / "target"), *test]
        if subprocess.run(command, cwd=COPY).returncode != 0:
            print(f"after the recipe in CONTRIBUTING.md this fails: {' '.join(command)}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
