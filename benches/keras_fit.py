"""Measures `fit` and `predict` of Keras models on several backends, in turn: `python benches/keras_fit.py`.

Each `--python backend=PATH` is an interpreter with Keras and that backend. Every round runs each of them in a
process of its own, so that a busy machine is busy for all. The best time of a step over all rounds counts.
Prints a table in Markdown, and writes it to `--output`.
"""

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 3
EPOCHS = 3


def models() -> dict[str, Callable[[], tuple[Any, Any, Any, str, int, int]]]:
    """`(model, x, y, loss, batch size, steps per execution)` of each case."""
    import keras
    import numpy as np
    from keras import layers

    rng = np.random.default_rng(0)
    classes = "sparse_categorical_crossentropy"

    def floats(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=np.float32)

    def mlp(steps: int) -> Any:
        model = keras.Sequential(
            [keras.Input([784]), layers.Dense(256, activation="relu"), layers.Dense(10, activation="softmax")]
        )
        return model, floats(6400, 784), rng.integers(0, 10, 6400), classes, 64, steps

    def convnet() -> Any:
        model = keras.Sequential(
            [
                keras.Input([28, 28, 1]),
                layers.Conv2D(32, 3, activation="relu"),
                layers.MaxPooling2D(),
                layers.Conv2D(64, 3, activation="relu"),
                layers.MaxPooling2D(),
                layers.Flatten(),
                layers.Dense(10, activation="softmax"),
            ]
        )
        return model, floats(1280, 28, 28, 1), rng.integers(0, 10, 1280), classes, 64, 1

    def residual() -> Any:
        inputs = keras.Input([32, 32, 3])
        hidden = layers.Conv2D(16, 3, padding="same", use_bias=False)(inputs)
        for _ in range(3):
            branch = layers.Conv2D(16, 3, padding="same", use_bias=False)(hidden)
            branch = layers.ReLU()(layers.BatchNormalization()(branch))
            branch = layers.Conv2D(16, 3, padding="same", use_bias=False)(branch)
            hidden = layers.ReLU()(hidden + layers.BatchNormalization()(branch))
        outputs = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(hidden))
        return keras.Model(inputs, outputs), floats(640, 32, 32, 3), rng.integers(0, 10, 640), classes, 32, 1

    def lstm() -> Any:
        model = keras.Sequential([keras.Input([50, 16]), layers.LSTM(64), layers.Dense(1)])
        return model, floats(1600, 50, 16), floats(1600, 1), "mse", 32, 1

    def transformer() -> Any:
        inputs = keras.Input([64, 64])
        hidden = layers.LayerNormalization()(layers.MultiHeadAttention(4, 16)(inputs, inputs) + inputs)
        inner = layers.Dense(64)(layers.Dense(128, activation="relu")(hidden))
        hidden = layers.LayerNormalization()(hidden + inner)
        outputs = layers.Dense(1)(layers.GlobalAveragePooling1D()(hidden))
        return keras.Model(inputs, outputs), floats(960, 64, 64), floats(960, 1), "mse", 32, 1

    def recommender() -> Any:
        user, item = keras.Input([1], dtype="int32"), keras.Input([1], dtype="int32")
        found = [
            layers.Flatten()(layers.Embedding(50_000, 32)(user)),
            layers.Flatten()(layers.Embedding(20_000, 32)(item)),
        ]
        outputs = layers.Dense(1)(layers.Dense(64, activation="relu")(layers.Concatenate()(found)))
        x = [rng.integers(0, 50_000, (6400, 1)), rng.integers(0, 20_000, (6400, 1))]
        return keras.Model([user, item], outputs), x, floats(6400, 1), "mse", 128, 1

    return {
        "MLP 784-256-10, batch 64": lambda: mlp(1),
        "the same, steps_per_execution=10": lambda: mlp(10),
        "convnet 32-64 on 28×28, batch 64": convnet,
        "residual network on 32×32, batch 32": residual,
        "LSTM 64, T=50, 16 inputs, batch 32": lstm,
        "transformer block, T=64, width 64, batch 32": transformer,
        "recommender, 70,000 embeddings of 32, batch 128": recommender,
    }


def measure() -> dict[str, dict[str, float]]:
    """Milliseconds of a step, seconds of the first epoch, milliseconds of a prediction, for each case."""
    if os.environ["KERAS_BACKEND"] == "penstock":
        pass
    found = {}
    for name, make in models().items():
        model, x, y, loss, batch, steps = make()
        model.compile("adam", loss, steps_per_execution=steps)

        def timed(run: Callable[[], object]) -> float:
            start = time.perf_counter()
            run()
            return time.perf_counter() - start

        def fit(model: Any = model, x: Any = x, y: Any = y, batch: int = batch) -> None:
            model.fit(x, y, batch_size=batch, epochs=1, verbose=0)

        def predict(model: Any = model, x: Any = x) -> None:
            model.predict(x, batch_size=256, verbose=0)

        first = timed(fit)
        step = min(timed(fit) for _ in range(EPOCHS)) / math.ceil(len(y) / batch)
        predict()
        found[name] = {
            "step": step * 1e3,
            "first": first,
            "predict": min(timed(predict) for _ in range(EPOCHS)) * 1e3,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    return found


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """The figures of each backend in a table, with the ratio of the best other one to the first."""
    ours, *others = results
    lines = [f"| case, ms a step | {' | '.join(results)} | ratio |", "|---|" + "---:|" * (len(results) + 1)]
    ratios = []
    for name in results[ours]:
        steps = [results[backend][name]["step"] for backend in results]
        ratio = min(steps[1:]) / steps[0] if others else math.nan
        ratios.append(ratio)
        lines.append(f"| {name} | {' | '.join(f'{s:.2f}' for s in steps)} | {ratio:.1f}× |")
    if others:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"| geometric mean |{' |' * len(results)} {mean:.1f}× |")
    for figure, unit in (("first", "s of the first epoch"), ("predict", "ms of predict")):
        total = [sum(case[figure] for case in results[backend].values()) for backend in results]
        best = min(total[1:]) / total[0] if others else math.nan
        lines.append(f"| all cases: {unit} | {' | '.join(f'{t:.1f}' for t in total)} | {best:.1f}× |")
    peaks = [max(case["memory"] for case in results[backend].values()) for backend in results]
    lines.append(f"| peak memory, MiB | {' | '.join(f'{p:.0f}' for p in peaks)} | |")
    return "\n".join(lines)


def main() -> None:
    """Run each interpreter in turn, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[], metavar="BACKEND=PATH")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure()))
        return
    pythons = dict(entry.split("=", 1) for entry in options.python) or {"penstock": sys.executable}
    results: dict[str, dict[str, dict[str, float]]] = {}
    for _ in range(ROUNDS):
        for backend, python in pythons.items():
            environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
            ran = subprocess.run(
                [python, __file__, "--measure"], env=environment, capture_output=True, text=True, check=True
            )
            found = json.loads(ran.stdout.splitlines()[-1])
            kept = results.setdefault(backend, found)
            for name, figures in found.items():
                kept[name] = {figure: min(value, kept[name][figure]) for figure, value in figures.items()}
    text = table(results)
    note = (
        "The ratio is the best other backend's figure divided by the first's. "
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, {time.strftime('%Y-%m-%d')}."
    )
    text = f"{text}\n\n{note}\n"
    if options.output:
        options.output.write_text(f"# Keras: training on several backends\n\n{text}", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
