"""SavedModels in TensorFlow's format: written, read again by the reader of TensorFlow's models, and run."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.onnx_programs import PROGRAMS
from support.tables import ARGUMENT, RESULTS, Tables

import penstock as tf
from penstock import _core
from penstock.convert import convert

FORMAT = tf.saved_model.SaveOptions(format="tensorflow")


ALLOWED = tf.saved_model.LoadOptions(allow_files=True)


def saved(obj: Any, folder: Any, signatures: Any = None) -> Any:
    """What is read again of an object."""
    tf.saved_model.save(obj, folder, signatures, FORMAT)
    assert not (folder / "saved_model.penstock").exists()
    return tf.saved_model.load(folder, options=ALLOWED)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gave(name, tmp_path):
    program = PROGRAMS[name]
    arguments = [tf.constant(a) for a in program.arguments]
    traced = tf.function(program.function)
    module = tf.Module()
    concrete = traced.get_concrete_function(*program.specs)
    module.held = list(concrete.variables)
    module.run = tf.function(
        lambda *args: tf.nest.flatten(traced(*args)),
        input_signature=[tf.TensorSpec(s.shape, s.dtype, f"x{i}") for i, s in enumerate(program.specs)],
    )
    due = [x.numpy() for x in tf.nest.flatten(concrete(*arguments))]
    try:
        loaded = saved(module, tmp_path)
    except tf.errors.UnimplementedError as error:
        pytest.skip(str(error).splitlines()[-1])
    got = [x.numpy() for x in tf.nest.flatten(loaded.run(*arguments))]
    assert len(got) == len(due)
    for a, b in zip(got, due, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype == object:
            assert a.tolist() == b.tolist()
        else:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="weight")
        self.count = tf.Variable(0, trainable=False)
        self.parts = [tf.Module(), {"bias": tf.Variable([0.5, -0.5])}]

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def __call__(self, x):
        self.count.assign_add(1)
        return {"y": x @ self.weight + self.parts[1]["bias"], "pair": (x, tf.shape(x))}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="n")])
    def power(self, n):
        result = tf.constant(1.0)
        for _ in tf.range(n):
            if result > 10.0:
                result *= 2.0
            else:
                result *= tf.reduce_max(self.weight)
        return result


def test_variables_are_live_and_train(tmp_path):
    model = Model()
    x = tf.constant([[1.0, 2.0]])
    due = model(x)["y"].numpy()
    loaded = saved(model, tmp_path)
    np.testing.assert_array_equal(loaded(x)["y"].numpy(), due)
    assert loaded.count.numpy() == 2
    assert loaded(x)["pair"][1].numpy().tolist() == [1, 2]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(loaded(x)["y"])
    slope = tape.gradient(loss, loaded.weight)
    np.testing.assert_array_equal(slope.numpy(), [[1.0, 1.0], [2.0, 2.0]])
    loaded.weight.assign_sub(slope)
    loaded.parts[1]["bias"].assign([0.0, 0.0])
    np.testing.assert_array_equal(loaded(x)["y"].numpy(), x.numpy() @ loaded.weight.numpy())


@pytest.mark.parametrize("n", [0, 1, 5])
def test_loops_and_branches_run(n, tmp_path):
    model = Model()
    due = model.power(tf.constant(n)).numpy()
    assert saved(model, tmp_path).power(tf.constant(n)).numpy() == due


def test_signatures_have_the_names_of_arguments_and_results(tmp_path):
    model = Model()

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="points")])
    def serve(points):
        return {"score": tf.reduce_sum(points @ model.weight, -1)}

    loaded = saved(model, tmp_path, {"serving_default": serve})
    signature = loaded.signatures["serving_default"]
    got = signature(points=tf.constant([[1.0, 1.0]]))
    assert {name: x.numpy().tolist() for name, x in got.items()} == {"score": [10.0]}


def test_assets_are_copied(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("a\nb\n")
    module = tf.Module()
    module.words = tf.saved_model.Asset(str(words))
    module.path = tf.function(lambda: tf.identity(module.words.asset_path), input_signature=[])
    loaded = saved(module, tmp_path / "model")
    path = loaded.path().numpy().decode()
    assert path.startswith(str(tmp_path / "model"))
    assert tf.io.gfile.GFile(path).read() == "a\nb\n"


def test_tables_are_written_with_what_is_in_them(tmp_path):
    loaded = saved(Tables(), tmp_path)
    found = loaded.look(tf.constant(ARGUMENT))
    assert {name: value.numpy().tolist() for name, value in found.items()} == RESULTS
    assert sorted(loaded.changed.export()[0].numpy().tolist()) == [b"a", b"d"]


def test_what_tensorflow_does_not_have_is_named_as_a_whole(tmp_path):
    module = tf.Module()
    module.f = tf.function(
        lambda x: tf.strings.bytes_split(x).values, input_signature=[tf.TensorSpec([3], tf.string)]
    )
    module.g = tf.function(
        lambda x: tf.math.segment_mean(x, [0, 0, 1]) + tf.math.unsorted_segment_mean(x, [0, 0, 1], 2),
        input_signature=[tf.TensorSpec([3])],
    )
    with pytest.raises(tf.errors.UnimplementedError) as caught:
        tf.saved_model.save(module, tmp_path / "m", None, FORMAT)
    message = str(caught.value)
    assert "string_bytes_split" in message
    assert "unsorted_segment_mean" in message
    assert message.count("test_tensorflow_format.py") >= 2
    assert not (tmp_path / "m" / "saved_model.pb").exists()


def test_another_format_is_an_error():
    with pytest.raises(ValueError, match="argument 'format' must be 'penstock' or 'tensorflow', got 'onnx'"):
        tf.saved_model.SaveOptions(format="onnx")


def test_models_are_converted_from_each_format_to_each(tmp_path):
    module = tf.Module()
    module.f = tf.function(
        lambda x: {"y": tf.nn.relu(x) * 2.0}, input_signature=[tf.TensorSpec([2], name="x")]
    )
    tf.saved_model.save(module, tmp_path / "ours", module.f)
    x, due = tf.constant([-1.0, 3.0]), [0.0, 6.0]
    assert convert(tmp_path / "ours", tmp_path / "theirs", to="tensorflow") == {}
    assert convert(tmp_path / "theirs", tmp_path / "again") == {}
    assert convert(tmp_path / "again", tmp_path / "m.penstock") == {}
    assert convert(tmp_path / "m.penstock", tmp_path / "m.onnx") == {}
    assert convert(tmp_path / "m.onnx", tmp_path / "last", to="tensorflow") == {}
    for folder in ("ours", "theirs", "again", "last"):
        serve = tf.saved_model.load(tmp_path / folder).signatures["serving_default"]
        assert serve(x=x)["y"].numpy().tolist() == due, folder
    assert tf.onnx.load(tmp_path / "m.onnx")(x)["y"].numpy().tolist() == due


def test_the_command_says_what_is_wrong(tmp_path):
    command = [sys.executable, "-m", "penstock.convert", str(tmp_path / "no"), str(tmp_path / "out")]
    done = subprocess.run([*command, "--to", "tensorflow"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "there is no SavedModel" in done.stderr


# Numbers that are drawn, the time, what has no results, and what takes lists and tables.
UNLIKE = ("random", "stateless_", "truncated_normal", "timestamp", "print", "assert", "list")
# Samples of each operator that are written.
SAMPLES = 4


def samples(name: str) -> list[Any]:
    if name.startswith(UNLIKE):
        return []
    try:
        found = _core._op_samples(name)
    except TypeError:
        return []
    kept = [(x, a) for x, a in found if all(t.dtype not in (tf.resource, tf.variant) for t in x)]
    return kept[:SAMPLES]


@pytest.mark.parametrize("name", [name for name in _core._tensorflow_operators() if samples(name)])
def test_an_operator_gives_what_it_gave(name, tmp_path):
    for i, (operands, attributes) in enumerate(samples(name)):
        module = tf.Module()

        def apply(*taken: Any, attributes: dict[str, Any] = attributes) -> Any:
            made = getattr(tf.raw_ops, name)(*taken, **attributes)
            return [] if made is None else tf.nest.flatten(made)

        specs = [tf.TensorSpec(x.shape, x.dtype, f"x{k}") for k, x in enumerate(operands)]
        module.run = tf.function(apply, input_signature=specs)
        try:
            due = [np.asarray(x.numpy()) for x in module.run(*operands)]
            loaded = saved(module, tmp_path / str(i))
        except tf.errors.UnimplementedError:
            continue  # a dtype or a form that TensorFlow does not have
        got = [np.asarray(x.numpy()) for x in loaded.run(*operands)]
        for a, b in zip(got, due, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            if b.dtype.kind in "fc" and b.dtype.itemsize > 2:
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
            elif b.dtype.kind in "biuSUO":
                assert a.tolist() == b.tolist()
            else:
                np.testing.assert_allclose(a.astype("f4"), b.astype("f4"), rtol=2e-2, atol=1e-2)


class Files(tf.Module):
    """Reads an image of a file, and writes one."""

    @tf.function(input_signature=[tf.TensorSpec([], tf.string, name="path")])
    def read(self, path):
        image = tf.io.decode_png(tf.io.read_file(path), channels=3)
        return {"image": image, "small": tf.image.resize(tf.cast(image, tf.float32), [1, 2])}

    @tf.function(input_signature=[tf.TensorSpec([], tf.string, name="path")])
    def copied(self, path):
        tf.io.write_file(path + ".copy", tf.io.read_file(path))
        return tf.io.read_file(path + ".copy")


def test_functions_read_and_write_files_where_that_is_allowed(tmp_path):
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    path = str(tmp_path / "image.png")
    tf.io.write_file(path, tf.io.encode_png(image))
    module = Files()
    tf.saved_model.save(module, tmp_path / "model", module.read, FORMAT)
    loaded = tf.saved_model.load(tmp_path / "model", options=ALLOWED)
    served = loaded.signatures["serving_default"](path=tf.constant(path))
    assert (served["image"].numpy() == image).all()
    assert (loaded.read(tf.constant(path))["image"].numpy() == image).all()
    assert loaded.copied(tf.constant(path)).numpy() == tf.io.read_file(path).numpy()
    with pytest.raises(tf.errors.NotFoundError):
        loaded.read(tf.constant(path + ".absent"))


def test_functions_that_read_and_write_files_are_left_out_unless_allowed(tmp_path):
    module = Files()
    tf.saved_model.save(module, tmp_path / "model", module.read, FORMAT)
    loaded = tf.saved_model.load(tmp_path / "model")
    for call in (lambda: loaded.signatures["serving_default"], lambda: loaded.copied(tf.constant("x"))):
        with pytest.raises(Exception, match="allow_files=True"):
            call()


def test_a_counter_that_ends_counts(tmp_path):
    module = tf.Module()
    module.count = tf.Variable(3, dtype=tf.int64)
    module.step = tf.function(lambda: module.count.count_up_to(5), input_signature=[])
    assert int(module.step()) == 3
    loaded = saved(module, tmp_path)
    assert (int(loaded.step()), int(loaded.count)) == (4, 5)
    with pytest.raises(tf.errors.OpError, match="Reached limit of 5"):
        loaded.step()
    assert int(loaded.count) == 5


def test_the_keys_that_a_dense_table_never_holds_are_refused_when_it_is_read_again(tmp_path):
    module = tf.Module()
    module.table = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, default_value=-1, empty_key=0, deleted_key=-5
    )
    module.table.insert(tf.constant([1], tf.int64), tf.constant([10], tf.int64))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def put(keys):
        module.table.insert(keys, 2 * keys)
        return module.table.lookup(keys)

    module.put = put
    loaded = saved(module, tmp_path)
    assert loaded.put(tf.constant([1, 2], tf.int64)).numpy().tolist() == [2, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="deleted_key as a table key is not allowed"):
        loaded.put(tf.constant([3, -5], tf.int64))
