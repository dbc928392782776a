"""Runs published models of ONNX here and in onnxruntime, and compares results and times.

    python tools/peers/onnx_models.py write DIRECTORY     with onnxruntime: wheels in it have the models
    python tools/peers/onnx_models.py check DIRECTORY     with this package

`write` unpacks the models and writes what they take and give; `check` fails where a result is more than 1e-4
off, of the largest. One model is in its package as a SavedModel, too, which has to give the same.
The least time of a run counts: on one thread that of the processor, since other programs run as well.
`PENSTOCK_THREADS` is the number of threads, 1 by default.
"""

from __future__ import annotations

import os
import sys
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

THREADS = int(os.environ.setdefault("PENSTOCK_THREADS", "1"))
BOUND = 1e-4
# For each model the extents of inputs whose own are not known, by their names, and inputs that are no noise.
MODELS: dict[str, tuple[dict[str, list[int]], dict[str, Any]]] = {
    "nmp": ({"serving_default_input_2:0": [1, 43844, 1]}, {}),
    "model": ({"bytes": [1, 2048]}, {}),
    "ch_PP-OCRv4_det_infer": ({"x": [1, 3, 192, 320]}, {}),
    "ch_PP-OCRv4_rec_infer": ({"x": [1, 3, 48, 320]}, {}),
    "ch_ppocr_mobile_v2.0_cls_infer": ({"x": [1, 3, 48, 192]}, {}),
    "silero_vad": ({"input": [1, 576], "state": [2, 1, 128]}, {"sr": np.array(16000)}),
    "silero_vad_16k_op15": ({"input": [1, 576], "state": [2, 1, 128]}, {"sr": np.array(16000)}),
    "silero_vad_op18_ifless": ({"input": [1, 576], "state": [2, 1, 128]}, {"sr": np.array(16000)}),
}
# Models that are SavedModels as well, and the directories of these in their packages.
TWINS = {"nmp": "basic_pitch/saved_models/icassp_2022/nmp"}


def least(run: Callable[[], Any], seconds: float = 1.0) -> float:
    """The least milliseconds of a run."""
    clock = time.process_time if THREADS == 1 else time.perf_counter
    run()
    found: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(found) < 3:
        start = clock()
        run()
        found.append(clock() - start)
    return 1e3 * min(found)


def write(directory: Path) -> int:
    """Unpacks the models, and writes what they take and give."""
    import onnxruntime as ort  # type: ignore[import-not-found]

    for wheel in sorted(directory.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".onnx") and Path(name).stem in MODELS:
                    (directory / Path(name).name).write_bytes(archive.read(name))
                if name.startswith(tuple(f"{twin}/" for twin in TWINS.values())):
                    archive.extract(name, directory)
    for name, (extents, values) in MODELS.items():
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
        session = ort.InferenceSession(str(directory / f"{name}.onnx"), options)
        draw, inputs = np.random.default_rng(0), {}
        for port in session.get_inputs():
            if port.name in values:
                inputs[port.name] = values[port.name]
            elif "int" in port.type:
                inputs[port.name] = draw.integers(0, 256, extents[port.name]).astype(port.type[7:-1])
            else:
                inputs[port.name] = draw.normal(size=extents[port.name]).astype(np.float32)
        names = [port.name for port in session.get_outputs()]
        outputs = dict(zip(names, session.run(names, inputs), strict=True))
        arrays = {f"in/{key}": value for key, value in inputs.items()}
        arrays.update({f"out/{key}": value for key, value in outputs.items()})
        took = least(partial(session.run, names, inputs))
        np.savez(directory / f"{name}.npz", took=took, **arrays)
    return 0


def difference(got: Any, due: Any) -> float:
    """How far a result is off, of the largest."""
    got, due = got.numpy().astype(np.float64), due.astype(np.float64)
    return float(np.abs(got - due).max() / max(1.0, np.abs(due).max()))


def check(directory: Path) -> int:
    """Runs the models here."""
    import penstock as tf

    wrong = 0
    print(f"{THREADS} threads\n\n| model | most that differs | here, ms | onnxruntime, ms | times as long |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in MODELS:
        case = np.load(directory / f"{name}.npz")
        model = tf.onnx.load(directory / f"{name}.onnx")
        inputs = {key[3:]: tf.constant(case[key]) for key in case if key.startswith("in/")}
        outputs = model(**inputs)
        due = {key[4:]: case[key] for key in case if key.startswith("out/")}
        off = max(difference(outputs[key], array) for key, array in due.items())
        took, theirs = least(partial(model, **inputs)), float(case["took"])
        wrong += off > BOUND
        print(f"| {name} | {off:.1e} | {took:.2f} | {theirs:.2f} | {took / theirs:.2f} |", flush=True)
    print()
    for name, twin in TWINS.items():
        case = np.load(directory / f"{name}.npz")
        (x,) = (case[key] for key in case if key.startswith("in/"))
        serve = tf.saved_model.load(directory / twin).signatures["serving_default"]
        outputs = serve(**{next(iter(serve.structured_input_signature[1])): tf.constant(x)})
        # Both have their results in the order of their names.
        arrays = [case[key] for key in sorted(key for key in case if key.startswith("out/"))]
        off = max(difference(outputs[key], array) for key, array in zip(sorted(outputs), arrays, strict=True))
        wrong += off > BOUND
        print(f"{name}: the SavedModel is {off:.1e} off at most", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit((write if sys.argv[1] == "write" else check)(Path(sys.argv[2])))
