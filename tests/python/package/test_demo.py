"""The programs of `make demo`."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
import curves
import digits


def test_a_picture_has_a_line_for_each_curve(tmp_path):
    file = tmp_path / "new" / "curves.svg"
    curves.save(file, "a < b", {"one": [1.0, 0.5, 0.0], "two": [0.2]})
    root = ElementTree.parse(file).getroot()
    lines = [element.get("points").split() for element in root.iter() if element.tag.endswith("polyline")]
    assert [len(points) for points in lines] == [3, 1]
    heights = [float(point.split(",")[1]) for point in lines[0]]
    assert heights == sorted(heights)  # downwards
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"a < b", "one", "two", "epoch 1 to 3"} <= set(texts)


@pytest.mark.parametrize("optimizer", [tf.optimizers.SGD(0.1, momentum=0.9), tf.optimizers.Adam(5e-2)])
def test_the_demo_shows_its_progress_and_learns(optimizer, capsys):
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    images = rng.normal(size=(256, 4)).astype(np.float32)
    labels = (images.sum(axis=1) > 0).astype(np.int32)
    model = digits.Network(digits.Dense(4, 2))
    found = digits.train("small", model, optimizer, (images, labels, images, labels), epochs=10)
    assert len(found) == 10
    assert found[-1] > 0.9
    shown = capsys.readouterr().out
    assert "epoch 10: loss" in shown
    assert "traced 1 time\n" in shown
