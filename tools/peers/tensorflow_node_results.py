"""Records what TensorFlow's operators give: `python tools/peers/tensorflow_node_results.py`.

Run it with TensorFlow installed. The calls are those of `tests/python/raw_cases`; the results go into
`tests/python/raw_ops/results.jsonl`.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import tensorflow as tf

TESTS = Path(__file__).resolve().parents[2] / "tests/python"
sys.path.insert(0, str(TESTS))

raw_cases = importlib.import_module("raw_cases")


def main() -> None:
    """Writes the file; names calls that TensorFlow refuses."""
    lines = []
    for case, (name, arguments) in raw_cases.cases().items():
        try:
            found = raw_cases.results(tf, name, arguments)
        except Exception as error:
            print(f"{case}: {type(error).__name__}: {str(error)[:300]}")
            continue
        lines.append(json.dumps([case, [raw_cases.plain(array) for array in found]], separators=(",", ":")))
    (TESTS / "raw_ops/results.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
