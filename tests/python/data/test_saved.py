"""Data sets in files: saved, kept while they are read, in shards, compressed, and corrupted."""

import random
import shutil

import numpy as np
import pytest
from support.data_cases import BEHAVIOUR, INT, asked, listed, numbers

import penstock as tf

Dataset = tf.data.Dataset

SAVED = [n for n in BEHAVIOUR if not n.startswith("window") and n != "named tuples"]


@pytest.mark.parametrize("name", SAVED)
def test_saved_elements_come_back(name, tmp_path):
    dataset, expected = BEHAVIOUR[name]
    dataset.save(tmp_path / "saved")
    found = Dataset.load(tmp_path / "saved")
    assert found.element_spec == dataset.element_spec
    assert listed(found) == expected
    assert int(found.cardinality()) == len(expected)


DTYPES = ["bfloat16", "bool", "complex128", "float16", "float32", "int8", "int64", "string", "uint64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_of_every_dtype_and_of_any_size_come_back(dtype, tmp_path):
    values = ["a", "", "bcd"] if dtype == "string" else [0, 1, 1]
    tensor = tf.constant(values) if dtype == "string" else tf.cast(tf.constant(values), dtype)
    rows = Dataset.from_tensor_slices((tensor, tf.zeros([3, 0, 2]), tensor[:, tf.newaxis]))
    rows.save(tmp_path)
    found = list(Dataset.load(tmp_path, rows.element_spec))
    for row, other in zip(rows, found, strict=True):
        for a, b in zip(row, other, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            assert bool(tf.reduce_all(a == b))


def test_saving_and_loading_name_what_is_wrong(tmp_path):
    words = Dataset.from_tensor_slices(["a", "b"])
    words.save(tmp_path)
    with pytest.raises(TypeError, match="element_spec"):
        Dataset.load(tmp_path, INT)
    with pytest.raises(tf.errors.NotFoundError, match="path"):
        Dataset.load(tmp_path / "other")
    with pytest.raises(TypeError, match="cannot be saved"):
        numbers(3).window(2).save(tmp_path / "other")
    with pytest.raises(tf.errors.InvalidArgumentError, match="compression"):
        words.save(tmp_path, "LZMA")
    with pytest.raises(tf.errors.InvalidArgumentError, match="compression"):
        Dataset.load(tmp_path, compression="LZMA")
    with pytest.raises(TypeError, match="path"):
        words.save(3)
    with pytest.raises(TypeError, match="shard_func"):
        words.save(tmp_path, shard_func=2)
    with pytest.raises(TypeError, match="shard_func"):
        words.save(tmp_path, shard_func=lambda x: 0.5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="shard_func"):
        words.save(tmp_path, shard_func=lambda x: -1)
    with pytest.raises(TypeError, match="reader_func"):
        Dataset.load(tmp_path, reader_func=lambda shards: 3)
    assert listed(Dataset.load(tmp_path)) == [b"a", b"b"]


@pytest.mark.parametrize("compression", [None, "", "NONE", "AUTO", "SNAPPY", "GZIP", "ZLIB"])
def test_compressed_elements_come_back(compression, tmp_path):
    numbers(1000).batch(10).save(tmp_path, compression)
    assert listed(Dataset.load(tmp_path, compression=compression).unbatch()) == list(range(1000))


def test_shards_are_read_by_a_function(tmp_path):
    numbers(7).save(tmp_path, shard_func=lambda x: x % 3)
    seen = []

    def read(shards):
        seen.append((int(shards.cardinality()), shards.element_spec))
        return shards.flat_map(lambda shard: shard.map(lambda x: x * 2))

    found = Dataset.load(tmp_path, reader_func=read)
    assert listed(found) == [0, 6, 12, 2, 8, 4, 10]
    assert int(found.cardinality()) == 7
    assert seen == [(3, tf.data.DatasetSpec(INT))]
    # Without a function one element of each shard comes in turn.
    assert listed(Dataset.load(tmp_path)) == list(range(7))
    numbers(4).save(tmp_path, shard_func=lambda x: 0)
    assert listed(Dataset.load(tmp_path)) == list(range(4))


def test_a_data_set_is_replaced_once_the_new_one_is_whole(tmp_path):
    numbers(3).save(tmp_path)
    failing = numbers(5).map(lambda x: 12 // (x - 4))
    with pytest.raises(tf.errors.InvalidArgumentError):
        failing.save(tmp_path)
    assert listed(Dataset.load(tmp_path)) == [0, 1, 2]
    loaded = Dataset.load(tmp_path)
    loaded.map(lambda x: x + 1).save(tmp_path)
    assert listed(loaded) == [1, 2, 3]
    assert len(list(tmp_path.iterdir())) == 2
    numbers(0).save(tmp_path)
    assert listed(Dataset.load(tmp_path)) == []


def test_graphs_save_and_load(tmp_path):
    @tf.function
    def save(n):
        numbers(n).save(tmp_path / "a", shard_func=lambda x: x % 2)
        return n

    @tf.function
    def total():
        s = tf.constant(0, tf.int64)
        for x in Dataset.load(tmp_path / "a"):
            s += x
        return s

    save(tf.constant(4, tf.int64))
    assert int(total()) == 6
    save(tf.constant(6, tf.int64))
    assert int(total()) == 15
    assert total.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("reader_func", [None, lambda shards: shards.flat_map(lambda x: x)])
def test_a_graph_loads_what_it_saves(reader_func, tmp_path):
    @tf.function
    def total(n):
        numbers(n).save(tmp_path / "a")
        s = tf.constant(0, tf.int64)
        for x in Dataset.load(tmp_path / "a", tf.TensorSpec([], tf.int64), reader_func=reader_func):
            s += x
        return s

    assert int(total(tf.constant(4, tf.int64))) == 6
    assert int(total(tf.constant(6, tf.int64))) == 15


def test_a_graph_that_loads_what_is_not_there_says_so_when_it_runs(tmp_path):
    spec = tf.TensorSpec([], tf.int64)
    total = tf.function(lambda: Dataset.load(tmp_path / "a", spec).reduce(tf.constant(0, tf.int64), tf.add))
    concrete = total.get_concrete_function()
    with pytest.raises(tf.errors.NotFoundError, match="no saved data set"):
        concrete()
    numbers(4).map(lambda x: tf.cast(x, tf.float32)).save(tmp_path / "a")
    with pytest.raises(TypeError, match="float32"):
        concrete()
    with pytest.raises(tf.errors.NotFoundError, match="no saved data set"):
        Dataset.load(tmp_path / "b", spec)


@pytest.mark.parametrize("sharded", [False, True])
def test_snapshots_are_read_once_they_are_whole(sharded, tmp_path):
    dataset, seen = asked(30)
    shard_func = (lambda x: x % 2) if sharded else None
    kept = dataset.map(lambda x: x * 2).snapshot(tmp_path / "new" / "folder", "GZIP", shard_func=shard_func)
    expected = [2 * i for i in range(30)]
    assert listed(kept.take(3)) == expected[:3]
    assert list((tmp_path / "new" / "folder").iterdir()) == []
    assert listed(kept) == expected
    seen.clear()
    found = listed(kept)
    assert (sorted(found) if sharded else found) == expected
    assert len(listed(kept.batch(20))) == 2
    assert seen == []
    with pytest.raises(TypeError, match="element_spec"):
        listed(Dataset.from_tensors("x").snapshot(tmp_path / "new" / "folder"))


def test_snapshots_of_shards_are_read_by_a_function(tmp_path):
    kept = numbers(5).snapshot(
        tmp_path, shard_func=lambda x: x % 2, reader_func=lambda shards: shards.flat_map(lambda x: x)
    )
    assert listed(kept) == [0, 1, 2, 3, 4]
    assert listed(kept) == [0, 2, 4, 1, 3]


def test_elements_are_cached_in_files(tmp_path):
    dataset, seen = asked(5)
    name = str(tmp_path / "cached")
    kept = dataset.cache(name)
    first = iter(kept)
    assert int(next(first)) == 0
    # Another iterator meanwhile reads and writes for itself.
    assert listed(kept) == [0, 1, 2, 3, 4]
    seen.clear()
    assert listed(kept.repeat(2)) == [0, 1, 2, 3, 4] * 2
    assert listed(dataset.cache(tf.constant(name))) == [0, 1, 2, 3, 4]
    assert seen == []
    assert [int(x) for x in first] == [1, 2, 3, 4]
    del first
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(TypeError, match="element_spec"):
        listed(Dataset.from_tensors("x").cache(name))
    with pytest.raises(tf.errors.NotFoundError, match="filename"):
        listed(numbers(3).cache(tmp_path / "absent" / "cached"))
    with pytest.raises(TypeError, match="filename"):
        numbers(3).cache(3)


@pytest.mark.parametrize("in_files", [False, True])
def test_a_cache_is_complete_when_as_many_elements_as_there_are_have_been_read(in_files, tmp_path):
    calls = []

    def count(x):
        calls.append(int(x))
        return x

    counted = numbers(3).map(lambda x: tf.py_function(count, [x], tf.int64))
    kept = counted.cache(tmp_path / "cached" if in_files else "")
    iterator = iter(kept)
    assert [int(next(iterator)) for _ in range(3)] == [0, 1, 2]
    assert listed(kept.take(3).repeat(2)) == [0, 1, 2] * 2
    assert calls == [0, 1, 2]


@pytest.mark.parametrize("in_files", [False, True])
def test_elements_behind_one_that_cannot_be_computed_are_not_cached_without_it(in_files, tmp_path):
    switch = tf.Variable(0, dtype=tf.int64)
    kept = numbers(3).map(lambda x: 6 // (x - switch)).cache(tmp_path / "cached" if in_files else "")
    iterator = iter(kept)
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(iterator)
    assert [int(x) for x in iterator] == [6, 3]
    switch.assign(-1)
    assert listed(kept) == [6, 3, 2]
    switch.assign(-2)
    assert listed(kept) == [6, 3, 2]


def mutated(content, draw):
    """Content of which something is changed."""
    kind, n = draw.randrange(6), len(content)
    at = draw.randrange(n) if n else 0
    if kind == 0:
        return content[:at]
    if kind == 1:
        return content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :]
    if kind == 2:
        return content[:at] + draw.randbytes(draw.randrange(1, 9)) + content[at:]
    if kind == 3:
        return content[:at] + content[at + draw.randrange(1, 40) :]
    if kind == 4:
        size = draw.randrange(1, 12)
        return content[:at] + draw.randbytes(size) + content[at + size :]
    size = draw.randrange(1, 60)
    return content[:at] + content[at : at + size] + content[at:]


def corrupted_saved(draw, folder):
    """Whether a saved data set of which a file is changed has the same elements; else it is corrupted."""
    shutil.rmtree(folder, ignore_errors=True)
    compression = draw.choice([None, "GZIP", "ZLIB"])
    dataset = draw.choice(
        [
            numbers(40),
            Dataset.from_tensor_slices((["a", "", "bcd"], np.zeros([3, 2]))),
            numbers(4).map(lambda n: {"x": tf.fill([n], n), "y": tf.cast(n, tf.bfloat16)}),
            Dataset.from_tensors((tf.ragged.constant([[1], [2, 3]]), True)),
        ]
    )
    dataset.save(folder, compression, shard_func=draw.choice([None, lambda *x: 0]))
    path = draw.choice(sorted(folder.iterdir()))
    before = path.read_bytes()
    path.write_bytes(mutated(before, draw))
    try:
        return listed(Dataset.load(folder)) == listed(dataset)
    except tf.errors.DataLossError:
        return True


def corrupted_records(draw, folder):
    """Whether the records of a changed file are among the first ones; else it is corrupted."""
    folder.mkdir(exist_ok=True)
    compression = draw.choice([None, "GZIP", "ZLIB"])
    words = [b"ab", b"", b"long " * draw.randrange(1, 30)]
    path = folder / "records"
    tf.data.experimental.TFRecordWriter(path, compression).write(Dataset.from_tensor_slices(words))
    path.write_bytes(mutated(path.read_bytes(), draw))
    try:
        found = listed(tf.data.TFRecordDataset(str(path), compression))
    except tf.errors.DataLossError:
        return True
    # Where a file ends between two records nothing says that there were more, or the same ones once.
    return all(record in words for record in found)


@pytest.mark.parametrize("corrupted", [corrupted_saved, corrupted_records])
@pytest.mark.parametrize("seed", range(4))
def test_changed_files_have_what_was_written_or_are_corrupted(corrupted, seed, tmp_path):
    draw = random.Random(seed)
    for _ in range(25):
        assert corrupted(draw, tmp_path / "files")


def test_a_shard_that_is_gone_or_another_one_is_a_loss(tmp_path):
    numbers(4).save(tmp_path / "a", shard_func=lambda x: x % 2)
    first, second = (p for p in sorted((tmp_path / "a").iterdir()) if not p.name.endswith(".index"))
    second.write_bytes(first.read_bytes())
    with pytest.raises(tf.errors.DataLossError, match="corrupted"):
        listed(Dataset.load(tmp_path / "a"))
    second.unlink()
    with pytest.raises(tf.errors.DataLossError, match="gone"):
        listed(Dataset.load(tmp_path / "a"))


def test_a_corrupted_cache_and_snapshot_say_so(tmp_path):
    for kept in (numbers(3).cache(tmp_path / "a"), numbers(3).snapshot(tmp_path / "b")):
        assert listed(kept) == [0, 1, 2]
    for path in [*tmp_path.glob("a.data*"), *(tmp_path / "b").glob("*.data*")]:
        path.write_bytes(path.read_bytes()[:-1])
    for kept in (numbers(3).cache(tmp_path / "a"), numbers(3).snapshot(tmp_path / "b")):
        with pytest.raises(tf.errors.DataLossError):
            listed(kept)
