"""Runs the tests that Keras's wheel ships on this backend.

`python tests/keras_suite/run.py [PATH...] [OPTION...]`: a path is relative to `keras/src`, such as
`ops/numpy_test.py`; without one all tests run. Options are pytest's.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    """Run pytest, and give its exit status."""
    spec = importlib.util.find_spec("keras")
    if spec is None or spec.origin is None:
        print("Keras is not installed: pip install -r requirements/keras.txt", file=sys.stderr)
        return 2
    source = Path(spec.origin).parent / "src"
    paths = [str(source / a) for a in arguments if (source / a.partition("::")[0]).exists()]
    options = [a for a in arguments if not (source / a.partition("::")[0]).exists()]
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    # Tests that are named after sets are to have the same order in every process.
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(HERE / "pytest.ini"),
        f"--rootdir={source.parent.parent}",
    ]
    return subprocess.call([*command, *options, *(paths or [str(source)])], env=environment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
