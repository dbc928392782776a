"""`tf.train`: values of objects in files, restored now or when the objects come."""

import gc
import pathlib
import threading

import numpy as np
import pytest

import penstock as tf

GOLDEN = pathlib.Path(__file__).parents[3] / "crates/penstock-tf/tests/golden"


class Dense(tf.Module):
    """Makes its variables in its first call."""

    def __init__(self, units):
        super().__init__()
        self.units = units

    def __call__(self, x):
        if not hasattr(self, "w"):
            self.w = tf.Variable(tf.random.normal([x.shape[-1], self.units]), name="w")
            self.b = tf.Variable(tf.zeros([self.units]), name="b")
        return x @ self.w + self.b


def module(**attributes):
    made = tf.Module()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def test_values_of_modules_lists_dicts_and_tuples_are_restored(tmp_path):
    def made(n):
        v = [tf.Variable(float(n + i)) for i in range(5)]
        return tf.train.Checkpoint(
            net=module(a=v[0], layers=[v[1], {"x/y.z": v[2]}], pair=(v[3],)), step=v[4]
        ), v

    saved, values = made(1)
    path = saved.save(tmp_path / "ckpt")
    other, restored = made(100)
    other.restore(path).assert_consumed()
    assert [float(v) for v in restored] == [float(v) for v in values]
    assert int(other.save_counter) == 1
    keys = [key for key, _ in tf.train.list_variables(path)]
    assert "net/layers/1/x.Sy..z/.ATTRIBUTES/VARIABLE_VALUE" in keys


def test_a_checkpoint_of_tensorflow_is_restored():
    values = tf.train.load_checkpoint(GOLDEN)
    names = [key.split("/")[1] for key in values.get_variable_to_shape_map() if key.startswith("values/")]
    made = {}
    for name in names:
        read = values.get_tensor(f"values/{name}/.ATTRIBUTES/VARIABLE_VALUE")
        dtype = values.get_variable_to_dtype_map()[f"values/{name}/.ATTRIBUTES/VARIABLE_VALUE"]
        made[name] = tf.Variable(tf.constant(np.full_like(read, b"" if dtype == tf.string else 0), dtype))
    net = module(w=tf.Variable([[0.0, 0.0]]), d={"x/y": tf.Variable(0.0)})
    net.layers = [tf.Variable(0), module(b=tf.Variable(0.0))]
    checkpoint = tf.train.Checkpoint(values=made, model=net, step=tf.Variable(0, dtype=tf.int64))
    checkpoint.restore(tf.train.latest_checkpoint(GOLDEN)).assert_consumed()
    assert len(made) == 18
    assert net.w.numpy().tolist() == [[1.0, 2.0]]
    assert (int(net.layers[0]), float(net.layers[1].b), float(net.d["x/y"])) == (1, 7.0, 2.0)
    assert (int(checkpoint.step), int(checkpoint.save_counter)) == (3, 1)
    assert made["string"].numpy().tolist() == [b"a", b"", b"\xc3\xa9" * 100, b"\xff\x00"]
    assert made["bfloat16"].numpy().astype(float).tolist() == [[0, 1, 1], [1, 0, 1]]
    assert made["complex64"].numpy().tolist() == [[0, 1, 1], [1, 0, 1]]


def test_a_variable_in_parts_is_read_as_a_whole():
    whole = tf.train.load_variable(GOLDEN / "sliced", "v")
    np.testing.assert_array_equal(whole, np.arange(800, dtype=np.float32).reshape(4, 200))


def test_variables_that_come_later_get_their_values_then(tmp_path):
    first = Dense(3)
    first(tf.ones([1, 2]))
    path = tf.train.Checkpoint(net=first).save(tmp_path / "ckpt")
    second = Dense(3)
    status = tf.train.Checkpoint(net=second).restore(path)
    with pytest.raises(AssertionError, match=r"net/w/\.ATTRIBUTES/VARIABLE_VALUE"):
        status.assert_consumed()
    second(tf.ones([1, 2]))
    status.assert_consumed()
    np.testing.assert_array_equal(second.w.numpy(), first.w.numpy())


def test_modules_that_come_later_get_their_values_with_all_in_them(tmp_path):
    path = tf.train.Checkpoint(net=module(inner=[module(v=tf.Variable(3.0))])).save(tmp_path / "ckpt")
    checkpoint = tf.train.Checkpoint()
    status = checkpoint.restore(path)
    net = tf.Module()
    checkpoint.net = net
    net.inner = [module(v=tf.Variable(0.0))]
    assert float(net.inner[0].v) == 3.0
    status.assert_consumed()


def test_what_is_put_into_a_list_later_is_restored_at_the_latest_when_asked_for(tmp_path):
    path = tf.train.Checkpoint(net=module(all=[tf.Variable(1.0), tf.Variable(2.0)])).save(tmp_path / "ckpt")
    net = module(all=[tf.Variable(0.0)])
    status = tf.train.Checkpoint(net=net).restore(path)
    net.all.append(tf.Variable(0.0))
    status.assert_consumed()
    assert [float(v) for v in net.all] == [1.0, 2.0]


def test_what_waits_does_not_keep_objects_alive(tmp_path):
    import weakref

    path = tf.train.Checkpoint(net=module(v=tf.Variable(1.0))).save(tmp_path / "ckpt")
    net = tf.Module()
    tf.train.Checkpoint(net=net).restore(path)
    watched = weakref.ref(net)
    del net
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize(
    "make", [lambda: tf.optimizers.Adam(0.1), lambda: tf.optimizers.SGD(0.1, momentum=0.9)]
)
@pytest.mark.parametrize("built", [False, True])
def test_training_goes_on_with_what_the_optimiser_has_kept(make, built, tmp_path):
    def started():
        v, optimizer = tf.Variable([1.0, 2.0]), make()

        @tf.function
        def step():
            optimizer.apply_gradients([(v * 0.5, v)])

        return v, optimizer, step

    v, optimizer, step = started()
    step(), step()
    path = tf.train.Checkpoint(v=v, optimizer=optimizer).save(tmp_path / "ckpt")
    step(), step()
    w, other, again = started()
    if built:
        other.build([w])
    status = tf.train.Checkpoint(v=w, optimizer=other).restore(path)
    again(), again()
    status.assert_consumed()
    np.testing.assert_array_equal(w.numpy(), v.numpy())
    assert int(other.iterations) == 4


def test_random_generators_go_on_where_they_were(tmp_path):
    generator = tf.random.Generator.from_seed(3)
    generator.normal([4])
    path = tf.train.Checkpoint(g=generator).save(tmp_path / "ckpt")
    expected = generator.normal([5]).numpy()
    other = tf.random.Generator.from_seed(1)
    tf.train.Checkpoint(g=other).restore(path).assert_consumed()
    np.testing.assert_array_equal(other.normal([5]).numpy(), expected)


def test_iterators_of_data_sets_go_on_where_they_were(tmp_path):
    def numbers(seed):
        return iter(tf.data.Dataset.range(20).shuffle(20, seed=seed).batch(2))

    it = numbers(7)
    next(it), next(it)
    path = tf.train.Checkpoint(it=it).save(tmp_path / "ckpt")
    expected = [x.numpy().tolist() for x in it]
    other = numbers(7)
    tf.train.Checkpoint(it=other).restore(path).assert_consumed()
    assert [x.numpy().tolist() for x in other] == expected


def test_an_iterator_that_a_graph_reads_is_saved_at_its_place(tmp_path):
    it = iter(tf.data.Dataset.range(20))

    @tf.function
    def total(n):
        result = tf.constant(0, tf.int64)
        for _ in tf.range(n):
            result += next(it)
        return result

    assert int(total(tf.constant(4))) == 6
    path = tf.train.Checkpoint(it=it).save(tmp_path / "ckpt")
    other = iter(tf.data.Dataset.range(20))
    tf.train.Checkpoint(it=other).restore(path)
    assert int(next(other)) == 4


def test_the_parts_of_a_root_are_the_checkpoints_own(tmp_path):
    root = module(v=tf.Variable(1.0))
    path = tf.train.Checkpoint(root, extra=tf.Variable(2.0)).save(tmp_path / "ckpt")
    other = tf.train.Checkpoint(v=tf.Variable(0.0), extra=tf.Variable(0.0))
    other.restore(path).assert_consumed()
    assert (float(other.v), float(other.extra)) == (1.0, 2.0)
    with pytest.raises(ValueError, match="'v' is not what 'root' has"):
        tf.train.Checkpoint(root, v=tf.Variable(3.0))


def test_what_is_shared_is_saved_once(tmp_path):
    v = tf.Variable(1.0)
    path = tf.train.Checkpoint(a=module(v=v), b=[v]).write(tmp_path / "ckpt")
    assert len(tf.train.list_variables(path)) == 2
    w = tf.Variable(0.0)
    tf.train.Checkpoint(a=module(v=w), b=[w]).read(path).assert_consumed()
    assert float(w) == 1.0


def test_checks_name_what_is_missing_on_either_side(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(1.0)).write(tmp_path / "ckpt")
    status = tf.train.Checkpoint(a=tf.Variable(0.0), b=tf.Variable(0.0)).read(path)
    with pytest.raises(AssertionError, match="no value for b/"):
        status.assert_consumed()
    with pytest.raises(AssertionError, match="no value for b/"):
        status.assert_existing_objects_matched()
    status.assert_nontrivial_match()
    other = tf.train.Checkpoint().read(path)
    with pytest.raises(AssertionError, match="no object has taken a/"):
        other.assert_consumed()
    other.assert_existing_objects_matched().expect_partial()
    with pytest.raises(AssertionError, match="no object has taken anything"):
        other.assert_nontrivial_match()


@pytest.mark.parametrize("value", [[1.0, 2.0], 1, "text"])
def test_a_value_that_a_variable_cannot_hold_is_named(value, tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(value)).write(tmp_path / "ckpt")
    with pytest.raises(
        (ValueError, TypeError), match=r"ckpt: cannot restore 'v/\.ATTRIBUTES/VARIABLE_VALUE'"
    ):
        tf.train.Checkpoint(v=tf.Variable(0.0)).read(path)


@pytest.mark.parametrize("value", [3, "text", lambda: 1, tf.function(lambda: 1)])
def test_what_owns_nothing_is_refused(value):
    with pytest.raises(ValueError, match="'v' must be a variable"):
        tf.train.Checkpoint(v=value)


def test_a_missing_checkpoint_is_named(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        tf.train.Checkpoint().restore(tmp_path / "nowhere")
    with pytest.raises(tf.errors.NotFoundError, match="has no checkpoint"):
        tf.train.load_checkpoint(tmp_path)
    tf.train.Checkpoint().restore(None).assert_consumed()


def test_a_file_without_objects_is_read_by_keys():
    whole = tf.Variable([0, 0], name="whole")
    tf.train.Checkpoint(v=whole).read(GOLDEN / "sliced").assert_consumed()
    reader = tf.train.load_checkpoint(GOLDEN / "sliced")
    assert reader.get_variable_to_shape_map() == {"v": [4, 200], "whole": [2]}
    assert reader.get_variable_to_dtype_map()["whole"] == tf.int32
    assert reader.get_tensor("whole").tolist() == whole.numpy().tolist()
    assert reader.has_tensor("v")
    with pytest.raises(tf.errors.NotFoundError, match="'w'"):
        reader.get_tensor("w")


def test_damaged_data_are_an_error(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(np.arange(100.0))).write(tmp_path / "ckpt")
    data = tmp_path / "ckpt.data-00000-of-00001"
    changed = bytearray(data.read_bytes())
    changed[5] ^= 1
    data.write_bytes(changed)
    with pytest.raises(tf.errors.DataLossError, match=r"v/\.ATTRIBUTES"):
        tf.train.Checkpoint(v=tf.Variable(np.zeros(100))).read(path)


def test_the_latest_checkpoint_of_a_directory_is_found_wherever_that_goes(tmp_path):
    directory = tmp_path / "a"
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    assert tf.train.latest_checkpoint(directory) is None
    checkpoint.save(directory / 'c"k é')
    checkpoint.save(directory / 'c"k é')
    directory.rename(tmp_path / "b")
    assert tf.train.latest_checkpoint(tmp_path / "b") == str(tmp_path / "b" / 'c"k é-2')
    state = tf.train.get_checkpoint_state(tmp_path / "b")
    assert state.all_model_checkpoint_paths == [state.model_checkpoint_path]


def test_a_manager_keeps_the_latest_and_goes_on_after_a_restart(tmp_path):
    v = tf.Variable(0.0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), tmp_path, max_to_keep=2)
    for _ in range(3):
        v.assign_add(1.0)
        manager.save()
    w = tf.Variable(0.0)
    again = tf.train.CheckpointManager(tf.train.Checkpoint(v=w), tmp_path, max_to_keep=2)
    assert again.checkpoints == manager.checkpoints == [str(tmp_path / f"ckpt-{i}") for i in (2, 3)]
    assert again.restore_or_initialize() == manager.latest_checkpoint
    assert float(w) == 3.0
    assert again.save().endswith("ckpt-4")
    assert sorted(p.name for p in tmp_path.glob("*.index")) == ["ckpt-3.index", "ckpt-4.index"]


def test_a_manager_saves_after_an_interval_of_steps_and_calls_what_initialises(tmp_path):
    step, called = tf.Variable(0), []
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(step=step),
        tmp_path,
        None,
        step_counter=step,
        checkpoint_interval=10,
        init_fn=lambda: called.append(1),
    )
    assert manager.restore_or_initialize() is None
    assert called == [1]
    saved = []
    for i in range(0, 30, 5):
        step.assign(i)
        saved.append(manager.save() is not None)
    assert saved == [True, False, True, False, True, False]
    assert manager.save(check_interval=False) is not None


def test_checkpoints_are_iterated_over_until_the_time_is_over(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    checkpoint.save(tmp_path / "ckpt")
    asked = []

    def more():
        asked.append(1)
        if len(asked) == 1:
            checkpoint.save(tmp_path / "ckpt")
        return len(asked) > 1

    found = [path[-1] for path in tf.train.checkpoints_iterator(tmp_path, timeout=0, timeout_fn=more)]
    assert found == ["1", "2"]


def test_writing_in_the_background_saves_the_values_of_the_moment(tmp_path):
    v, started = tf.Variable(np.zeros(1000)), threading.Event()
    options = tf.train.CheckpointOptions(
        enable_async=True, experimental_write_callbacks=[lambda path: started.set()]
    )
    checkpoint = tf.train.Checkpoint(v=v)
    path = checkpoint.save(tmp_path / "ckpt", options)
    v.assign(np.ones(1000))
    checkpoint.sync()
    assert started.is_set()
    assert tf.train.load_variable(path, "v/.ATTRIBUTES/VARIABLE_VALUE").sum() == 0
    checkpoint.save(tmp_path / "file" / "ckpt", options)
    checkpoint.sync()
    (tmp_path / "blocked").write_text("")
    checkpoint.write(tmp_path / "blocked" / "ckpt", options)
    with pytest.raises(OSError, match="blocked"):
        checkpoint.sync()


def test_twenty_thousand_variables_are_saved_and_restored(tmp_path):
    saved = [tf.Variable(float(i)) for i in range(20_000)]
    path = tf.train.Checkpoint(all=saved).write(tmp_path / "ckpt")
    restored = [tf.Variable(0.0) for _ in saved]
    tf.train.Checkpoint(all=restored).read(path).assert_consumed()
    assert [float(v) for v in restored] == [float(v) for v in saved]


def test_a_later_restore_wins(tmp_path):
    first = tf.train.Checkpoint(net=module(v=tf.Variable(1.0))).write(tmp_path / "a")
    second = tf.train.Checkpoint(net=module(v=tf.Variable(2.0))).write(tmp_path / "b")
    net = tf.Module()
    checkpoint = tf.train.Checkpoint(net=net)
    checkpoint.read(first)
    checkpoint.read(second)
    net.v = tf.Variable(0.0)
    assert float(net.v) == 2.0
