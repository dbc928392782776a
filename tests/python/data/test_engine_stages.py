"""Stages that run without the interpreter: they give what stages in Python give, errors in their places."""

import gc
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support import plain

import penstock as tf
from penstock import _core

Dataset = tf.data.Dataset
LIMIT = 300


def passed_by_python(dataset):
    """The same elements, by way of a stage in Python, so that those behind it run there as well."""
    return dataset.concatenate(dataset.take(0))


def is_of_the_engine(dataset):
    return isinstance(dataset._open(), _core._Stage)


def outcomes(dataset):
    """The elements, and classes and messages of errors in their places."""
    iterator, found = iter(dataset), []
    while len(found) < LIMIT:
        try:
            found.append(plain(next(iterator)))
        except StopIteration:
            return found
        except (tf.errors.OpError, ValueError) as error:
            found.append((type(error), str(error)))
    return found


def nested(x):
    return x, {"twice": x * 2, "none": None}


def opened(x, count):
    return Dataset.range(x % count).map(lambda y: 10 * x + y)


# What a step does to a data set of numbers.
STEPS = {
    "map": lambda d, a, b: d.map(lambda x: (x * a + b) % 97),
    "parallel": lambda d, a, b: d.map(lambda x: (x * a + b) % 97, num_parallel_calls=2),
    "nest": lambda d, a, b: d.map(nested).map(lambda x, rest: x + rest["twice"]),
    "fails": lambda d, a, b: d.map(lambda x: 97 // (x % (a + 3))),
    "filter": lambda d, a, b: d.filter(lambda x: x % (a + 1) != 0),
    "batch": lambda d, a, b: d.batch(a, b % 2 == 0).map(tf.reduce_sum),
    "shapes": lambda d, a, b: d.map(lambda x: tf.range(x % (1 + b % 3))).batch(a).map(tf.size).map(to_int64),
    "take": lambda d, a, b: d.take(a * b),
    "skip": lambda d, a, b: d.skip(a * b // 2),
    "ahead": lambda d, a, b: d.prefetch(a),
    "shuffle": lambda d, a, b: d.shuffle(a * b, seed=b, reshuffle_each_iteration=a % 2 == 0),
    "all": lambda d, a, b: d.shuffle(tf.data.UNKNOWN_CARDINALITY, seed=b),
    "unique": lambda d, a, b: d.map(lambda x: x % (a * b)).unique(),
    "texts": lambda d, a, b: d.map(with_text).shuffle(b, seed=a).map(length),
    "several shapes": lambda d, a, b: d.batch(a).shuffle(b, seed=a).unique().map(tf.reduce_max),
    "batches of windows": lambda d, a, b: (
        d.window(a, b, 1 + b % 3, a % 2 == 0)
        .flat_map(lambda w: w.batch(1 + (a * b) % 7, b % 2 == 0))
        .map(tf.reduce_sum)
    ),
    "windows of pairs": lambda d, a, b: (
        d.map(lambda x: (x, 2 * x, x + 1))
        .window(a, b, 1, b % 2 == 0)
        .flat_map(lambda x, y, z: Dataset.zip({"z": z.batch(a), "x": x.batch(a)}))
        .map(lambda both: tf.reduce_sum(both["z"] * both["x"]))
    ),
    "windows of shapes": lambda d, a, b: (
        d.batch(a).window(b).flat_map(lambda w: w.batch(1 + a % 3)).map(tf.reduce_sum)
    ),
    "windows of all kinds": lambda d, a, b: d.window(a, b, 1 + b % 3, a % 2 == 0).flat_map(
        lambda w: w.map(lambda x: 97 // (x % (b + 2))).skip(a % 2)
    ),
    "windows that are mapped": lambda d, a, b: d.window(a, b).map(lambda w: w.reduce(to_int64(0), tf.add)),
    "groups": lambda d, a, b: d.group_by_window(
        lambda x: x % (1 + b % 4) - 1, lambda k, w: w.batch(b), a
    ).map(tf.reduce_sum),
    "groups by size": lambda d, a, b: d.group_by_window(
        lambda x: x % b, lambda k, w: w.batch(k + a, b % 2 == 0), window_size_func=lambda k: k % 3 + b % 2
    ).map(tf.reduce_sum),
    "groups of all kinds": lambda d, a, b: d.group_by_window(
        lambda x: 97 // (x % (b + 2)), lambda k, w: w.map(lambda x: x * k + 1).batch(2).unbatch(), a
    ),
    "padded groups": lambda d, a, b: (
        d.map(lambda x: tf.range(x % (1 + b)))
        .group_by_window(
            lambda x: to_int64(tf.size(x)) // 2,
            lambda k, w: w.padded_batch(a, [k + (a + b) % 5 + 1], padding_values=k),
            a,
        )
        .map(lambda x: tf.reduce_sum(x) + to_int64(tf.size(x)))
    ),
    "buckets": lambda d, a, b: (
        d.map(lambda x: tf.range(x % (1 + b)))
        .bucket_by_sequence_length(
            tf.size, [2, 4], [a, b, 1], pad_to_bucket_boundary=b % 2 == 0, drop_remainder=a % 2 == 0
        )
        .map(lambda x: tf.reduce_sum(x) + to_int64(tf.size(x)))
    ),
    "padded": lambda d, a, b: (
        d.map(lambda x: (tf.fill([x % 3, x % b], x), tf.strings.as_string(x)))
        .padded_batch(a, ([None, a], []), (to_int64(3), "."), b % 2 == 0)
        .map(lambda x, text: tf.reduce_sum(x) + to_int64(tf.size(x)) + to_int64(tf.size(text)))
    ),
    "flat": lambda d, a, b: d.take(20).flat_map(lambda x: opened(x, a)),
    "interleave": lambda d, a, b: d.take(20).interleave(lambda x: opened(x, a), b, 1 + a % 3),
    "at once": lambda d, a, b: d.take(20).interleave(
        lambda x: opened(x, a), b + 1, 1 + a % 3, num_parallel_calls=2
    ),
    "inner": lambda d, a, b: d.take(9).interleave(
        lambda x: opened(x, a).map(lambda y: 97 // (y % (b + 3))).prefetch(2), 2, num_parallel_calls=2
    ),
}


# Elements that are data sets pass through Python.
OF_DATA_SETS = ("windows that are mapped",)


def with_text(x):
    return x, tf.strings.as_string(x % 30)


def length(x, text):
    return x + to_int64(tf.strings.length(text))


def to_int64(x):
    return tf.cast(x, tf.int64)


def applied(source, steps, between):
    for name, a, b in steps:
        source = STEPS[name](between(source), a, b)
    return source


chains = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=5
)


@given(chains, st.integers(0, 70), st.integers(-3, 3))
def test_chains_give_what_they_give_in_python(steps, count, start):
    source = Dataset.range(start, start + count)
    engine, python = (applied(source, steps, between) for between in (lambda d: d, passed_by_python))
    assert outcomes(engine) == outcomes(python)
    assert is_of_the_engine(engine) or any(name in OF_DATA_SETS for name, _, _ in steps)


def test_a_chain_from_a_source_on_runs_without_the_interpreter(tmp_path):
    path = tmp_path / "lines"
    path.write_text("1\n22\n")
    made = Dataset.from_tensor_slices([str(path)]).interleave(tf.data.TextLineDataset, 1)
    made = made.map(tf.strings.length).batch(2).prefetch(1)
    assert is_of_the_engine(made)
    assert outcomes(made) == [[1, 2]]
    assert not is_of_the_engine(Dataset.range(3).enumerate().map(lambda i, x: x))
    assert not is_of_the_engine(Dataset.range(3).map(lambda x: tf.random.uniform([])))


def test_a_stage_that_reads_files_runs_without_the_interpreter_one_by_one(tmp_path):
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path in paths:
        path.write_bytes(np.arange(4, dtype=">i2").tobytes())

    def numbers(path):
        return tf.io.decode_raw(tf.io.read_file(path), tf.int16, little_endian=False)

    made = Dataset.from_tensor_slices([str(path) for path in paths]).map(numbers)
    assert is_of_the_engine(made)
    iterator = iter(made)
    assert next(iterator).numpy().tolist() == [0, 1, 2, 3]
    # What a file holds is read when its element is asked for.
    paths[1].write_bytes(b"\x00\x07")
    paths[2].unlink()
    assert next(iterator).numpy().tolist() == [7]
    with pytest.raises(tf.errors.NotFoundError, match=str(paths[2])):
        next(iterator)


def test_windows_that_a_function_only_batches_need_no_interpreter():
    def says(window):
        tf.print("a window")
        return window.batch(2)

    windows = Dataset.range(7).window(3, 1, drop_remainder=True)
    made = windows.flat_map(lambda w: w.batch(3))
    assert is_of_the_engine(made)
    assert outcomes(made) == [[i, i + 1, i + 2] for i in range(5)]
    assert made._open()(2).columns[0].shape == [2, 3]
    for other in (says, lambda w: w.map(lambda x: x + 1).batch(2), lambda w: w.skip(1).batch(2)):
        stage = windows.flat_map(other)
        assert stage._args[1] is None
        assert is_of_the_engine(stage)
    size = tf.constant(2, tf.int64)
    assert outcomes(windows.flat_map(lambda w: w.batch(size))) == outcomes(
        windows.flat_map(lambda w: w.batch(2))
    )


def test_groups_that_a_function_only_batches_need_no_interpreter():
    calls = []

    def batched(key, window):
        return window.padded_batch(2, [key + 1], padding_values=key)

    def says(key, window):
        tf.py_function(calls.append, [key], [])
        return window.batch(2)

    lengths = Dataset.range(6).map(lambda x: tf.fill([x % 2 + 1], x))
    numbers = Dataset.range(5)
    made = lengths.group_by_window(lambda x: to_int64(tf.size(x)), batched, 2)
    assert made._args[5] is not None
    assert outcomes(made) == [[[0, 1], [2, 1]], [[1, 1, 2], [3, 3, 2]], [[4, 1]], [[5, 5, 2]]]
    buckets = lengths.bucket_by_sequence_length(tf.size, [2], [2, 2])
    assert buckets._args[5] is not None
    for reduce in (says, lambda k, w: w, lambda k, w: w.take(k), lambda k, w: w.batch(w.cardinality())):
        stage = numbers.group_by_window(lambda x: x % 2, reduce, 2)
        assert stage._args[5] is None
        assert is_of_the_engine(stage)
    assert outcomes(numbers.group_by_window(lambda x: x % 2, says, 2)) == [[0, 2], [1, 3], [4]]
    assert [int(x) for x in calls] == [0, 1, 0]
    assert not is_of_the_engine(
        numbers.group_by_window(lambda x: x + to_int64(tf.random.uniform([])), says, 2)
    )


def test_sizes_of_groups_are_told_where_no_batch_has_them():
    made = Dataset.range(3).group_by_window(lambda x: x, lambda k, w: w.batch(k), 1)
    first, *rest = outcomes(made)
    assert first == (tf.errors.InvalidArgumentError, "argument 'batch_size' must be at least 1, got 0")
    assert rest == [[1], [2]]


def test_windows_in_a_graph_take_numbers_of_it():
    @tf.function
    def sums(n):
        ds = Dataset.range(7).group_by_window(lambda x: x % n, lambda k, w: w.batch(k + n), n)
        return ds.map(tf.reduce_sum).reduce(to_int64(0), lambda s, x: s * 10 + x)

    for n in (2, 3):
        ds = Dataset.range(7).group_by_window(lambda x, n=n: x % n, lambda k, w: w.batch(7), n)
        due = ds.map(tf.reduce_sum).reduce(to_int64(0), lambda s, x: s * 10 + x)
        assert int(sums(tf.constant(n, tf.int64))) == int(due)


def test_iterators_of_groups_are_saved_and_go_on():
    made = Dataset.range(20).group_by_window(lambda x: x % 3, lambda k, w: w.batch(4), 4)
    iterator = made.as_numpy_iterator()
    first = [next(iterator).tolist() for _ in range(2)]
    state = iterator.save()
    rest = [x.tolist() for x in iterator]
    iterator.restore(state)
    assert [x.tolist() for x in iterator] == rest
    assert sorted(x for batch in first + rest for x in batch) == list(range(20))


def test_a_state_that_a_function_reads_is_that_of_the_moment():
    factor = tf.Variable(1, dtype=tf.int64)
    iterator = iter(Dataset.range(1, 4).map(lambda x: x * factor))
    assert int(next(iterator)) == 1
    factor.assign(10)
    assert [int(x) for x in iterator] == [20, 30]


@pytest.mark.parametrize("ahead", [False, True])
def test_functions_in_python_are_called_behind_stages_of_the_engine(ahead):
    def fail(x):
        if x == 2:
            raise KeyError("two")
        return x + 1

    made = Dataset.range(4).map(lambda x: tf.numpy_function(fail, [x], tf.int64))
    iterator = iter(made.prefetch(2) if ahead else made)
    assert [int(next(iterator)) for _ in range(2)] == [1, 2]
    with pytest.raises(KeyError, match="two"):
        next(iterator)
    assert [int(x) for x in iterator] == [4]


def test_the_end_of_another_iterator_is_an_error_of_the_function():
    other = iter(Dataset.range(1))
    iterator = iter(Dataset.range(3).map(lambda x: x + next(other)))
    assert int(next(iterator)) == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="OutOfRangeError") as caught:
        next(iterator)
    assert isinstance(caught.value.__cause__, tf.errors.OutOfRangeError)


def test_random_numbers_of_a_thread_depend_on_the_seed_alone():
    def drawn():
        tf.random.set_seed(3)
        made = Dataset.range(9).map(lambda x: tf.random.uniform([2]))
        return outcomes(made.prefetch(2)), outcomes(made.interleave(Dataset.from_tensors, 3, 1, 2))

    assert drawn() == drawn()


def written(folder, records, name="file"):
    path = folder / name
    with tf.io.TFRecordWriter(str(path)) as file:
        for record in records:
            file.write(record)
    return path


def of_files(names, kind, compression=None):
    if kind == "lines":
        return tf.data.TextLineDataset(names, compression)
    if kind == "fixed":
        return tf.data.FixedLengthRecordDataset(names, 3, 2, 1, compression_type=compression)
    return tf.data.TFRecordDataset(names, compression)


@pytest.mark.parametrize("kind", ["lines", "fixed", "records"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"a",
        b"a\r\n\r\nb\n\rc\r",
        b"abc\n\n",
        b"xx012345y",
        b"xxy",
        b"xx01y",
        b"x" * 300 + b"\n" * 9,
    ],
)
def test_files_are_read_as_in_python(tmp_path, kind, content):
    # Compressed files are read by Python.
    import gzip

    plainly, packed = tmp_path / "content", tmp_path / "packed"
    plainly.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    found = outcomes(of_files([str(plainly)] * 2, kind))
    by_python = outcomes(of_files([str(packed)] * 2, kind, "GZIP"))
    assert len(found) == len(by_python)
    for one, other in zip(found, by_python, strict=True):
        assert one == ((other[0], other[1].replace("packed", "content")) if type(other) is tuple else other)


@pytest.mark.parametrize("at", [3, 9, 13, 40, 55, 71, -1])
@pytest.mark.parametrize("how", ["flipped", "cut"])
def test_records_before_a_damaged_one_are_read(tmp_path, at, how):
    path = written(tmp_path, [bytes([65 + i]) * i for i in range(7)])
    content = bytearray(path.read_bytes())
    if how == "flipped":
        content[at] ^= 1
    else:
        del content[at:]
    path.write_bytes(content)
    found = outcomes(tf.data.TFRecordDataset(str(path)).batch(1))
    assert found[:-1] == [[bytes([65 + i]) * i] for i in range(len(found) - 1)]
    assert found[-1][0] is tf.errors.DataLossError


def test_a_length_that_no_file_has_is_a_loss_of_data(tmp_path):
    size = (1 << 62).to_bytes(8, "little")
    path = written(tmp_path, [b"x"])
    content = path.read_bytes()
    from penstock._runtime.records import _masked

    path.write_bytes(size + _masked(size) + content[12:])
    ((kind, message),) = outcomes(tf.data.TFRecordDataset(str(path)))
    assert kind is tf.errors.DataLossError
    assert "ends within a record" in message


@pytest.mark.parametrize("kind", ["lines", "fixed", "records"])
def test_files_that_cannot_be_read_are_named(tmp_path, kind):
    missing, folder = str(tmp_path / "it's missing"), str(tmp_path)
    ((first, message),) = outcomes(of_files([missing], kind))
    assert first is tf.errors.NotFoundError
    with pytest.raises(FileNotFoundError) as caught:
        Path(missing).read_bytes()
    assert message == f"argument 'filenames': {caught.value}"
    ((second, message),) = outcomes(of_files([folder], kind))
    assert second is tf.errors.FailedPreconditionError
    assert folder in message
    assert outcomes(of_files([], kind)) == []


def test_iterators_of_stages_are_saved_and_go_on():
    made = Dataset.from_tensor_slices(np.arange(20)).map(lambda x: x * x).batch(3).prefetch(2)
    iterator = made.as_numpy_iterator()
    first = [next(iterator).tolist() for _ in range(2)]
    state = iterator.save()
    rest = [x.tolist() for x in iterator]
    iterator.restore(state)
    assert [x.tolist() for x in iterator] == rest
    assert [x for batch in first + rest for x in batch] == [i * i for i in range(20)]


def test_what_a_stage_holds_is_let_go_of_with_it():
    class Mark:
        pass

    def begun():
        mark = Mark()

        def held(x, mark=mark):
            return x

        iterator = iter(Dataset.range(100).map(lambda x: tf.numpy_function(held, [x], tf.int64)).prefetch(1))
        next(iterator)
        return weakref.ref(mark)

    mark, waiting = begun(), threading.Event()
    for _ in range(100):
        gc.collect()
        if mark() is None:
            return
        waiting.wait(0.05)
    pytest.fail("a stage keeps what its function held")


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system for the names of threads")
def test_threads_of_the_engine_end_with_their_iterators():
    def names():
        found = []
        for task in Path("/proc/self/task").iterdir():
            try:
                found.append((task / "comm").read_text().strip())
            except OSError:
                continue
        return found

    waiting = threading.Event()
    made = Dataset.range(10).repeat().take(1000)
    endless = Dataset.counter().map(lambda x: x + 1)
    iterators = [
        iter(d)
        for d in (
            endless.prefetch(2),
            endless.interleave(lambda x: Dataset.counter(x), 3, num_parallel_calls=2),
            endless.prefetch(1).batch(2).prefetch(3),
            made.prefetch(2),
        )
    ]
    for iterator in iterators:
        next(iterator)
    assert "penstock-data" in names()
    del iterator, iterators
    gc.collect()
    assert any("penstock-data" not in names() or waiting.wait(0.05) for _ in range(200))
