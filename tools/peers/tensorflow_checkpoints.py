"""Writes checkpoints with TensorFlow and with this package, and has each read what the other wrote.

    python tools/peers/tensorflow_checkpoints.py write DIRECTORY penstock
    python tools/peers/tensorflow_checkpoints.py check DIRECTORY tensorflow

`write` makes the checkpoints by the package that is named. `check` restores them by that package into objects
with other values, asserts that all was consumed, and compares. So two interpreters cross each way.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

DTYPES = [
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
    "complex128",
    "string",
]
MANY = 20_000


def values(tf: Any, name: str, zero: bool) -> Any:
    """A tensor of a dtype: of zeros, or of what shows a mistake."""
    if name == "string":
        return tf.constant([b"", b"", b""] if zero else [b"a", b"", "é".encode() * 100])
    numbers = np.zeros((2, 3)) if zero else np.array([[0, 1, 2], [100, 3, 1]])
    return tf.cast(tf.constant(numbers), getattr(tf, name))


def every_dtype(tf: Any, zero: bool) -> Any:
    """A variable of each dtype, in modules, lists and dicts."""
    module = tf.Module()
    module.named = {f"x/y.{name}": tf.Variable(values(tf, name, zero), name=name) for name in DTYPES}
    module.listed = [tf.Variable(0.0 if zero else 1.0), [tf.Variable(0.0 if zero else 2.0)]]
    module.scalar = tf.Variable(0 if zero else 7, dtype=tf.int64)
    return {"net": module}


def many(tf: Any, zero: bool) -> Any:
    """Very many small variables."""
    return {"all": [tf.Variable(0.0 if zero else float(i)) for i in range(MANY)]}


def network(tf: Any, zero: bool) -> Any:
    """A model of Keras with its optimiser, after two steps."""
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(4), tf.keras.layers.Dense(2)])
    optimizer = tf.keras.optimizers.Adam(0.125)
    optimizer.build(model.trainable_variables)
    if not zero:
        for _ in range(2):
            gradients = [tf.ones_like(v) for v in model.trainable_variables]
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return {"model": model, "optimizer": optimizer}


def table(tf: Any, zero: bool) -> Any:
    """A table that changes."""
    made = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    if not zero:
        made.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64))
    return {"table": made}


def divided(tf: Any, zero: bool) -> Any:
    """A variable whose rows are divided, as among servers: its value is in parts."""
    if tf.__name__ == "tensorflow":
        module = importlib.import_module("tensorflow.python.distribute.sharded_variable")
    else:
        module = importlib.import_module("penstock.distribute._sharded")
    rows = np.arange(14, dtype=np.float32).reshape(7, 2) * (0 if zero else 1)
    # The parts are others when it is restored.
    cuts = [0, 4, 7] if zero else [0, 3, 5, 7]
    parts = [tf.Variable(rows[a:b], name=f"part_{a}") for a, b in itertools.pairwise(cuts)]
    return {"divided": module.ShardedVariable(parts, name="divided")}


CASES = {made.__name__: made for made in (every_dtype, many, network, table, divided)}


def contents(tf: Any, objects: dict[str, Any]) -> dict[str, Any]:
    """Arrays by name."""
    out: dict[str, Any] = {}
    for owner, held in objects.items():
        if hasattr(held, "insert") and hasattr(held, "export"):
            keys, found = held.export()
            pairs = zip(keys.numpy().tolist(), found.numpy().tolist(), strict=True)
            out[owner] = np.array([v for _, v in sorted(pairs)])
            continue
        if type(held).__name__ == "ShardedVariable":
            out[owner] = np.concatenate([part.numpy() for part in held.variables])
            continue
        variables = held if isinstance(held, list) else held.variables
        for i, variable in enumerate(variables):
            array = np.asarray(variable if not hasattr(variable, "numpy") else variable.numpy())
            if array.dtype == object:
                array = np.char.encode(np.array([repr(x) for x in array.ravel()]), "ascii")
            # Counts of steps are int32 in one backend of Keras, and random seeds are drawn.
            if "seed" not in getattr(variable, "path", ""):
                out[f"{owner}/{i}"] = array.astype(np.complex128) if array.dtype.kind in "iufcbV" else array
    return out


def write(tf: Any, directory: Path) -> None:
    """Writes all of them."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, make in CASES.items():
        objects = make(tf, False)
        tf.train.Checkpoint(**objects).write(str(directory / name))
        np.savez(directory / f"{name}.npz", **contents(tf, objects))


def check(tf: Any, directory: Path) -> int:
    """Restores all of them."""
    wrong = 0
    for name, make in CASES.items():
        due = dict(np.load(directory / f"{name}.npz"))
        objects = make(tf, True)
        try:
            tf.train.Checkpoint(**objects).read(str(directory / name)).assert_consumed()
            got = contents(tf, objects)
            assert sorted(got) == sorted(due), f"other values: {sorted(set(got) ^ set(due))[:5]}"
            for key, array in due.items():
                np.testing.assert_array_equal(got[key], array, err_msg=key)
        except Exception as error:
            wrong += 1
            print(f"{name}: {type(error).__name__}: {str(error)[-700:]}", flush=True)
    print(f"{len(CASES) - wrong} of {len(CASES)} checkpoints are restored by {tf.__name__} {tf.__version__}")
    return int(wrong > 0)


def main() -> int:
    """Does what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["write", "check"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("package", choices=["penstock", "tensorflow"])
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tf = importlib.import_module(arguments.package)
    if arguments.mode == "write":
        write(tf, arguments.directory)
        return 0
    return check(tf, arguments.directory)


if __name__ == "__main__":
    sys.exit(main())
