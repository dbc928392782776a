"""Measures how long models take to load, and their first run, here and in other programs.

    python benches/loading.py --peers .venv-tensorflow/bin/python MODEL.zip... [--write]

Each `MODEL.zip` is a SavedModel of `tools/peers/tensorflow_models.py --large`. The peers' Python needs
TensorFlow, onnxruntime and tract; each program measures in a process of its own, and the least of several
tries counts. Files are in the system's cache. `--write` puts the table into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
TRIES = 15


def least(load: Callable[[], Any], run: Callable[[Any], Any], tries: int = TRIES) -> list[float]:
    """The milliseconds of a load, and of the first run after it."""
    loads, runs = [], []
    for _ in range(tries):
        start = time.perf_counter()
        model = load()
        middle = time.perf_counter()
        run(model)
        loads.append(middle - start)
        runs.append(time.perf_counter() - middle)
    return [1e3 * min(loads), 1e3 * min(runs)]


def penstock(directory: Path, x: Any) -> dict[str, list[float]]:
    import penstock as tf

    theirs, ours, model = directory / "theirs", directory / "ours", directory / "model.onnx"
    given = tf.constant(x)

    def first(loaded: Any, x: Any = given) -> Any:
        serve = loaded.signatures["serving_default"]
        return serve(**{next(iter(serve.structured_input_signature[1])): x})

    loaded = tf.saved_model.load(theirs)
    tf.saved_model.save(loaded, ours)
    # Of known sizes, which tract needs.
    tf.onnx.save(lambda x: first(loaded, x), model, input_signature=[tf.TensorSpec(given.shape, name="x")])
    return {
        "Penstock, its own file": least(lambda: tf.saved_model.load(ours), first),
        "Penstock, TensorFlow's SavedModel": least(lambda: tf.saved_model.load(theirs), first),
        "Penstock, the model of ONNX": least(lambda: tf.onnx.load(model), lambda m: m(given)),
    }


def tensorflow(directory: Path, x: Any) -> dict[str, list[float]]:
    import tensorflow as tf

    def first(loaded: Any) -> Any:
        serve = loaded.signatures["serving_default"]
        return serve(**{next(iter(serve.structured_input_signature[1])): tf.constant(x)})

    return {
        "TensorFlow, its SavedModel": least(
            lambda: tf.saved_model.load(str(directory / "theirs")), first, tries=2
        )
    }


def onnxruntime(directory: Path, x: Any) -> dict[str, list[float]]:
    import onnxruntime as ort  # type: ignore[import-not-found]

    def first(session: Any) -> Any:
        return session.run(None, {session.get_inputs()[0].name: x})

    return {
        "onnxruntime, the model of ONNX": least(
            lambda: ort.InferenceSession(str(directory / "model.onnx")), first
        )
    }


def tract(directory: Path, x: Any) -> dict[str, list[float]]:
    import tract as engine  # type: ignore[import-not-found]

    def load() -> Any:
        model = engine.onnx().load(str(directory / "model.onnx"))
        model.set_input_fact(0, ",".join(map(str, x.shape)) + ",f32")
        return model.into_model().into_runnable()

    return {"tract, the model of ONNX": least(load, lambda m: m.run([x]), tries=2)}


PROGRAMS = {f.__name__: f for f in (penstock, tensorflow, onnxruntime, tract)}


def measured(path: Path, peers: str) -> dict[str, list[float]]:
    """The times of each program with one model; those that fail are not there."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(Path(folder) / "theirs")
        for name in PROGRAMS:
            python = sys.executable if name == "penstock" else peers
            command = [python, __file__, folder, "--only", name]
            env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
            done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                print(f"{name} failed with {path.stem}", file=sys.stderr)
            else:
                found.update(json.loads(done.stdout.splitlines()[-1]))
    return found


def main() -> None:
    """Measures all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--peers", help="a Python with TensorFlow, onnxruntime and tract")
    parser.add_argument("--only", choices=list(PROGRAMS))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if arguments.only:
        (directory,) = arguments.models
        expected = np.load(directory / "theirs" / "expected.npz")
        x = next(expected[key] for key in expected if "/in/" in key)
        print(json.dumps(PROGRAMS[arguments.only](directory, x)))
        return
    import page

    found = {path.stem: measured(path, arguments.peers) for path in arguments.models}
    labels = dict.fromkeys(label for times in found.values() for label in times)
    rows = [
        "| | " + " | ".join(f"{name}: load, ms | first run, ms" for name in found) + " |",
        "| --- |" + " ---: | ---: |" * len(found),
    ]
    for label in labels:
        times = [found[name].get(label) for name in found]
        cells = [f"{pair[0]:.1f} | {pair[1]:.0f}" if pair else "refused |" for pair in times]
        rows.append(f"| {label} | " + " | ".join(cells) + " |")
    text = f"{page.machine()}\n\n" + "\n".join(rows)
    if arguments.write:
        DOCUMENT.write_text(page.replaced(DOCUMENT, "loading", text), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
