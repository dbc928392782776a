"""Pictures of the pages that programs make, for the documentation: `make screenshots`.

A headless Chromium (Debian's package `chromium`, or what `CHROMIUM` names) draws the profile of a training
loop and the graph of its step. What the scripts of the pages have made is checked first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import penstock as tf

DOCS = Path(__file__).resolve().parents[1] / "docs"


def program() -> tuple[str, str]:
    """The profile of a training loop, and the page of its step."""
    x = tf.random.stateless_normal([2000, 64], seed=[1, 2])
    label = tf.cast(tf.reduce_sum(x[:, :8], axis=1) > 0, tf.int32)
    data = tf.data.Dataset.from_tensor_slices((x, label)).shuffle(2000, seed=1).batch(50)
    weights = [
        tf.Variable(tf.random.stateless_normal(shape, seed=[3, i]) * 0.1)
        for i, shape in enumerate([[64, 128], [128, 128], [128, 2]])
    ]

    @tf.function
    def train(x: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(x @ weights[0])
            for _ in tf.range(2):
                hidden = tf.nn.relu(hidden @ weights[1])
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(label, hidden @ weights[2])
            loss = tf.reduce_mean(losses)
        for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.1 * slope)
        return loss

    train(*next(iter(data)))  # is traced
    with tf.profiler.record() as recording:
        for step, (batch, labels) in enumerate(data):
            with tf.profiler.experimental.Trace("train", step_num=step):
                train(batch, labels)
    return recording.page("Profile of a training loop"), train._traces()[0].to_html(profile=recording)


class Elements(HTMLParser):
    """How many elements there are of each name and class."""

    def __init__(self) -> None:
        super().__init__()
        self.count: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Counts an element under its tag, and under its tag with each class."""
        classes = (dict(attrs).get("class") or "").split()
        for name in [tag, *(f"{tag}.{c}" for c in classes)]:
            self.count[name] = self.count.get(name, 0) + 1


def draw(browser: str, page: str, picture: Path, size: str, least: dict[str, int]) -> None:
    """Draws a page. Its scripts must have made at least the elements of `least`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(page, encoding="utf-8")
        common = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={size}"]
        made = subprocess.run(
            [*common, "--dump-dom", file.as_uri()], capture_output=True, text=True, check=True
        )
        elements = Elements()
        elements.feed(made.stdout)
        missing = {name: n for name, n in least.items() if elements.count.get(name, 0) < n}
        if missing:
            sys.exit(f"{picture.name}: expected at least {missing}, found {elements.count}")
        shot = [*common, f"--screenshot={picture}", file.as_uri()]
        subprocess.run(shot, capture_output=True, check=True)
    print(f"{picture}: {picture.stat().st_size >> 10} KiB")


def main() -> None:
    """Draws all."""
    named = [os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    browser = next((found for name in named if name and (found := shutil.which(name))), None)
    if browser is None:
        sys.exit("a browser is needed: install Debian's package chromium, or name one by CHROMIUM")
    profile, graph = program()
    draw(
        browser,
        profile,
        DOCS / "profile.png",
        "1100,1250",
        {"tr": 10, "rect": 40, "polyline": 1, "canvas": 1},
    )
    draw(
        browser,
        graph,
        DOCS / "graph.png",
        "1300,800",
        {"g.node": 40, "li.used": 5, "button": 5, "path.edge": 40},
    )


if __name__ == "__main__":
    main()
