"""A sample of the tests that Keras's wheel ships passes on this backend; `make test-keras` runs all."""

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).resolve().parent.parent / "keras_suite" / "run.py"
SAMPLE = (
    "losses",
    "metrics",
    "optimizers",
    "layers/normalization",
    "layers/merging",
    "layers/reshaping",
    "layers/convolutional",
    "layers/rnn",
)


@pytest.mark.timeout(600)
def test_a_sample_of_keras_own_tests_passes():
    command = [sys.executable, SUITE, *SAMPLE, "-q", "--tb=short"]
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace")
    closing = ran.stdout.strip().splitlines()[-1:]
    # Where the process crashed, the standard error begins with the stacks of its threads.
    assert ran.returncode == 0, f"{ran.stdout[-5000:]}\n{ran.stderr[:6000]}"
    assert " passed" in closing[0]
