"""SavedModels of TensorFlow, loaded without it; `tools/peers/tensorflow_models.py` wrote them.

`PENSTOCK_TENSORFLOW_MODELS` names another directory with such models, as `make test-tensorflow` does.
"""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock._saving import saved_model_text
from penstock.convert import main

OWN = Path(__file__).parent / "models"
MODELS = Path(os.environ.get("PENSTOCK_TENSORFLOW_MODELS") or OWN)
NAMES = sorted(path.stem for path in MODELS.glob("*.zip"))


def unpacked(name: str, directory: Path, models: Path = OWN) -> Path:
    with zipfile.ZipFile(models / f"{name}.zip") as archive:
        archive.extractall(directory)
    return directory


def expectations(directory: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """For each signature `in`, `out` and `gradient`, arrays by name."""
    out: dict[str, dict[str, dict[str, Any]]] = {}
    with np.load(io.BytesIO((directory / "expected.npz").read_bytes())) as file:
        for key in file:
            signature, kind, name = key.split("/", 2)
            parts = out.setdefault(signature, {"in": {}, "out": {}, "gradient": {}})
            value = file[key]
            parts[kind][name] = value.astype(object) if value.dtype.kind == "S" else value
    return out


def agrees(got: Any, due: Any) -> None:
    assert got.shape == due.shape
    if due.dtype == object:
        assert got.tolist() == due.tolist()
    else:
        assert got.dtype == due.dtype
        largest = float(np.abs(due).max(initial=0.0)) if due.dtype.kind == "f" else 0.0
        np.testing.assert_allclose(got, due, rtol=1e-5, atol=1e-5 * max(1.0, largest))


def check(model: Any, expected: dict[str, dict[str, dict[str, Any]]]) -> None:
    for signature, parts in expected.items():
        function = model.signatures[signature]
        variables = {v.name: v for v in function.variables if v.trainable}
        with tf.GradientTape() as tape:
            outputs = function(**{name: tf.constant(value) for name, value in parts["in"].items()})
            total = tf.add_n([tf.reduce_sum(y) for y in outputs.values() if y.dtype == tf.float32] or [0.0])
        assert sorted(outputs) == sorted(parts["out"])
        for name, due in parts["out"].items():
            agrees(outputs[name].numpy(), due)
        gradients = tape.gradient(total, {name: variables[name] for name in parts["gradient"]})
        for name, due in parts["gradient"].items():
            got = tf.convert_to_tensor(gradients[name]).numpy()
            np.testing.assert_allclose(got, due, rtol=1e-4, atol=1e-5 * max(1.0, float(np.abs(due).max())))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_gives_what_tensorflow_gives(name: str, tmp_path: Path) -> None:
    directory = unpacked(name, tmp_path, MODELS)
    assert tf.saved_model.contains_saved_model(directory)
    check(tf.saved_model.load(directory), expectations(directory))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_is_text_gives_what_tensorflow_gives(name: str, tmp_path: Path) -> None:
    directory = unpacked(name, tmp_path, MODELS)
    file = directory / "saved_model.pb"
    (directory / "saved_model.pbtxt").write_text(saved_model_text.text_of(file.read_bytes()), "utf-8")
    file.unlink()
    assert tf.saved_model.contains_saved_model(directory)
    check(tf.saved_model.load(directory), expectations(directory))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_saved_again_needs_nothing_of_tensorflow(name: str, tmp_path: Path) -> None:
    directory = unpacked(name, tmp_path / "theirs", MODELS)
    model = tf.saved_model.load(directory)
    tf.saved_model.save(model, tmp_path / "ours")
    check(tf.saved_model.load(tmp_path / "ours"), expectations(directory))


def test_a_function_has_the_traces_and_parameters_that_it_had(tmp_path: Path) -> None:
    model = tf.saved_model.load(unpacked("control", tmp_path))
    assert float(model.step(3.0)) == 12.0
    assert float(model.step(3.0, double=False)) == 6.0
    assert float(model.step(tf.constant(3.0), scale=0.5)) == 6.0
    assert int(model.count) == 6  # three of them when it was made
    assert isinstance(model.parts, list)
    assert float(model.parts[1]["bias"]) == 0.5
    with pytest.raises(ValueError, match="no saved trace takes the arguments"):
        model.step(3.0, scale=7.0)


def test_tables_are_objects_that_hold_what_they_held(tmp_path: Path) -> None:
    model = tf.saved_model.load(unpacked("tables_that_change", tmp_path))
    assert sorted(model.plain.export()[0].numpy().tolist()) == [b"a", b"b"]
    model.plain.insert(["new"], [[8.0, 9.0]])
    assert model.f(tf.constant(["new"]), 1.0)["before"].numpy().tolist() == [[8.0, 9.0]]
    assert int(model.dense.size()) == 2


def test_a_function_without_its_asset_says_that_it_is_not_found(tmp_path: Path) -> None:
    directory = unpacked("table_of_a_file", tmp_path)
    (directory / "assets" / "words.txt").unlink()
    model = tf.saved_model.load(directory)
    with pytest.raises(tf.errors.NotFoundError, match=r"assets/words\.txt"):
        model.f(tf.constant(["cat"]))


def test_variables_can_be_trained(tmp_path: Path) -> None:
    model = tf.saved_model.load(unpacked("control", tmp_path))
    with tf.GradientTape() as tape:
        loss = model.step(2.0)
    assert float(tape.gradient(loss, model.v)) == 4.0
    model.v.assign(5.0)
    assert float(model.step(2.0)) == 20.0


def test_a_command_converts_a_model(tmp_path: Path) -> None:
    directory = unpacked("cnn", tmp_path / "theirs")
    assert main([str(directory), str(tmp_path / "ours")]) == 0
    check(tf.saved_model.load(tmp_path / "ours"), expectations(directory))
    assert main([str(directory), str(tmp_path / "cnn.penstock")]) == 0
    program = tf.Program.load(tmp_path / "cnn.penstock")
    parts = expectations(directory)["serving_default"]
    outputs = program.run(
        "serving_default", **{name: tf.constant(value) for name, value in parts["in"].items()}
    )
    agrees(outputs["output_0"].numpy(), parts["out"]["output_0"])


def test_a_command_says_that_there_is_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), str(tmp_path / "out")]) == 1
    assert "there is no SavedModel" in capsys.readouterr().err
