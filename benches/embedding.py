"""Measures how programs load and run in a Rust process, and writes the table in docs/benchmarks.md.

`python benches/embedding.py` builds and runs `crates/penstock/examples/loading.rs`, which prints the rows.
"""

import os
import subprocess
from pathlib import Path

import page

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "benchmarks.md"


def main() -> None:
    """Writes the table."""
    command = [os.environ.get("CARGO", "cargo"), "run", "--quiet", "--release", "--locked"]
    command += ["--package", "penstock-engine", "--example", "loading"]
    measured = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    text = f"{page.machine()}\n\n{measured.stdout.strip()}"
    DOCUMENT.write_text(page.replaced(DOCUMENT, "embedding", text), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
