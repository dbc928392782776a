"""Checks exported models of ONNX beside `onnx.checker` and `onnxruntime`.

    PYTHONPATH=tests/python:tests/keras python tools/peers/onnx_exports.py write DIRECTORY
    python tools/peers/onnx_exports.py check DIRECTORY

The first needs penstock, the second onnxruntime.

`write` puts the programs of `support/onnx_programs.py`, models of Keras and the samples of operators into
files, with arguments and results; `check` fails for a model that the checker refuses, and for a program
whose results differ. Of operators it lists those that onnxruntime does not run or computes otherwise.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

# Programs for whose dtypes onnxruntime has no kernels on processors.
NOT_THERE = {"bfloat16_inside"}


def write(directory: Path) -> None:
    """Write models, and what they take and give."""
    from support.onnx_programs import PROGRAMS  # type: ignore[import-not-found]
    from test_onnx import MODELS, made  # type: ignore[import-not-found]

    import penstock as tf
    from penstock import _core, raw_ops

    def put(name: str, model: bytes, arguments: list[Any], results: list[Any]) -> None:
        (directory / f"{name}.onnx").write_bytes(model)
        plain = [[np.asarray(x.numpy()) for x in tf.nest.flatten(values)] for values in (arguments, results)]
        (directory / f"{name}.pickle").write_bytes(pickle.dumps(plain))

    for name, (function, specs, arguments) in PROGRAMS.items():
        given = [tf.constant(a) for a in arguments]
        traced = tf.function(function)
        trace = tf.function(lambda *args, traced=traced: tf.nest.flatten(traced(*args)))
        put(f"program_{name}", tf.onnx.to_bytes(trace, specs), given, trace(*given))
    for name in MODELS:
        model, x = made(name)
        put(f"program_keras_{name}", tf.onnx.to_bytes(model), [tf.constant(x)], [model(x)])
    for name in _core._onnx_operators():
        samples = []
        with contextlib.suppress(TypeError):
            samples = _core._op_samples(name)
        for i, (operands, attributes) in enumerate(samples):
            if name.startswith(("list", "random")) or any(
                x.dtype in (tf.bfloat16, tf.resource) for x in operands
            ):
                continue

            def apply(*taken: Any, name: str = name, attributes: dict[str, Any] = attributes) -> Any:
                out = getattr(raw_ops, name)(*taken, **attributes)
                return list(out) if isinstance(out, tuple) else out

            specs = [tf.TensorSpec(x.shape, x.dtype, f"x{k}") for k, x in enumerate(operands)]
            try:
                model = tf.onnx.to_bytes(apply, specs)
            except tf.errors.UnimplementedError:
                continue
            results = apply(*operands)
            if results is None:  # An assertion, which is not written.
                continue
            if tf.bfloat16 not in [x.dtype for x in tf.nest.flatten(results)]:
                put(f"operator_{name}_{i}", model, list(operands), results)


def run(path: Path, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Run a model in onnxruntime."""
    import onnxruntime  # type: ignore[import-not-found]

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    found: list[np.ndarray] = session.run(
        None, {name: texts(x) for name, x in zip(names, arguments, strict=True)}
    )
    return found


def texts(x: np.ndarray) -> np.ndarray:
    """Strings as `str`, which onnxruntime takes."""
    if x.dtype.kind not in "SO":
        return x
    out = np.empty(x.shape, object)
    for i in np.ndindex(x.shape):
        text: Any = x[i]
        out[i] = text.decode() if isinstance(text, bytes) else text
    return out


def apart(a: np.ndarray, b: np.ndarray) -> str:
    """Say how two results differ; nothing where they do not."""
    b = texts(b)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return f"{a.dtype}{a.shape} for {b.dtype}{b.shape}"
    if a.dtype.kind != "f":
        return "" if np.array_equal(a, b) else "other values"
    limit = {2: 2e-3, 4: 2e-5, 8: 1e-10}[a.dtype.itemsize]
    with np.errstate(all="ignore"):
        near = np.isclose(a.astype(np.float64), b.astype(np.float64), limit, limit, equal_nan=True)
    return "" if near.all() else f"{a[~near][:3]} for {b[~near][:3]}"


def check(directory: Path) -> int:
    """Check and run all models; the exit status."""
    import onnx  # type: ignore[import-not-found]

    wrong, count = 0, {"program": 0, "operator": 0}
    for path in sorted(directory.glob("*.onnx")):
        kind, _, name = path.stem.partition("_")
        arguments, expected = pickle.loads(path.with_suffix(".pickle").read_bytes())
        try:
            onnx.checker.check_model(str(path), full_check=True)
            problem = ""
        except Exception as error:
            # The checker asks for the rank of every output, which the format does not.
            problem = "" if "'shape' of 'type' is required" in str(error) else f"the checker: {error}"
            wrong += bool(problem)
        if not problem:
            try:
                got = run(path, arguments)
                problem = "; ".join(filter(None, (apart(a, b) for a, b in zip(got, expected, strict=True))))
            except Exception as error:
                problem = f"onnxruntime: {error}"
            wrong += bool(problem) and kind == "program" and name not in NOT_THERE
        count[kind] += not problem
        if problem:
            print(f"{kind} {name}: {problem[:400]}")
    print(
        f"{count['program']} programs and {count['operator']} samples of operators agree; {wrong} are wrong"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("write", "check"):
        sys.exit(__doc__)
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[1] == "check":
        sys.exit(check(folder))
    write(folder)
