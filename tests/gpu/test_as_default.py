"""Tests of the package with a GPU as the device of everything; `make gpu-python` runs more of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from gpu_process import ROOT, emulation, has_gpu

TESTS = [
    "data/test_errors.py",
    "function/test_unknown_sizes.py",
    "optimizers",
    "values/test_tensors.py",
]


@pytest.mark.timeout(600)
def test_what_holds_on_the_host_holds_on_a_gpu() -> None:
    variables = {} if has_gpu() else emulation()
    if variables is None:
        pytest.skip("no CUDA device, and the emulated one was not built: make test-rust")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        "--default-device",
        "GPU:0",
    ]
    done = subprocess.run(
        [*command, *(str(ROOT / "tests" / "python" / name) for name in TESTS)],
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=580,
    )
    assert done.returncode == 0, done.stdout[-4000:]
