"""Checkpoints whose tensors are divided among files."""

import math

import numpy as np
import pytest

import penstock as tf

E = tf.train.experimental
RNG = np.random.default_rng(5)


def values():
    return {
        "matrix": RNG.normal(size=(6, 5)).astype(np.float32),
        "cube": RNG.integers(0, 100, (3, 2, 4)),
        "wide": RNG.normal(size=(1, 40)),
        "scalar": np.float64(2.5),
        "empty": np.zeros([0, 3], np.float32),
        "words": np.array([b"one", b"two", b"three" * 60], object),
        "flags": np.array([True, False]),
    }


def checkpoint_of(arrays):
    return tf.train.Checkpoint(**{name: tf.Variable(array) for name, array in arrays.items()})


def files_of(directory):
    return sorted(path.name for path in directory.iterdir() if ".data-" in path.name)


@pytest.mark.parametrize("size", [1, 7, 100, 10**6])
def test_files_are_filled_up_to_a_size_and_restored(tmp_path, size):
    arrays = values()
    options = tf.train.CheckpointOptions(experimental_sharding_callback=E.MaxShardSizePolicy(size))
    path = checkpoint_of(arrays).save(tmp_path / "ckpt", options)
    restored = checkpoint_of(
        {name: np.full_like(array, b"" if name == "words" else 0) for name, array in arrays.items()}
    )
    restored.restore(path).assert_consumed()
    for name, array in arrays.items():
        np.testing.assert_array_equal(getattr(restored, name).numpy(), array)
    reader = tf.train.load_checkpoint(path)
    assert reader.get_variable_to_shape_map()["cube/.ATTRIBUTES/VARIABLE_VALUE"] == [3, 2, 4]
    total = sum(array.nbytes for name, array in arrays.items() if name != "words")
    names = files_of(tmp_path)
    assert names[0] == f"ckpt-1.data-00000-of-{len(names):05}"
    # An element that is larger has a file of its own.
    assert len(names) >= math.ceil(total / max(size, 8))
    if size >= 100:
        # Strings and the description of the objects have no size that can be kept to.
        large = [n for n in names if (tmp_path / n).stat().st_size > size]
        assert len(large) <= 2


def test_a_policy_divides_along_the_dimension_of_which_most_fits():
    policy = E.MaxShardSizePolicy(48)
    tensor = tf.reshape(tf.range(20.0), [4, 5])
    given = E.ShardableTensor(None, tensor, tensor.dtype, tensor.device, "w", tensor.shape, "", "w", None)
    shards = policy([given])
    assert all(
        sum(4 * tf.size(part) for parts in shard.values() for part in parts.values()) <= 48
        for shard in shards
    )
    assert [list(shard["w"]) for shard in shards] == [["4 5 0,4:0,3"], ["4 5 0,4:3,2"]]


def test_tensors_of_one_process_stay_in_one_file(tmp_path):
    options = tf.train.CheckpointOptions(experimental_sharding_callback=E.ShardByTaskPolicy())
    path = checkpoint_of(values()).write(tmp_path / "all", options)
    assert files_of(tmp_path) == ["all.data-00000-of-00001"]
    assert "matrix" in str(tf.train.list_variables(path))


class Own(E.ShardingCallback):
    """What a test says."""

    def __init__(self, divide):
        self.divide = divide

    @property
    def description(self):
        return "own"

    def __call__(self, shardable_tensors):
        return self.divide(shardable_tensors)


def test_a_callback_sees_what_is_known_of_tensors_and_divides_them(tmp_path):
    seen = []

    def divide(tensors):
        seen.extend(tensors)
        return [{t.checkpoint_key: {t.slice_spec: t.tensor}} for t in tensors]

    v = tf.Variable([[1.0, 2.0]], name="mine")
    options = tf.train.CheckpointOptions(experimental_sharding_callback=Own(divide), enable_async=True)
    checkpoint = tf.train.Checkpoint(v=v)
    path = checkpoint.write(tmp_path / "own", options)
    checkpoint.sync()
    assert len(files_of(tmp_path)) == 2
    first = seen[0]
    assert (first.name, first.dtype, first.shape, first.slice_spec) == ("mine", tf.float32, [1, 2], "")
    assert first.trackable is v
    assert first.checkpoint_key == "v/.ATTRIBUTES/VARIABLE_VALUE"
    assert {hash(Own(divide)), hash(Own(divide))} == {hash(Own(divide))}
    v.assign([[0.0, 0.0]])
    checkpoint.read(path).assert_consumed()
    assert v.numpy().tolist() == [[1.0, 2.0]]


def test_files_of_a_checkpoint_that_was_there_before_are_removed(tmp_path):
    for size, count in ((100, 25), (1200, 3), (500, 6)):
        v = tf.Variable(np.full([30, 20], size, np.float32))
        checkpoint = tf.train.Checkpoint(v=v)
        options = tf.train.CheckpointOptions(experimental_sharding_callback=E.MaxShardSizePolicy(size))
        path = checkpoint.write(tmp_path / "same", options)
        v.assign(tf.zeros([30, 20]))
        checkpoint.read(path)
        assert v.numpy().max() == size
        assert abs(len(files_of(tmp_path)) - count) <= 1
    assert sorted(p.name for p in tmp_path.iterdir())[-1] == "same.index"
    assert len(list(tmp_path.iterdir())) == len(files_of(tmp_path)) + 1


def test_many_keys_are_found_in_the_index(tmp_path):
    arrays = [np.full([3], i, np.int64) for i in range(300)]
    checkpoint = tf.train.Checkpoint(values=[tf.Variable(a) for a in arrays])
    options = tf.train.CheckpointOptions(experimental_sharding_callback=E.MaxShardSizePolicy(100))
    path = checkpoint.write(tmp_path / "many", options)
    reader = tf.train.load_checkpoint(path)
    for i, array in enumerate(arrays):
        found = reader.get_tensor(f"values/{i}/.ATTRIBUTES/VARIABLE_VALUE")
        np.testing.assert_array_equal(found, array)


def whole(tensors):
    return {t.checkpoint_key: {t.slice_spec: t.tensor} for t in tensors}


@pytest.mark.parametrize(
    ("divide", "error", "message"),
    [
        (lambda ts: [whole(ts[:-1])], RuntimeError, "does not give every element once of '_CHECKPOINTABLE"),
        (lambda ts: [whole(ts), whole(ts[:1])], RuntimeError, "does not give every element once of 'v/"),
        (lambda ts: [{**whole(ts), "x": {"": ts[0].tensor}}], RuntimeError, "not of the checkpoint, 'x'"),
        (
            lambda ts: [{**whole(ts), ts[0].checkpoint_key: {"": tf.cast(ts[0].tensor, tf.float64)}}],
            RuntimeError,
            "changes the dtype or the shape",
        ),
        (
            lambda ts: [{**whole(ts), ts[0].checkpoint_key: {"2 0,1": ts[0].tensor}}],
            RuntimeError,
            "another shape than its place '2 0,1'",
        ),
        (
            lambda ts: [{**whole(ts), ts[0].checkpoint_key: {"2 x": ts[0].tensor}}],
            ValueError,
            "argument 'spec'",
        ),
        (lambda ts: 3, TypeError, "'experimental_sharding_callback'"),
        (lambda ts: [{"v": 3}], RuntimeError, "'v'"),
    ],
)
def test_what_a_callback_may_not_do_is_refused_before_anything_is_written(tmp_path, divide, error, message):
    options = tf.train.CheckpointOptions(experimental_sharding_callback=Own(divide))
    with pytest.raises(error, match=message):
        tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(tmp_path / "v", options)
    assert not list(tmp_path.iterdir())


def test_callbacks_are_checked(tmp_path):
    with pytest.raises(ValueError, match="'max_shard_size'"):
        E.MaxShardSizePolicy(0)
    options = tf.train.CheckpointOptions(experimental_sharding_callback=lambda tensors: [])
    with pytest.raises(TypeError, match="ShardingCallback"):
        tf.train.Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "v", options)
