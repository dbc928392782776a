"""Has TensorFlow load SavedModels that this package wrote, and compares what they give.

    python tools/peers/tensorflow_exports.py write DIRECTORY     with this package
    python tools/peers/tensorflow_exports.py check DIRECTORY     with TensorFlow

Each model holds a function `f0`: a program, or a sample of one operator. Beside it are its arguments and
results. It is also run as TensorFlow 1 and TensorFlow Serving do it, by the graph of its signature.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

# Numbers that are drawn, and results that are right in several ways.
DRAWN = ("random", "stateless_random", "stateless_truncated", "truncated_normal", "timestamp")
# Samples of which TensorFlow makes something else.
KNOWN = {
    "operator_string_lower_3": "TensorFlow ends a text of UTF-8 at a byte of 0",
    "operator_string_upper_3": "TensorFlow ends a text of UTF-8 at a byte of 0",
    "operator_string_split_1": "TensorFlow splits off white space at the end where `maxsplit` is given",
    "operator_substr_1": "TensorFlow takes a negative length as 0 where it counts characters",
    "operator_where_indices_3": "TensorFlow has no places of more than 8 dimensions",
}
# Operators without results.
SILENT = ("print", "assert")
# Of each operator so many samples are written.
SAMPLES = 4
SEVERAL = ("svd", "svd_full", "self_adjoint_eig", "eig", "eigvals", "qr", "qr_full")


def write(directory: Path) -> None:
    """Writes the models."""
    from support.onnx_programs import PROGRAMS  # type: ignore[import-not-found]
    from support.tables import ARGUMENT, Tables  # type: ignore[import-not-found]

    import penstock as tf
    from penstock import _core, raw_ops

    directory.mkdir(parents=True, exist_ok=True)
    refused: dict[str, str] = {}

    def flat(function: Any) -> Any:
        return tf.function(lambda *args: tf.nest.flatten(function(*args)))

    def put(name: str, calls: list[tuple[Any, list[Any]]], owner: Any = None) -> None:
        module, cases = tf.Module(), []
        for i, (function, given) in enumerate(calls):
            trace = flat(function)
            specs = [tf.TensorSpec(x.shape, x.dtype, f"x{k}") for k, x in enumerate(given)]
            concrete = trace.get_concrete_function(*specs)
            results = [np.asarray(y.numpy()) for y in concrete(*given) if y is not None]
            cases.append(([np.asarray(x.numpy()) for x in given], results))
            setattr(module, f"f{i}", trace)
        module.held = [v for f, _ in calls for v in getattr(f, "held", [])]
        module.owner = owner
        signature = {"serving_default": concrete} if len(calls) == 1 else None
        options = tf.saved_model.SaveOptions(format="tensorflow")
        try:
            tf.saved_model.save(module, directory / name, signature, options)
        except tf.errors.UnimplementedError as error:
            refused[name] = str(error)
            return
        (directory / f"{name}.pickle").write_bytes(pickle.dumps(cases))

    tables = Tables()
    put("program_tables", [(tables.look, [tf.constant(ARGUMENT)])], tables)
    for name, (function, _, arguments) in PROGRAMS.items():
        traced = tf.function(function)
        put(f"program_{name}", [(traced, [tf.constant(a) for a in arguments])])
    for name in _core._tensorflow_operators():
        samples: list[Any] = []
        with contextlib.suppress(TypeError):
            samples = _core._op_samples(name)
        calls = []
        for operands, attributes in samples[:SAMPLES]:
            if name.startswith((*DRAWN, *SILENT, "list")) or any(
                x.dtype in (tf.resource, tf.variant) for x in operands
            ):
                continue

            def apply(*taken: Any, name: str = name, attributes: dict[str, Any] = attributes) -> Any:
                out = getattr(raw_ops, name)(*taken, **attributes)
                return list(out) if isinstance(out, tuple) else out

            calls.append((apply, list(operands)))
        for i, call in enumerate(calls):
            put(f"operator_{name}_{i}", [call])
    for name, why in refused.items():
        print(f"refused {name}: {why.splitlines()[-1].strip() if why else why}")


def different(due: np.ndarray, got: np.ndarray, exact: bool) -> bool:
    """Whether a result is not what is expected."""
    if due.shape != got.shape:
        return True
    if due.dtype == object or got.dtype == object or due.dtype.kind in "SU":
        return bool(due.tolist() != got.tolist())
    small = due.dtype.itemsize <= 2 and due.dtype.kind not in "iub"
    if due.dtype.kind not in "fciub":
        due, got = due.astype(np.float32), got.astype(np.float32)
    if not exact:
        due, got = np.sort(np.abs(due), None), np.sort(np.abs(got), None)
    return not np.allclose(
        due, got, rtol=3e-2 if small else 1e-3, atol=1e-2 if small else 1e-4, equal_nan=True
    )


def faults(folder: Path, cases: list[Any]) -> list[str]:
    """What is wrong with one model."""
    import tensorflow as tf

    found = []
    loaded = tf.saved_model.load(str(folder))
    exact = not any(folder.name.startswith(f"operator_{name}_") for name in SEVERAL)
    for i, (given, due) in enumerate(cases):
        results = tf.nest.flatten(getattr(loaded, f"f{i}")(*[tf.constant(x) for x in given]))
        for k, (want, got) in enumerate(zip(due, results, strict=True)):
            if different(want, np.asarray(got.numpy()), exact):
                found.append(f"f{i}, result {k}: {want!r:.300} became {got.numpy()!r:.300}")
    if len(cases) == 1 and not found:
        given, due = cases[0]
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            graph = tf.compat.v1.saved_model.load(session, ["serve"], str(folder))
            signature = graph.signature_def["serving_default"]
            inputs = [
                signature.inputs[f"x{k}" if f"x{k}" in signature.inputs else f"args_{k}"]
                for k in range(len(given))
            ]
            feeds = {port.name: x for port, x in zip(inputs, given, strict=True)}
            fetches = [signature.outputs[f"output_{k}"].name for k in range(len(due))]
            for k, (want, got) in enumerate(zip(due, session.run(fetches, feeds), strict=True)):
                if different(want, np.asarray(got), exact):
                    found.append(f"in a session, result {k}: {want!r:.300} became {got!r:.300}")
    return found


def check(directory: Path) -> int:
    """Loads all of them."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    files, wrong = sorted(directory.glob("*.pickle")), 0
    for file in [file for file in files if file.stem not in KNOWN]:
        try:
            found = faults(file.with_suffix(""), pickle.loads(file.read_bytes()))
        except Exception as error:
            found = [f"{type(error).__name__}: {str(error)[-500:]}"]
        wrong += bool(found)
        for text in found:
            print(f"{file.stem}: {text}", flush=True)
    print(f"{len(files) - wrong} of {len(files)} give in TensorFlow {tf.__version__} what they gave here")
    return int(bool(wrong))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]))
    else:
        sys.exit(check(Path(sys.argv[2])))
