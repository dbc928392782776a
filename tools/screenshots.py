"""Pictures of the pages that programs make, for the documentation: `make screenshots`.

A headless Chromium (Debian's package `chromium`, or what `CHROMIUM` names) draws the profile of a training
loop, the graph of its step, the page of a cache, and TensorBoard's pages of the events that the loop wrote.
What the scripts of the pages have made is checked first: `tools/screenshots.py [--check] [NAME ...]`; with
`--check` nothing is written.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import penstock as tf

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = Path(__file__).resolve().parents[1] / "docs"
# A picture of more bytes than this says too little for its size.
MOST_BYTES = 200_000


@dataclass(frozen=True)
class Shot:
    """A picture of a page.

    Attributes:
        name: of the file.
        address: of the page: a file of the folder, or a path of TensorBoard, which begins with `/`.
        size: of the window, in pixels.
        least: how many elements a selector finds at least, in shadow trees too.
        clicks: what is clicked first.
        pointed: what the pointer is on.
        kept: whether the picture is for the documentation; else the page is looked at alone.
    """

    name: str
    address: str
    size: tuple[int, int]
    least: dict[str, int]
    clicks: list[str] = field(default_factory=list)
    pointed: str = ""
    kept: bool = True


SHOTS = [
    Shot(
        "profile.png",
        "profile.html",
        (1100, 1250),
        {"tr": 10, "rect": 40, "polyline": 1, "canvas": 1},
    ),
    Shot(
        "graph.png",
        "graph.html#Optimised",
        (1300, 900),
        {"g.node": 40, "g.node.step": 3, "li.used": 4, "#tabs button": 3, "path.edge": 40, "#about": 1},
        pointed=".view:not([hidden]) g.node:has(> text:text-is('reduce_mean'))",
    ),
    Shot(
        "cache.png",
        "cache.html",
        (1000, 760),
        {"section.miss": 3, "tr": 8},
    ),
    Shot(
        "tensorboard.png",
        "/#timeseries",
        (1200, 1180),
        {
            "scalar-card": 2,
            "scalar-card svg path": 2,
            "image-card img": 1,
            "histogram-card tb-histogram path": 2,
        },
        ["button[aria-label='Toggle settings side pane']"],
    ),
    Shot(
        "tensorboard_graph.png",
        "/#graphs",
        (1200, 620),
        {"tf-graph-scene g.node": 5, "tf-graph-scene g.edge": 4},
    ),
    Shot("text.png", "/#text", (1200, 400), {"tf-text-dashboard >> text=units each": 1}, kept=False),
]


def program(folder: Path) -> None:
    """Trains, and writes the pages and the events of that into a folder."""
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
            with tf.name_scope("first"):
                hidden = tf.nn.relu(x @ weights[0])
            with tf.name_scope("second"):
                for _ in tf.range(2):
                    hidden = tf.nn.relu(hidden @ weights[1])
            with tf.name_scope("loss"):
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(label, hidden @ weights[2])
                loss = tf.reduce_mean(losses)
        slopes = tape.gradient(loss, weights)
        with tf.name_scope("update"):
            for weight, slope in zip(weights, slopes, strict=True):
                weight.assign_sub(0.1 * slope)
        return loss

    train(*next(iter(data)))  # is traced
    with tf.profiler.record() as recording:
        for step, (batch, labels) in enumerate(data):
            with tf.profiler.experimental.Trace("train", step_num=step):
                train(batch, labels)
    (folder / "profile.html").write_text(recording.page("Profile of a training loop"), encoding="utf-8")
    trace = train.get_concrete_function(batch, labels)
    (folder / "graph.html").write_text(small(), encoding="utf-8")
    (folder / "cache.html").write_text(retraced(), encoding="utf-8")

    writer = tf.summary.create_file_writer(str(folder / "logs" / "first"))
    with writer.as_default():
        tf.summary.graph(trace.graph)
        tf.summary.text("notes", "Two hidden layers, **128** units each.", step=0)
        for step, (batch, labels) in enumerate(data.repeat(5)):
            loss = train(batch, labels)
            tf.summary.scalar("train/loss", loss, step=step)
            tf.summary.scalar("train/norm of the weights", tf.linalg.global_norm(weights), step=step)
            if step % 20 == 0:
                tf.summary.histogram("weights/histogram", weights[0], step=step)
                image = tf.nn.sigmoid(10.0 * weights[0])[None, :, :, None]
                tf.summary.image("weights/image", image, step=step)


def small() -> str:
    """The page of a function with a loop and operators that are fused."""
    w = tf.random.stateless_normal([64, 64], seed=[1, 2])

    @tf.function
    def f(x: tf.Tensor, w: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
        x = tf.nn.softmax(tf.tanh(x @ w) * 2.0 + 1.0)
        for _ in tf.range(n):
            x = x + tf.sin(x) * 0.1
        return tf.reduce_mean(x, axis=0)

    arguments = tf.ones([1000, 64]), w, tf.constant(10)
    f(*arguments)
    with tf.profiler.record() as recording:
        f(*arguments)
    return f.get_concrete_function(*arguments).to_html(profile=recording)


def retraced() -> str:
    """The page about a function that is traced more often than need be."""

    @tf.function
    def scaled(x: tf.Tensor, rate: float) -> tf.Tensor:
        return x * rate

    for rate in (0.1, 0.2):
        scaled(tf.ones([8]), rate)
    scaled(tf.ones([5]), 0.2)
    return scaled.explain_cache().to_html()


@contextmanager
def tensorboard(logs: Path) -> Iterator[str]:
    """TensorBoard at these logs, at a free port of this machine: its address."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", logs.name, "--host", "127.0.0.1"]
    command += ["--port", "0", "--load_fast", "false", "--reload_interval", "1"]
    with subprocess.Popen(command, cwd=logs.parent, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            found = next((m for line in server.stderr if (m := re.search(r"http://\S+", line))), None)
            if found is None:
                sys.exit("TensorBoard ended before it listened")
            yield found[0].rstrip("/")
        finally:
            server.terminate()


def draw(browser: Browser, shot: Shot, address: str, target: Path) -> None:
    """Draws a page once it has the elements that it should have; says what it lacks."""
    width, height = shot.size
    page: Any = browser.new_page(viewport={"width": width, "height": height})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    for selector in shot.clicks:
        page.locator(selector).first.click()
    if shot.pointed:
        page.locator(shot.pointed).first.hover()
    for selector, count in shot.least.items():
        found = page.locator(selector)
        try:
            found.nth(count - 1).wait_for(state="attached", timeout=20_000)
        except Exception:  # the one that is raised by the browser is of no use to a reader
            sys.exit(f"{shot.name}: expected at least {count} of '{selector}', found {found.count()}")
    # Animations of the pages end.
    page.wait_for_timeout(1_500)
    if errors:
        sys.exit(f"{shot.name}: a script failed: {errors[0]}")
    page.screenshot(path=str(target), animations="disabled")
    page.close()
    if target.stat().st_size > MOST_BYTES:
        sys.exit(f"{shot.name} has {target.stat().st_size} bytes, more than {MOST_BYTES}")
    print(f"{shot.name}: {target.stat().st_size >> 10} KiB")


def main() -> None:
    """Draws all, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of pictures; all by default")
    parser.add_argument("--check", action="store_true", help="look at the pages, and write nothing")
    options = parser.parse_args()
    named = [os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    chromium = next((found for name in named if name and (found := shutil.which(name))), None)
    if chromium is None:
        sys.exit("a browser is needed: install Debian's package chromium, or name one by CHROMIUM")
    from playwright.sync_api import sync_playwright  # `make screenshots` installs it

    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        program(folder)
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        with tensorboard(folder / "logs") as server:
            for shot in SHOTS:
                if options.names and shot.name not in options.names:
                    continue
                files = (folder / shot.address.partition("#")[0]).as_uri()
                local = files + "".join(shot.address.partition("#")[1:])
                address = server + shot.address if shot.address.startswith("/") else local
                draw(
                    browser, shot, address, (DOCS if shot.kept and not options.check else folder) / shot.name
                )
        browser.close()


if __name__ == "__main__":
    main()
