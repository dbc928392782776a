"""Processes that have a GPU: the machine's own, or else the emulated one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from penstock import _core

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]


def has_gpu() -> bool:
    """Whether the machine has a GPU of its own."""
    return any(kind == "GPU" for kind, _ in _core._devices())


def emulation() -> dict[str, str] | None:
    """The variables that have a process use the emulated driver; None where it was not built."""
    found = (ROOT / "target").glob("*/**/libpenstock_mockcuda.so")
    newest = max(found, key=lambda file: file.stat().st_mtime, default=None)
    names = ("PENSTOCK_CUDA_DRIVER", "PENSTOCK_NVRTC", "PENSTOCK_CUDNN")
    return dict.fromkeys(names, str(newest)) if newest else None


def run(program: str) -> str:
    """What a program prints in a process that has a GPU."""
    variables: dict[str, str] | None = {}
    if not has_gpu():
        variables = emulation()
    if variables is None:
        pytest.skip("no CUDA device, and the emulated one was not built: make test-rust")
    with tempfile.TemporaryDirectory() as folder:
        # AutoGraph reads it.
        file = Path(folder) / "program.py"
        file.write_text(textwrap.dedent(program), encoding="utf-8")
        # The program may use the modules of this folder.
        path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(FOLDER)])
        done = subprocess.run(
            [sys.executable, str(file)],
            env=os.environ | {"PYTHONPATH": path} | variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=110,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
