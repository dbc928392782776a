"""Kernels, buffers and copies on a real GPU: the device tests of the CUDA crate, run where there is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from penstock import _core

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(1800)
def test_kernels_run_on_the_device_as_on_the_cpu() -> None:
    if not any(kind == "GPU" for kind, _ in _core._devices()):
        pytest.skip("no CUDA device")
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("no cargo to run the device tests with")
    command = [cargo, "test", "-p", "penstock-cuda", "--test", "device"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
