"""Makes calls on a package in a process of its own: a call that ends a process costs itself alone."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from agreement import answers
from agreement.calls import Call, run

__all__ = ["answer", "answers_of"]

# How long a call may take.
SECONDS = 30
# How many calls are sent before their answers are read.
CHUNK = 100


def answer(call: Call, tf: Any) -> dict[str, Any]:
    """What comes of one call on a package."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return answers.of_results(run(call, tf))
    except Exception as error:
        return answers.of_error(error)


def answers_of(calls: Sequence[Call], package: str) -> Iterator[dict[str, Any]]:
    """What comes of each call, in order; `abort` where the process ended or did not go on.

    Args:
        calls: The calls.
        package: The name of the package to import.

    Raises:
        RuntimeError: where the process cannot answer at all.
    """
    threads = {"PENSTOCK_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [sys.executable, "-m", "agreement.worker", package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            env={**os.environ, **threads},
        ) as child,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        for first in range(0, len(calls), CHUNK):
            for call in calls[first : first + CHUNK]:
                child.stdin.write(json.dumps([call.source, call.way, call.name]).encode() + b"\n")
            child.stdin.flush()
            for _ in calls[first : first + CHUNK]:
                line = child.stdout.readline()
                if not line:
                    errors.seek(0)
                    raise RuntimeError(f"no answer: {errors.read()[-2000:].decode(errors='replace')}")
                yield json.loads(line)


def _one(line: bytes, tf: Any, out: int) -> None:
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    text = json.dumps(answer(Call(*json.loads(line)), tf))
    os.write(out, text.encode() + b"\n")
    faulthandler.cancel_dump_traceback_later()


def _serve(tf: Any, out: int, begun: int) -> None:
    """Answers lines of the standard input; a byte to `begun` says that one is read."""
    source = os.fdopen(os.dup(0), "rb", buffering=0)
    while line := source.readline():
        os.write(begun, b"b")
        _one(line, tf, out)
        os.write(begun, b"e")
    os._exit(0)


def main() -> None:
    """Answers the calls of the standard input, a line each, in a fork that is replaced when it ends."""
    out = os.dup(1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    tf = importlib.import_module(sys.argv[1])
    if hasattr(tf, "get_logger"):
        tf.get_logger().setLevel("ERROR")
    while True:
        mine, begun = os.pipe()
        process = os.fork()
        if process == 0:
            _serve(tf, out, begun)
        os.close(begun)
        last = b""
        while byte := os.read(mine, 4096):
            last = byte[-1:]
        os.close(mine)
        _, status = os.waitpid(process, 0)
        if last == b"b":
            os.write(out, json.dumps({"abort": os.waitstatus_to_exitcode(status)}).encode() + b"\n")
        elif os.waitstatus_to_exitcode(status) == 0:
            return


if __name__ == "__main__":
    main()
