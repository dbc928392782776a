"""Prints the size of a Rust program with the engine, by feature.

`python tools/program_sizes.py [FEATURES ...]` builds the program that loads a file and runs it
(`crates/penstock/examples/run.rs`) with the profile `small`. The exit status is 1 where that without features
is larger than 10 MB.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 10_000_000

# What is built: the features, one set a line of the table.
SETS = ("", "jit", "linalg", "fourier", "images", "text", "onnx", "fourier,images,jit,linalg,onnx,text")


def size(features: str) -> int:
    """Builds the program with features, and returns its bytes.

    Args:
        features: Their names, with commas between them.

    Raises:
        ValueError: where the build names no program.
    """
    command = [os.environ.get("CARGO", "cargo"), "build", "--locked", "--profile", "small"]
    command += ["--package", "penstock-engine", "--example", "run", "--no-default-features"]
    command += ["--features", features, "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "run":
            return Path(message["executable"]).stat().st_size
    raise ValueError(f"the build with {features!r} made no program")


def main(sets: Sequence[str]) -> None:
    """Prints the table of sizes; the exit status is 1 where the smallest is above the limit."""
    sizes = {}
    print("| features | MB |\n| --- | ---: |")
    for features in sets:
        sizes[features] = size(features)
        print(f"| {features.replace(',', ', ') or 'none'} | {sizes[features] / 1e6:.1f} |", flush=True)
    if sizes.get("", 0) > LIMIT:
        sys.exit(f"without features it is {sizes['']} bytes, more than {LIMIT}")


if __name__ == "__main__":
    main(sys.argv[1:] or SETS)
