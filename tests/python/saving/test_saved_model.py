"""`tf.saved_model`: what is saved, and what comes back."""

import collections
import copy
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import penstock as tf

Point = collections.namedtuple("Point", ["x", "y"])


class Masked(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor
    name: str = "masked"


def module(**attributes):
    made = tf.Module()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def again(obj, path, **options):
    tf.saved_model.save(obj, path, **options)
    return tf.saved_model.load(path)


def bytes_of(path):
    return (path / "saved_model.penstock").read_bytes()


class Dense(tf.Module):
    def __init__(self, rows, columns, name=None):
        super().__init__(name=name)
        generator = np.random.default_rng(rows)
        self.w = tf.Variable(generator.normal(size=[rows, columns]).astype("float32"), name="w")
        self.b = tf.Variable(tf.zeros([columns]), name="b")

    @tf.function
    def __call__(self, x, training=False):
        y = x @ self.w + self.b
        return 2.0 * y if training else tf.nn.relu(y)


class Network(tf.Module):
    def __init__(self):
        super().__init__(name="network")
        self.layers = [Dense(3, 4, "first"), Dense(4, 2, "second")]
        self.counts = {"calls": tf.Variable(0, trainable=False), "depth": 2}

    @tf.function(input_signature=[tf.TensorSpec([None, 3], name="x")])
    def predict(self, x):
        self.counts["calls"].assign_add(1)
        for layer in self.layers:
            x = layer(x)
        return {"y": x, "total": tf.reduce_sum(x)}


X = np.random.default_rng(7).normal(size=[5, 3]).astype("float32")


def test_a_network_computes_the_same_when_it_is_loaded(tmp_path):
    network = Network()
    expected = network.predict(X)
    loaded = again(network, tmp_path)
    got = loaded.predict(X)
    assert list(got) == ["y", "total"]
    np.testing.assert_array_equal(got["y"], expected["y"])
    np.testing.assert_array_equal(got["total"], expected["total"])
    assert int(loaded.counts["calls"]) == 2
    assert loaded.counts["depth"] == 2


def test_variables_keep_names_dtypes_and_whether_they_are_trained(tmp_path):
    loaded = again(Network(), tmp_path)
    assert [v.name for v in loaded.layers[0].variables] == ["b:0", "w:0"]
    assert [v.trainable for v in loaded.variables].count(False) == 1
    assert loaded.name == "network"
    assert loaded.layers[1].name == "second"


def test_gradients_of_loaded_functions_are_those_of_the_saved_ones(tmp_path):
    network = Network()
    loaded = again(network, tmp_path)

    def gradients(of):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(of.predict(X)["y"] ** 2)
        return tape.gradient(loss, of.trainable_variables)

    for ours, theirs in zip(gradients(loaded), gradients(network), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_training_goes_on_after_loading_as_it_would_have_without(tmp_path):
    network = Network()
    loaded = again(network, tmp_path)

    def losses(of):
        sgd = tf.optimizers.SGD(0.001)

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((of.predict(X)["y"] - 1.0) ** 2)
            sgd.apply_gradients(
                zip(tape.gradient(loss, of.trainable_variables), of.trainable_variables, strict=True)
            )
            return loss

        return [float(step()) for _ in range(4)]

    assert losses(loaded) == losses(network)


def test_saving_what_was_loaded_gives_the_same_bytes(tmp_path):
    network = Network()
    network.predict(X)
    network.layers[0](X, training=True)
    loaded = again(network, tmp_path / "a")
    tf.saved_model.save(loaded, tmp_path / "b")
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")


def test_each_trace_is_kept_and_none_is_added(tmp_path):
    dense = Dense(3, 4)
    dense(tf.zeros([2, 3]))
    dense(tf.zeros([2, 3]), training=True)
    dense(tf.zeros([7, 3]))
    loaded = again(dense, tmp_path)
    assert len(vars(loaded)["__call__"]._traces()) == 3
    np.testing.assert_array_equal(loaded(X[:2], training=True), dense(X[:2], training=True))
    with pytest.raises(
        ValueError, match=r"no saved trace takes the arguments \(float32 tensor of shape \(3, 3\)"
    ):
        loaded(tf.zeros([3, 3]))
    with pytest.raises(ValueError, match="no saved trace takes"):
        loaded(tf.zeros([2, 3]), training="yes")
    assert len(vars(loaded)["__call__"]._traces()) == 3


def test_methods_of_two_objects_keep_their_own_traces(tmp_path):
    both = module(first=Dense(2, 2), second=Dense(2, 2))
    both.first(tf.zeros([1, 2]))
    loaded = again(both, tmp_path)
    assert loaded.first(tf.zeros([1, 2])).shape == [1, 2]
    with pytest.raises(ValueError, match="it was never called"):
        loaded.second(tf.zeros([1, 2]))


def test_numbers_become_tensors_where_a_trace_has_tensors(tmp_path):
    saved = module(f=tf.function(lambda x, n: x * tf.cast(n, tf.float32)))
    saved.f(tf.constant(2.0), tf.constant(3))
    loaded = again(saved, tmp_path)
    assert float(loaded.f(4, 5)) == 20.0
    with tf.GradientTape() as tape:
        x = tf.constant(3.0)
        tape.watch(x)
        y = loaded.f(x, 2)
    assert float(tape.gradient(y, x)) == 2.0


def test_a_trace_of_unknown_sizes_serves_all_sizes(tmp_path):
    saved = module(
        f=tf.function(lambda x: tf.reduce_sum(x), input_signature=[tf.TensorSpec([None], tf.int32)])
    )
    loaded = again(saved, tmp_path)
    assert [int(loaded.f(tf.range(n))) for n in (0, 3, 5)] == [0, 3, 10]
    assert loaded.f.input_signature == (tf.TensorSpec([None], tf.int32, name="x"),)
    assert loaded.f.get_concrete_function(tf.TensorSpec([4], tf.int32)) is loaded.f._traces()[0]


def test_arguments_may_be_nests_with_literals_varargs_and_keywords(tmp_path):
    @tf.function
    def f(a, /, b=None, *rest, flag=True, **more):
        return a["p"] + 1.0, [a["q"][0]], rest, more, b

    arguments = (
        {"q": (tf.constant(1),), "p": tf.constant(2.0)},
        Point(tf.constant(3), None),
        tf.constant(4),
        "text",
    )
    keywords = {"flag": False, "z": tf.constant("s"), "k": 1.5}
    saved = module(f=f)
    expected = f(*arguments, **keywords)
    loaded = again(saved, tmp_path)
    got = loaded.f(*arguments, **keywords)
    for ours, theirs in zip(tf.nest.flatten(got), tf.nest.flatten(expected), strict=True):
        assert ours is theirs is None or ours.numpy() == theirs.numpy()
    assert isinstance(got[4], Point)
    assert got[4].y is None


def test_results_keep_their_structure(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec([])])
    def f(x):
        return Point(
            {"b": x, "a": [x, None]}, (tf.IndexedSlices(x[None], tf.constant([2])), Masked(x, x > 0.0))
        )

    got = again(module(f=f), tmp_path).f(2.0)
    assert list(got.x) == ["b", "a"]
    assert got.x["a"][1] is None
    assert got.y[0].indices.numpy().tolist() == [2]
    assert isinstance(got.y[1], Masked)
    assert bool(got.y[1].mask)


def test_ragged_tensors_go_in_and_come_out(tmp_path):
    saved = module(f=tf.function(lambda r: (r, tf.reduce_sum(r.values))))
    rows = tf.ragged.constant([[1, 2], [3]])
    saved.f(rows)
    got, total = again(saved, tmp_path).f(tf.ragged.constant([[], [4, 5, 6, 7]], dtype=tf.int32))
    assert got.to_list() == [[], [4, 5, 6, 7]]
    assert int(total) == 22


def test_variables_may_be_arguments(tmp_path):
    @tf.function
    def f(v, w):
        v.assign_add(1.0)
        return v * w

    one, other = tf.Variable(2.0), tf.Variable(5.0)
    f(one, other)
    f(one, one)
    loaded = again(module(f=f), tmp_path)
    a, b = tf.Variable(10.0), tf.Variable(3.0)
    assert float(loaded.f(a, b)) == 33.0
    assert float(loaded.f(a, a)) == 144.0
    assert float(a) == 12.0


def test_a_variable_that_is_given_and_reached_stays_the_same_one(tmp_path):
    saved = module(v=tf.Variable(2.0))
    saved.f = tf.function(lambda v: v * saved.v)
    saved.f(saved.v)
    loaded = again(saved, tmp_path)
    loaded.v.assign(5.0)
    assert float(loaded.f(loaded.v)) == 25.0
    with pytest.raises(ValueError, match="no saved trace"):
        loaded.f(tf.Variable(3.0))


def test_captured_constants_and_variables_without_an_owner_are_saved(tmp_path):
    table, scale = tf.constant(np.arange(100.0)), tf.Variable(3.0, dtype=tf.float64)
    saved = module(f=tf.function(lambda i: table[i] * scale))
    saved.f(tf.constant(0))
    loaded = again(saved, tmp_path)
    assert float(loaded.f(tf.constant(50))) == 150.0
    assert loaded.f._traces()[0].variables[0].dtype == tf.float64


def test_functions_that_share_variables_and_call_each_other_still_do(tmp_path):
    saved = module(v=tf.Variable(1.0))
    saved.bump = tf.function(lambda: saved.v.assign_add(1.0))
    saved.twice = tf.function(lambda: saved.bump() + saved.bump())
    saved.twice()
    loaded = again(saved, tmp_path)
    assert float(loaded.twice()) == 4.0 + 5.0
    assert float(loaded.bump()) == 6.0
    assert float(loaded.v) == 6.0
    assert float(saved.v) == 3.0


def test_loops_branches_and_recursion_are_saved(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def collatz(n):
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def factorial(n):
        if n <= 1:
            return 1
        return n * factorial(n - 1)

    loaded = again(module(collatz=collatz, factorial=factorial), tmp_path)
    assert int(loaded.collatz(27)) == 111
    assert int(loaded.factorial(6)) == 720


def test_a_loaded_function_is_called_by_traced_functions(tmp_path):
    loaded = again(Network(), tmp_path)

    @tf.function
    def twice(x):
        return loaded.predict(x)["total"] + loaded.predict(x)["total"]

    assert float(twice(X)) == pytest.approx(2 * float(loaded.predict(X)["total"]))


def test_custom_gradients_are_saved(tmp_path):
    @tf.custom_gradient
    def odd(x):
        return x * x, lambda upstream: upstream * 100.0

    loaded = again(module(f=tf.function(lambda x: odd(x), input_signature=[tf.TensorSpec([])])), tmp_path)
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = loaded.f(x)
    assert float(y) == 9.0
    assert float(tape.gradient(y, x)) == 100.0


def test_traces_as_attributes_come_back_as_traces(tmp_path):
    trace = tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([], tf.int32, name="x"))
    loaded = again(module(trace=trace), tmp_path)
    assert isinstance(loaded.trace, tf.types.experimental.ConcreteFunction)
    assert int(loaded.trace(tf.constant(1))) == 2
    assert int(loaded.trace(x=tf.constant(1))) == 2


def test_containers_come_back_as_they_were(tmp_path):
    v = tf.Variable(1.0)
    saved = module(nest=[v, (v, {"a": [v], 3: "text"}, 2.5), Point(v, None)], plain=[1, 2], number=3)
    loaded = again(saved, tmp_path)
    first = loaded.nest[0]
    assert loaded.nest[1][0] is first
    assert loaded.nest[1][1]["a"][0] is first
    assert loaded.nest[1][1][3] == "text"
    assert loaded.nest[1][2] == 2.5
    assert loaded.nest[2].x is first
    assert not hasattr(loaded, "plain")
    assert not hasattr(loaded, "number")


def test_objects_that_refer_to_each_other_still_do(tmp_path):
    parent = module(child=module(v=tf.Variable(1)))
    parent.child.parent = parent
    loaded = again(parent, tmp_path)
    assert loaded.child.parent is loaded


def test_variables_of_every_dtype_and_of_open_shapes_are_saved(tmp_path):
    dtypes = [tf.bool, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64]
    dtypes += [tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128]
    saved = module(all=[tf.Variable(tf.cast([0, 1, 1], d)) for d in dtypes], text=tf.Variable(["a", b"\xff"]))
    saved.open = tf.Variable([1.0], shape=[None])
    loaded = again(saved, tmp_path)
    for ours, theirs in zip(loaded.all, saved.all, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    assert loaded.text.numpy().tolist() == [b"a", b"\xff"]
    loaded.open.assign([1.0, 2.0])
    assert loaded.open.shape.as_list() == [None]


def test_signatures_take_and_give_tensors_by_name(tmp_path):
    @tf.function
    def add(a, b):
        return a + b

    @tf.function
    def pair(x):
        return x, x * 2

    scalar = tf.TensorSpec([], tf.int32)
    signatures = {
        "add": add.get_concrete_function(scalar, tf.TensorSpec([], tf.int32, name="right")),
        "pair": pair.get_concrete_function(scalar),
    }
    loaded = again(tf.Module(), tmp_path, signatures=signatures)
    assert list(loaded.signatures) == ["add", "pair"]
    got = loaded.signatures["add"](a=tf.constant(1), right=tf.constant(2))
    assert {key: int(value) for key, value in got.items()} == {"output_0": 3}
    assert [int(v) for v in loaded.signatures["pair"](x=tf.constant(4)).values()] == [4, 8]
    assert list(loaded.signatures["pair"].structured_outputs) == ["output_0", "output_1"]
    tf.saved_model.save(loaded, tmp_path / "again", signatures=loaded.signatures)
    tf.saved_model.save(loaded, tmp_path / "kept")
    assert bytes_of(tmp_path / "again") == bytes_of(tmp_path / "kept") == bytes_of(tmp_path)


def test_the_only_function_with_a_signature_serves_by_default(tmp_path):
    loaded = again(Network(), tmp_path)
    got = loaded.signatures["serving_default"](x=X)
    np.testing.assert_array_equal(got["y"], loaded.predict(X)["y"])


def test_a_function_without_results_does_not_serve_by_default(tmp_path):
    class Changing(tf.Module):
        def __init__(self):
            self.v = tf.Variable(1.0)

        @tf.function(input_signature=[tf.TensorSpec([])])
        def change(self, value):
            self.v.assign(value)

    assert not again(Changing(), tmp_path).signatures


def test_what_can_be_no_signature_is_refused_by_name(tmp_path):
    f = tf.function(lambda x: x)
    with pytest.raises(ValueError, match=r"'serving_default' must have an input_signature.*there are 0"):
        tf.saved_model.save(tf.Module(), tmp_path, signatures=f)
    with pytest.raises(ValueError, match=r"'s' must be a tf.function"):
        tf.saved_model.save(tf.Module(), tmp_path, signatures={"s": lambda x: x})
    nested = tf.function(lambda x: {"a": [x]}).get_concrete_function(tf.TensorSpec([]))
    with pytest.raises(ValueError, match=r"'s': a signature gives a tensor"):
        tf.saved_model.save(tf.Module(), tmp_path, signatures={"s": nested})


def test_assets_are_copied_and_found_by_loaded_functions(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("a\nb\n")
    saved = module(words=tf.saved_model.Asset(words))
    saved.path = tf.function(lambda: saved.words.asset_path)
    saved.path()
    tf.saved_model.save(saved, tmp_path / "one")
    words.unlink()
    (tmp_path / "one").rename(tmp_path / "two")
    loaded = tf.saved_model.load(tmp_path / "two")
    found = os.fsdecode(loaded.path().numpy())
    assert (
        found
        == str(tmp_path / "two" / "assets" / "words.txt")
        == os.fsdecode(loaded.words.asset_path.numpy())
    )
    tf.saved_model.save(loaded, tmp_path / "three")
    assert (tmp_path / "three" / "assets" / "words.txt").read_text() == "a\nb\n"
    assert str(tmp_path).encode() not in bytes_of(tmp_path / "three")


def test_two_assets_of_one_name_stay_two(tmp_path):
    for room in "ab":
        (tmp_path / room).mkdir()
        (tmp_path / room / "v.txt").write_text(room)
    saved = module(files=[tf.saved_model.Asset(tmp_path / room / "v.txt") for room in "ab"])
    loaded = again(saved, tmp_path / "saved")
    texts = [open(asset.asset_path.numpy()).read() for asset in loaded.files]  # noqa: PTH123, SIM115
    assert texts == ["a", "b"]


def test_an_asset_of_a_changed_file_cannot_leave_the_directory(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("x")
    tf.saved_model.save(module(a=tf.saved_model.Asset(secret)), tmp_path / "saved")
    program = tf.Program.load(tmp_path / "saved" / "saved_model.penstock")
    described = json.loads(program.text("objects"))
    described["nodes"][1]["path"] = "assets/../../secret.txt"
    builder = tf._core._ProgramBuilder()
    builder.variable(tf.Variable("x"))
    builder.text("objects", json.dumps(described))
    builder.finish().save(tmp_path / "saved" / "saved_model.penstock")
    with pytest.raises(ValueError, match="not in the directory 'assets'"):
        tf.saved_model.load(tmp_path / "saved")


def test_functions_that_call_python_cannot_be_saved_and_their_place_is_named(tmp_path):
    @tf.function
    def calls_python(x):
        return tf.py_function(lambda v: v, [x], tf.float32)

    saved = module(inner=module(f=calls_python))
    saved.inner.f(tf.constant(1.0))
    with pytest.raises(
        tf.errors.FailedPreconditionError, match=r"inner\.f.*calls the host function"
    ) as caught:
        tf.saved_model.save(saved, tmp_path)
    assert "test_saved_model.py" in str(caught.value)


def test_traces_for_python_objects_cannot_be_saved_and_their_function_is_named(tmp_path):
    class Options:
        pass

    saved = module(f=tf.function(lambda x, options: x))
    saved.f(tf.constant(1.0), options := Options())
    with pytest.raises(TypeError, match=r"'f'.*argument 'options'.*Options(?s:.)*test_saved_model\.py"):
        tf.saved_model.save(saved, tmp_path)
    del options


@pytest.mark.parametrize("value", [3, [1], {"v": 1}, "text"])
def test_what_owns_nothing_is_refused(value, tmp_path):
    with pytest.raises(ValueError, match=r"'obj' must be a tf\.Module"):
        tf.saved_model.save(value, tmp_path)


def test_a_missing_directory_is_named(tmp_path):
    assert not tf.saved_model.contains_saved_model(tmp_path)
    with pytest.raises(tf.errors.NotFoundError, match=r"neither saved_model\.penstock nor .* in .*nowhere"):
        tf.saved_model.load(tmp_path / "nowhere")
    with pytest.raises(OSError, match=r"^argument 'export_dir': there is neither"):
        tf.saved_model.load(str(tmp_path))
    tf.saved_model.save(tf.Module(), tmp_path)
    assert tf.saved_model.contains_saved_model(tmp_path)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("export_dir", tf.saved_model.load),
        ("export_dir", tf.saved_model.contains_saved_model),
        ("export_dir", lambda path: tf.saved_model.save(tf.Module(), path)),
        ("export_dir", tf.saved_model.experimental.read_fingerprint),
        ("file_prefix", lambda path: tf.train.Checkpoint().save(path)),
        ("file_prefix", lambda path: tf.train.Checkpoint().write(path)),
        ("save_path", lambda path: tf.train.Checkpoint().restore(path)),
        ("save_path", tf.train.CheckpointView),
        ("checkpoint_dir", tf.train.latest_checkpoint),
        ("directory", lambda path: tf.train.CheckpointManager(tf.train.Checkpoint(), path, max_to_keep=1)),
        ("logdir", tf.summary.create_file_writer),
        ("logdir", tf.profiler.experimental.start),
    ],
)
def test_what_is_no_path_is_named(argument, call):
    with pytest.raises(TypeError, match=f"argument '{argument}' must be a path, got 5"):
        call(5)


def test_a_damaged_file_is_an_error(tmp_path):
    tf.saved_model.save(Network(), tmp_path)
    data = bytes_of(tmp_path)
    for cut in (0, 7, 100, len(data) - 1):
        (tmp_path / "saved_model.penstock").write_bytes(data[:cut])
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.saved_model.load(tmp_path)


def test_a_description_that_does_not_fit_its_graphs_is_an_error(tmp_path):
    saved = module(f=tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([3])]))
    tf.saved_model.save(saved, tmp_path)
    text = tf.Program.load(tmp_path / "saved_model.penstock").text("objects")

    def load(changed):
        builder = tf._core._ProgramBuilder()
        trace = saved.f._traces()[0]
        builder.function("f", trace, ["output_0"], {})
        builder.function("g", trace, ["output_0"], {})
        builder.text("objects", changed)
        builder.finish().save(tmp_path / "saved_model.penstock")
        return tf.saved_model.load(tmp_path)

    assert load(text).f(tf.ones([3])).numpy().tolist() == [2.0, 2.0, 2.0]
    assert '["float32",[3],"x"]' in text
    for changed in (
        text.replace('["float32",[3],"x"]', '["int64",[3],"x"]'),
        text.replace('["float32",[3],"x"]', '["float32",[4],"x"]'),
        text.replace('"function":0', '"function":9'),
        text.replace('"trainable":[]', '"trainable":[0]'),
        text.replace('"result":{', '"result":{"tuple":[],"x":{'),
        text.replace('"kind":"function"', '"kind":"init"'),
        "[]",
        "{",
    ):
        with pytest.raises((ValueError, tf.errors.OpError)):
            load(changed)


def test_a_file_that_prints_to_files_needs_leave(tmp_path):
    out = tmp_path / "out.txt"

    @tf.function(input_signature=[tf.TensorSpec([])])
    def f(x):
        tf.print(x, output_stream=f"file://{out}")
        return x

    tf.saved_model.save(module(f=f), tmp_path / "saved")
    with pytest.raises(tf.errors.FailedPreconditionError, match="file"):
        tf.saved_model.load(tmp_path / "saved")
    tf.saved_model.load(tmp_path / "saved", options=tf.saved_model.LoadOptions(allow_files=True)).f(1.5)
    assert out.read_text() == "1.5\n"


def test_a_file_that_reads_and_writes_files_needs_leave(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def f(path):
        tf.io.write_file(path, "one")
        return tf.io.decode_raw(tf.io.read_file(path), tf.uint8)

    tf.saved_model.save(module(f=f), tmp_path / "saved")
    with pytest.raises(tf.errors.FailedPreconditionError, match="file"):
        tf.saved_model.load(tmp_path / "saved")
    loaded = tf.saved_model.load(tmp_path / "saved", options=tf.saved_model.LoadOptions(allow_files=True))
    assert bytes(loaded.f(str(tmp_path / "a")).numpy()) == b"one"


def test_saved_bytes_hold_no_path(tmp_path):
    network = Network()
    network.predict(X)
    tf.saved_model.save(network, tmp_path / "a")
    here = os.path.dirname(__file__).encode()  # noqa: PTH120
    assert here not in bytes_of(tmp_path / "a")
    tf.saved_model.save(network, tmp_path / "b", options=tf.saved_model.SaveOptions(save_debug_info=True))
    assert here in bytes_of(tmp_path / "b")


def test_another_process_loads_it_without_the_python_code(tmp_path):
    network = Network()
    expected = network.predict(X)["y"].numpy()
    tf.saved_model.save(network, tmp_path)
    np.save(tmp_path / "x.npy", X)
    program = (
        "import sys, numpy as np, penstock as tf; d = sys.argv[1]; "
        "y = tf.saved_model.load(d).predict(np.load(d + '/x.npy'))['y']; np.save(d + '/y.npy', y.numpy())"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected)


def test_loading_makes_no_variables_through_creators(tmp_path):
    tf.saved_model.save(Network(), tmp_path)
    made = []

    def creator(make, **options):
        made.append(options)
        return make(**options)

    with tf.variable_creator_scope(creator), tf.name_scope("outer"):
        loaded = tf.saved_model.load(tmp_path)
    assert made == []
    assert loaded.layers[0].w.name == "w:0"


def test_a_loaded_function_is_not_copied_without_its_variables(tmp_path):
    saved = module(v=tf.Variable(2.0))
    saved.f = tf.function(lambda x: x * saved.v)
    saved.f(tf.constant(1.0))
    loaded = again(saved, tmp_path)
    with pytest.raises(TypeError, match="load it again"):
        copy.deepcopy(loaded)
    assert float(copy.copy(loaded).f(3.0)) == 6.0
