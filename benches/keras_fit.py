"""Measures `fit` and `predict` of Keras models on several backends, in turn: `python benches/keras_fit.py`.

Each `--python backend=PATH` is an interpreter with Keras and that backend. Every round runs each of them in a
process of its own, so that a busy machine is busy for all. It imports Keras and forks a child for each model:
the peak of memory is the model's. The best figure over all rounds counts. Prints tables in Markdown, and with
`--write` writes them into docs/benchmarks.md.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import page

PAGE = Path(__file__).resolve().parent.parent / "docs/benchmarks.md"
TITLES = {
    "step": "ms a step of `fit`",
    "first": "s of the first epoch",
    "predict": "ms of `predict`",
    "memory": "MiB of memory at the peak",
}
CASES = (
    "MLP 784-256-10, batch 64",
    "the same, steps_per_execution=10",
    "convnet 32-64 on 28×28, batch 64",
    "residual network on 32×32, batch 32",
    "LSTM 64, T=50, 16 inputs, batch 32",
    "transformer block, T=64, width 64, batch 32",
    "recommender, 70,000 embeddings of 32, batch 128",
)
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

    makers = (lambda: mlp(1), lambda: mlp(10), convnet, residual, lstm, transformer, recommender)
    return dict(zip(CASES, makers, strict=True))


def figures(make: Callable[[], tuple[Any, Any, Any, str, int, int]]) -> dict[str, float]:
    """Milliseconds of a step, seconds of the first epoch, milliseconds of a prediction, MiB at the peak."""
    model, x, y, loss, batch, steps = make()
    model.compile("adam", loss, steps_per_execution=steps)

    def timed(run: Callable[[], object]) -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    def fit() -> None:
        model.fit(x, y, batch_size=batch, epochs=1, verbose=0)

    def predict() -> None:
        model.predict(x, batch_size=256, verbose=0)

    first = timed(fit)
    step = min(timed(fit) for _ in range(EPOCHS)) / math.ceil(len(y) / batch)
    predict()
    return {
        "step": step * 1e3,
        "first": first,
        "predict": min(timed(predict) for _ in range(EPOCHS)) * 1e3,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measure(chosen: str) -> dict[str, dict[str, float]]:
    """The figures of each case whose name has `chosen`, each in a child of this process.

    Cases that another backend refuses are left out: PyTorch's makes one step in a call.
    """
    if os.environ["KERAS_BACKEND"] == "penstock":
        import penstock  # noqa: F401 (Keras finds the backend by it)
    import keras  # noqa: F401 (the children have it by then)

    found = {}
    for name in CASES:
        if chosen not in name:
            continue
        with tempfile.TemporaryFile("w+") as file:
            child = os.fork()
            if child == 0:
                # What the frameworks do when Python ends is not for a child.
                status = 1
                try:
                    json.dump(figures(models()[name]), file)
                    file.flush()
                    status = 0
                finally:
                    os._exit(status)
            if os.waitpid(child, 0)[1] == 0:
                file.seek(0)
                found[name] = json.load(file)
            elif os.environ["KERAS_BACKEND"] == "penstock":
                sys.exit(f"penstock fails in '{name}'")
            else:
                print(f"{os.environ['KERAS_BACKEND']} is left out of '{name}'", file=sys.stderr)
    return found


def table(results: dict[str, dict[str, dict[str, float]]], figure: str, title: str) -> list[str]:
    """One figure of each backend, with the ratio of the best other one to the first."""
    ours = next(iter(results))
    lines = [f"| {title} | {' | '.join(results)} | ratio |", "|---|" + "---:|" * (len(results) + 1)]
    ratios = []
    for name in results[ours]:
        values = [results[backend].get(name, {}).get(figure, math.nan) for backend in results]
        ratios.append(min((v for v in values[1:] if not math.isnan(v)), default=math.nan) / values[0])
        shown = " | ".join("" if math.isnan(v) else f"{v:.0f}" if v >= 100 else f"{v:.3g}" for v in values)
        lines.append(f"| {name} | {shown} | {ratios[-1]:.1f} |")
    known = [ratio for ratio in ratios if not math.isnan(ratio)]
    if known:
        mean = statistics.geometric_mean(known)
        lines.append(f"| geometric mean |{' |' * len(results)} {mean:.1f} |")
    return [*lines, ""]


def report(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """All tables, and what several steps in one call save."""
    lines = [line for figure, title in TITLES.items() for line in table(results, figure, title)]
    single, several = list(CASES)[:2]
    for backend, found in results.items():
        if single in found and several in found:
            ratio = found[single]["step"] / found[several]["step"]
            lines.append(
                f"`steps_per_execution=10` makes the MLP's steps {ratio:.2f} times as fast on {backend}."
            )
    return "\n".join(lines)


def main() -> None:
    """Run each interpreter in turn, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[], metavar="BACKEND=PATH")
    parser.add_argument("--cases", default="", metavar="TEXT", help="only those whose names have this text")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.cases)))
        return
    pythons = dict(entry.split("=", 1) for entry in options.python) or {"penstock": sys.executable}
    results: dict[str, dict[str, dict[str, float]]] = {}
    for _ in range(options.rounds):
        for backend, python in pythons.items():
            environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
            command = [python, __file__, "--measure", "--cases", options.cases]
            ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(ran.stdout.splitlines()[-1])
            kept = results.setdefault(backend, found)
            for name, figures in found.items():
                kept[name] = {figure: min(value, kept[name][figure]) for figure, value in figures.items()}
    text = f"{page.machine()}\n\n{report(results)}"
    if options.write:
        PAGE.write_text(page.replaced(PAGE, "keras", text), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
